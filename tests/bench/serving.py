"""An MCP server as a child process that is asked one thing at a time, and the smallest there is."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from timing import environment

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
        env=environment(MEMAI_HOME=home),
    ) as process:
        yield Wire(process)
        assert process.stdin
        process.stdin.close()
