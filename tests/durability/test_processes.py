"""Many processes on one file: opening, migrating, checkpointing, reading for long, being rude."""

import ast
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from durability.workload import EVERYTHING, opened, stale_vectors, use_small_models
from support import CHECKOUT

from memai import operations
from memai.store import schema

STEP = "CREATE TABLE later(id INTEGER PRIMARY KEY, name TEXT) STRICT; CREATE INDEX l ON later(name)"

# What each of many processes does: it migrates, writes, and embeds everything again.
_START = f"""
import sys, time
from durability.workload import opened, use_small_models
from memai import operations
from memai.store import schema
schema.STEPS = (*schema.STEPS, {STEP!r})
schema.VERSION = len(schema.STEPS)
use_small_models()
db, number, when = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
time.sleep(max(when - time.time(), 0))
store = opened(db)
operations.note(store, f"from process {{number}}")
operations.reembed(store, model=("hashed-16", "hashed-24")[number % 2])
operations.note(store, f"again from process {{number}}")
"""

# Writes until told to stop; prints what was acknowledged.
_WRITE = """
import sys
from durability.workload import opened, use_small_models
from memai import operations
use_small_models()
store = opened(sys.argv[1])
number = 0
while True:
    print(operations.note(store, f"{sys.argv[2]} {number}").uid, flush=True)
    number += 1
"""

# Folds the log in all the time, as a careless tool does.
_CHECKPOINT = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(10000)
while True:
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
"""

# A foreign program that adds a row and closes as SQLite does by itself.
_PLAIN = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute("INSERT INTO meta(name, value) VALUES(?, 'theirs')", (sys.argv[2],))
connection.close()
"""

# The same through memai.
_OURS = """
import sys
from durability.workload import opened
store = opened(sys.argv[1])
with store.writing():
    store.set_meta(sys.argv[2], "theirs")
store.close()
"""

Process = subprocess.Popen[str]


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Name a store that is not there yet, and load the embedders of the tests."""
    use_small_models()
    return str(tmp_path / "memories.db")


@pytest.fixture
def started() -> Iterator[list[Process]]:
    """Collect processes, which end with the test."""
    processes: list[Process] = []
    yield processes
    for process in processes:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


def start(code: str, *arguments: str) -> Process:
    """Start a Python that knows the package and these tests."""
    paths = os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "tests")))
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def twelve_at_once(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let twelve processes open an old store at once; look at what they made of it."""
    store = opened(db)
    for number in range(30):
        operations.note(store, f"from before {number}")
    store.close()
    when = time.time() + 0.8
    processes = [start(_START, db, str(number), str(when)) for number in range(12)]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    with monkeypatch.context() as newer:
        newer.setattr(schema, "STEPS", (*schema.STEPS, STEP))
        newer.setattr(schema, "VERSION", schema.VERSION + 1)
        store = opened(db)
        assert store.count(EVERYTHING) == 30 + 24
        assert store.check(deep=True) == []
        assert stale_vectors(store) == []
        copies = operations.backups(store).backups
        assert [(copy.state, copy.schema, copy.memories) for copy in copies] == [
            ("verified", schema.VERSION - 1, 30)
        ]
        store.close()
    assert [name for name in os.listdir(os.path.dirname(db)) if "migrating" in name] == []


