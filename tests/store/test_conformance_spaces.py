"""What every engine promises of embedding spaces, of checks and of copies."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import MODEL, SPACE, HashedWords, embedded, memory

from memai import queries
from memai.errors import MemaiError
from memai.records import Edit, Embedded, Memory, Passage, Space, Where
from memai.store import SpaceChanged, Store

EVERYTHING = Where(current=False)
OTHER_MODEL = HashedWords("other-words", 24)
OTHER = Space(OTHER_MODEL.name, OTHER_MODEL.sha256, OTHER_MODEL.dim, "halves")


def add(store: Store, *memories: Memory) -> None:
    """Store memories in one transaction."""
    with store.writing():
        for one in memories:
            store.insert(one, embedded(one.content))


def in_other(content: str) -> Embedded:
    """Return a text embedded in the other space, which cuts it in two."""
    half = len(content) // 2
    return embedded(content, [(0, half), (half, len(content))], OTHER_MODEL, OTHER)


def fill(store: Store, space: Space = OTHER, limit: int = 10) -> int:
    """Add the vectors that a space is missing, as far as the limit goes."""
    batch = store.unembedded(space, limit)
    with store.writing():
        return store.put_vectors(space, [(id, m, in_other(m.content)) for id, m in batch])


def clear(store: Store) -> None:
    """Drop what other spaces keep, a few passages at a time."""
    last = 0
    while True:
        with store.writing():
            last = store.clear_spaces(10, last)
        if not last:
            break


def nearest(store: Store, model: HashedWords, text: str) -> list[str]:
    """Return the texts nearest to one, in the store's space."""
    vector = model.embed(text)
    assert vector is not None
    found = store.by_meaning(vector, EVERYTHING, 100)
    known = store.memories([s.id for s in found])
    return [known[s.id].content for s in found]


def test_the_first_vectors_make_the_space(store: Store) -> None:
    """A store has no space until something is embedded, and that space from then on."""
    assert store.space() is None
    add(store, memory())
    assert store.space() == SPACE


def test_the_wanted_model_is_remembered_from_the_creation(engine: Callable[..., Store]) -> None:
    """What settings ask for later does not change which model a store wants."""
    add(engine(), memory())
    assert engine(model="something else").model() == MODEL.name
    assert engine("new.db", model="something else").model() == "something else"


def test_vectors_of_another_space_are_refused(store: Store) -> None:
    """Passages made for another space than the store's are never mixed in."""
    one = memory("one text")
    add(store, one)
    with pytest.raises(SpaceChanged), store.writing():
        store.insert(memory("other text"), in_other("other text"))
    with pytest.raises(SpaceChanged), store.writing():
        after = one._replace(content="new text", version=2)
        store.change(after, Edit(1, one.created_at, "t", None, {}), in_other("new text"))
    assert store.page(EVERYTHING, 9) == [one]
    assert len(list(store.vectors(EVERYTHING))) == 1


def test_a_new_space_is_filled_while_the_old_one_serves(store: Store) -> None:
    """Search uses the old vectors until the switch, the new ones after it, never both."""
    made = [memory(f"text number {n}") for n in range(25)]
    add(store, *made)
    assert [m for _, m in store.unembedded(OTHER, 3)] == made[:3]
    while fill(store):
        assert store.space() == SPACE
        assert len(nearest(store, MODEL, "text number 3")) == 25
        assert nearest(store, MODEL, "text number 3")[0] == "text number 3"
    with store.writing():
        assert store.switch_space(OTHER)
    assert store.space() == OTHER
    assert store.model() == OTHER.model
    assert len(nearest(store, OTHER_MODEL, "text number 3")) == 25
    bare = memory("written without a model")
    with store.writing():
        store.insert(bare, Embedded(None, (Passage(0, len(bare.content)),)))
    clear(store)
    assert store.unembedded(SPACE, 100) != []
    assert len(nearest(store, OTHER_MODEL, "text number 3")) == 25
    assert [m.uid for _, m in store.unembedded(OTHER, 100)] == [bare.uid]
    assert store.counts().passages == 51
    with store.writing():
        store.remove(bare.uid, bare.created_at)
    assert store.counts().passages == 50
    assert store.counts().without_vectors == 0
    assert store.check(deep=True) == []


def test_a_space_with_gaps_is_not_switched_to(store: Store) -> None:
    """While one memory has no vector in the new space, the old one stays."""
    add(store, memory("first text"), memory("second text"))
    fill(store, limit=1)
    with store.writing():
        assert not store.switch_space(OTHER)
    assert store.space() == SPACE
    fill(store)
    with store.writing():
        assert store.switch_space(OTHER)


