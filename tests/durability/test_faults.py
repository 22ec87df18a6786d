"""The disk reports errors: each reaches the caller with its exit code, and nothing is lost by it.

The k-th write, sync or truncation of a store at work fails, once or from then on, as an I/O error
or a full disk. An error after the commit began may leave the operation done or undone, never half.
"""

import os
import random
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from durability.disks import Faulty, in_front
from durability.workload import Journal, Worker, expected, faults, opened, use_small_models

from memai.errors import MemaiError

_OPERATIONS = 14


class Outcome(NamedTuple):
    """What one run on a faulty disk came to."""

    calls: int
    failed: list[str]  # the files whose calls failed
    exit_codes: list[int]
    wrong: list[str]


def run(
    folder: Path, at: int, seed: int = 1, *, lasting: bool = False, full: bool = False
) -> Outcome:
    """Let a store work on a disk whose call number `at` fails (0: none)."""
    db, path = str(folder / "memories.db"), str(folder / "journal")
    journal = Journal(path)
    disk = Faulty()
    disk.lasting, disk.error = lasting, apsw.FullError if full else apsw.IOError
    codes: list[int] = []
    with in_front(disk, "faulty"):
        store = opened(db)
        worker = Worker(store, seed, journal)
        disk.fails_at = at
        for number in range(_OPERATIONS):
            try:
                worker.step()
            except MemaiError as error:
                codes.append(error.exit_code)
                journal.note(failed=True)
                _read_back(worker)
            if number == 1 and not codes:
                store.raw().wal_autocheckpoint(30)  # type: ignore[attr-defined]
        calls, failed = disk.calls, disk.failed
        disk.fails_at = 0
        worker.write()  # the next one works at once
        wrong = faults(store, expected([path]))
        store.close()
    store = opened(db)
    wrong += faults(store, expected([path]))
    store.close()
    return Outcome(calls, failed, codes, wrong)


def _read_back(worker: Worker) -> None:
    """Learn which of a worker's memories are there, as a caller does after an error."""
    for key, (uid, state) in list(worker.mine.items()):
        try:
            version = worker.store.get(uid).version
        except MemaiError:
            del worker.mine[key]
            continue
        if version != state.version:
            del worker.mine[key]  # changed, or not: it is not touched again


@pytest.fixture(autouse=True)
def small_models() -> None:
    """Use the embedders of the tests."""
    use_small_models()


def points(folder: Path, many: int, seed: int) -> dict[str, int]:
    """Let so many calls fail, one a run, chosen over the whole run."""
    (folder / "none").mkdir()
    calls = run(folder / "none", 0).calls
    dice = random.Random(seed)
    counted = {"points": 0, "fired": 0, "errors": 0}
    for number in range(many):
        place = folder / str(number)
        place.mkdir()
        at = dice.randint(1, calls)
        found = run(place, at, lasting=number % 3 == 0, full=number % 2 == 0)
        assert found.wrong == [], (at, number)
        assert set(found.exit_codes) <= {9}, (at, number)
        if any(name.endswith("-wal") for name in found.failed):
            assert found.exit_codes, f"an error did not reach the caller: {at}, {number}"
        counted["points"] += 1
        counted["fired"] += bool(found.failed)
        counted["errors"] += len(found.exit_codes)
    return counted


def test_faults_of_the_disk_reach_the_caller_and_lose_nothing(memory_folder: Path) -> None:
    """A hundred failing calls: exit code 9, everything acknowledged kept, the next write works."""
    found = points(memory_folder, 100, seed=int.from_bytes(os.urandom(3), "big"))
    assert found["fired"] > 90


@pytest.mark.torture
def test_every_call_that_fails_reaches_the_caller(
    memory_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for a thousand calls."""
    found = points(memory_folder, 1000, seed=1)
    with capsys.disabled():
        print(f"\n{found}: nothing lost")
