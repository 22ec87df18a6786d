"""What the tests of the MCP room share: a raw client, tools without a wire, forms of answers."""

import json
import os
import queue
import re
import subprocess
import sys
import textwrap
import threading
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from support import CHECKOUT

from memai.mcp import Profile, clients
from memai.mcp.calls import Calls
from memai.records import Caller
from memai.settings import resolve

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"

# The bytes of the largest answer that nobody asked for.
WHOLE = 20_000
MARK = re.compile(r"\[([0-9a-f]{12})\] ")


# Code for before a server: its operation `stats` takes a while.
SLOW = textwrap.dedent(
    """
    import time
    from memai.operations import upkeep
    quick = upkeep.stats
    def stats(store):
        \"\"\"Show, slowly.\"\"\"
        time.sleep({seconds})
        return quick(store)
    upkeep.stats = stats
    """
)


def serving(before: str = "", **options: Any) -> list[str]:
    """Return the command of a server: Python that runs some code first, and then serves."""
    said = "".join(f", {name}={value!r}" for name, value in options.items())
    imports = "from memai.mcp import serve; from memai.settings import resolve"
    return [sys.executable, "-c", f"{before}\n{imports}; serve(resolve(){said})"]


class Content(dict[str, Any]):
    """Structured content; where a key is missing, the failure shows what there is instead."""

    def __missing__(self, key: str) -> Any:
        raise AssertionError(f"no {key!r} in {dict(self)}")


class Server:
    """A server and the two ends of its wire; every line it writes is kept and must be JSON."""

    def __init__(self, command: list[str], env: dict[str, str], **options: Any) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=options.pop("stdin", subprocess.PIPE),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **env},
            **options,
        )
        self.lines: list[bytes] = []
        self.errors = b""
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._early: dict[Any, dict[str, Any]] = {}
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._read, self._read_errors)
        ]
        for thread in self._threads:
            thread.start()
        self._next = 0

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            self._inbox.put(json.loads(line))
        self._inbox.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.errors += line

    def send(self, message: Any) -> None:
        """Write a message, or bytes as they are, as one line."""
        assert self.process.stdin
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self, seconds: float = 20) -> dict[str, Any]:
        """Return the next message."""
        message = self._inbox.get(timeout=seconds)
        assert message is not None, f"the server ended: {self.errors.decode()[-2000:]}"
        return message

    def begin(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        self._next += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._next, "method": method}
        self.send({**message, "params": params} if params else message)
        return self._next

    def answer(self, id: Any) -> dict[str, Any]:
        """Wait for the answer to a request, keeping those that come before it."""
        while id not in self._early:
            message = self.receive()
            self._early[message.get("id")] = message
        return self._early.pop(id)

    def request(self, method: str, **params: Any) -> Any:
        """Send a request and return its result."""
        message = self.answer(self.begin(method, **params))
        assert "result" in message, message
        return message["result"]

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured content."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        return Content(result["structuredContent"])

    def shake(self, version: str = HANDSHAKES[-1], **capabilities: Any) -> dict[str, Any]:
        """Do the handshake and return what the server says of itself."""
        result: dict[str, Any] = self.request(
            "initialize",
            protocolVersion=version,
            capabilities=capabilities,
            clientInfo={"name": "raw-client", "version": "1"},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def leave(self, seconds: float = 6) -> int:
        """Close the server's input and return its exit code."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        return self.ended(seconds)

    def ended(self, seconds: float = 6) -> int:
        """Wait for the server to end by itself."""
        code = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(5)
        return code


class Local:
    """The tools without a wire: what a worker thread of a server does."""

    def __init__(self, profile: Profile, **caller: Any) -> None:
        self.calls = Calls(resolve(), profile)
        self.caller = Caller(**{"agent": "tester", "session": "s", "remote": True, **caller})

    def result(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return the whole result."""
        return self.calls.tool(tool, arguments, self.caller)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool, which must succeed, and return its structured content."""
        result = self.result(tool, **arguments)
        assert not result["isError"], result
        content: dict[str, Any] = result["structuredContent"]
        return content

    def text(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool and return what it says in words."""
        text: str = self.result(tool, **arguments)["content"][0]["text"]
        return text

    def error(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool, which must fail, and return the error."""
        result = self.result(tool, **arguments)
        assert result["isError"], result
        error: dict[str, Any] = result["structuredContent"]["error"]
        return error


@cache
def promised(tool: str) -> jsonschema.Draft202012Validator:
    """Return what checks an answer against the schema that is committed for it."""
    golden = json.loads((CHECKOUT / "tests/golden/envelopes.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator({**golden["answers"][tool], "$defs": golden["$defs"]})


def fits(tool: str, answer: dict[str, Any]) -> None:
    """Check that an answer has the form that is promised for it."""
    promised(tool).validate(answer)


def wire(result: dict[str, Any]) -> int:
    """Return the bytes of a result as it is sent."""
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())


def fenced(text: str) -> tuple[list[str], list[str]]:
    """Return the lines that memai says and those it recalls."""
    found = MARK.match(text)
    assert found, text
    mark = found[0]
    lines = text.split("\n")
    said = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    return said, [line for line in lines if not line.startswith(mark)]


WITH_HOOKS = ["claude-code", "codex", "gemini"]


def file_of(client: str) -> Path:
    """Return the settings file of a client."""
    return Path(clients.clients()[client].path)


def entry_of(client: str) -> dict[str, Any]:
    """Return memai's entry in a client's file."""
    found = clients.clients()[client]
    text = Path(found.path).read_text()
    whole = tomllib.loads(text) if found.format == "toml" else json.loads(text)
    entry: dict[str, Any] = whole[found.servers]["memai"]
    return entry


def hooks_of(client: str) -> list[str]:
    """Return the commands that a client runs when a session starts."""
    path = Path(clients.clients()[client].hooks or "")
    groups = json.loads(path.read_text()).get("hooks", {}).get("SessionStart", [])
    return [hook["command"] for group in groups for hook in group["hooks"]]