def test_what_is_written_during_the_filling_is_filled_too(store: Store) -> None:
    """A memory that is new, edited or purged between reading and writing is not lost or revived."""
    edited, purged = memory("edited text"), memory("purged text")
    add(store, edited, purged)
    batch = store.unembedded(OTHER, 10)
    new = memory("written meanwhile")
    add(store, new)
    after = edited._replace(content="edited meanwhile", version=2)
    with store.writing():
        store.change(after, Edit(1, edited.created_at, "t", None, {}), embedded(after.content))
        store.remove(purged.uid, purged.created_at)
    with store.writing():
        assert store.put_vectors(OTHER, [(i, m, in_other(m.content)) for i, m in batch]) == 0
    assert {m.uid for _, m in store.unembedded(OTHER, 10)} == {edited.uid, new.uid}
    assert fill(store) == 2
    with store.writing():
        assert store.switch_space(OTHER)
    assert set(nearest(store, OTHER_MODEL, "meanwhile")) == {after.content, new.content}
    assert store.check(deep=True) == []


def test_missing_vectors_can_be_added_to_the_space_itself(store: Store) -> None:
    """What was stored without a model gets its vectors when there is one."""
    bare = memory("stored without vectors")
    with store.writing():
        store.insert(bare, Embedded(None, (Passage(0, len(bare.content)),)))
    assert [f.code for f in store.check(deep=False)] == ["missing-vectors"]
    ((id, one),) = store.unembedded(SPACE, 10)
    with store.writing():
        assert store.put_vectors(SPACE, [(id, one, embedded(one.content))]) == 1
    assert store.space() == SPACE
    assert nearest(store, MODEL, "vectors") == [bare.content]
    assert store.check(deep=True) == []


# --- checks and copies --------------------------------------------------------------------------


def test_rebuilding_changes_no_answer(store: Store) -> None:
    """The indexes made again from the memories find what they found before."""
    add(store, *[memory(f"text number {n}", tags=("tag",), domain="d") for n in range(20)])
    words = queries.word_query("number 7 tag")
    before = store.by_words(words, EVERYTHING, 30), store.by_substring(["ber 7"], EVERYTHING, 30)
    store.rebuild()
    after = store.by_words(words, EVERYTHING, 30), store.by_substring(["ber 7"], EVERYTHING, 30)
    assert after == before
    assert store.check(deep=True) == []


def test_what_others_write_is_not_damage(engine: Callable[..., Store]) -> None:
    """A process that has searched and then checks sees what others have written as sound."""
    store, other = engine(), engine()
    words = queries.word_query("number")
    for number in range(20):
        store.by_words(words, EVERYTHING, 5)
        store.by_substring(["number"], EVERYTHING, 5)
        add(other, memory(f"text number {number}"))
        assert store.check(deep=number % 2 == 0) == []


def test_checking_says_how_far_it_is(store: Store) -> None:
    """A deep check reports its progress up to the last memory."""
    add(store, *[memory(str(n)) for n in range(3)])
    told: list[tuple[int, int]] = []
    store.check(deep=True, progress=lambda done, of: told.append((done, of)))
    assert all(done <= of for done, of in told)
    assert told[-1][0] == told[-1][1]


def test_a_copy_is_a_store_with_everything(engine: Callable[..., Store], tmp_path: Path) -> None:
    """A copy made while another process writes holds all that was committed, vectors and all."""
    store, other = engine(), engine()
    one = memory("copied text", key="k", tags=("t",))
    add(store, one, memory("second text"))
    after = one._replace(content="changed text", version=2)
    with store.writing():
        edit = Edit(1, one.created_at, "t", "why", {"content": "copied text"})
        store.change(after, edit, embedded("changed text"))
    with other.writing():
        other.insert(memory("not committed"), embedded("not committed"))
        assert store.copy(str(tmp_path / "copy.db")).memories == 2
    copy = engine("copy.db")
    assert list(copy.export(EVERYTHING)) == [
        line for line in store.export(EVERYTHING) if line[0].content != "not committed"
    ]
    assert nearest(copy, MODEL, "changed text")[0] == "changed text"
    assert copy.check(deep=True) == []


def test_a_copy_overwrites_nothing(store: Store, tmp_path: Path) -> None:
    """Where something has the name of the copy, it stays as it is."""
    add(store, memory())
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(MemaiError):
        store.copy(str(target))
    assert target.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_a_closed_store_can_be_opened_again(engine: Callable[..., Store]) -> None:
    """What was acknowledged is there for the next one who opens the store."""
    store = engine()
    one = memory()
    add(store, one)
    store.close()
    assert engine().page(EVERYTHING, 9) == [one]
