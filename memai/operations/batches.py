"""How a stream of incoming memories is cut into what is merged together."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from memai.formats import Incoming
from memai.records import Memory, Relation

# Memories of one transaction, and characters of their texts, earlier ones included: whoever waits
# behind it waits for a fraction of a second. Batches of 500 cost 10 microseconds a memory more.
BATCH = 1000
_BATCH_CHARACTERS = 1_000_000
# Pages of Markdown, or memories on their way out, that are held together whatever their size.
_HELD = 500

Item = TypeVar("Item")


class Batch(NamedTuple):
    """What is merged in one transaction."""

    items: list[Incoming]
    relations: list[Relation]


def batches(items: Iterable[Incoming | Relation]) -> Iterator[Batch]:
    """Cut a stream into batches in which no two memories claim the same."""
    batch = Batch([], [])
    claimed: set[object] = set()
    room = _BATCH_CHARACTERS
    for item in items:
        claims = _claims(item.memory) if isinstance(item, Incoming) else set()
        full = len(batch.items) + len(batch.relations) == BATCH or room <= 0
        if full or not claimed.isdisjoint(claims):
            yield batch
            batch, claimed, room = Batch([], []), set(), _BATCH_CHARACTERS
        if isinstance(item, Incoming):
            batch.items.append(item)
            room -= len(item.memory.content)
            room -= sum(len(edit.before.get("content", "")) for edit in item.history)
        else:
            batch.relations.append(item)
        claimed |= claims
    if batch.items or batch.relations:
        yield batch


def _claims(memory: Memory) -> set[object]:
    """Return what no other memory of a store may have."""
    claims: set[object] = {memory.uid}
    if memory.key is not None:
        claims.add(("key", memory.key))
    if memory.origin is not None:
        claims.add(memory.origin)
    return claims


def handfuls(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Cut a stream into what is held in memory at a time."""
    stream = iter(items)
    while held := list(islice(stream, _HELD)):
        yield held
