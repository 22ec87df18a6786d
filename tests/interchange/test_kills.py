"""An import or sync that is killed at any moment loses nothing, and the next one finishes it."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from exchange import all_of, counts, exported, on_disk, save, told, written
from support import CHECKOUT, memory, python

from memai import operations
from memai.formats import own
from memai.records import Relation
from memai.store import Store

WORKER = Path(__file__).with_name("worker.py")
KILLS = 6


def killed(act: str, store: Store, what: str, seconds: float) -> bool:
    """Run a worker and kill it after a while; return whether it had finished before."""
    process = python(
        str(WORKER),
        act,
        store.settings.path,
        what,
        env={"PYTHONPATH": f"{CHECKOUT}:{CHECKOUT}/tests"},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(seconds)
    process.kill()
    out, err = process.communicate()
    assert err == b"", err.decode()
    return out.endswith(b"done\n")


def lines(count: int) -> list[dict[str, object]]:
    """Return the lines of memories that are related, forwards and backwards."""
    made = [memory(f"Memory {number} of many.", tags=("many",)) for number in range(count)]
    return [
        own.line(
            one,
            (),
            [Relation(one.uid, "follows", made[number - 7].uid, None, "t", one.created_at)],
        )
        for number, one in enumerate(made)
    ]


def test_a_killed_import_is_finished_by_the_next(
    opener: Callable[..., Store], tmp_path: Path
) -> None:
    """What was kept is whole batches, and in the end all is there, related, exactly once."""
    wanted = lines(3_000)
    path = written(tmp_path / "many.jsonl", wanted)
    order = random.Random(7)
    before = 0
    for number in range(KILLS):
        store = opener("killed.db")
        finished = killed("import", store, path, order.uniform(0.02, 0.5))
        kept = len(all_of(store))
        assert kept % 500 == 0
        assert kept >= before
        assert store.check(deep=True) == []
        before = kept
        if finished or number == KILLS - 1:
            break
    answer = operations.import_memories(store, path)
    assert answer.new == 3_000 - before
    assert sorted(exported(store)) == sorted(own.dumps(line) for line in wanted)
    assert counts(operations.import_memories(store, path))[:2] == (0, 0)


def test_a_killed_sync_is_finished_by_the_next(
    opener: Callable[..., Store], tmp_path: Path
) -> None:
    """Pages and memories are whole at any moment; nothing either side said is lost."""
    folder = tmp_path / "notes"
    path = written(tmp_path / "some.jsonl", lines(300))
    store = opener("synced.db")
    operations.import_memories(store, path)
    before = told(store)
    order = random.Random(11)
    for _ in range(KILLS):
        killed("sync", store, str(folder), order.uniform(0.02, 0.6))
        for uid, said in on_disk(folder).items() if folder.exists() else ():
            assert said == before[uid]
        assert told(store) == before
    answer = operations.sync(store, str(folder))
    assert answer.conflicts == answer.errors == ()
    assert on_disk(folder) == before
    assert [p.name for p in folder.iterdir() if p.suffix != ".md"] == []


def test_a_killed_sync_keeps_what_pages_said(opener: Callable[..., Store], tmp_path: Path) -> None:
    """Edited pages, new files and deleted ones are carried over in the end, once each."""
    folder = tmp_path / "notes"
    store = opener("synced.db")
    operations.import_memories(store, written(tmp_path / "some.jsonl", lines(200)))
    operations.sync(store, str(folder))
    found = sorted(folder.rglob("*.md"))
    for page in found[:80]:
        page.write_text(page.read_text() + "And more.\n")
    for number in range(40):
        (folder / f"new {number}.md").write_text(f"A new file, number {number}.\n")
    for page in found[80:100]:
        page.unlink()
    order = random.Random(13)
    for _ in range(KILLS):
        killed("sync", store, str(folder), order.uniform(0.02, 0.6))
    answer = operations.sync(store, str(folder))
    assert answer.conflicts == answer.errors == ()
    memories = all_of(store)
    assert len(memories) == 240
    assert (
        sum(m.content.endswith("And more.\n") or m.content.endswith("And more.") for m in memories)
        == 80
    )
    assert sum("A new file" in m.content for m in memories) == 40
    assert sum(m.status == "archived" for m in memories) == 20
    pages_say = on_disk(folder)
    ours = told(store)
    assert pages_say == {uid: ours[uid] for uid in pages_say}
    again = operations.sync(store, str(folder))
    assert (again.new, again.changed) == (0, 0)
    assert save(store, tmp_path / "out.jsonl")


@pytest.fixture(autouse=True)
def _no_domain_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folder of the tests from naming a domain."""
    monkeypatch.chdir(tmp_path)
