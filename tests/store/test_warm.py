"""Searches of a long-lived process answer what those of a fresh one do."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import SPACE, embedded, memory

from memai.embedding import similar
from memai.queries import word_query
from memai.records import Edit, Memory, Where
from memai.store import Store, caches, matrix, nearest, sharing, warm

WORDS = [f"word{number}" for number in range(90)]
EVERYTHING = Where(current=False)
FILTERS = [Where(), EVERYTHING, Where(type="note", current=False), Where(domain="few")]


@pytest.fixture(params=[3, 1000])
def soon(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores of any size be searched the warm way, from the first search on.

    Filters are taken as leaving many memories, or few.
    """
    monkeypatch.setattr(nearest, "_COLD", 0)
    monkeypatch.setattr(nearest, "_NARROW", request.param)
    monkeypatch.setattr(warm, "_LEAST", 0)


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(0, 90),
    width=st.integers(1, 100),
    gone=st.sets(st.integers(1, 90)),
    plain=st.integers(0, 2),
    packed=st.booleans(),
)
@mock.patch.object(matrix, "_BLOCK", 32)
def test_the_nearest_are_among_what_a_matrix_names(
    seed: int, rows: int, width: int, gone: set[int], plain: int, packed: bool
) -> None:
    """What is named holds the nearest of brute force, and what is not is behind the horizon."""
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(rows, 8)).astype("<f4") ** 3
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = chance.normal(size=8).astype("<f4")
    query /= np.linalg.norm(query)
    made = matrix.Matrix(8)
    half = rows // 2
    for part in (range(half), range(half, rows)):
        numbered = [(place + 1, vectors[place].tobytes()) for place in part]
        with mock.patch.object(matrix, "_PLAIN", plain):
            if numbered:
                read = matrix.plain(numbered, 8)
                # What is packed stands before what is not, or behind it.
                made.put(matrix.quantised(read) if packed is (part[0] > 0) else read)
    made.forget(gone)
    reach = matrix.nearest(made.products(query.tobytes()).results(), width)
    ids, horizon = reach.ids, reach.horizon
    cosines = {place + 1: float(vectors[place] @ query) for place in range(rows)}
    left = sorted(cosines.keys() - gone, key=lambda one: -cosines[one])
    assert set(ids.tolist()) <= set(left)
    assert set(left[:width]) <= set(ids.tolist())
    assert all(cosines[id] < horizon for id in set(left) - set(ids.tolist()))
    for id, low, high in zip(ids.tolist(), reach.lows, reach.highs, strict=True):
        assert low <= cosines[id] <= high
    made.keep(",".join(str(id) for id in left[:3]))
    assert set(matrix.nearest(made.products(query.tobytes()).results(), width).ids.tolist()) <= set(
        left[:3]
    )


def a_memory(chance: random.Random) -> Memory:
    """Return a memory of a few words."""
    return memory(
        " ".join(chance.choices(WORDS, k=chance.randint(1, 5))),
        type=chance.choice(["note", "note", "handoff"]),
        domain=chance.choice([None, "many", "many", "few"]),
        status=chance.choice(["active", "active", "archived"]),
    )


def insert(store: Store, *memories: Memory) -> None:
    """Store memories in one transaction, each with a passage for all of it and for its start."""
    with store.writing():
        for one in memories:
            store.insert(one, embedded(one.content, [(0, len(one.content)), (0, 5)]))


