"""What the operations that look after the store answer, and what moves memories about."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    from memai.records.core import Space


class Finding(NamedTuple):
    """One thing doctor saw; damage and problem need a person, advice may be ignored."""

    level: Literal["damage", "problem", "advice"]
    code: str
    message: str
    fix: str | None = None


class Health(NamedTuple):
    """What doctor answers; `ok` is false when a finding needs a person."""

    ok: bool
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def needs_person(self) -> bool:
        """Whether the exit code says so."""
        return not self.ok


class Backup(NamedTuple):
    """A copy of a store on disk and what is known of it.

    `verified_at` is when every byte of it was last read and found good; `memories`, `schema` and
    `sha256` come from the manifest beside it; `store` says of which store it is.
    """

    path: str
    created_at: str
    verified_at: str | None
    bytes: int
    memories: int | None
    schema: int | None
    store: str | None
    sha256: str | None
    state: Literal["verified", "unverified", "altered", "damaged"]
    reason: str | None = None


class BackedUp(NamedTuple):
    """What backup answers; `removed` are the older backups that it replaced."""

    path: str
    sha256: str
    memories: int
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Backups(NamedTuple):
    """What backups answers, newest first."""

    backups: tuple[Backup, ...]
    notes: tuple[str, ...] = ()

    @property
    def needs_person(self) -> bool:
        """Whether the exit code says so."""
        return any(backup.state in ("altered", "damaged") for backup in self.backups)


class Recovered(NamedTuple):
    """What recover answers: counts of memories, and where the store as it was is kept.

    `back` are in the backup only, `gone` in the store only, `changed` differ; `buried` are in the
    backup but were purged since, and stay purged.
    """

    path: str
    backup: str
    safety: str | None
    memories: int
    back: int
    gone: int
    changed: int
    buried: int
    notes: tuple[str, ...] = ()


class Reembedded(NamedTuple):
    """What reembed answers."""

    model: str
    memories: int
    passages: int
    notes: tuple[str, ...] = ()


class Counts(NamedTuple):
    """What an engine counts for stats; `indexed` memories are found by their words."""

    memories: int
    by_type: dict[str, int]
    by_status: dict[str, int]
    by_confidence: dict[str, int]
    by_domain: dict[str, int]
    superseded: int
    relations: int
    edits: int
    passages: int
    indexed: int
    without_vectors: int
    bytes: int
    wal_bytes: int


class Stats(NamedTuple):
    """What stats answers: where the store is, what it holds, how it is."""

    path: str
    exists: bool
    domain: str | None
    model: str
    space: Space | None
    schema: int
    counts: Counts
    last_backup: str | None
    notes: tuple[str, ...] = ()


class Saved(NamedTuple):
    """What an export to a file or folder answers."""

    path: str
    memories: int
    files: int
    notes: tuple[str, ...] = ()


class Change(NamedTuple):
    """What an import or sync does with one memory, and where it was read."""

    uid: str
    what: Literal["new", "changed", "conflict"]
    place: str
    first_line: str
    why: str | None = None


class Fault(NamedTuple):
    """Something that could not be read or kept, and where it stands."""

    place: str
    reason: str


class Imported(NamedTuple):
    """What import and sync answer; `changes` is listed by a dry run."""

    new: int
    changed: int
    same: int
    conflicts: tuple[Change, ...]
    errors: tuple[Fault, ...]
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def needs_person(self) -> bool:
        """Whether the exit code says so."""
        return bool(self.conflicts or self.errors)
