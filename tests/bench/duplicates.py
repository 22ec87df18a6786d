"""Duplicates in a large store: time and memory, and how many of the planted pairs are found.

    python tests/bench/duplicates.py [EVAL_DIR] [--memories 100000]

The texts have 10 to 120 words with the frequencies of a language; a tenth are lines from one
template. One in twenty is an edited copy of another. With EVAL_DIR, F1 on its pairs as well.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pairs import f1, fill, labelled, reported
from support import CHECKOUT

from memai import likeness, open_store

# In a process of its own, so that making the store does not count.
MEASURED = """
import json, resource, sys, time
from memai import open_store, operations
began = time.perf_counter()
found = operations.duplicates(open_store(sys.argv[1]), limit=10**6, max_bytes=10**9)
took = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak *= 1 if sys.platform == "darwin" else 1024
pairs = [[pair.uid, pair.other] for pair in found.pairs]
print(json.dumps({"took": took, "peak": peak, "pairs": pairs, "notes": found.notes}))
"""


def texts(number: int) -> Iterator[tuple[str, int | None]]:
    """Yield texts, and for a copy the place of what it was copied from."""
    chance = random.Random(5)
    words = [
        "".join(chance.choices("abcdeghiklmnoprstuw", k=chance.randint(2, 9)))
        for _ in range(20_000)
    ]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    made: list[str] = []
    for place in range(number):
        source = None
        if place % 20 == 19:
            source = chance.randrange(place)
            copy = made[source].split()
            for _ in range(max(1, len(copy) // 25)):
                copy[chance.randrange(len(copy))] = chance.choice(words)
            text = " ".join(copy)
        elif place % 10 == 0:
            text = (
                f"Ticket PROJ-{chance.randint(1, 99999)} was closed by {chance.choice(words)} after"
                f" {chance.randint(1, 300)} hours of work on {chance.choice(words)}"
            )
        else:
            text = " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(10, 120)))
        made.append(text)
        yield text, source


def main() -> None:
    """Make a store, look for duplicates, and print what came of it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("eval_dir", nargs="?", type=Path)
    arguments.add_argument("--memories", type=int, default=100_000)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = list(texts(given.memories))
        began = time.perf_counter()
        store = open_store(f"{folder}/large.db")
        uids = fill(store, (text for text, _ in made))
        store.close()
        print(f"{len(uids):,} memories stored in {time.perf_counter() - began:.0f} s")
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, f"{folder}/large.db"],
            cwd=CHECKOUT,
            check=True,
            capture_output=True,
        )
        answer = json.loads(done.stdout)
        print(f"duplicates: {answer['took']:.1f} s, peak memory {answer['peak'] / 1e6:.0f} MB")
        print(*answer["notes"], sep="\n", end="\n" if answer["notes"] else "")
        planted = {
            frozenset((uids[place], uids[source]))
            for place, (text, source) in enumerate(made)
            if source is not None
            and likeness.likeness(likeness.read(text), likeness.read(made[source][0])) >= 0.89
        }
        found = set(map(frozenset, answer["pairs"]))
        print(f"{len(found):,} pairs, {len(found & planted):,} of {len(planted):,} planted ones")
        if given.eval_dir:
            known = labelled(given.eval_dir)
            store = open_store(f"{folder}/eval.db")
            answered = reported(
                store, (text for pair in sorted(map(sorted, known)) for text in pair)
            )
            of_labelled = f1(answered & known.keys(), known)
            print(f"F1 {f1(answered, known):.3f}, of labelled pairs {of_labelled:.3f}")
            store.close()


if __name__ == "__main__":
    main()
