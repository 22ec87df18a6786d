"""Which memories likely say the same."""

from collections.abc import Iterator
from typing import Literal

from memai import likeness
from memai.embedding import NoModel
from memai.operations import checking, embedding_policy
from memai.operations.budget import first_line, fitting
from memai.records import Duplicates, Memory, Pair, Where
from memai.store import Store
from memai.vocabulary import ANSWER_BYTES, Domain, Here, Limit, MaxBytes, Threshold, Type


def duplicates(
    store: Store,
    *,
    domain: Domain | None = None,
    here: Here = False,
    type: Type | None = None,
    threshold: Threshold = 0.9,
    limit: Limit = 50,
    max_bytes: MaxBytes = ANSWER_BYTES,
) -> Duplicates:
    """List pairs of memories that likely say the same, likeliest first.

    By meaning, or by words where there are no vectors; each pair names its method and score.
    Checkpoints of one domain are a timeline and no duplicates.
    """
    where = checking.where(store.caller, domain=domain, here=here, type=type)
    model = embedding_policy.embedder(store)
    notes = [] if not isinstance(model, NoModel) else [f"By words only: {model.reason}."]
    found = _pairs([m for m in _all(store, where) if m.type != "checkpoint"], threshold)
    found.sort(key=lambda pair: (-pair.score, pair.uid, pair.other))
    kept = fitting(found[:limit], max_bytes)
    return Duplicates(len(kept) < len(found), tuple(kept), tuple(notes))


def _all(store: Store, where: Where) -> Iterator[Memory]:
    """Yield every memory of a filter, newest first."""
    after = None
    while page := store.page(where, 500, after):
        yield from page
        after = page[-1].uid


def _pairs(memories: list[Memory], threshold: float) -> list[Pair]:
    """Compare each memory with the nearest others."""
    found: dict[tuple[str, str], Pair] = {}
    for memory in memories:
        for other in memories:
            if memory.uid < other.uid:
                score = likeness.similarity(memory.content, other.content)
                if score >= threshold:
                    found[memory.uid, other.uid] = _pair(memory, other, score, "words")
    return list(found.values())


def _pair(
    one: Memory, other: Memory, score: float, method: Literal["identical", "meaning", "words"]
) -> Pair:
    """Describe a pair, older memory first."""
    first, second = sorted((one, other), key=lambda m: (m.created_at, m.uid))
    return Pair(
        first.uid,
        second.uid,
        round(score, 4),
        method,
        "the same words in the same order" if method == "words" else "the same meaning",
        first_line(first.content),
        first_line(second.content),
    )
