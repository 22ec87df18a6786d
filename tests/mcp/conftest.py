"""Servers and tools for the tests of the MCP room."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_support import Local, Server, serving

from memai.mcp import Profile

Start = Callable[..., Server]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Start servers with options of `serve` and of Python, and end them."""
    started: list[Server] = []

    def start_one(
        *,
        before: str = "",
        python: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        shake: bool = True,
        popen: dict[str, Any] | None = None,
        **options: Any,
    ) -> Server:
        program, *rest = serving(before, **options)
        server = Server([program, *python, *rest], env or {}, **(popen or {}))
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


Begin = Callable[..., Server]


@pytest.fixture(scope="module")
def begin() -> Iterator[Begin]:
    """Start servers that live as long as the tests of a file."""
    started: list[Server] = []

    def begin_one(env: dict[str, str], **options: Any) -> Server:
        started.append(Server(serving(**options), env))
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
    server = begin({"HOME": str(folder), "MEMAI_HOME": str(folder / "memai")})
    server.shake()
    return server
