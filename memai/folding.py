"""What counts as the same text: one composed form, without case.

ASCII needs neither `re` nor `unicodedata`, and nearly all that a short command folds is ASCII.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    import re


def compose(text: str) -> str:
    """Return `text` in NFKC, in linear time.

    Sorting a run of combining marks is quadratic, so runs that no language writes lose theirs.
    """
    if text.isascii():
        return text
    import re
    import unicodedata

    return unicodedata.normalize("NFKC", re.sub(r"[^\w\s!-~]{64,}", _without_accents, text))


def fold(text: str) -> str:
    """Return `text` in NFKC and without case: equal for what a reader would call the same."""
    if text.isascii():
        return text.lower()
    return compose(compose(text).casefold())


def _without_accents(run: re.Match[str]) -> str:
    """Return a run of signs without those that combine."""
    import unicodedata

    return "".join(c for c in run[0] if not unicodedata.combining(c))
