"""A second process makes a large import faster, and nothing else of it."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from exchange import counts
from support import memory, python

from memai import embedding, helper, operations
from memai.errors import MemaiError, SecretFound
from memai.formats import own
from memai.helper import Helper
from memai.operations import batches, intake, preparing
from memai.records import Edit, Relation
from memai.store import Store

TABLES = ("memories", "passages", "vectors", "edits", "relations", "spaces")
WORDS = "the walrus keeps a Ledger of tusks, tides and naïve tokens in a very cold house".split()

pytestmark = pytest.mark.skipif(helper.cores() < 2, reason="there is no second core")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what tests import for large."""
    monkeypatch.setattr(preparing, "_LARGE_BYTES", 1)
    monkeypatch.setattr(intake, "_SMALL_BYTES", 1)
    monkeypatch.setattr(intake, "_PART", 100)
    monkeypatch.setattr(batches, "BATCH", 200)
    # Few texts are embedded without numpy, which adds up in another order: the seventh digit.
    preparing._get_ready(embedding.DEFAULT)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the ids of the processes that are started."""
    ids: list[int] = []
    start = Helper.start

    def starting(self: Helper) -> None:
        start(self)
        if self._process is not None:
            ids.append(self._process.pid)

    monkeypatch.setattr(Helper, "start", starting)
    return ids


def many(count: int) -> Iterator[dict[str, Any]]:
    """Yield lines of memories of every sort."""
    before = ""
    for number in range(count):
        text = " ".join(WORDS[(number * step) % len(WORDS)] for step in range(3, 40))
        history = []
        if number % 10 == 0:
            at = "2026-01-01T00:00:00.000000Z"
            history.append(Edit(1, at, "tester", None, {"content": f"{number} before"}))
        one = memory(
            f"{number} {text * (6 if number % 50 == 0 else 1)}",
            uid=f"{number:010}",
            domain=f"d{number % 7}",
            tags=("many", f"t{number % 3}"),
            version=1 + len(history),
            updated_at="2026-01-01T00:00:00.000000Z",
            created_at="2026-01-01T00:00:00.000000Z",
            extra={"n": number} if number % 9 == 0 else {},
        )
        relations = [Relation(one.uid, "follows", before, None, "t", one.created_at)]
        yield own.line(one, history, relations if before else [])
        before = one.uid


def saved(path: Path, lines: Iterator[dict[str, Any]]) -> str:
    """Write lines to a file; return its path."""
    path.write_text("".join(own.dumps(line) + "\n" for line in lines))
    return str(path)


def rows(store: Store) -> dict[str, list[Any]]:
    """Return what is kept in a store, with its word indexes."""
    connection = store.raw()  # type: ignore[attr-defined]
    found = {t: connection.execute(f"SELECT * FROM {t} ORDER BY 1, 2").fetchall() for t in TABLES}
    for index in ("word_index", "gram_index"):
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{index}_v USING fts5vocab(main, {index}, row)"
        )
        found[index] = connection.execute(f"SELECT * FROM temp.{index}_v").fetchall()
        found[index + " settings"] = connection.execute(f"SELECT * FROM {index}_config").fetchall()
    return found


def plainly(opener: Callable[..., Store], path: str, **options: Any) -> Store:
    """Import a file without another process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper, "cores", lambda: 1)
        store = opener("plain.db", model=embedding.DEFAULT)
        operations.import_memories(store, path, **options)
    return store


@pytest.mark.parametrize("options", [{}, {"keep_going": True}, {"redact": True}])
def test_both_ways_make_the_same_store(
    opener: Callable[..., Store], tmp_path: Path, started: list[int], options: dict[str, Any]
) -> None:
    """Rows, checksums, vectors, history, relations and words are the same."""
    path = saved(tmp_path / "many.jsonl", many(700))
    store = opener("two.db", model=embedding.DEFAULT)
    answer = operations.import_memories(store, path, **options)
    assert answer.new == 700
    assert len(started) == (1 if "keep_going" in options else 2)
    assert rows(store) == rows(plainly(opener, path, **options))
    assert store.check(deep=True) == []


