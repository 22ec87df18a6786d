"""What the operations that write and curate answer."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from memai.records.core import Memory, Relation


class Written(NamedTuple):
    """What a writer answers; `created` is false when the memory was already there."""

    uid: str
    created: bool
    memory: Memory
    notes: tuple[str, ...] = ()


class Changed(NamedTuple):
    """What a change of several memories answers."""

    uids: tuple[str, ...]
    memories: tuple[Memory, ...]
    notes: tuple[str, ...] = ()


class Connected(NamedTuple):
    """What link and unlink answer."""

    relation: Relation
    created: bool
    notes: tuple[str, ...] = ()


class FieldChange(NamedTuple):
    """How one field changed; of a text `diff` has the lines that differ, after + and -."""

    field: str
    before: Any
    after: Any
    diff: str | None


class Version(NamedTuple):
    """One version of a memory: who made it when and why, and what it changed."""

    version: int
    at: str
    agent: str
    reason: str | None
    changes: tuple[FieldChange, ...]
    content_chars: int


class History(NamedTuple):
    """What history answers, newest version first."""

    uid: str
    versions: tuple[Version, ...]
    notes: tuple[str, ...] = ()


class Purged(NamedTuple):
    """What purge answers.

    `removed` is false in a dry run, `erased` while a reader still holds the bytes on disk.
    `backups` are those that still hold the memory, or that cannot be read and may.
    """

    uid: str
    removed: bool
    erased: bool
    backups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Renamed(NamedTuple):
    """What the operations on domains answer; `uids` names the first hundred memories moved."""

    domain: str
    new: str
    memories: int
    uids: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Spelling(NamedTuple):
    """How the store spells domains, and which domains there are in another spelling."""

    policy: str
    otherwise: tuple[str, ...]
    notes: tuple[str, ...] = ()
