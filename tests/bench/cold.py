"""Cold starts: what a shell command costs against the interpreter and the libraries it needs.

    python tests/bench/cold.py [--memories 1000] [--rounds 21]

Prints medians, quartiles and ratios to `python -c "import click, apsw"`, all of one run.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from timing import compare, program

from memai import open_store, operations

WORDS = (
    "deploy rollback staging database token refresh cache queue retry timeout index vector commit "
    "branch review release schema migration backup restore login session cookie header proxy "
    "latency budget error warning metric alert dashboard customer invoice order payment shipping"
).split()


def main() -> None:
    """Make a store and time the daily commands on it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--memories", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=21)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"{folder}/memai.db")
        words = random.Random(7)
        for number in range(given.memories):
            text = " ".join(words.choice(WORDS) for _ in range(40))
            uid = operations.note(store, f"{number}: {text}", domain=f"d{number % 5}").uid
        store.close()
        memai = [*program(), "--db", f"{folder}/memai.db"]
        floor = "click + apsw"
        timings = compare(
            {
                "python -c pass": [sys.executable, "-c", "pass"],
                floor: [sys.executable, "-c", "import click, apsw"],
                "list": [*memai, "list"],
                "show": [*memai, "show", uid],
                "search": [*memai, "search", "why did the token refresh time out"],
                "note": [*memai, "note", "A new fact about the payment queue."],
                "pulse": [*memai, "pulse"],
            },
            given.rounds,
        )
    print(f"{given.memories} memories, {given.rounds} rounds in shuffled order, milliseconds\n")
    print("| command | median | quartiles | x floor | x pass |")
    print("|---|---|---|---|---|")
    base, bare = timings[floor].median, timings["python -c pass"].median
    for name, timing in timings.items():
        low, high = timing.spread
        print(
            f"| {name} | {timing.median:.0f} | {low:.0f}-{high:.0f}"
            f" | {timing.median / base:.2f} | {timing.median / bare:.1f} |"
        )


if __name__ == "__main__":
    main()