def test_answers_are_those_of_a_scan_whatever_happens_meanwhile(
    soon: None, engine: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added, edited, purged, embedded anew, by this connection or another: nothing is missed."""
    chance = random.Random(3)
    store, other = engine(), engine()
    kept = [a_memory(chance) for _ in range(300)]
    insert(store, *kept)

    def check() -> None:
        for where in FILTERS:
            for limit in (1, 7, 40):
                vector = embedded(" ".join(chance.choices(WORDS, k=3))).passages[0].embedding
                found = [one.by_meaning(vector, where, limit) for one in (store, other)]
                found.append(store.by_both(word_query("word1"), vector, where, limit)[1])
                with monkeypatch.context() as patch:
                    patch.setattr(nearest, "_COLD", 10**9)
                    expected = store.by_meaning(vector, where, limit)
                for one in found:
                    assert [(s.id, s.start, s.end) for s in one] == [
                        (s.id, s.start, s.end) for s in expected
                    ], (where, limit)
                    assert [s.score for s in one] == pytest.approx([s.score for s in expected])

    check()
    for writer in (store, other, store):
        insert(writer, *(a_memory(chance) for _ in range(20)))
        check()
        for one in chance.sample(kept, 5):
            changed = one._replace(content=" ".join(chance.choices(WORDS, k=4)), version=2)
            edit = Edit(1, one.created_at, "t", None, {})
            with writer.writing():
                writer.change(changed, edit, embedded(changed.content))
        check()
        for one in chance.sample(kept, 5):
            kept.remove(one)
            with writer.writing():
                writer.remove(one.uid, one.created_at)
        check()
    with other.writing():
        insert_without = a_memory(chance)
        other.insert(insert_without, embedded(insert_without.content)._replace(space=None))
    check()
    left = other.unembedded(SPACE, 10)
    assert [one.uid for _, one in left] == [insert_without.uid]
    with other.writing():
        other.put_vectors(SPACE, [(id, one, embedded(one.content)) for id, one in left])
    check()
    store.forget_vectors()
    other.close()
    again = [(id, one, embedded(one.content)) for id, one, _ in store.embedded(1000)]
    with store.writing():
        store.put_passages(chance.sample(again, len(again)))
    check()


def test_what_a_transaction_has_not_kept_is_not_remembered(
    soon: None, engine: Callable[..., Store]
) -> None:
    """A search inside a write sees what was written; once rolled back, nothing of it is left."""
    store = engine()
    insert(store, *(memory(f"word{number}") for number in range(30)))
    vector = embedded("unheard").passages[0].embedding
    before = store.by_meaning(vector, Where(), 5)

    def in_vain() -> None:
        with store.writing():
            one = memory("unheard")
            store.insert(one, embedded(one.content))
            assert store.by_meaning(vector, Where(), 1)[0].score == pytest.approx(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_vain()
    assert store.by_meaning(vector, Where(), 5) == before
    insert(store, memory("word1"))
    assert store.by_meaning(vector, Where(), 5) == before


def test_an_older_state_is_answered_as_it_was(soon: None, engine: Callable[..., Store]) -> None:
    """Who reads an older state finds what it holds, though another has seen a newer one."""
    store, other = engine(), engine()
    made = [memory(f"word{number}") for number in range(30)]
    insert(store, *made)
    vector = embedded("word7").passages[0].embedding
    before = store.by_meaning(vector, Where(), 5)
    with store.reading():
        assert store.by_meaning(vector, Where(), 5) == before
        with other.writing():
            other.remove(made[7].uid, made[7].created_at)
        assert other.by_meaning(vector, Where(), 5) != before
        assert store.by_meaning(vector, Where(), 5) == before
    assert store.by_meaning(vector, Where(), 5) == other.by_meaning(vector, Where(), 5)


def test_what_was_purged_leaves_the_memory_of_a_process(
    soon: None, engine: Callable[..., Store]
) -> None:
    """The first search after a purge takes its vectors out of the matrix, wherever they stand."""
    store, other = engine(), engine()
    made = [memory(f"word{number}") for number in range(30)]
    insert(store, *made)
    vector = embedded("word20").passages[0].embedding
    store.by_meaning(vector, Where(), 3)
    with other.writing():
        other.remove(made[3].uid, made[3].created_at)
    store.by_meaning(vector, Where(), 3)
    (kept,) = [c for c in caches._known.values() if c.matrix is not None]
    reach = matrix.nearest(kept.matrix.products(vector).results(), 1000)
    assert len(reach.ids) == len(list(store.vectors(EVERYTHING))) == 58


def test_the_vectors_of_a_filter_are_read_once_for_each_state(
    engine: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second search in a filter compares what the first has read; a purge leaves none of it."""
    monkeypatch.setattr(nearest, "_COLD", 0)
    read: list[int] = []
    plain = warm.plain
    monkeypatch.setattr(warm, "plain", lambda rows, dim: read.append(len(rows)) or plain(rows, dim))
    store = engine()
    made = [memory(f"word{number}", domain="few") for number in range(30)]
    insert(store, *made)
    vector = embedded("word20").passages[0].embedding
    first = store.by_meaning(vector, Where(domain="few"), 3)
    assert store.by_meaning(vector, Where(domain="few"), 3) == first
    assert read == [60]
    with store.writing():
        store.remove(made[3].uid, made[3].created_at)
    store.by_meaning(vector, Where(), 3)
    assert not store.caches().narrow
    store.by_meaning(vector, Where(domain="few"), 3)
    assert read == [60, 58]


def test_a_file_put_in_the_place_of_another_is_another(
    soon: None, engine: Callable[..., Store]
) -> None:
    """Caches belong to a file, not to its name."""
    import os

    store = engine()
    insert(store, *(memory(f"word{number}") for number in range(30)))
    second = engine("second.db")
    insert(second, *(memory("word5") for _ in range(3)))
    vector = embedded("word5").passages[0].embedding
    assert len(store.by_meaning(vector, Where(), 30)) == 30
    assert len(second.by_meaning(vector, Where(), 30)) == 3
    second.close()
    for ending in ("", "-wal", "-shm"):
        if os.path.exists(second.path + ending):
            os.replace(second.path + ending, store.path + ending)
    assert len(store.by_meaning(vector, Where(), 30)) == 3


def test_threads_share_what_is_kept_and_see_their_own_state(
    soon: None, engine: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While others write, each search finds what its own state of the store holds."""
    monkeypatch.setattr(matrix, "_BLOCK", 32)
    monkeypatch.setattr(sharing, "cores", lambda: 2)
    chance = random.Random(8)
    writer = engine()
    kept = [a_memory(chance) for _ in range(120)]
    insert(writer, *kept)
    over = threading.Event()

    def read(store: Store, seed: int) -> None:
        own = random.Random(seed)
        while not over.is_set():
            query = embedded(" ".join(own.choices(WORDS, k=2))).passages[0].embedding
            with store.reading():
                _, found = store.by_both(word_query(own.choice(WORDS)), query, Where(), 6)
                best: dict[int, float] = {}
                for id, vector in store.vectors(Where()):
                    best[id] = max(similar(query, vector), best.get(id, -1.0))
            expected = sorted(best.values(), reverse=True)[:6]
            assert [one.score for one in found] == pytest.approx(expected, abs=1e-6)
            assert [best[one.id] for one in found] == pytest.approx(expected, abs=1e-6)

    with ThreadPoolExecutor(3) as threads:
        readings = [threads.submit(read, engine(), seed) for seed in range(3)]
        for _ in range(25):
            insert(writer, *(a_memory(chance) for _ in range(3)))
            gone = kept.pop(chance.randrange(len(kept)))
            with writer.writing():
                writer.remove(gone.uid, gone.created_at)
        over.set()
    for reading in readings:
        reading.result()


def test_what_comes_and_goes_while_words_are_read_is_not_of_this_state(
    soon: None, engine: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread takes in a new and a purged memory between the two routes of a search."""
    store, other = engine(), engine()
    made = [memory(f"word{number}") for number in range(40)]
    insert(store, *made)
    vector, query = embedded("word7").passages[0].embedding, word_query("word7")
    before = store.by_both(query, vector, Where(), 5)
    by_words = type(store).by_words

    def meanwhile(self: Store, *given: Any) -> Any:
        if self is store:
            insert(other, memory("word7 again"))
            with other.writing():
                other.remove(made[7].uid, made[7].created_at)
            assert other.by_meaning(vector, Where(), 5) != before[1]
        return by_words(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "by_words", meanwhile)
        assert store.by_both(query, vector, Where(), 5) == before
    assert store.by_both(query, vector, Where(), 5)[1] == other.by_meaning(vector, Where(), 5)


@pytest.mark.parametrize("soon", [3, 1000], indirect=True)
@pytest.mark.parametrize("altered", [b"\xff" * 4, b"\x00\x00\x80\x7f", b"\x00" * 4])
def test_a_vector_that_is_no_number_hides_no_other(
    soon: None, engine: Callable[..., Store], monkeypatch: pytest.MonkeyPatch, altered: bytes
) -> None:
    """What a disk has altered is left out or far; the others are found as before, either way."""
    store = engine()
    made = [memory(f"word{number}", domain="few") for number in range(12)]
    insert(store, *made)
    with store.writing():
        vector = store.one("SELECT embedding FROM vectors WHERE passage_id = 1")
        store.run(
            "UPDATE vectors SET embedding = ? WHERE passage_id IN (1, 2)",
            (altered * (len(vector) // 4),),
        )
    query = embedded("word5").passages[0].embedding
    for where in (Where(), Where(domain="few")):
        quick = [one.id for one in store.by_meaning(query, where, 12)]
        with monkeypatch.context() as patch:
            patch.setattr(nearest, "_COLD", 10**9)
            plain = [one.id for one in store.by_meaning(query, where, 12)]
        assert quick[:5] == plain[:5]
        assert {*range(2, 13)} <= {*quick}
