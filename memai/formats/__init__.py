"""Forms in which memories come and go: each turns bytes into what may be kept, and knows no store.

What comes in is somebody else's data: every reader checks types, sizes and words, and says which
line is wrong.
"""

from typing import Any, NamedTuple

from memai.records import Edit, Memory, Relation


class Broken(Exception):
    """A line or file that cannot be read; its text says why."""


class Incoming(NamedTuple):
    """One memory on its way in.

    `place` is where it was read (a line, a file); `own` is true for memai's own form, which is
    taken with uid and history as it is, false for foreign ones, which are known by their origin.
    `relations` go from this memory; foreign ones name the other end by its origin key.
    """

    place: str
    memory: Memory
    history: tuple[Edit, ...] = ()
    relations: tuple[Relation, ...] = ()
    own: bool = True
    vectors: dict[str, Any] | None = None
