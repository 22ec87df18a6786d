"""Killed at any moment: what was acknowledged is there, and nothing half-written.

Run before a release, with the kills it is given:

    MEMAI_TORTURE=2000 pytest tests/durability -m torture
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from durability.workload import expected, faults, opened, use_small_models
from support import CHECKOUT, python

WORKER = str(CHECKOUT / "tests" / "durability" / "worker.py")
MANY = int(os.environ.get("MEMAI_TORTURE", "2000"))


class Killing:
    """Rounds in which workers are killed, each followed by a look at what is left."""

    def __init__(self, folder: Path, seed: int, kind: str = "store") -> None:
        self.folder = folder
        self.db = str(folder / "memories.db")
        self.dice = random.Random(seed)
        self.kind = kind
        self.seed = seed * 100_000
        self.journals: list[str] = []
        self.counted: Counter[str] = Counter()
        self.longest = 0.4 if kind == "store" else 1.2

    def fresh(self) -> None:
        """Begin with no file, so that some are killed while they make it."""
        for name in os.listdir(self.folder):
            path = self.folder / name
            if path.is_file():
                path.unlink()
        self.journals = []

    def round(self, workers: int = 3) -> list[str]:
        """Let workers run, kill them all or some first, and return what is wrong then."""
        started = [self._start() for _ in range(workers)]
        own = self.journals[-workers:]
        if self.dice.random() < 0.7:  # most get beyond starting
            _wait_for(own, started)
        time.sleep(self.dice.uniform(0.0, self.longest))
        self.dice.shuffle(started)
        first = self.dice.randint(1, workers)
        for group in (started[:first], started[first:]):
            for process in group:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with the commands it started
                self.counted["kills"] += 1
            time.sleep(self.dice.uniform(0.0, 0.05))
        wrong = []
        for process in started:
            _, errors = process.communicate()
            if process.returncode != -signal.SIGKILL:
                wrong.append(f"a worker ended by itself: {errors.decode()[-500:]}")
        store = opened(self.db)
        try:
            wrong += faults(store, expected(self.journals))
        finally:
            store.close()
        return wrong

    def _start(self) -> "subprocess.Popen[bytes]":
        self.seed += 1
        journal = str(self.folder / f"{self.seed}.journal")
        Path(journal).touch()
        self.journals.append(journal)
        paths = os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "tests")))
        return python(
            *(WORKER, self.db, str(self.seed), journal, self.kind),
            env={"PYTHONPATH": paths},
            start_new_session=True,
        )


def _wait_for(journals: list[str], workers: list["subprocess.Popen[bytes]"]) -> None:
    """Wait until each worker has written something, or one has ended."""
    while not all(os.path.getsize(path) for path in journals):
        if any(worker.poll() is not None for worker in workers):
            return
        time.sleep(0.002)


@pytest.fixture(autouse=True)
def small_models() -> None:
    """Use the embedders of the tests."""
    use_small_models()


def run(folder: Path, kills: int, seed: int, kind: str = "store") -> Counter[str]:
    """Kill so many workers; fail at the first thing that is wrong."""
    killing = Killing(folder, seed, kind)
    rounds, counted = 0, Counter[str]()
    while killing.counted["kills"] < kills:
        if rounds % 4 == 0:
            counted += expected(killing.journals).counted
            killing.fresh()
        wrong = killing.round()
        assert wrong == [], (rounds, killing.seed)
        rounds += 1
    counted += expected(killing.journals).counted
    return counted + killing.counted


def test_nothing_acknowledged_is_lost_by_kills(tmp_path: Path) -> None:
    """Workers that write, edit, link, purge, reembed, compact and back up are killed 36 times."""
    counted = run(tmp_path, 36, seed=int.from_bytes(os.urandom(3), "big"))
    assert counted["acknowledged"] > 30


@pytest.mark.parametrize("kind", ["command line", "MCP server"])
def test_nothing_acknowledged_by_a_face_is_lost_by_kills(tmp_path: Path, kind: str) -> None:
    """Commands, and servers with calls in flight, are killed 12 times."""
    counted = run(tmp_path, 12, seed=int.from_bytes(os.urandom(3), "big"), kind=kind)
    assert counted["acknowledged"] > 10


@pytest.mark.torture
def test_nothing_acknowledged_is_lost_by_thousands_of_kills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for as many kills as MEMAI_TORTURE says, a tenth of them of each face."""
    counted = run(tmp_path, MANY * 8 // 10, seed=1)
    for number, kind in enumerate(("command line", "MCP server")):
        (tmp_path / kind).mkdir()
        counted += run(tmp_path / kind, MANY // 10, seed=2 + number, kind=kind)
    with capsys.disabled():
        print(f"\n{dict(counted)}: nothing lost")


@pytest.mark.parametrize(
    "defect", ["two transactions", "early acknowledgement", "forgotten vector"]
)
def test_the_torture_notices_a_defect(tmp_path: Path, defect: str) -> None:
    """A store with a known defect does not get through."""
    killing = Killing(tmp_path, seed=1, kind=defect)
    for _ in range(40):
        wrong = killing.round(workers=2)
        assert not any("ended by itself" in fault for fault in wrong)
        if wrong:
            return
    pytest.fail("the defect was not noticed")
