"""A raw client: a server as a child process, and one line of JSON at a time."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import CHECKOUT

from memai.mcp import Profile
from memai.mcp.calls import Calls
from memai.records import Caller
from memai.settings import resolve

LATEST_HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
SERVE = "from memai.mcp import serve; from memai.settings import resolve; serve(resolve(){options})"


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

    def shake(self, version: str = LATEST_HANDSHAKE, **capabilities: Any) -> dict[str, Any]:
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


Start = Callable[..., Server]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Start servers with options of `serve` and of Python, and end them."""
    started: list[Server] = []

    def start_one(
        *,
        code: str = SERVE,
        python: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        shake: bool = True,
        popen: dict[str, Any] | None = None,
        **options: Any,
    ) -> Server:
        said = "".join(f", {name}={value!r}" for name, value in options.items())
        command = [sys.executable, *python, "-c", code.replace("{options}", said)]
        server = Server(command, env or {}, **(popen or {}))
        started.append(server)
        if shake:
            server.shake()
        return server

    yield start_one
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


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


@pytest.fixture
def local(home: Path) -> Iterator[Callable[..., Local]]:
    """Make tools without a wire, over the store of this test's home."""
    made: list[Local] = []

    def make(*, caller: dict[str, Any] | None = None, **profile: Any) -> Local:
        made.append(Local(Profile(**profile), **(caller or {})))
        return made[-1]

    yield make
    for one in made:
        one.calls.store(one.caller).close()


@pytest.fixture
def tools(local: Callable[..., Local]) -> Local:
    """Offer everything, purging included."""
    return local(tools="all", allow_purge=True)


Begin = Callable[[dict[str, str], str], Server]


@pytest.fixture(scope="module")
def begin() -> Iterator[Begin]:
    """Start servers that live as long as the tests of a file."""
    started: list[Server] = []

    def begin_one(env: dict[str, str], options: str = "") -> Server:
        started.append(Server([sys.executable, "-c", SERVE.replace("{options}", options)], env))
        return started[-1]

    yield begin_one
    for server in started:
        server.process.terminate()
        assert server.leave() == 0
        for stream in (server.process.stdout, server.process.stderr):
            assert stream
            stream.close()


@pytest.fixture(scope="module")
def shared(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """One server for tests that leave nothing behind."""
    folder = tmp_path_factory.mktemp("shared")
    server = begin({"HOME": str(folder), "MEMAI_HOME": str(folder / "memai")}, "")
    server.shake()
    return server
