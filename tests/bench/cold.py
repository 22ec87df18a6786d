"""Cold starts: what a shell command costs against the interpreter and the libraries it needs.

    python tests/bench/cold.py [--memories 1000 10000 100000] [--rounds 21] [--keep FOLDER]

Prints medians of one run in shuffled order, with quartiles and the processor's time, and ratios to
`python -c pass` and to `python -c "import click, apsw"`; of the MCP server, from spawn to its
answers, ratios to the smallest server of the same SDK. With --keep the stores stay for the next
run.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from initialize import BARE, INITIALIZE, served
from stores import store
from timing import Run, Timing, compare, process, program

PASS, FLOOR, SERVER = "python -c pass", "click + apsw", "bare MCPServer to initialize"
QUERY = "why did the token refresh time out"


def measures(path: str, uid: str) -> dict[str, Callable[[], Run]]:
    """Return the commands that are measured on a store."""
    memai = [*program(), "--db", path]
    tab = {"_MEMAI_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    serve = [*program(), "serve-mcp", "--db", path]
    return {
        "list -n 20": process([*memai, "list", "-n", "20"]),
        "list --json": process([*memai, "list", "--json"]),
        "show": process([*memai, "show", uid]),
        "completion of a command": process(
            program(), MEMAI_DB=path, COMP_WORDS="memai sh", **{**tab, "COMP_CWORD": "1"}
        ),
        "completion of a uid": process(
            program(), MEMAI_DB=path, COMP_WORDS=f"memai show {uid[:2]}", **tab
        ),
        "pulse": process([*memai, "pulse", "-d", "team1"]),
        "search": process([*memai, "search", QUERY]),
        "note": process([*memai, "note", f"A new fact, the {os.urandom(8).hex()}th."]),
        "serve-mcp to initialize": server(serve),
        "serve-mcp to the first search": server(serve, QUERY),
    }


def server(command: list[str], query: str | None = None) -> Callable[[], Run]:
    """Return what starts a server and waits for its answer to initialize, or to a first search."""

    def run() -> Run:
        began = time.perf_counter()
        with served(command, os.environ.get("HOME", "/")) as wire:
            wire.ask("initialize", **INITIALIZE)
            if query is not None:
                wire.ask("tools/call", name="search", arguments={"query": query})
            took = (time.perf_counter() - began) * 1000
        return Run(took, 0.0)

    return run


def main() -> None:
    """Time the daily commands on stores of several sizes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--memories", type=int, nargs="+", default=[1000, 10_000, 100_000])
    arguments.add_argument("--rounds", type=int, default=21)
    arguments.add_argument("--keep")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| memories | what | ms | quartiles | of it processor | x pass | x floor |")
        print("|---|---|---|---|---|---|---|")
        for memories in given.memories:
            path, uid = store(given.keep or folder, memories)
            floors = {
                PASS: process([sys.executable, "-c", "pass"]),
                FLOOR: process([sys.executable, "-c", "import click, apsw"]),
                SERVER: server([sys.executable, "-c", BARE]),
            }
            timings = compare(floors | measures(path, uid), given.rounds)
            for timing in timings.values():
                print(row(memories, timing, timings), flush=True)


def row(memories: int, timing: Timing, all: dict[str, Timing]) -> str:
    """Return a row of the table; a server is compared with a server."""
    low, high = timing.spread
    serving = timing.processor[0] == 0
    floor = all[SERVER if serving else FLOOR].median
    return (
        f"| {memories:,} | {timing.name} | {timing.median:.1f} | {low:.1f}-{high:.1f}"
        f" | {'' if serving else f'{timing.cpu:.1f}'} | {timing.median / all[PASS].median:.1f}"
        f" | {timing.median / floor:.2f} |"
    )


if __name__ == "__main__":
    main()
