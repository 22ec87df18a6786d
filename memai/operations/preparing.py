"""What is made of memories before they are kept, one batch ahead in a second process.

It is what takes half of the time of an import: passages, vectors, rows and their checksums. All of
it follows from the memory and the model alone, so it may be made of memories that in the end are
kept otherwise or not at all; then it is not used.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, NamedTuple

from memai import embedding
from memai.embedding import NoModel
from memai.errors import MemaiError
from memai.formats import Incoming
from memai.helper import Helper
from memai.operations import embedding_policy
from memai.operations.batches import Batch
from memai.operations.spelling import POLICY, placed
from memai.records import Embedded, Memory, Passage, Relation, Space
from memai.store import Store

# Sources from this size are worth a second process: about 5,000 memories of 300 characters.
_LARGE_BYTES = 3_000_000
# Fewer new memories of a batch are as quickly made here; so many say of a source what it holds.
_SEVERAL = 100


class Made(NamedTuple):
    """What was made of a memory: its passages, and what the engine keeps of it."""

    memory: Memory
    embedded: Embedded
    encoded: Any


Prepared = dict[str, Made]


class Preparing:
    """Makes what can be made of the memories of one import."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._helper = Helper()
        self._asked: list[Memory] = []
        self._model = ""

    def close(self) -> None:
        """End the second process."""
        self._helper.close()

    def watched(
        self, items: Iterator[Incoming | Relation], size: int
    ) -> Iterator[Incoming | Relation]:
        """Return what is read of a source of so many bytes; start if it will be worth it."""
        if size < _LARGE_BYTES:
            return items
        first = list(islice(items, _SEVERAL))
        self.expect(first)
        return chain(first, items)

    def expect(self, first: Iterable[Incoming | Relation]) -> None:
        """Start if what a large source begins with is new here, and not imported again."""
        uids = {item.memory.uid for item in first if isinstance(item, Incoming)}
        if 2 * len(self._store.present(uids)) < len(uids) and not self._helper.present:
            self._start()

    def ahead(self, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Prepared]]:
        """Yield each batch with what was made of it, when the next one is being made."""
        stream = iter(batches)
        before: Batch | None = None
        while True:
            try:
                batch = next(stream, None)
            except Exception:
                if before is not None:  # what came before the error is kept, as ever
                    yield before, self._made()
                raise
            made = self._made()
            if batch is not None and self._helper.present:
                self._make(batch)
            if before is not None:
                yield before, made
            if batch is None:
                return
            before = batch

    def _start(self) -> None:
        """Start the second process, and let it load the model while the source is read."""
        from memai.embedding.static import Static

        with suppress(MemaiError):  # what is wrong with the store is said by who needs it
            model = embedding_policy.embedder(self._store)
            # A foreign one may be large, or ask the network: it is not loaded twice.
            if isinstance(model, Static):
                self._model = model.name
                self._helper.start()
                self._helper.ask(_get_ready, model.name)

    def _make(self, batch: Batch) -> None:
        """Begin with what is new in a batch."""
        memories = [item.memory for item in spelled(self._store, batch.items)]
        present = self._store.present({memory.uid for memory in memories})
        self._asked = [memory for memory in memories if memory.uid not in present]
        if len(self._asked) >= _SEVERAL:
            plain = [tuple(memory) for memory in self._asked]
            self._helper.ask(_embed_and_encode, self._model, self._store.encode, plain)

    def _made(self) -> Prepared:
        """Return what was begun last, by uid; nothing where the second process is lost."""
        answer = self._helper.answer()
        if answer is None:
            return {}
        space, made = answer
        return {
            memory.uid: Made(memory, Embedded(space, tuple(map(Passage._make, cut))), encoded)
            for memory, (cut, encoded) in zip(self._asked, made, strict=True)
        }


def fitting(prepared: Prepared, memories: Iterable[Memory]) -> Prepared:
    """Return what was made of just these memories, as they are."""
    return {
        memory.uid: prepared[memory.uid]
        for memory in memories
        if memory.uid in prepared and prepared[memory.uid].memory == memory
    }


def spelled(store: Store, batch: Sequence[Incoming]) -> list[Incoming]:
    """Return memories with the domains of foreign ones spelled as they are here."""
    spelling = store.meta(POLICY)
    return [
        item._replace(memory=placed(item.memory, spelling)) if item.kind == "foreign" else item
        for item in batch
    ]


# --- in the second process ----------------------------------------------------------------------


def _get_ready(model: str) -> None:
    """Load a model with all that a bulk needs."""
    from memai.embedding.static import BULK_CHARACTERS

    loaded = embedding.load(model)
    if not isinstance(loaded, NoModel):
        loaded.embed_passages([" " * BULK_CHARACTERS])


def _embed_and_encode(
    model: str, encode: Callable[[Memory], object], memories: Sequence[tuple[Any, ...]]
) -> tuple[Space | None, list[tuple[list[tuple[Any, ...]], object]]]:
    """Return the space, and of each memory its passages and what the engine keeps of it.

    As plain tuples, which are pickled in a quarter of the time.
    """
    whole = [Memory._make(memory) for memory in memories]
    embedded = embedding_policy.embed(embedding.load(model), whole)
    return embedded[0].space, [
        ([tuple(passage) for passage in one.passages], encode(memory))
        for memory, one in zip(whole, embedded, strict=True)
    ]
