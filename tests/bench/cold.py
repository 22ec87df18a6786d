"""Cold starts: what a command costs against the interpreter and the libraries it needs."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from figures import Figure, Target, figure
from serving import BARE, INITIALIZE, served
from stores import store
from timing import Run, compare, process, program

PASS, FLOOR, SERVER = "python -c pass", "click + apsw", "bare MCPServer"
QUERY = "why did the token refresh time out"
TARGETS = (
    *(
        Target("cold", what, FLOOR, 1.3)
        for what in (
            "list -n 20",
            "list -n 20 of a domain",
            "show",
            "completion of a command",
            "completion of a uid",
        )
    ),
    Target("cold", "note", PASS, {10_000: 6.5}),
    Target("cold", "search", PASS, {1000: 7, 100_000: 15, 1_000_000: 40}),
    Target("cold", "serve-mcp to initialize", SERVER, 0.85),
)


def measures(path: str, uid: str) -> dict[str, Callable[[], Run]]:
    """Return the commands that are measured on a store."""
    memai = [*program(), "--db", path]
    tab = {"_MEMAI_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    serve = [*program(), "serve-mcp", "--db", path]
    return {
        "list -n 20": process([*memai, "list", "-n", "20"]),
        "list -n 20 of a domain": process([*memai, "list", "-n", "20", "-d", "team1"]),
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
        "note": noting(memai),
        "serve-mcp to initialize": server(serve),
        "serve-mcp to the first search": server(serve, QUERY),
    }


def noting(memai: list[str]) -> Callable[[], Run]:
    """Return what writes a note, each time another: what is there is not written again."""

    def run() -> Run:
        return process([*memai, "note", f"A new fact, the {os.urandom(8).hex()}th."])()

    return run


def server(command: list[str], query: str | None = None) -> Callable[[], Run]:
    """Return what starts a server and waits for its answer to initialize, or to a first search."""

    def run() -> Run:
        with tempfile.TemporaryDirectory() as home:
            began = time.perf_counter()
            with served(command, home) as wire:
                wire.ask("initialize", **INITIALIZE)
                if query is not None:
                    wire.ask("tools/call", name="search", arguments={"query": query})
                took = (time.perf_counter() - began) * 1000
        return Run(took)

    return run


def measured(folder: str, sizes: Sequence[int], rounds: int) -> Iterator[Figure]:
    """Yield what commands take on stores of these sizes, and what `tools/list` sends."""
    floors = {
        PASS: process([sys.executable, "-c", "pass"]),
        FLOOR: process([sys.executable, "-c", "import click, apsw"]),
        SERVER: server([sys.executable, "-c", BARE]),
    }
    for size in sizes:
        found = compare(floors | measures(*store(folder, size)), rounds)
        walls = {name: [run.wall for run in runs] for name, runs in found.items()}
        medians = {name: sorted(walls[name])[rounds // 2] for name in floors}
        for name, runs in found.items():
            serving = not runs[0].cpu
            chosen = [SERVER] if serving else [PASS, FLOOR]
            against = {floor: medians[floor] for floor in chosen if floor != name}
            yield figure("cold", name, size, "ms", walls[name], against)
            if not serving and name not in floors:
                peaks = [run.peak for run in runs]
                yield figure("cold", f"peak memory of {name}", size, "MB", peaks)
    with tempfile.TemporaryDirectory() as home, served([*program(), "serve-mcp"], home) as wire:
        wire.ask("initialize", **INITIALIZE)
        wire.ask("tools/list")
        yield figure("cold", "tools/list", 0, "bytes", [wire.received])
