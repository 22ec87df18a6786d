"""Stores to measure with: texts of about 300 characters, domains, tags, sessions and history.

The words are those of the packaged model's vocabulary, which are in the order of how common they
are in English, drawn by Zipf's law; a third of the texts name something that no other names.

Made once for each size and kept for the next run: `store(folder, 100_000)`.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, islice, pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from timing import environment

from memai import embedding, open_store, when
from memai.operations import checking, embedding_policy
from memai.records import Caller, Edit, Memory

SMALL = "small"
"""A domain of 500 memories, spread over the whole store."""

_DAY = 86_400_000_000
_MODEL = Path(embedding.__file__).parents[1] / "model" / "tokenizer.json"


@cache
def vocabulary() -> list[str]:
    """Return words, the most common first."""
    known = json.loads(_MODEL.read_text())["model"]["vocab"]
    words = [word for word in known if word.isascii() and word.isalpha()]
    return sorted((w for w in words if len(w) > 1 or w == "a"), key=known.__getitem__)


def store(folder: str, memories: int) -> tuple[str, str]:
    """Return the path of a store of this size and the uid of one of its memories."""
    path, done = Path(folder, f"{memories}.db"), Path(folder, f"{memories}.uid")
    if not done.exists():
        for left in Path(folder).glob(f"{memories}.db*"):
            left.unlink()
        # In a process of its own: a process passes the peak of its memory on to its children.
        command = [sys.executable, os.path.abspath(__file__), str(path), str(memories)]
        made = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, check=True)
        done.write_bytes(made.stdout)
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
    opened.settle()
    opened.close()
    return uid


def memories(number: int) -> Iterator[tuple[Memory, list[Edit]]]:
    """Yield memories over two years, oldest first; one in ten was edited once."""
    chance = random.Random(11)
    words = vocabulary()
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    start = when.clock() - 730 * _DAY
    apart = max(1, number // 500)
    for place in range(number):
        at = when.from_micros(start + place * 730 * _DAY // number)
        text = _text(chance, chance.choices(words, cum_weights=weights, k=50), place)
        memory = Memory(
            uid=checking.new_uid(),
            type=chance.choice((*("note",) * 6, "reasoning", "handoff", "checkpoint")),
            domain=f"team{place % 7}/project{chance.randrange(40)}" if place % apart else SMALL,
            session=f"session{place // 20}",
            tags=tuple(chance.choices(words[300:500], k=chance.randrange(3))),
            status="archived" if place % 25 == 7 else "active",
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


def _text(chance: random.Random, words: list[str], place: int) -> str:
    """Return words as sentences, one time in three with a name of its own."""
    if place % 3 == 0:
        words[chance.randrange(len(words))] = f"job-{place}"
    cuts = [0, *sorted(chance.sample(range(6, len(words) - 5), 4)), len(words)]
    sentences = [" ".join(words[a:b]) for a, b in pairwise(cuts) if a < b]
    return " ".join(one[:1].upper() + one[1:] + "." for one in sentences)


if __name__ == "__main__":
    sys.stdout.write(_fill(sys.argv[1], int(sys.argv[2])))
