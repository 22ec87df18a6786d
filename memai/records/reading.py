"""What the operations that read and search answer."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    from memai.records.core import Edit, Memory


class Linked(NamedTuple):
    """A relation as seen from one of its ends, with the first line of the other."""

    direction: Literal["to", "from"]
    type: str
    uid: str
    first_line: str
    note: str | None
    agent: str
    created_at: str


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
