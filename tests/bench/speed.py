"""How fast memai is at every size, as Markdown and JSON.

    python tests/bench/speed.py [--memories 1000 10000 100000] [--only cold library mcp writes bulk]
                                [--rounds 15] [--keep FOLDER] [--json FILE] [--compare OLD.json]

Medians of one run in shuffled order, with quartiles, and ratios to floors of the same run:
`python -c pass`, `python -c "import click, apsw"`, the smallest server of the same SDK, one FTS5
query, one matrix product, raw inserts. Stores of realistic texts are made first, a minute for each
100,000; with --keep they stay for the next run. A million memories take 3 GB and half an hour.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import bulk
import cold
import figures
import warm
import writes
from figures import Figure

TARGETS = (*cold.TARGETS, *warm.TARGETS, *writes.TARGETS, *bulk.TARGETS)


def main() -> None:
    """Measure what was asked for, print it, and compare it with an earlier run."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--memories", type=int, nargs="+", default=[1000, 10_000, 100_000])
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--only", nargs="+", choices=["cold", "warm", "writes", "bulk"])
    arguments.add_argument("--keep", metavar="FOLDER")
    arguments.add_argument("--json", metavar="FILE")
    arguments.add_argument("--compare", metavar="OLD.json")
    given = arguments.parse_args()
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or temporary
        Path(folder).mkdir(parents=True, exist_ok=True)
        groups: dict[str, Callable[[], Iterator[Figure]]] = {
            "cold": lambda: cold.measured(folder, given.memories, given.rounds),
            "warm": lambda: warm.measured(folder, given.memories, 2 * given.rounds),
            "writes": lambda: writes.measured(folder, max(2, given.rounds // 3)),
            "bulk": lambda: bulk.measured(folder, given.memories, max(1, given.rounds // 5)),
        }
        for name in given.only or groups:
            for one in groups[name]():
                found.append(one)
                sys.stderr.write(f"{one.group}: {one.what}, {one.memories:,}: {one.median:.4g}\n")
            if given.json:  # of a long run, something is there whatever happens
                figures.save(given.json, found)
    print(figures.table(found, TARGETS))
    grown = figures.growth(found)
    if len(set(given.memories)) >= 3:
        print(f"\n{grown}")
    if given.compare:
        print(f"\n{figures.moved(figures.load(given.compare), found)}")
    missed = sum("MISSED" in said for one in found for said in figures.judged(one, TARGETS))
    judged = sum(len(figures.judged(one, TARGETS)) for one in found)
    print(f"\n{judged - missed} of {judged} targets met.")


if __name__ == "__main__":
    main()
