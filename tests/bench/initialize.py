"""The start of the MCP server: from spawn to the answer to `initialize`, and what calls cost then.

    python tests/bench/initialize.py [--rounds 15]

The floor is the smallest server of the same SDK, with one tool. Prints medians of one run, in
shuffled order, and the bytes of what every client is sent first.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from timing import Timing, program

BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def hello(name: str) -> str:
    "Say hello."
    return name
server.run()
"""
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Wire:
    """A server as a child process, asked one thing at a time."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.received = 0

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and return its result; `received` is the bytes of the answer."""
        assert self.process.stdin
        assert self.process.stdout
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        self.received = len(line)
        return json.loads(line)["result"]


@contextmanager
def served(command: list[str], home: str) -> Iterator[Wire]:
    """Start a server and end it."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MEMAI_HOME": home},
    ) as process:
        yield Wire(process)
        assert process.stdin
        process.stdin.close()


def main() -> None:
    """Time both servers, and calls of ours."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15)
    rounds = arguments.parse_args().rounds
    commands = {
        "bare MCPServer": [sys.executable, "-c", BARE],
        "memai serve-mcp": [*program(), "serve-mcp"],
    }
    runs: dict[str, list[float]] = {name: [] for name in commands}
    order = random.Random(1)
    with tempfile.TemporaryDirectory() as home:
        for round in range(rounds + 1):
            names = list(commands)
            order.shuffle(names)
            for name in names:
                began = time.perf_counter()
                with served(commands[name], home) as wire:
                    wire.ask("initialize", **INITIALIZE)
                    took = (time.perf_counter() - began) * 1000
                if round:
                    runs[name].append(took)
        timings = {name: Timing(name, tuple(found)) for name, found in runs.items()}
        floor = timings["bare MCPServer"].median
        print(f"spawn to the answer to initialize, {rounds} rounds, milliseconds\n")
        print("| server | median | quartiles | x bare |")
        print("|---|---|---|---|")
        for name, timing in timings.items():
            low, high = timing.spread
            ratio = timing.median / floor
            print(f"| {name} | {timing.median:.0f} | {low:.0f}-{high:.0f} | {ratio:.2f} |")
        with served(commands["memai serve-mcp"], home) as wire:
            print()
            for method, params in (("initialize", INITIALIZE), ("tools/list", {})):
                wire.ask(method, **params)
                print(f"{method}: {wire.received} bytes")
            for name, given in (
                ("note", {"content": "Staging resets its database every night."}),
                ("search", {"query": "when is the test database wiped"}),
                ("pulse", {}),
            ):
                times = []
                for number in range(30):
                    said = {**given, "key": str(number)} if name == "note" else given
                    began = time.perf_counter()
                    wire.ask("tools/call", name=name, arguments=said)
                    times.append((time.perf_counter() - began) * 1000)
                first, median = times[0], sorted(times)[15]
                print(f"{name}: first {first:.1f} ms, then {median:.1f}, {wire.received} bytes")


if __name__ == "__main__":
    main()
