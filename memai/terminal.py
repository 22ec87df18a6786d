r"""Pure functions that make stored text safe and fitting for a terminal.

A stored text may hold anything. What a terminal would obey (move the cursor, set the title or the
clipboard), what turns the reading direction, and what nobody can see is shown as an escape such as
``\x1b`` or ``\u202e``.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

# C0, DEL, C1, soft hyphen, fillers, directions, zero widths, separators, annotations, BOM,
# surrogates, tags.
_HAZARDS = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SUSPECT = f"[{_HAZARDS}{_JOINERS}{_SELECTORS}]"
_NAMES = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}


def _is_base(character: str) -> bool:
    """Whether a joiner or selector has business beside `character`: no one writes them in ASCII."""
    import re

    return character > "\x7f" and not re.match(_SUSPECT, character)


def _harmless(match: re.Match[str]) -> bool:
    """Whether a joiner stands between two letters or emoji, or a selector behind one."""
    text, at = match.string, match.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if match[0] in _JOINERS:
        # A selector may stand between an emoji and its joiner.
        return (_is_base(before) or _is_selector(before)) and _is_base(after)
    # Keycaps (1 and a selector) are the one use behind ASCII.
    return _is_selector(match[0]) and (_is_base(before) or before in "#*0123456789")


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return _NAMES.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def safe(text: str, *, newlines: bool = True, tabs: bool = True) -> str:
    r"""Return `text` with everything a terminal would obey or a reader not see escaped.

    Line feeds and tabs stay unless `newlines` or `tabs` is False. Joiners and variation selectors
    stay where languages and emoji need them. Safe text comes back unchanged.
    """
    if text.isascii() and text.isprintable():
        return text
    import re

    kept = ("\n" if newlines else "") + ("\t" if tabs else "")

    def shown(match: re.Match[str]) -> str:
        return match[0] if match[0] in kept or _harmless(match) else _escape(match[0])

    return re.sub(_SUSPECT, shown, text)


def _columns(text: str) -> Iterator[int]:
    """Give the columns that each character of `text` adds."""
    import unicodedata

    before, added = "", 1  # a skin tone at the beginning colours nothing, and is shown
    for character in text:
        if character < "\u0300":
            added = 1
        elif character == "\ufe0f":
            # It asks for the coloured picture, which is wide, of a sign that is narrow as text.
            added = int(added == 1 and before > "\x7f")
        elif (
            unicodedata.category(character) in ("Mn", "Me", "Cf")
            or "\u1160" <= character <= "\u11ff"  # the later letters of a Hangul syllable
            or ("\U0001f3fb" <= character <= "\U0001f3ff" and added != 1)  # a skin tone
        ):
            added = 0
        elif unicodedata.east_asian_width(character) in "WF":
            added = 0 if before == "\u200d" else 2
        else:
            added = 1
        yield added
        before = character


def width(text: str) -> int:
    """Return how many columns a line of safe text takes: wide characters 2, combining marks 0."""
    return len(text) if text.isascii() else sum(_columns(text))


def cut(text: str, columns: int) -> str:
    """Return a line of safe text cut to `columns`, with an ellipsis if something is left out."""
    if text.isascii() and len(text) <= columns:
        return text
    used, fitting = 0, 0
    for number, added in enumerate(_columns(text)):
        used += added
        if used > columns:
            return text[:fitting].rstrip(_JOINERS) + "…" if columns > 0 else ""
        if used <= columns - 1:
            fitting = number + 1
    return text


def one_line(text: str) -> str:
    """Return the first line of `text` that is not blank, its white space folded to blanks."""
    for line in text.splitlines():
        if folded := " ".join(line.split()):
            return folded
    return ""
