"""How much an answer may hold, and how the next one goes on."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING
from memai.limits import UNBOUNDED
from memai.records import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    Item = TypeVar("Item")


# What writes JSON, once it was needed: `json.dumps` makes one each time, and functools, which would
# remember it, is not imported by a list.
_encode: list[Callable[[Any], str]] = []


def size(record: Any) -> int:
    """Return the bytes a record takes as JSON, as both faces send it."""
    if not _encode:
        import json

        _encode.append(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode)
    return len(_encode[0](to_json(record)).encode()) + 1


# Bytes that a cursor in place of none adds to an answer: the quotes and ten characters for `null`.
_CURSOR = 8


def fitting(
    items: Iterable[Item], budget: int, around: Any = None, *, short: bool = False
) -> list[Item]:
    """Return the first items that fit together, and with the answer without them that is `around`.

    The first always does. Where each is `short` they are measured together at first, which takes
    half the time.
    """
    if budget >= UNBOUNDED:
        return list(items)
    if around is not None:
        budget -= size(around) + _CURSOR
    if short:
        items = list(items)
        if size(items) <= budget:
            return items
    kept: list[Item] = []
    left = budget
    for item in items:
        left -= size(item)
        if left < 0 and kept:
            break
        kept.append(item)
    return kept


def shortened(content: str, most: int) -> str:
    """Return a text cut at a word to about `most` characters, with a sign that it was cut."""
    if len(content) <= most:
        return content
    cut = content[: max(most - 1, 1)]
    blank = cut.rfind(" ", most // 2)
    return (cut[:blank] if blank > 0 else cut).rstrip() + "…"


def first_line(content: str, most: int = 120) -> str:
    """Return the first line that is not blank, its white space folded, cut to `most`."""
    for line in content.splitlines():
        folded = " ".join(line.split())
        if folded:
            return shortened(folded, most)
    return ""
