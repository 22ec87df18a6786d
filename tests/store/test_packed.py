"""Vectors are packed for searches of large stores, and nothing but time depends on it."""

import random

import numpy as np
import pytest
from support import SPACE, embedded, memory

from memai.records import Edit, Memory, Space, Where
from memai.store import Store, nearest, packed, packing

WORDS = [f"word{number}" for number in range(90)]
FILTERS = [Where(), Where(current=False), Where(type="handoff", current=False)]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores of any size be packed."""
    monkeypatch.setattr(packing, "LEAST", 0)
    monkeypatch.setattr(nearest, "_NARROW", 3)


@pytest.fixture
def filled(store: Store) -> Store:
    """Fill two blocks and the beginning of a third."""
    chance = random.Random(4)
    insert(store, *(a_memory(chance) for _ in range(1100)))
    store.settle()
    assert blocks(store) == [0, 1]
    return store


def a_memory(chance: random.Random) -> Memory:
    """Return a memory of a few words."""
    return memory(
        " ".join(chance.choices(WORDS, k=chance.randint(1, 5))),
        type=chance.choice(["note", "note", "handoff"]),
        status=chance.choice(["active", "active", "archived"]),
    )


def insert(store: Store, *memories: Memory) -> None:
    """Store memories in one transaction, each with a passage for all of it and for its start."""
    with store.writing():
        for one in memories:
            store.insert(one, embedded(one.content, [(0, len(one.content)), (0, 5)]))


def blocks(store: Store) -> list[int]:
    """Return which blocks are packed."""
    return [row[0] for row in store.all("SELECT block FROM packed ORDER BY block")]


def quantised(store: Store) -> dict[int, bytes]:
    """Return the numbers of all vectors by passage, as searches read them."""
    with store.reading():
        parts = [
            (ids.tolist(), np.array(numbers))
            for ids, numbers, _, _ in packed.read(store, SPACE.dim, 0)
        ]
    return {
        id: row.astype("i1").tobytes()
        for ids, rows in parts
        for id, row in zip(ids, rows, strict=True)
    }


def check(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what is found with the blocks, and without them."""
    chance = random.Random(6)
    for where in FILTERS:
        for limit in (1, 7, 40):
            vector = embedded(" ".join(chance.choices(WORDS, k=3))).passages[0].embedding
            found = store.by_meaning(vector, where, limit)
            with monkeypatch.context() as patch:
                patch.setattr(type(store), "_seen", lambda *_: None)
                expected = store.by_meaning(vector, where, limit)
            assert [(s.id, s.start, s.end) for s in found] == [
                (s.id, s.start, s.end) for s in expected
            ], (where, limit)
            assert [s.score for s in found] == pytest.approx([s.score for s in expected])


