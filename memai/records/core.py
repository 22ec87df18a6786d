"""Records that every room knows: memories and what is kept with them."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Caller(NamedTuple):
    """Who is at the store: what a write is signed with, the domain at hand and where it is from.

    `remote` callers (MCP) may not name paths of this machine. `progress` hears of long work how
    much is done of how much, 0 where that is not known.
    """

    agent: str = "library"
    session: str | None = None
    domain: str | None = None
    remote: bool = False
    domain_from: str | None = None
    progress: Callable[[int, int], None] | None = None


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

    `created` is in microseconds since 1970, `beginning` are its first characters.
    """

    created: int
    confidence: str
    beginning: str


class Beginning(NamedTuple):
    """What tells a memory apart where many are offered: `text` are its first characters."""

    uid: str
    type: str
    current: bool
    text: str


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


class Known(NamedTuple):
    """What is here under the uids, keys and origins of some memories; `buried` was purged here."""

    uids: dict[str, Memory]
    keys: dict[str, Memory]
    origins: dict[Origin, Memory]
    buried: frozenset[str | Origin]


class Tombstone(NamedTuple):
    """What is left of a purged memory: its uid, when that was, a hash of its origin if any."""

    uid: str
    at: str
    origin_sha256: bytes | None


class Synced(NamedTuple):
    """What the page of a memory said when it was last synced, and what tells that it changed.

    `path` is below the folder, empty for a page that was deleted; `mtime` in nanoseconds; `said`
    is JSON.
    """

    uid: str
    path: str
    size: int
    mtime: int
    sha256: bytes
    said: str


_PLAIN = frozenset((str, int, float, bool, type(None)))


def to_json(value: Any) -> Any:
    """Turn a record into what `json` can write: named tuples become objects, tuples lists."""
    if isinstance(value, tuple | list):
        # Here and below: a call for each text and number would take as long again.
        items = [item if type(item) in _PLAIN else to_json(item) for item in value]
        fields: tuple[str, ...] | None = getattr(value, "_fields", None)
        return items if fields is None else dict(zip(fields, items, strict=True))
    if isinstance(value, dict):
        return {key: item if type(item) in _PLAIN else to_json(item) for key, item in value.items()}
    return value
