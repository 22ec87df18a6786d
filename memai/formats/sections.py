"""Markdown cut at its headings."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NO_TITLE = re.compile(r"\s*(?:$|[-#*+>|]|```)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|[*_`]{1,3}")


class Section(NamedTuple):
    """The text below one heading, up to the next; `path` has the headings it stands under."""

    path: tuple[str, ...]
    text: str


def cut(text: str) -> Iterator[Section]:
    """Yield the sections of a text that say something themselves, in order.

    Headings in blocks of code are none. A heading with nothing below it but further headings is
    only part of their paths. The text before the first heading has an empty path.
    """
    path: list[tuple[int, str]] = []
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        inside = fence
        found = _FENCE.fullmatch(line)
        if found and not fence and "`" not in found[2]:
            fence = found[1]
        elif found and fence and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        heading = None if inside or fence else _heading(line, kept)
        if heading is None:
            kept.append(line)
            continue
        yield from _section(path, kept)
        level, title = heading
        path = [(above, name) for above, name in path if above < level]
        path.append((level, title))
        kept = []
    yield from _section(path, kept)


def _heading(line: str, before: list[str]) -> tuple[int, str] | None:
    """Return level and title if a line is a heading, or underlines the one before as such."""
    found = _HEADING.fullmatch(line)
    if found:
        return len(found[1]), plain(found[2] or "")
    under = _UNDERLINE.fullmatch(line)
    if under and before and _NO_TITLE.match(before[-1]) is None:
        # A paragraph of several lines above the underline is a paragraph all the same.
        alone = len(before) == 1 or not before[-2].strip()
        if alone:
            return 1 if under[1][0] == "=" else 2, plain(before.pop())
    return None


def _section(path: list[tuple[int, str]], lines: list[str]) -> Iterator[Section]:
    """Yield a section if it says anything."""
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Section(tuple(title for _, title in path if title), text.rstrip())


def plain(title: str) -> str:
    """Return a heading without links and emphasis."""
    return " ".join(_MARKUP.sub(lambda m: m[1] or m[2] or "", title).split())
