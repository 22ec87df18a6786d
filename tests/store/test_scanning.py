"""Comparing all vectors by several connections finds what one finds."""

import random
from collections.abc import Callable

import pytest
from support import embedded, memory

from memai.records import Scored, Where
from memai.store import Store, nearest, scanning


@pytest.fixture
def filled(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Fill a store that counts as large enough for four connections."""
    chance = random.Random(5)
    words = [f"word{number}" for number in range(20)]
    with store.writing():
        for number in range(60):
            text = " ".join(chance.choices(words, k=3))
            store.insert(memory(text, type=("note", "handoff")[number % 2]), embedded(text))
    monkeypatch.setattr(nearest, "_COLD", 10**9)
    monkeypatch.setattr(nearest, "_NARROW", 3)
    monkeypatch.setattr(scanning, "cores", lambda: 4)
    monkeypatch.setattr(scanning, "PART", 7)
    return store


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Scored]]:
    """Search with one connection."""

    def search(store: Store, *arguments: object) -> list[Scored]:
        with monkeypatch.context() as patch:
            patch.setattr(scanning, "PART", 10**9)
            return store.by_meaning(*arguments)

    return search


def the_vector() -> bytes:
    """Return the vector of two words."""
    return embedded("word3 word4").passages[0].embedding


def test_parts_together_are_the_whole(filled: Store, alone: Callable[..., list[Scored]]) -> None:
    """In every filter, to every depth; inside a write too, whose rows no other connection sees."""
    for where in (Where(), Where(type="note"), Where(current=False)):
        for limit in (1, 4, 15, 100):
            found = filled.by_meaning(the_vector(), where, limit)
            assert found == alone(filled, the_vector(), where, limit)
    with filled.writing():
        one = memory("word3 word4")
        filled.insert(one, embedded(one.content))
        found = filled.by_meaning(the_vector(), Where(), 3)
        assert found == alone(filled, the_vector(), Where(), 3)
        assert found[0].score == pytest.approx(1)


@pytest.mark.parametrize("what", ["connect", "start_new_thread"])
def test_what_a_helper_cannot_do_is_done_without_it(
    filled: Store, alone: Callable[..., list[Scored]], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second connection or thread, no other answer."""

    def fail(*_: object) -> None:
        raise RuntimeError(what)

    monkeypatch.setattr(scanning, what, fail)
    assert filled.by_meaning(the_vector(), Where(), 5) == alone(filled, the_vector(), Where(), 5)


def test_a_helper_never_answers_from_another_state(
    filled: Store, engine: Callable[..., Store], alone: Callable[..., list[Scored]]
) -> None:
    """Who reads an older state finds what it holds, though helpers would see a newer one."""
    other = engine()
    before = alone(filled, the_vector(), Where(), 5)
    with filled.reading():
        filled.count(Where())
        with other.writing():
            for one in filled.memories([scored.id for scored in before]).values():
                other.remove(one.uid, one.created_at)
        assert filled.by_meaning(the_vector(), Where(), 5) == before
    assert filled.by_meaning(the_vector(), Where(), 5) != before
