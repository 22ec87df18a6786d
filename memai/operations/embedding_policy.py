"""When and how memories are embedded: which text, by which model, and what if there is none."""

from __future__ import annotations

from memai import embedding, passages, text
from memai.embedding import NoModel
from memai.errors import Busy
from memai.lean import TYPE_CHECKING
from memai.records import Embedded, Passage, Space
from memai.store import SpaceChanged

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from memai.embedding import Embedder
    from memai.records import Memory
    from memai.store import Store

    Result = TypeVar("Result")
    Model = Embedder | NoModel

# Two ways to add up the same float32 vectors differ by 1e-6; another text by much more.
_ALIKE = 0.9999

_BATCH = 100

# What is embedded with a passage: the domain and the tags in front of it. Leaving such context
# out cost 10 points of nDCG on conversations, where it holds speaker and date.
RECIPE = f"passages-{passages.PASSAGES}+domain+tags"


def embedder(store: Store) -> Embedder | NoModel:
    """Return the model of the store's space, or why its vectors cannot be used now."""
    space = store.space()
    model = embedding.load(space.model if space else store.model())
    if isinstance(model, NoModel) or space is None:
        return model
    if (model.sha256, model.dim, RECIPE) != (space.sha256, space.dim, space.recipe):
        return NoModel(
            space.model,
            "the store's vectors were made by another version of it; run 'memai reembed'",
        )
    return model


def space_of(model: Embedder) -> Space:
    """Return the space this model's vectors live in, as memai cuts and embeds today."""
    return Space(model.name, model.sha256, model.dim, RECIPE)


def embed(model: Embedder | NoModel, memories: Sequence[Memory]) -> list[Embedded]:
    """Return the passages of each memory, with vectors if there is a model."""
    spans = [passages.passages(memory.content) for memory in memories]
    if isinstance(model, NoModel):
        return [Embedded(None, tuple(Passage(start, end) for start, end in cut)) for cut in spans]
    texts = [
        readable(_context(memory) + memory.content[start:end])
        for memory, cut in zip(memories, spans, strict=True)
        for start, end in cut
    ]
    read = iter(model.embed_passages(texts))
    space = space_of(model)
    return [Embedded(space, tuple(_passage(span, *next(read)) for span in cut)) for cut in spans]


def backfill(store: Store, pause: Callable[[], None]) -> int:
    """Embed the memories that have no vectors in the store's own space; return how many.

    For a server that has nothing else to do: `pause` is called between small batches, so that other
    writers get in between, and at the end the store is settled. Does nothing without its model.
    """
    model = embedder(store)
    if isinstance(model, NoModel):
        return 0
    space, done, last = space_of(model), 0, 0
    while batch := store.unembedded(space, _BATCH, last):
        embedded = embed(model, [memory for _, memory in batch])
        with store.writing():
            done += store.put_vectors(
                space, [(id, memory, e) for (id, memory), e in zip(batch, embedded, strict=True)]
            )
        last = batch[-1][0]
        pause()
    store.settle()
    return done


def readable(value: str) -> str:
    """Return a text as a model should read it: full-width letters and ligatures are letters."""
    return text.compose(value)


def _passage(span: tuple[int, int], vector: bytes | None, tokens: array[int]) -> Passage:
    """Return a passage as it is stored."""
    return Passage(*span, vector, tokens.tobytes())


def alike(one: Passage, other: Passage) -> bool:
    """Whether two embeddings of the same passage are the same but for how they were added up."""
    if one.embedding is None or other.embedding is None:
        return one == other
    near = embedding.similar(one.embedding, other.embedding) > _ALIKE
    return near and (one.start, one.end, one.tokens) == (other.start, other.end, other.tokens)


def _context(memory: Memory) -> str:
    """Return what stands in front of each passage when it is embedded."""
    words = ([memory.domain] if memory.domain else []) + list(memory.tags)
    return " ".join(words) + ": " if words else ""


def missing_model_note(model: Embedder | NoModel) -> list[str]:
    """Return the remark of a write that had to do without vectors."""
    if isinstance(model, NoModel):
        return [f"Stored without vectors: {model.reason}. Words still find it."]
    return []


def write(store: Store, act: Callable[[Embedder | NoModel], Result]) -> Result:
    """Run `act` until the store's space holds still; it embeds, then opens its transaction.

    Another process may switch the space between the two (SpaceChanged): then it is done again.
    """
    for _ in range(5):
        try:
            return act(embedder(store))
        except SpaceChanged:
            continue
    raise Busy(seconds=store.settings.busy_seconds)
