"""Many processes on one file: writers wait in line, readers do not wait, nothing is lost."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest
from support import CHECKOUT, python

from memai import open_store, operations
from memai.records import Caller, Where
from memai.store import Store

EVERYTHING = Where(current=False)
Process = subprocess.Popen[bytes]
WORKER = str(CHECKOUT / "tests" / "worker.py")


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Name a store that is not there yet."""
    return str(tmp_path / "folder" / "memories.db")


@pytest.fixture
def start(db: str) -> Iterator[Callable[..., Process]]:
    """Start workers, each of which is ready when this returns."""
    started: list[Process] = []

    def one(name: str, seconds: float, what: str = "write") -> Process:
        worker = python(WORKER, db, name, str(seconds), what, stdin=subprocess.PIPE)
        started.append(worker)
        return worker

    yield one
    for worker in started:
        if worker.poll() is None:
            worker.kill()
        worker.communicate()


def ready(*workers: Process) -> None:
    """Wait until all of them are ready."""
    for worker in workers:
        assert worker.stdout is not None
        line = worker.stdout.readline()
        assert line == b"ready\n", worker.communicate()[1]


def go(worker: Process) -> None:
    """Let one begin."""
    assert worker.stdin is not None
    worker.stdin.write(b"go\n")
    worker.stdin.flush()


def said(worker: Process) -> list[str]:
    """Return what a worker has printed, once it is done without a word of complaint."""
    out, err = worker.communicate(timeout=120)
    assert (worker.returncode, err) == (0, b"")
    return out.decode().split()


def check(db: str, acknowledged: list[str]) -> None:
    """Everything that was acknowledged is there, and rows, words and vectors agree."""
    store = open_store(db)
    assert {m.uid for m in store.page(EVERYTHING, 100_000)} == set(acknowledged)
    assert len(set(acknowledged)) == len(acknowledged)
    health = operations.doctor(store, deep=True)
    assert health.ok, health.findings
    assert store.counts().without_vectors == 0
    store.close()


def write_together(start: Callable[..., Process], db: str, writers: int, seconds: float) -> None:
    """Let several processes write at once and look at what is left."""
    workers = [start(f"writer{number}", seconds) for number in range(writers)]
    ready(*workers)
    for worker in workers:
        go(worker)
    acknowledged = [said(worker) for worker in workers]
    assert all(acknowledged)
    check(db, [uid for uids in acknowledged for uid in uids])


def test_sixteen_first_opens_at_once_make_one_store(start: Callable[..., Process], db: str) -> None:
    """Of sixteen processes that write to a store that is not there, each succeeds."""
    write_together(start, db, 16, 0)


def test_eight_writers_wait_in_line(start: Callable[..., Process], db: str) -> None:
    """Eight processes write as fast as they can: no error, nothing lost, nothing twice."""
    write_together(start, db, 8, 4)


@pytest.mark.torture
def test_eight_writers_wait_in_line_for_long(start: Callable[..., Process], db: str) -> None:
    """The same for 20 seconds."""
    write_together(start, db, 8, 20)


def test_readers_and_writers_do_not_stop_each_other(start: Callable[..., Process], db: str) -> None:
    """Two processes write and four search at the same time, and all get their answers."""
    first = operations.note(open_store(db), "the walrus was here first").uid
    writers = [start(f"writer{number}", 2) for number in range(2)]
    readers = [start(f"reader{number}", 2, "search") for number in range(4)]
    ready(*writers, *readers)
    for worker in (*writers, *readers):
        go(worker)
    acknowledged = [uid for worker in writers for uid in said(worker)]
    for worker in readers:
        hits = said(worker)
        assert hits
        assert all(int(count) >= 1 for count in hits)
    check(db, [first, *acknowledged])


