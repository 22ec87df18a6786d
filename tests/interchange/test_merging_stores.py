"""Stores that exchange what they know in any order agree in the end, and lose nothing."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from exchange import all_of, counts, exported, save
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from support import MODEL

from memai import embedding, operations
from memai.errors import MemaiError
from memai.operations.merging import states
from memai.records import Caller
from memai.settings import resolve
from memai.store import Store
from memai.store.sqlite import SQLiteStore

NAMES = ("one", "two", "three")


def make(folder: Path, name: str) -> Store:
    """Open a store of its own with the small embedder."""
    settings = resolve(str(folder / f"{name}.db"))._replace(model=MODEL.name)
    return SQLiteStore(settings, Caller(agent=name))


class Exchanging(RuleBasedStateMachine):
    """Three stores, changed at random, that take in each other's exports in any order."""

    folder: Path
    number = itertools.count()
    uids = Bundle("uids")

    @initialize()
    def open(self) -> None:
        """Start with empty stores."""
        place = self.folder / str(next(self.number))
        place.mkdir()
        self.stores = {name: make(place, name) for name in NAMES}
        self.place = place
        self.said: dict[str, set[str]] = {}

    @rule(
        target=uids,
        name=st.sampled_from(NAMES),
        text=st.sampled_from(["a plain text", "another", "third\nwith lines"]),
        key=st.sampled_from([None, None, "k1", "k2"]),
    )
    def note(self, name: str, text: str, key: str | None) -> str:
        """Remember something, now and then under a key that another store uses too."""
        return operations.note(self.stores[name], text, key=key).uid

    @rule(name=st.sampled_from(NAMES), uid=uids, text=st.sampled_from(["x", "y", "z"]))
    def edit(self, name: str, uid: str, text: str) -> None:
        """Change a text."""
        self._try(operations.edit, self.stores[name], uid, text)

    @rule(name=st.sampled_from(NAMES), uid=uids, tag=st.sampled_from(["t", "u"]))
    def tag(self, name: str, uid: str, tag: str) -> None:
        """Change what is beside the text."""
        self._try(operations.edit, self.stores[name], uid, add_tags=(tag,), domain=f"d{tag}")

    @rule(name=st.sampled_from(NAMES), uid=uids, gone=st.booleans())
    def put_away(self, name: str, uid: str, gone: bool) -> None:
        """Archive a memory or bring it back."""
        self._try(operations.forget if gone else operations.restore, self.stores[name], (uid,))

    @rule(
        name=st.sampled_from(NAMES),
        uid=uids,
        other=uids,
        kind=st.sampled_from(["supersedes", "relates_to"]),
        away=st.booleans(),
    )
    def relate(self, name: str, uid: str, other: str, kind: str, away: bool) -> None:
        """Relate two memories or take that back."""
        self._try(
            operations.unlink if away else operations.link, self.stores[name], uid, kind, other
        )

    @rule(giver=st.sampled_from(NAMES), taker=st.sampled_from(NAMES), whole=st.booleans())
    def give(self, giver: str, taker: str, whole: bool) -> None:
        """Let one store take in another, as a file of lines or as a store."""
        if giver != taker:
            self._give(giver, taker, whole)

    def _give(self, source: str, target: str, whole: bool) -> None:
        path = self.stores[source].settings.path
        if not whole or not self.stores[source].exists():
            path = save(self.stores[source], self.place / f"{source}.jsonl")
        answer = operations.import_memories(self.stores[target], path)
        assert answer.errors == ()
        again = operations.import_memories(self.stores[target], path)
        assert counts(again)[:2] == (0, 0)
        assert again.conflicts == ()

    def _try(self, function: Callable[..., object], *arguments: object, **options: object) -> None:
        try:
            function(*arguments, **options)
        except MemaiError:
            return  # that memory or relation is not in this store

    def teardown(self) -> None:
        """Exchange until all have heard of all, and compare."""
        if not hasattr(self, "stores"):
            return
        known = {}
        for store in self.stores.values():
            for memory in all_of(store):
                kept = states(memory, tuple(store.history(memory.uid)))
                known.setdefault(memory.uid, set()).update(state.order() for state in kept)
        for source, target in (("one", "two"), ("two", "three"), ("three", "one"), ("one", "two")):
            self._give(source, target, whole=False)
        one, *others = (exported(store) for store in self.stores.values())
        for other in others:
            assert other == one
        store = self.stores["one"]
        assert set(known) == {memory.uid for memory in all_of(store)}
        for memory in all_of(store):
            kept = states(memory, tuple(store.history(memory.uid)))
            assert {state.order() for state in kept} == known[memory.uid]
        for store in self.stores.values():
            store.close()


def test_stores_that_exchange_in_any_order_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After random changes and merges all say the same, and hold every version any of them had."""
    monkeypatch.setitem(embedding._loaded, MODEL.name, MODEL)
    monkeypatch.setattr(Exchanging, "folder", tmp_path, raising=False)
    run_state_machine_as_test(
        Exchanging,
        settings=settings(
            max_examples=25,
            stateful_step_count=18,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
