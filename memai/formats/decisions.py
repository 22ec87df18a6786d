"""Architecture decision records: which files are one, where they stand, what they replace.

Nygard's form says it in sections, MADR in front matter or a list at the top.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from memai.formats.foreign import line
from memai.formats.sections import Section, plain
from memai.text import fold

_FOLDERS = re.compile(
    r"(?:^|/)(?:adrs?|decisions?|architecture[-_]decisions?|decision[-_]records?)/", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?:^|/)(?:adr|d)?[-_ ]?(\d{1,5})(?:[-_. ][^/]*)?$", re.IGNORECASE)
_NAMED = re.compile(r"(?:^|/)adr[-_ ]?\d{1,5}\b[^/]*$", re.IGNORECASE)
_PARTS = frozenset(("context", "decision", "decision outcome", "consequences", "status"))
_STATUS_LINE = re.compile(
    r"^[ \t]*[-*]?[ \t]*\**status\**[ \t]*:\**[ \t]*(.+)$", re.IGNORECASE | re.MULTILINE
)
_WORD = re.compile(r"proposed|accepted|rejected|deprecated|superseded|draft|approved|implemented")
_BY = re.compile(r"supersed\w*\s+by\b(.*)|replaced\s+by\b(.*)", re.IGNORECASE | re.DOTALL)
_OLDER = re.compile(r"\b(?:supersedes|replaces)\b:?(.*)", re.IGNORECASE)
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)|\[\[([^\]|#]+)")
_NUMBER = re.compile(r"\b(?:adr|d)?[-_ #]?(\d{1,5})\b", re.IGNORECASE)
_TRIVIAL = frozenset(("status", "date", "deciders", "decision makers", "authors", "supersedes"))


def is_one(path: str, head: dict[str, Any], sections: tuple[Section, ...]) -> bool:
    """Whether a file is a decision record: by its place and name, or by its parts."""
    stem = path.rpartition(".")[0]
    if fold(stem.rpartition("/")[2]) in ("readme", "index", "template", "adr-template"):
        return False
    if _NAMED.search(stem) or (_FOLDERS.search(path) and _NUMBERED.search(stem)):
        return True
    parts = {fold(section.path[-1]) for section in sections if section.path}
    return len(parts & _PARTS) >= 3 or (bool(head.get("deciders")) and "status" in head)


def is_trivial(section: Section) -> bool:
    """Whether a section holds only what stands in the tags and relations anyway."""
    named = bool(section.path) and fold(section.path[-1]) in _TRIVIAL
    return named and len(section.text) < 300


def status(head: dict[str, Any], sections: tuple[Section, ...]) -> list[str]:
    """Return the word for where a decision stands, if it says so."""
    found = _WORD.search(fold(_told(head, sections)))
    return [found[0]] if found else []


def names(path: str) -> list[str]:
    """Return by what number the records beside a file speak of it."""
    folder, _, name = path.rpartition("/")
    number = _NUMBERED.search(name.rpartition(".")[0])
    return [f"{folder}/adr:{int(number[1])}"] if number else []


def superseded(
    path: str,
    head: dict[str, Any],
    sections: tuple[Section, ...],
    find: Callable[[str], list[str]],
    keys: list[str],
) -> Iterator[tuple[str, str]]:
    """Yield (key of what is replaced, key of what replaces it) as a record states it.

    The first section of the newer record stands for all of it; every section of the older is
    replaced.
    """
    told = _told(head, sections)
    by = _BY.search(told)
    if by:
        newer = _target(by[1] or by[2], path, find)
        for key in keys if newer else []:
            yield key, newer[0]
        told = told[: by.start()]
    listed = [line(head.get(name)) or "" for name in ("supersedes", "replaces")]
    parts = [s.text for s in sections if s.path and fold(s.path[-1]) in ("supersedes", "replaces")]
    after = [match[1] for match in _OLDER.finditer(told)]
    for text in (*listed, *parts, *after):
        for key in _target(text, path, find) if text else []:
            if key not in keys:
                yield key, keys[0]


def _told(head: dict[str, Any], sections: tuple[Section, ...]) -> str:
    """Return what a record says of its status."""
    given = head.get("status")
    if isinstance(given, list):
        given = " ".join(str(item) for item in given)
    if isinstance(given, str) and given:
        return given
    for section in sections:
        if section.path and fold(section.path[-1]) == "status":
            return section.text
    for section in sections[:2]:
        found = _STATUS_LINE.search(section.text)
        if found:
            return found[1]
    return ""


def _target(text: str, path: str, find: Callable[[str], list[str]]) -> list[str]:
    """Return the keys of the memories of the record that a text names, by link or number."""
    folder = path.rpartition("/")[0]
    link = _LINK.search(text)
    if link:
        name = (link[1] or link[2]).removeprefix("./").rpartition("/")[2]
        keys = find(fold(name.removesuffix(".md")))
        if keys:
            return keys
    for word in re.findall(r"[\w.-]{6,}", text):
        keys = find(fold(word.rstrip(".").removesuffix(".md")))
        if keys:
            return keys
    number = _NUMBER.search(plain(text))
    return find(fold(f"{folder}/adr:{int(number[1])}")) if number else []
