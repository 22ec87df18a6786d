"""What crosses rooms: immutable records whose fields are the keys of every answer.

Named tuples, not dataclasses: at start-up a class costs 0.15 ms instead of 0.8 ms, and twenty of
them are made on every command. Times are ISO 8601 in UTC with microseconds, offsets count
characters, sizes count bytes unless a name says otherwise.
"""

from typing import Any, Literal, NamedTuple


class Caller(NamedTuple):
    """Who is at the store: what a write is signed with, and the domain at hand.

    `remote` callers (MCP) may not name paths of this machine.
    """

    agent: str = "library"
    session: str | None = None
    domain: str | None = None
    remote: bool = False


class Origin(NamedTuple):
    """Where an imported memory had its home: a system and the key it has there."""

    system: str
    key: str


class Memory(NamedTuple):
    """One remembered text with all that is known of it."""

    uid: str
    type: str
    domain: str | None
    session: str | None
    tags: tuple[str, ...]
    status: str
    confidence: str
    content: str
    agent: str
    source: str | None
    key: str | None
    origin: Origin | None
    created_at: str
    updated_at: str
    version: int
    extra: dict[str, Any]
    superseded_by: tuple[str, ...] = ()

    @property
    def current(self) -> bool:
        """Whether lists and searches show it by default."""
        return self.status == "active" and not self.superseded_by


class Edit(NamedTuple):
    """One change of a memory: the version it ended, and the fields as they were in it."""

    version: int
    at: str
    agent: str
    reason: str | None
    before: dict[str, Any]


class Relation(NamedTuple):
    """A typed edge from one memory to another; one that was taken away says when."""

    from_uid: str
    type: str
    to_uid: str
    note: str | None
    agent: str
    created_at: str
    removed_at: str | None = None


class Linked(NamedTuple):
    """A relation as seen from one of its ends, with the first line of the other."""

    direction: Literal["to", "from"]
    type: str
    uid: str
    first_line: str
    note: str | None
    agent: str
    created_at: str


class Space(NamedTuple):
    """One embedding space: whose vectors can be compared with whose."""

    model: str
    sha256: str
    dim: int
    recipe: str


class Passage(NamedTuple):
    """A stretch of a text with its vector (unit length, float32, little-endian) and token ids.

    `embedding` is None where the model knows nothing of the stretch.
    """

    start: int
    end: int
    embedding: bytes | None = None
    tokens: bytes = b""


class Embedded(NamedTuple):
    """The passages of a memory as one space sees them; without a space they have no vectors."""

    space: Space | None
    passages: tuple[Passage, ...]


class Scored(NamedTuple):
    """A candidate of one route: the engine's id of the memory, its score, its best passage."""

    id: int
    score: float
    start: int = 0
    end: int = 0


class Glance(NamedTuple):
    """What the order of hits needs to know of a memory without reading it.

    `beginning` are its first characters.
    """

    created_at: str
    confidence: str
    beginning: str


class Where(NamedTuple):
    """A filter, exact on every route. None and () mean "any"; domain '-' means "none"."""

    domain: str | None = None
    type: str | None = None
    session: str | None = None
    tags: tuple[str, ...] = ()
    status: str | None = None
    since: str | None = None
    until: str | None = None
    current: bool = True


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


class Hit(NamedTuple):
    """A memory found by search, with the passage that matched and why it is where it is."""

    uid: str
    type: str
    domain: str | None
    tags: tuple[str, ...]
    status: str
    confidence: str
    agent: str
    source: str | None
    created_at: str
    updated_at: str
    snippet: str
    span: tuple[int, int]
    marks: tuple[tuple[int, int], ...]
    content_chars: int
    match_source: Literal["fts", "vec", "both"]
    routes: tuple[str, ...]
    score: float
    scores: dict[str, float]


class Found(NamedTuple):
    """What search answers; `close` is false when even the best hit is weak."""

    truncated: bool
    close: bool
    hits: tuple[Hit, ...]
    next: str | None
    notes: tuple[str, ...] = ()


class Listed(NamedTuple):
    """What list answers, newest first."""

    truncated: bool
    memories: tuple[Memory, ...]
    next: str | None
    notes: tuple[str, ...] = ()


class Head(NamedTuple):
    """The beginning of a passage, for finding one's way in a long text."""

    start: int
    end: int
    first_line: str


class Shown(NamedTuple):
    """What show answers: the memory whole, every earlier version, every relation.

    Where a part was asked for, or an answer may not be larger, `next` is the span that follows.
    """

    truncated: bool
    memory: Memory
    history: tuple[Edit, ...]
    relations: tuple[Linked, ...]
    outline: tuple[Head, ...] = ()
    next: str | None = None
    notes: tuple[str, ...] = ()


class Related(NamedTuple):
    """What relations answers."""

    uid: str
    relations: tuple[Linked, ...]
    notes: tuple[str, ...] = ()


class Digest(NamedTuple):
    """A memory shortened for pulse."""

    uid: str
    domain: str | None
    created_at: str
    agent: str
    source: str | None
    confidence: str
    text: str
    content_chars: int


class Omitted(NamedTuple):
    """How many memories pulse left out, and how to read them."""

    handoffs: int
    anti_patterns: int
    recent_notes: int
    hint: str


class LatestCheckpoint(NamedTuple):
    """The newest checkpoint in full, with its relations."""

    memory: Memory
    relations: tuple[Linked, ...]


class Pulse(NamedTuple):
    """Where work stands, by time only."""

    domain: str | None
    latest_checkpoint: LatestCheckpoint | None
    handoffs: tuple[Digest, ...]
    anti_patterns: tuple[Digest, ...]
    recent_notes: tuple[Digest, ...]
    omitted: Omitted
    notes: tuple[str, ...] = ()


class DomainCount(NamedTuple):
    """A domain with what it holds; `spellings` has more than one entry where writers differ."""

    domain: str | None
    memories: int
    current: int
    latest_at: str
    spellings: tuple[str, ...] = ()


class Domains(NamedTuple):
    """What domains answers."""

    domains: tuple[DomainCount, ...]
    notes: tuple[str, ...] = ()


class Pair(NamedTuple):
    """Two memories that likely say the same."""

    uid: str
    other: str
    score: float
    method: Literal["identical", "meaning", "words"]
    why: str
    first_line: str
    other_first_line: str


class Duplicates(NamedTuple):
    """What duplicates answers, likeliest first."""

    truncated: bool
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...] = ()


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


class Exported(NamedTuple):
    """One line of an export: every field of a memory, with its history and relations."""

    memory: Memory
    history: tuple[Edit, ...]
    relations: tuple[Relation, ...]


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


def to_json(value: Any) -> Any:
    """Turn a record into what `json` can write: named tuples become objects, tuples lists."""
    if isinstance(value, tuple):
        fields: tuple[str, ...] | None = getattr(value, "_fields", None)
        if fields is not None:
            return {name: to_json(item) for name, item in zip(fields, value, strict=True)}
        return [to_json(item) for item in value]
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return value
