"""The SQLite engine begins small and becomes what it is asked for; nobody can tell."""

import inspect

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import embedded, memory

from memai.queries import word_query
from memai.records import Where
from memai.store import Store
from memai.store.finding import FindingStore
from memai.store.keeping import KeepingStore
from memai.store.rows import Rows
from memai.store.sqlite import WRITES, SQLiteStore
from memai.store.whole import WholeStore
from memai.store.writing import ERASE_PENDING, Writing

METHODS = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if name[0] != "_"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_of_the_protocol_is_there(store, name):
    """Whatever the protocol promises can be called on a store that was just opened."""
    assert callable(getattr(store, name))


@given(names=st.permutations(METHODS))
def test_the_order_of_asking_does_not_matter(names):
    """A store has every method, in whatever order they are asked for."""
    store = SQLiteStore.__new__(SQLiteStore)
    for name in names:
        assert callable(getattr(store, name))
    assert type(store) is WholeStore


def test_it_becomes_no_more_than_is_needed(opener):
    """Reading needs the beginning, writing needs writing, searching needs search."""
    writer, reader = opener(), opener()
    writer.page(Where(), 5)
    assert type(writer) is SQLiteStore
    with writer.writing():
        writer.insert(memory(), embedded("A remembered text."))
    assert type(writer) is KeepingStore
    reader.by_words(word_query("text"), Where(), 5)
    with reader.reading():
        reader.page(Where(), 5)
    assert type(reader) is FindingStore
    writer.by_words(word_query("text"), Where(), 5)
    with reader.writing():
        reader.set_meta("a", "b")
    assert type(writer) is type(reader) is WholeStore


def test_the_methods_that_write_are_known():
    """The list of methods by which a store becomes one that writes is complete."""
    public = {name for name in vars(Writing) if not name.startswith("_")}
    assert public | {"writing"} == WRITES


def test_what_is_not_there_stays_away(store):
    """An attribute that no part has is an AttributeError, before and after becoming the whole."""
    for _ in range(2):
        with pytest.raises(AttributeError, match="nothing_like_it"):
            _ = store.nothing_like_it
        assert not hasattr(store, "__nothing_like_it__")
        store.domains()


@pytest.mark.parametrize("begun", [SQLiteStore, FindingStore, KeepingStore])
def test_larger_parts_change_nothing_that_the_smaller_do(begun):
    """What a store did before it became the whole, it would have done as the whole."""
    parts = [kind for kind in WholeStore.__mro__ if not issubclass(begun, kind)]
    changed = {name for part in parts for name in vars(part) if name[:2] != "__"}
    changed &= {name for kind in begun.__mro__ for name in vars(kind)}
    # A purge makes a store whole, and only a whole one has a purge to finish on closing.
    assert changed <= {"close", "_after_commit"}


def test_a_purge_that_waits_is_finished_by_the_next_write(store):
    """A store that was just opened finishes what another one left to be erased."""
    with store.writing():
        store.insert(memory(), embedded("A remembered text."))
        store.set_meta(ERASE_PENDING, "2026-11-30T08:00:00.000000Z 1")
    assert store.meta(ERASE_PENDING) is None
    assert type(store) is WholeStore


def test_a_remark_that_cannot_be_read_does_not_undo_a_commit(store, monkeypatch):
    """What was committed stays so when looking for a purge fails."""

    def fail(_self, _name):
        raise apsw.IOError("a broken disk")

    with store.writing():
        store.insert(memory(), embedded("A remembered text."))
        monkeypatch.setattr(Rows, "meta", fail)
    monkeypatch.undo()
    assert store.count(Where()) == 1
