"""Stores to measure with: texts of about 300 characters, domains, tags, sessions and history.

Made once for each size and kept for the next run: `store(folder, 100_000)`.
"""

import random
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path

from memai import open_store, when
from memai.operations import checking, embedding_policy
from memai.records import Caller, Edit, Memory

_DAY = 86_400_000_000
_COMMON = (
    "the of to a in is for and that it was on with as this by be from not are when which only after"
).split()


def store(folder: str, memories: int) -> tuple[str, str]:
    """Return the path of a store of this size and the uid of one of its memories."""
    path, done = Path(folder, f"{memories}.db"), Path(folder, f"{memories}.uid")
    if not done.exists():
        for left in Path(folder).glob(f"{memories}.db*"):
            left.unlink()
        done.write_text(_fill(str(path), memories))
    return str(path), done.read_text()


def _fill(path: str, number: int) -> str:
    """Fill a store; return the uid of one of its memories, neither old nor new."""
    opened = open_store(path, caller=Caller(agent="bench"))
    model = embedding_policy.embedder(opened)
    left, uid = memories(number), ""
    while batch := list(islice(left, 1000)):
        embedded = embedding_policy.embed(model, [memory for memory, _ in batch])
        with opened.writing():
            opened.adopt([(*known, e) for known, e in zip(batch, embedded, strict=True)])
        uid = uid or batch[len(batch) // 2][0].uid
    opened.close()
    return uid


def memories(number: int) -> Iterator[tuple[Memory, list[Edit]]]:
    """Yield memories over two years, oldest first; one in ten was edited once."""
    chance = random.Random(11)
    letters = "abcdeghiklmnoprstuw"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(30_000)]
    vocabulary = _COMMON + words
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    start = when.clock() - 730 * _DAY
    for place in range(number):
        at = when.from_micros(start + place * 730 * _DAY // number)
        text = " ".join(chance.choices(vocabulary, cum_weights=weights, k=48))
        memory = Memory(
            uid=checking.new_uid(),
            type=chance.choice((*("note",) * 6, "reasoning", "handoff", "checkpoint")),
            domain=f"team{place % 7}/project{chance.randrange(40)}",
            session=f"session{place // 20}",
            tags=tuple(chance.choices(words[:200], k=chance.randrange(3))),
            status="active" if place % 25 else "archived",
            confidence="unverified",
            content=text,
            agent="bench",
            source=None,
            key=None,
            origin=None,
            created_at=at,
            updated_at=at,
            version=1,
            extra={},
        )
        if place % 10:
            yield memory, []
        else:
            yield memory._replace(version=2), [Edit(1, at, "bench", None, {"content": text[:100]})]
