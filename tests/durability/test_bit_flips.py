"""One bit flips somewhere on the disk: whatever answer that changes, `doctor --deep` finds it."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from durability.workload import EVERYTHING, MODELS, opened, text, use_small_models

from memai import embedding, operations
from memai.errors import MemaiError
from memai.queries import word_query
from memai.records import to_json
from memai.store import Store

QUERIES = ("deploy rollback", "PROJ-1042", '"kill commit"', "メモリ", "foo_bar 10.0.0.1", "naive")


def filled(path: str) -> None:
    """Write a store with something of everything, all of it in the main file."""
    use_small_models()
    dice = random.Random(5)
    store = opened(path)
    uids = [
        operations.note(
            store,
            text(dice),
            domain=dice.choice((None, "d", "d/e")),
            tags=tuple(dice.sample(("red", "green", "blue"), 2)),
            session=dice.choice((None, "s1", "s2")),
            source=dice.choice((None, "a mail")),
        ).uid
        for _ in range(60)
    ]
    for uid in uids[:15]:
        operations.edit(store, uid, text(dice), reason="corrected")
    for uid, other in zip(uids[10:20], uids[30:40], strict=True):
        operations.link(store, uid, dice.choice(("supersedes", "relates_to")), other, note="why")
    operations.forget(store, uids[50:53], reason="old")
    operations.confidence(store, uids[0], "contradicted")
    operations.purge(store, uids[59], confirm=f"DELETE {uids[59]}")
    store.raw().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # type: ignore[attr-defined]
    store.close()


def answers(store: Store) -> str:
    """Return what commands say of a store, and the vectors they rank by."""
    said: list[Any] = [list(operations.export(store))]
    for query in QUERIES:
        said.append(store.by_words(word_query(query), EVERYTHING, 100))
        said.append(store.by_substring([query[:9].casefold()], EVERYTHING, 100))
        said.append(store.by_meaning(_vector(query), EVERYTHING, 100))
    said.append(to_json(operations.search(store, QUERIES[0], limit=2)))
    said += [
        to_json(operations.list_memories(store, limit=100, **filter))
        for filter in (
            {"domain": "d"},
            {"tags": ("green",)},
            {"session": "s1"},
            {"all_": True, "type": "note"},
        )
    ]
    counts = operations.stats(store).counts._replace(bytes=0, wal_bytes=0)
    said += [to_json(counts), to_json(operations.domains(store)), to_json(operations.pulse(store))]
    said += [[memory.uid, repr(kept)] for _, memory, kept in store.embedded(1000)]
    return json.dumps(said, sort_keys=True)


def _vector(query: str) -> bytes:
    model = embedding.load(MODELS[0])
    assert not isinstance(model, embedding.NoModel)
    return model.embed(query) or b""


def flipped(folder: Path, many: int, seed: int) -> dict[str, int]:
    """Flip so many bits, each in a copy of its own; fail if one changes an answer unnoticed."""
    original = folder / "original.db"
    filled(str(original))
    whole = original.read_bytes()
    store = opened(str(original))
    assert [f for f in store.check(deep=True) if f.level != "advice"] == []
    sound = answers(store)
    store.close()
    dice = random.Random(seed)
    counted = {"flips": 0, "changed an answer": 0, "found": 0}
    path = folder / "flipped.db"
    for _ in range(many):
        place, bit = dice.randrange(len(whole)), dice.randrange(8)
        data = bytearray(whole)
        data[place] ^= 1 << bit
        path.touch(mode=0o600)
        path.write_bytes(data)
        store = opened(str(path))
        try:
            changed = answers(store) != sound
        except Exception:  # noqa: BLE001 - an error is an answer that is not what it was
            changed = True
        found = noticed(store)
        store.close()
        for end in ("", "-wal", "-shm"):
            if os.path.exists(str(path) + end):
                os.unlink(str(path) + end)
        assert found or not changed, f"bit {bit} of byte {place} was not found (seed {seed})"
        counted["flips"] += 1
        counted["changed an answer"] += changed
        counted["found"] += found
    return counted


def noticed(store: Store) -> bool:
    """Whether doctor finds damage or a problem, or says that the file is not a store."""
    try:
        findings = operations.doctor(store, deep=True).findings
    except MemaiError as error:
        return error.exit_code == 6
    return any(finding.level != "advice" for finding in findings)


def test_every_flip_that_changes_an_answer_is_found(memory_folder: Path) -> None:
    """A hundred flips, over the whole file."""
    found = flipped(memory_folder, 100, seed=int.from_bytes(os.urandom(3), "big"))
    assert found["changed an answer"] > 10


@pytest.mark.torture
def test_a_thousand_flips(memory_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same a thousand times; reports the share that is found of all."""
    found = flipped(memory_folder, 1000, seed=1)
    with capsys.disabled():
        print(f"\n{found}: every one that changed an answer was found")
