"""What an engine that keeps memories must do.

The protocol speaks in records and knows no SQL: SQLite implements it now, and another engine can
stand beside it. Everything an engine is asked within one `writing()` block is kept together or not
at all. Reads see what is committed, or inside `writing()` what the block has done so far.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memai.queries import Clause, WordQuery
from memai.records import (
    Backup,
    Beginning,
    Caller,
    Counts,
    DomainCount,
    Edit,
    Embedded,
    Finding,
    Glance,
    Known,
    Memory,
    Origin,
    Recovered,
    Relation,
    Scored,
    Space,
    Synced,
    Tombstone,
    Where,
)
from memai.settings import Settings

Progress = Callable[[int, int], None]  # (done, of how many)


class Store(Protocol):
    """A place where memories are kept; one per thread."""

    caller: Caller
    settings: Settings

    def close(self) -> None:
        """Let go of the store. It must not be used afterwards."""

    def exists(self) -> bool:
        """Whether anything was ever written."""

    def reading(self) -> AbstractContextManager[None]:
        """See one state of the store throughout, whatever others write; only within a call."""

    def writing(self) -> AbstractContextManager[None]:
        """Open the one transaction of a write; waits in line for other writers.

        Creates the store if there is none. Raises Busy, NoSpace, NotWritable, Damaged.
        """

    # --- memories -----------------------------------------------------------------------------

    def resolve(self, uid: str) -> str:
        """Return the whole uid for a unique beginning; raises NoSuchMemory, AmbiguousUid."""

    def get(self, uid: str) -> Memory:
        """Return the memory with this whole uid; raises NoSuchMemory."""

    def find(self, uid: str) -> Memory | None:
        """Return the memory with this whole uid, or None."""

    def memories(self, ids: Sequence[int]) -> dict[int, Memory]:
        """Return the memories with these engine ids."""

    def page(self, where: Where, limit: int, after: str | None = None) -> list[Memory]:
        """Return up to `limit` memories, newest first, after the memory with uid `after`."""

    def beginnings(self, where: Where, begins: str, depth: int) -> list[Beginning]:
        """Return those of the `depth` newest memories whose uid begins so, newest first."""

    def count(self, where: Where) -> int:
        """Return how many memories are in this filter."""

    def count_types(self, where: Where, types: Sequence[str]) -> list[int]:
        """Return how many memories of each of these types are in this filter."""

    def with_key(self, key: str) -> Memory | None:
        """Return the memory that was written with this caller's key."""

    def same(self, memory: Memory) -> Memory | None:
        """Return a current memory of the same type, domain and content."""

    def insert(self, memory: Memory, embedded: Embedded) -> None:
        """Add a memory with its passages; raises SpaceChanged."""

    def change(self, memory: Memory, edit: Edit, embedded: Embedded | None) -> None:
        """Replace a memory's fields and append the edit; new passages if given."""

    def remove(self, uid: str, at: str) -> None:
        """Remove a memory with all that hangs on it, and leave a tombstone."""

    def erase_traces(self) -> bool:
        """Make removed bytes leave the disk; false while a reader still holds them."""

    def settle(self) -> None:
        """Make it quick to open and to search after a bulk; nothing is lost without it."""

    def erasing_since(self) -> str | None:
        """Return since when removed bytes wait to leave the disk, None if none do."""

    def buried(self, uid: str, origin: Origin | None = None) -> bool:
        """Whether a memory with this uid, or from this origin, was purged here."""

    def history(self, uid: str) -> list[Edit]:
        """Return the edits of a memory, oldest first."""

    # --- relations ----------------------------------------------------------------------------

    def relate(self, relation: Relation, *, replace: bool = False) -> bool:
        """Keep a relation; false if it is there already (it then stays as it is).

        With `replace` it takes the place of what is known of this relation, also a removal.
        """

    def unrelate(self, from_uid: str, type: str, to_uid: str, at: str) -> Relation | None:
        """Take a relation away and return it, or None if there was none.

        It is remembered with its time, so that merging stores does not revive it.
        """

    def relations(self, uid: str, *, removed: bool = False) -> list[Relation]:
        """Return the relations from and to a memory, oldest first; `removed` adds past ones."""

    # --- search -------------------------------------------------------------------------------

    def by_words(
        self, query: WordQuery, where: Where, limit: int, excluded: Sequence[Clause] = ()
    ) -> list[Scored]:
        """Return the best memories by BM25 (higher is better), best first, ties by id."""

    def too_common(self, query: WordQuery, where: Where) -> list[Clause]:
        """Return those clauses that so many memories hold that ranking by them takes too long.

        The rarest always stays, and what must occur.
        """

    def by_substring(self, pieces: Sequence[str], where: Where, limit: int) -> list[Scored]:
        """Return memories whose text holds these pieces, scored by the share of pieces held."""

    def missing(self, clauses: Sequence[Clause]) -> list[Clause]:
        """Return those of some clauses that no memory holds."""

    def spellings(self, word: str) -> list[list[str]]:
        """Return the words one letter away from a word of a to z that some memory holds.

        Grouped by the stem they are indexed by: those of a group find the same.
        """

    def by_meaning(self, vector: bytes, where: Where, limit: int) -> list[Scored]:
        """Return memories by the cosine of their best passage, best first, exact, ties by id."""

    def by_both(
        self,
        query: WordQuery,
        vector: bytes | None,
        where: Where,
        limit: int,
        excluded: Sequence[Clause] = (),
    ) -> tuple[list[Scored], list[Scored]]:
        """Return what `by_words` and `by_meaning` do, which together may take less time.

        Nothing is found by meaning without a vector.
        """

    def closest(self, vector: bytes, ids: Sequence[int]) -> dict[int, Scored]:
        """Return the best passage of each of these memories with its cosine."""

    def first_vectors(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the vector of the first passage of each of these memories that has one."""

    def cosines(
        self, rows: tuple[bytes, ...], among: tuple[bytes, ...], at_least: float
    ) -> list[tuple[int, int, float]] | None:
        """Return (row, other, cosine) for the int8 vectors whose cosine is at least that.

        None for an engine that cannot compare vectors by itself.
        """

    def glances(self, ids: Sequence[int]) -> dict[int, Glance]:
        """Return what ordering needs to know of each of these memories."""

    def neighbours(self, ids: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """Return which active memory of the same session comes right before and after each memory.

        In the order of their times; what has no session is left out.
        """

    def tokens(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the uint16 token ids of each memory that has some, passage after passage."""

    def matches(self, ids: Sequence[int], clauses: Sequence[Clause]) -> set[int]:
        """Return those of the memories that hold at least one of these clauses."""

    def vectors(self, where: Where) -> Iterator[tuple[int, bytes]]:
        """Yield (engine id, vector) of the passages of the memories in this filter, by id."""

    def contents(self, where: Where) -> Iterator[tuple[int, str, str | None, str]]:
        """Yield (engine id, type, folded domain, content) of what is in this filter, by id."""

    # --- overview -----------------------------------------------------------------------------

    def domains(self) -> list[DomainCount]:
        """Return every domain with its counts, latest activity first."""

    def counts(self) -> Counts:
        """Count what there is."""

    def schema_version(self) -> int:
        """Return the version of the store's schema (0 for none)."""

    def export(self, where: Where) -> Iterator[tuple[Memory, list[Edit], list[Relation]]]:
        """Yield every memory of the filter with its history and outgoing relations, by uid."""

    # --- exchange with other stores and forms -------------------------------------------------

    def known(self, memories: Sequence[Memory]) -> Known:
        """Return what is here under the uids, keys and origins of some memories."""

    def present(self, uids: set[str]) -> set[str]:
        """Return which of these uids there are."""

    def relation(self, from_uid: str, type: str, to_uid: str) -> Relation | None:
        """Return what is known of one relation, also that it was taken away."""

    @staticmethod
    def encode(memory: Memory) -> object:
        """Return what the engine keeps of a memory in a form of its own, for `adopt`.

        It may be called in another process.
        """

    def adopt(
        self,
        memories: Sequence[tuple[Memory, Sequence[Edit], Embedded | None]],
        encoded: Mapping[str, object] = ...,
    ) -> None:
        """Keep memories with their whole histories, new or in place of ours; raises SpaceChanged.

        Where no passages are given they stay as they are. `encoded` is what `encode` gave, by uid,
        for those of which it was made already.
        """

    def tombstones(self) -> Iterator[Tombstone]:
        """Yield what was purged here, by uid."""

    def bury(self, tombstone: Tombstone) -> bool:
        """Purge what another copy of this store purged; return whether it was here."""

    def synced(self, folder: str) -> Iterator[Synced]:
        """Yield what is remembered of the pages in a folder."""

    def put_synced(self, folder: str, pages: Sequence[Synced]) -> None:
        """Remember what pages said; those of memories that are gone are left out."""

    def pages_of(self, uid: str) -> list[str]:
        """Return the paths of the pages of a memory in all folders."""

    def other(self, path: str) -> AbstractContextManager["Store"]:
        """Open another store of this kind for reading, after its schema and rows were checked.

        Raises UsageError if it is this store, ForeignFile, NewerStore, Damaged.
        """

    def passages_of(self, uids: Sequence[str]) -> dict[str, Embedded]:
        """Return the passages of memories as the store's space sees them."""

    # --- space --------------------------------------------------------------------------------

    def model(self) -> str:
        """Return the name of the model this store wants."""

    def space(self) -> Space | None:
        """Return the store's embedding space, None while no vector was ever made."""

    def unembedded(self, space: Space, limit: int, after: int = 0) -> list[tuple[int, Memory]]:
        """Return memories that have no vectors in this space, by engine id, after one."""

    def embedded(self, limit: int, after: int = 0) -> list[tuple[int, Memory, Embedded]]:
        """Return memories with what is kept of them in the store's space, by engine id."""

    def put_vectors(self, space: Space, memories: Sequence[tuple[int, Memory, Embedded]]) -> int:
        """Add the vectors of memories that are still at that version; return how many."""

    def put_passages(self, memories: Sequence[tuple[int, Memory, Embedded]]) -> int:
        """Replace passages and vectors of memories still at that version; return how many."""

    def switch_space(self, space: Space) -> bool:
        """Make this the store's space; false while vectors are missing."""

    def clear_spaces(self, limit: int, after: int = 0) -> int:
        """Drop what other spaces keep of up to `limit` passages, by engine id, after one.

        Returns where to go on, 0 at the end.
        """

    # --- upkeep -------------------------------------------------------------------------------

    def check(self, *, deep: bool, progress: Progress | None = None) -> list[Finding]:
        """Look for damage; `deep` reads every byte."""

    def surroundings(self) -> list[Finding]:
        """Look at what the store lies on and runs with: engine, files, log, other processes."""

    def rebuild(self) -> None:
        """Make the word indexes and all else that is derived again, also from under damage.

        In transactions of its own.
        """

    def forget_vectors(self) -> None:
        """Drop every passage and vector, also from under damage. In transactions of its own."""

    def compact(self) -> tuple[int, int]:
        """Give unused space back; return the bytes on disk before and after."""

    def copy(
        self, target: str, progress: Progress | None = None, *, verified: bool = True
    ) -> Backup:
        """Write a copy of the store to a new file, verified unless told otherwise.

        Raises Damaged, NoSpace, NotWritable.
        """

    def inspect(self, path: str, *, deep: bool) -> Backup:
        """Return what is known of a copy; `deep` reads every byte of it again."""

    def holds(self, path: str, uids: Sequence[str]) -> list[str]:
        """Return those of the memories that a copy holds."""

    def recover(self, path: str, safety: str | None) -> Recovered:
        """Put a copy in the place of what the store holds, at once or not at all.

        `safety` is the file that the store as it is now is copied to first; without it nothing is
        changed and the answer says what would be.
        """

    def meta(self, name: str) -> str | None:
        """Return a remark the store keeps about itself."""

    def set_meta(self, name: str, value: str | None) -> None:
        """Keep a remark about the store; None takes it away."""
