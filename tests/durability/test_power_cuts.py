"""The power fails: of what was not synced, anything may be on disk, torn and out of order.

A recording disk keeps every write, sync and deletion of a store at work; from that the files are
laid as they might be found after a cut at any moment, and opened.
"""

import os
import random
from pathlib import Path
from typing import Any

import pytest
from durability.disks import Event, Recorder, after_power_cut, in_front
from durability.workload import (
    Expected,
    Journal,
    Worker,
    expected,
    faults,
    opened,
    replay,
    use_small_models,
)

from memai.store import driver

MANY = int(os.environ.get("MEMAI_TORTURE", "2000"))


class Spoken(Journal):
    """A journal in the memory of the recorder, between what was written."""

    def __init__(self, disk: Recorder) -> None:
        self.disk = disk

    def _write(self, line: dict[str, Any]) -> None:
        self.disk.events.append(Event("mark", said=line))


def recorded(folder: Path, operations: int, seed: int) -> list[Event]:
    """Let a store work on a recording disk; return what happened on it."""
    disk = Recorder()
    with in_front(disk, "recorder"):
        store = opened(str(folder / "memories.db"))
        worker = Worker(store, seed, Spoken(disk))
        for number in range(operations):
            worker.step()
            if number == 0:
                store.raw().wal_autocheckpoint(60)  # type: ignore[attr-defined]
        store.close()
    return disk.events


def cut(events: list[Event], dice: random.Random, folder: Path) -> list[str]:
    """Cut the power at some moment; return what is wrong with what is found afterwards."""
    moment = dice.randrange(len(events))
    after_power_cut(events[:moment], dice, folder)
    told = Expected({}, set(), set(), expected(()).counted)
    replay((event.said for event in events[:moment] if event.kind == "mark"), told)
    store = opened(str(folder / "memories.db"))
    try:
        return faults(store, told)
    finally:
        store.close()


def images(folder: Path, many: int, seed: int) -> dict[str, int]:
    """Look at so many states after a power cut; count those that are wrong."""
    use_small_models()
    dice = random.Random(seed)
    (folder / "live").mkdir()
    events = recorded(folder / "live", 120, seed)
    counted = {"images": 0, "unhealthy": 0, "with losses": 0}
    for number in range(many):
        place = folder / str(number)
        place.mkdir()
        wrong = cut(events, dice, place)
        counted["images"] += 1
        counted["with losses"] += any("lost" in fault for fault in wrong)
        counted["unhealthy"] += any("lost" not in fault for fault in wrong)
        for path in place.iterdir():
            path.unlink()
    return counted


def test_power_cuts_lose_nothing(memory_folder: Path) -> None:
    """In 100 states after a power cut everything acknowledged is there and healthy."""
    seed = int.from_bytes(os.urandom(3), "big")
    found = images(memory_folder, 100, seed)
    assert found == {"images": 100, "unhealthy": 0, "with losses": 0}, seed


def test_a_store_that_does_not_wait_for_the_disk_is_noticed(
    memory_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With synchronous=NORMAL, which never waits at a commit, power cuts lose what was said."""
    monkeypatch.setattr(
        driver, "PRAGMAS", driver.PRAGMAS.replace("synchronous = FULL", "synchronous = NORMAL")
    )
    assert images(memory_folder, 30, seed=1)["with losses"] > 0


@pytest.mark.torture
def test_thousands_of_power_cuts_lose_nothing(
    memory_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for as many images as MEMAI_TORTURE says, of ten histories."""
    total = {"images": 0, "unhealthy": 0, "with losses": 0}
    for seed in range(10):
        folder = memory_folder / f"history {seed}"
        folder.mkdir()
        found = images(folder, MANY // 10, seed)
        total = {name: count + found[name] for name, count in total.items()}
    with capsys.disabled():
        print(f"\n{total}")
    assert total["unhealthy"] == total["with losses"] == 0