def test_a_lost_process_is_done_without(
    opener: Callable[..., Store],
    tmp_path: Path,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whenever a process dies, what it was asked for is made here, and nothing is missing."""
    path = saved(tmp_path / "many.jsonl", many(700))
    asked = 0
    ask = Helper.ask

    def asking(self: Helper, function: Callable[..., Any], *arguments: Any) -> None:
        nonlocal asked
        asked += 1
        if asked == 5:
            for process in started:
                os.kill(process, signal.SIGKILL)
        ask(self, function, *arguments)

    monkeypatch.setattr(Helper, "ask", asking)
    store = opener("two.db", model=embedding.DEFAULT)
    assert operations.import_memories(store, path).new == 700
    assert asked > 5
    assert rows(store) == rows(plainly(opener, path))


@pytest.mark.parametrize("number", [3, 250, 500, 699])
def test_what_cannot_be_read_is_told_alike(
    opener: Callable[..., Store], tmp_path: Path, started: list[int], number: int
) -> None:
    """The same line is named with the same reason, and nothing is kept."""
    lines = list(many(700))
    lines[number]["type"] = "song"
    lines[number + 1 :: 7] = [{"uid": "none"} for _ in lines[number + 1 :: 7]]
    path = saved(tmp_path / "broken.jsonl", iter(lines))
    said = []
    for make in (lambda: opener("two.db", model=embedding.DEFAULT), None):
        with pytest.raises(MemaiError) as error:
            if make is None:
                plainly(opener, path)
            else:
                operations.import_memories(make(), path)
        said.append((error.value.message, error.value.exit_code))
    assert f"line {number + 1}" in said[0][0]
    assert said[0] == said[1]
    assert not opener("two.db").exists()


def test_a_secret_is_refused_alike(opener: Callable[..., Store], tmp_path: Path) -> None:
    """A credential in a part that the other process checks is named by its line."""
    lines = list(many(700))
    lines[250]["content"] = "The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2"
    path = saved(tmp_path / "secret.jsonl", iter(lines))
    with pytest.raises(SecretFound, match="line 251"):
        operations.import_memories(opener("two.db", model=embedding.DEFAULT), path)


def test_what_is_here_already_needs_no_other_process_to_make_it(
    opener: Callable[..., Store], tmp_path: Path, started: list[int]
) -> None:
    """An import of the same again starts only the process that reads."""
    path = saved(tmp_path / "many.jsonl", many(450))
    store = opener("two.db", model=embedding.DEFAULT)
    operations.import_memories(store, path)
    assert len(started) == 2
    assert counts(operations.import_memories(store, path))[:3] == (0, 0, 450)
    assert len(started) == 3


def test_memories_that_are_kept_otherwise_are_made_anew(
    opener: Callable[..., Store], tmp_path: Path, started: list[int]
) -> None:
    """The same uid twice, with a later version: what was made ahead of the merge is not used."""
    lines = list(many(500))
    again = json.loads(json.dumps(lines[:150]))
    for line in again:
        line["history"] += [
            {
                "version": line["version"],
                "at": "2026-02-01T00:00:00.000000Z",
                "agent": "t",
                "reason": None,
                "before": {"content": line["content"]},
            }
        ]
        line.update(version=line["version"] + 1, content=line["content"] + " And more.",
                    updated_at="2026-02-01T00:00:00.000000Z")  # fmt: skip
    path = saved(tmp_path / "twice.jsonl", iter([*lines, *again]))
    store = opener("two.db", model=embedding.DEFAULT)
    operations.import_memories(store, path)
    assert len(started) == 2
    assert rows(store) == rows(plainly(opener, path))
    assert store.get("0000000007").content.endswith(" And more.")


# --- the process itself -------------------------------------------------------------------------


def ended(process: int) -> bool:
    """Whether a process ends within some seconds."""
    for _ in range(500):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        with suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().split()[2] == "Z":
                return True
        time.sleep(0.02)
    return False


def test_it_answers_one_call_after_another() -> None:
    """Calls come back in their order; what it prints is no answer."""
    with closing(Helper()) as one:
        one.start()
        one.ask(divmod, 7, 2)
        assert one.answer() == (3, 1)
        one.ask(print, "something else")
        assert one.answer() is None
        assert list(one.ahead(divmod, [(n, 3) for n in range(5)])) == [
            divmod(n, 3) for n in range(5)
        ]
        assert list(one.both(divmod, [(n, 3) for n in range(5)])) == [
            divmod(n, 3) for n in range(5)
        ]
        assert one.present


def test_what_fails_there_is_called_here() -> None:
    """A function that raises there raises here, in its turn."""
    with closing(Helper()) as one:
        one.start()
        answers = one.ahead(divmod, [(4, 2), (4, 0)])
        assert next(answers) == (2, 0)
        with pytest.raises(ZeroDivisionError):
            next(answers)
        assert not one.present
        one.ask(divmod, 7, 2)
        assert one.answer() is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_the_process_that_started_it(number: int) -> None:
    """However that ends, also while it is asked."""
    program = """
import time
from memai.helper import Helper
one = Helper()
one.start()
one.ask(time.sleep, 0.5)
print(one._process.pid, flush=True)
one.answer()
time.sleep(60)
"""
    process = python("-c", program)
    assert process.stdout is not None
    there = int(process.stdout.readline())
    process.send_signal(number)
    process.communicate()
    assert ended(there)


def test_an_interpreter_that_cannot_be_started_is_done_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an interpreter to start nothing is asked."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with closing(Helper()) as one:
        one.start()
        one.ask(divmod, 7, 2)
        assert one.answer() is None
        assert list(one.both(divmod, [(7, 2), (7, 3)])) == [(3, 1), (2, 1)]