def test_twelve_processes_migrate_and_reembed_at_once(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All succeed, the schema changes once with one backup before it, and every vector is right."""
    twelve_at_once(db, monkeypatch)


@pytest.mark.torture
def test_twelve_processes_at_once_many_times(
    tmp_path: Path, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same forty times."""
    for number in range(40):
        (tmp_path / str(number)).mkdir()
        twelve_at_once(str(tmp_path / str(number) / "memories.db"), monkeypatch)


def with_a_paused_checkpointer(db: str, started: list[Process], seconds: float) -> None:
    """Let two processes write beside one that folds the log in and is stopped again and again."""
    operations.note(opened(db), "the first")
    writers = [start(_WRITE, db, name) for name in ("one", "two")]
    checkpointer = start(_CHECKPOINT, db)
    started += [*writers, checkpointer]
    dice = random.Random()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        checkpointer.send_signal(signal.SIGSTOP)
        time.sleep(dice.uniform(0.002, 0.008))
        checkpointer.send_signal(signal.SIGCONT)
        time.sleep(dice.uniform(0.0, 0.003))
    acknowledged: list[str] = []
    for writer in writers:
        writer.kill()
        said, errors = writer.communicate()
        assert errors == ""
        acknowledged += [line for line in said.splitlines() if len(line) == 10]
    checkpointer.kill()
    assert len(acknowledged) > 20
    store = opened(db)
    kept = {memory.uid for memory, _, _ in store.export(EVERYTHING)}
    assert set(acknowledged) <= kept
    assert store.check(deep=True) == []
    store.close()


def test_two_writers_and_a_paused_checkpointer(db: str, started: list[Process]) -> None:
    """The engine in use does not lose rows when its log is reset (it did before 3.51.3)."""
    with_a_paused_checkpointer(db, started, 2.0)


@pytest.mark.torture
def test_two_writers_and_a_paused_checkpointer_for_long(db: str, started: list[Process]) -> None:
    """The same for two minutes."""
    with_a_paused_checkpointer(db, started, 120.0)


def test_a_long_reader_stops_nobody(db: str) -> None:
    """It sees one state throughout, writers go on, and the log shrinks when it is gone."""
    store, other = opened(db), opened(db)
    operations.note(store, "before the reader")
    with other.reading():
        assert other.count(EVERYTHING) == 1
        for number in range(600):
            with store.writing():
                store.set_meta(f"remark {number}", "x" * 4000)
        assert other.count(EVERYTHING) == 1
        assert other.meta("remark 1") is None
        assert store.counts().wal_bytes > 5_000_000
    assert other.meta("remark 599") is not None
    for number in range(3):
        operations.note(store, f"after the reader {number}")
    assert store.counts().wal_bytes <= 4_194_304 + 100_000
    for one in (store, other):
        one.close()


def rude(db: str, code: str, touched: tuple[str, ...]) -> tuple[int, int]:
    """Open and close files of an open store beside other writers; count what is left of 10 and 10.

    Closing any descriptor of a file drops this process's locks on it.
    """
    store = opened(db)
    operations.note(store, "the first")
    for number in range(10):
        for end in touched:
            if os.path.exists(db + end):
                with open(db + end, "rb"):
                    pass
        process = start(code, db, f"theirs {number}")
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        with store.writing():
            store.set_meta(f"ours {number}", "ours")
    store.close()
    store = opened(db)
    theirs = sum(store.meta(f"theirs {number}") == "theirs" for number in range(10))
    ours = sum(store.meta(f"ours {number}") == "ours" for number in range(10))
    store.close()
    return theirs, ours


def test_opening_and_closing_the_files_is_noticed(db: str) -> None:
    """A program that does so loses what was acknowledged: nothing of memai may do it."""
    assert rude(db, _PLAIN, ("", "-wal", "-shm"))[1] < 10


def test_processes_of_memai_survive_that_files_are_opened_and_closed(db: str) -> None:
    """They never fold in and delete the log because they seem to be alone."""
    assert rude(db, _OURS, ("", "-wal", "-shm")) == (10, 10)


# Functions of the store that open files by other means than SQLite, and why they may.
_OPENS = {
    ("copies", "sha256"): "a finished copy",
    ("copies", "read_manifest"): "a manifest",
    ("copies", "write_manifest"): "a manifest",
    ("copies", "write_bytes"): "a file that is no database any more",
    ("filesystem", "create_private"): "a file that was not there",
    ("filesystem", "sync"): "a folder or a finished copy",
    ("filesystem", "type_of"): "the table of mounts",
    ("migrating", "_alone"): "a file of its own for a lock",
    ("surroundings", "readers"): "the table of locks",
    ("surroundings", "_named"): "the name of a process",
}


def test_no_other_function_of_the_store_opens_files() -> None:
    """Each place that opens a file outside SQLite is known, with its reason."""
    found = set()
    for path in (CHECKOUT / "memai" / "store").glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = {ast.unparse(c.func) for c in ast.walk(function) if isinstance(c, ast.Call)}
                if calls & {"open", "os.open", "copyfile", "shutil.copy", "io.open"}:
                    found.add((path.stem, function.name))
    assert found == set(_OPENS)


def test_every_connection_has_its_settings(db: str) -> None:
    """The settings that durability and erasing rest on are those in force."""
    store = opened(db)
    operations.note(store, "one")
    wanted = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "journal_size_limit": 4_194_304,
        "mmap_size": 0,
        "fullfsync": 1,
    }
    raw = store.raw()
    assert {name: raw.pragma(name) for name in wanted} == wanted
    assert raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1) == 1
    assert raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
    store.close()