def test_a_doctor_finds_nothing_wrong_while_others_write(
    start: Callable[..., Process], db: str
) -> None:
    """A store is sound at every moment, also to a process that has searched it before."""
    store = open_store(db)
    first = operations.note(store, "the walrus was here first").uid
    writers = [start(f"writer{number}", 2) for number in range(2)]
    ready(*writers)
    for worker in writers:
        go(worker)
    looked = 0
    while any(worker.poll() is None for worker in writers):
        operations.search(store, "walrus", limit=1)
        health = operations.doctor(store, deep=looked % 3 == 0)
        assert health.ok, health.findings
        looked += 1
    assert looked
    store.close()
    check(db, [first, *(uid for worker in writers for uid in said(worker))])


def test_a_writer_waits_behind_a_lock_of_three_seconds(
    start: Callable[..., Process], db: str
) -> None:
    """While another process holds the write lock a writer waits, and then succeeds."""
    store = open_store(db)
    first = operations.note(store, "before the lock").uid
    worker = start("late", 0)
    ready(worker)
    with store.writing():
        go(worker)
        time.sleep(3)
        assert worker.poll() is None
    store.close()
    check(db, [first, *said(worker)])


def test_a_writer_that_waits_too_long_is_told_so(
    start: Callable[..., Process], db: str, home: Path
) -> None:
    """After the seconds it may wait it leaves with the code for busy, and nothing is written."""
    store = open_store(db)
    first = operations.note(store, "before the lock").uid
    with store.writing():
        environment = {"MEMAI_BUSY_SECONDS": "0.2"}
        late = python("-m", "memai", "--db", db, "note", "too late", env=environment, cwd=home)
        out, err = late.communicate(timeout=60)
    assert (late.returncode, out) == (5, b"")
    assert b"locked for 0.2 seconds" in err
    store.close()
    check(db, [first])


@pytest.mark.parametrize("command", [["search", "walrus"], ["list"], ["pulse"], ["export"]])
def test_readers_do_not_wait_for_a_writer(db: str, home: Path, command: list[str]) -> None:
    """While another process holds the write lock, reading goes on as if there were none."""
    store = open_store(db)
    operations.note(store, "the walrus polishes its tusks")
    with store.writing():
        environment = {"MEMAI_BUSY_SECONDS": "0"}
        reader = python("-m", "memai", "--db", db, *command, env=environment, cwd=home)
        out, err = reader.communicate(timeout=60)
        assert (reader.returncode, err) == (0, b"")
        assert b"walrus" in out
    store.close()


def test_threads_with_stores_of_their_own_write_together(db: str) -> None:
    """A server has one store for each of its threads; they wait in line like processes."""
    barrier = Barrier(4)
    written: list[str] = []
    failures: list[BaseException] = []

    def write(name: str) -> None:
        store: Store = open_store(db, caller=Caller(agent=name))
        try:
            barrier.wait()
            written.extend(operations.note(store, f"{name} {n}").uid for n in range(10))
        except BaseException as failure:  # noqa: BLE001 - it is looked at below
            failures.append(failure)
        finally:
            store.close()

    threads = [Thread(target=write, args=(f"thread{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    check(db, written)


def test_a_killed_writer_leaves_a_sound_store(start: Callable[..., Process], db: str) -> None:
    """What a process had acknowledged before it was killed is there, and nothing by halves."""
    acknowledged: list[str] = []
    for round_ in range(5):
        worker = start(f"writer{round_}", 60)
        ready(worker)
        go(worker)
        assert worker.stdout is not None
        seen = [worker.stdout.readline() for _ in range(1 + 7 * round_)]
        worker.kill()
        out = worker.stdout.read()  # communicate() would lose what readline() has buffered
        worker.wait()
        acknowledged += b"".join([*seen, out]).decode().split()
    store = open_store(db)
    kept = {m.uid for m in store.page(EVERYTHING, 100_000)}
    # One more in each round: committed, and killed before it could say so.
    assert set(acknowledged) <= kept
    assert len(kept) <= len(acknowledged) + 5
    assert operations.doctor(store, deep=True).ok
    assert sum(1 for _ in operations.export(store)) == len(kept)
    store.close()
    assert os.path.getsize(db) > 0
