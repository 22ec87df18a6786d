"""Going back to a backup, killed on the way; and backups taken while others write."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from durability.test_processes import _WRITE, Process, start
from durability.workload import EVERYTHING, opened, use_small_models
from support import CHECKOUT, python

from memai import operations


def killed(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    """Kill so many recoveries; return how often the store was the old one and the new one."""
    done = python(
        str(CHECKOUT / "tests" / "durability" / "killed_recover.py"),
        *(str(folder), str(rounds), str(seed)),
        env={"PYTHONPATH": os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "tests")))},
    )
    said, errors = done.communicate()
    assert done.returncode == 0, errors.decode()
    told: dict[str, int] = json.loads(said)
    assert told.pop("wrong") == []
    return told


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_recovery_killed_at_any_moment_leaves_the_old_store_or_the_new(tmp_path: Path) -> None:
    """Ten kills: no mixture, nothing unhealthy."""
    told = killed(tmp_path, 10, seed=int.from_bytes(os.urandom(3), "big"))
    assert sum(told.values()) == 10


@pytest.mark.torture
def test_two_hundred_recoveries_are_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same two hundred times."""
    told = killed(tmp_path, 200, seed=1)
    with capsys.disabled():
        print(f"\n{told}: no mixture")
    assert told["old"] > 0
    assert told["new"] > 0


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[list[Process]]:
    """Start two processes that write all the time to memories.db."""
    use_small_models()
    db = str(tmp_path / "memories.db")
    operations.note(opened(db), "the first")
    processes = [start(_WRITE, db, name) for name in ("one", "two")]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()  # it writes
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def under_writers(tmp_path: Path, times: int) -> None:
    """Back up while two processes write; each backup opens and is one moment of the store."""
    db = str(tmp_path / "memories.db")
    store = opened(db)
    for number in range(times):
        before = {m.uid for m in store.page(EVERYTHING, 100_000)}  # acknowledged by now
        done = operations.backup(store, str(tmp_path / f"copy-{number}.db"))
        after = {m.uid for m in store.page(EVERYTHING, 100_000)}
        copy = opened(done.path)
        held = {m.uid for m in copy.page(EVERYTHING, 100_000)}
        assert before <= held <= after
        assert copy.check(deep=True) == []
        assert done.memories == len(held)
        copy.close()
    store.close()


@pytest.mark.usefixtures("writers")
def test_a_backup_under_writers_misses_nothing_acknowledged(tmp_path: Path) -> None:
    """Five backups beside two writers: everything from before each is in it, and it is sound."""
    under_writers(tmp_path, 5)


@pytest.mark.torture
@pytest.mark.parametrize("number", range(20))
@pytest.mark.usefixtures("writers")
def test_a_hundred_backups_under_writers(tmp_path: Path, number: int) -> None:
    """The same on twenty stores: one would grow too large."""
    under_writers(tmp_path, 5)


def test_a_plain_copy_of_the_file_is_no_backup(tmp_path: Path, writers: list[Process]) -> None:
    """What cp makes while others write misses what was acknowledged: the suite can see that."""
    time.sleep(0.2)
    subprocess.run(["cp", str(tmp_path / "memories.db"), str(tmp_path / "copied.db")], check=True)
    known = {m.uid for m in opened(str(tmp_path / "memories.db")).page(EVERYTHING, 100_000)}
    copied = opened(str(tmp_path / "copied.db"))
    try:
        held = {m.uid for m in copied.page(EVERYTHING, 100_000)}
    except Exception:  # noqa: BLE001 - it cannot even be opened
        held = set()
    assert known - held


def test_what_is_acknowledged_during_a_recovery_is_in_one_of_the_two(
    tmp_path: Path, writers: list[Process]
) -> None:
    """In the store as it was, which is kept, or in the store as it is then."""
    db = str(tmp_path / "memories.db")
    store = opened(db)
    backup = operations.backup(store, str(tmp_path / "the-backup.db")).path
    time.sleep(0.3)
    done = operations.recover(store, backup)
    time.sleep(0.3)
    said: set[str] = set()
    for writer in writers:
        writer.kill()
        out, errors = writer.communicate()
        assert errors == ""
        said |= {line for line in out.splitlines() if len(line) == 10}
    assert done.safety is not None
    before = opened(done.safety)
    kept = {m.uid for one in (store, before) for m in one.page(EVERYTHING, 100_000)}
    assert len(said) > 10
    # Between the two a writer has a moment of less than a millisecond.
    assert len(said - kept) <= 4
    before.close()
    store.close()
