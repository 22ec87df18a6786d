"""Fixtures: each test has a home of its own, and stores of every engine in it."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from support import MODEL

from memai import embedding, when
from memai.records import Caller
from memai.settings import resolve
from memai.store import Store
from memai.store.sqlite import SQLiteStore

# A slow machine is no bug, so examples have no deadline.
hypothesis.settings.register_profile("memai", deadline=None, print_blob=True)
hypothesis.settings.load_profile("memai")

# A shell starts background jobs deaf to Ctrl-C, as are their children; some tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Opener = Callable[..., Store]

# Every engine, and each of them without what it can do without.
ENGINES = {
    "sqlite": (SQLiteStore, {}),
    "sqlite-without-its-extension": (SQLiteStore, {"MEMAI_NO_SQLITE_VEC": "1"}),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let what is committed for comparing be written anew: `pytest --update`."""
    parser.addoption("--update", action="store_true", help="write the golden files anew")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the memories and settings of whoever runs it."""
    for name in [n for n in os.environ if n.startswith("MEMAI_")]:
        if name != "MEMAI_NO_SQLITE_VEC":  # the whole suite may be run without the extension
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("MEMAI_HOME", str(folder / "memai"))
    return folder


@pytest.fixture
def opener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Open stores with the small embedder, the same file again and again unless told otherwise."""
    monkeypatch.setitem(embedding._loaded, MODEL.name, MODEL)
    opened: list[Store] = []

    def open_one(name: str = "memories.db", engine: str = "sqlite", **caller: Any) -> Store:
        model = caller.pop("model", MODEL.name)
        busy = caller.pop("busy_seconds", 30.0)
        kind, environment = ENGINES[engine]
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        settings = resolve(str(tmp_path / name))._replace(model=model, busy_seconds=busy)
        store: Store = kind(settings, Caller(**{"agent": "tester", **caller}))
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(opener: Opener) -> Store:
    """Open a fresh store with the small embedder."""
    return opener()


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the clock go on by one second each time it is read, from the first of March 2026."""
    seconds = [1_772_323_200]

    def clock() -> int:
        seconds[0] += 1
        return seconds[0] * 1_000_000

    monkeypatch.setattr(when, "clock", clock)
    return seconds