def test_answers_are_those_of_the_rows_whatever_happens(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added, edited, purged, packed again: every search finds what it would without blocks."""
    chance = random.Random(5)
    check(filled, monkeypatch)
    insert(filled, *(a_memory(chance) for _ in range(20)))
    check(filled, monkeypatch)
    kept = list(filled.memories(chance.sample(range(1, 1100), 20)).values())
    for one in kept[:10]:
        changed = one._replace(content=" ".join(chance.choices(WORDS, k=4)), version=2)
        with filled.writing():
            edit = Edit(1, one.created_at, "t", None, {})
            filled.change(changed, edit, embedded(changed.content))
    for one in kept[10:]:
        with filled.writing():
            filled.remove(one.uid, one.created_at)
    assert blocks(filled) == [0, 1]
    check(filled, monkeypatch)
    insert(filled, *(a_memory(chance) for _ in range(500)))
    filled.settle()
    assert blocks(filled) == [0, 1, 2]
    check(filled, monkeypatch)
    assert filled.check(deep=True) == []


def test_each_vector_has_an_error_of_its_own(filled: Store) -> None:
    """What a product may be wrong by is said of each row, however many blocks are read after it."""
    vector = embedded("word3 word4").passages[0].embedding
    insert(filled, *(a_memory(random.Random(2)) for _ in range(600)))
    filled.settle()
    said: dict[int, float] = {}
    wanted: dict[int, float] = {}
    with filled.reading():
        for part in packed.View(filled, SPACE.dim, vector).products():
            said |= zip(part.ids.tolist(), part.errors.tolist(), strict=True)
        for part in packed.read(filled, SPACE.dim, 0):
            wanted |= zip(part.ids.tolist(), part.errors.tolist(), strict=True)
    assert said == wanted
    assert len(set(said.values())) > len(said) // 10


def test_what_is_gone_is_gone_from_its_block(filled: Store) -> None:
    """An edit and a purge take the vectors that were there out of the blocks, bytes and all."""
    edited, purged = (filled.memories([id])[id] for id in (7, 9))
    before = quantised(filled)
    with filled.writing():
        changed = edited._replace(content="word1 word2", version=2)
        filled.change(changed, Edit(1, edited.created_at, "t", None, {}), embedded("word1 word2"))
        filled.remove(purged.uid, purged.created_at)
    gone = {13, 14, 17, 18}  # their passages: each memory has two
    after = quantised(filled)
    assert before.keys() - after.keys() == gone
    assert all(after[id] == row for id, row in before.items() if id not in gone)
    raw = filled.all("SELECT rows FROM packed WHERE block = 0")[0][0]
    width = len(raw) // packed.BLOCK
    for id in range(1, 30):
        assert any(raw[id * width : (id + 1) * width]) == (id not in gone)


def test_vectors_that_come_late_are_found(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that passages without vectors lie in is given up when they get theirs."""
    bare = filled.memories([20])[20]
    with filled.writing():
        without = embedded(bare.content)._replace(space=None)
        filled.change(bare, Edit(1, bare.created_at, "t", None, {}), without)
    insert(filled, *(a_memory(random.Random(1)) for _ in range(600)))
    filled.settle()
    assert blocks(filled) == [0, 1, 2]
    late = filled.unembedded(SPACE, 10)
    with filled.writing():
        filled.put_vectors(SPACE, [(id, one, embedded(one.content)) for id, one in late])
    assert blocks(filled) == [0, 1]
    check(filled, monkeypatch)
    filled.settle()
    assert blocks(filled) == [0, 1, 2]
    check(filled, monkeypatch)


def test_another_space_has_blocks_of_its_own(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once vectors are made anew, none of the old is left, nor any block of them."""
    space = Space("another", "0" * 64, SPACE.dim, "whole texts")
    done = 0
    while batch := filled.unembedded(space, 400, done):
        made = [(id, one, embedded(one.content, space=space)) for id, one in batch]
        with filled.writing():
            filled.put_vectors(space, made)
        done = batch[-1][0]
    with filled.writing():
        assert filled.switch_space(space)
    check(filled, monkeypatch)
    last = 0
    while True:
        with filled.writing():
            last = filled.clear_spaces(400, last)
        if not last:
            break
    assert blocks(filled) == []
    check(filled, monkeypatch)
    filled.settle()
    assert len(blocks(filled)) >= 2
    check(filled, monkeypatch)
    assert filled.all("SELECT DISTINCT space_id FROM packed") == filled.all("SELECT id FROM spaces")


@pytest.mark.parametrize("where", ["a number", "a scale", "an error", "the length", "a block"])
def test_damage_in_a_block_is_found_and_mended(
    filled: Store, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A deep check tells of a flipped bit in a block; made again, it is as it was."""
    rows = bytearray(filled.all("SELECT rows FROM packed WHERE block = 1")[0][0])
    width = len(rows) // packed.BLOCK
    if where == "the length":
        del rows[-1]
    elif where == "a block":
        rows[:width] = rows[width : 2 * width]
    else:
        rows[100 * width + {"a number": 3, "a scale": width - 6, "an error": width - 2}[where]] ^= (
            64
        )
    with filled.writing():
        filled.run("UPDATE packed SET rows = ? WHERE block = 1", (bytes(rows),))
    (found,) = filled.check(deep=True)
    assert (found.level, found.code, found.fix) == ("damage", "packed", "memai doctor --fix")
    filled.rebuild()
    assert blocks(filled) == []
    filled.settle()
    assert filled.check(deep=True) == []
    check(filled, monkeypatch)


def test_blocks_that_edits_emptied_are_given_up(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compacting makes them anew where they are worth their space, and the rest is read by rows."""
    emptied = list(filled.memories(range(1, 300)).values())
    with filled.writing():
        for one in emptied:
            edit = Edit(1, one.created_at, "t", None, {})
            filled.change(one._replace(version=2), edit, embedded(one.content))
    assert blocks(filled) == [0, 1]
    filled.compact()
    assert blocks(filled) == [1]
    check(filled, monkeypatch)
    assert filled.check(deep=True) == []


def test_small_stores_are_not_packed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a quarter of a million passages a scan is as quick, and takes no space."""
    monkeypatch.undo()
    insert(store, *(memory(f"word{number}") for number in range(600)))
    store.settle()
    assert blocks(store) == []
