"""Two stores and a folder of pages, changed at random and synced in any order, agree in the end."""

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exchange import on_disk, told
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
from memai.records import Caller
from memai.settings import resolve
from memai.store import Store
from memai.store.sqlite import SQLiteStore

NAMES = ("one", "two")
TEXTS = st.sampled_from(["a plain text", "two\nlines\n", "  third", "---\nnot a head\n---"])


class Syncing(RuleBasedStateMachine):
    """Changes anywhere, syncs of either store."""

    folder: Path
    number = itertools.count()
    uids = Bundle("uids")

    @initialize()
    def open(self) -> None:
        """Start with empty stores and an empty folder."""
        place = self.folder / str(next(self.number))
        place.mkdir()
        self.stores: dict[str, Store] = {}
        for name in NAMES:
            known = resolve(str(place / f"{name}.db"))._replace(model=MODEL.name)
            self.stores[name] = SQLiteStore(known, Caller(agent=name))
        self.pages = place / "notes"
        self.pages.mkdir()
        self.files = itertools.count()
        self.deleted: set[str] = set()

    @rule(
        target=uids, name=st.sampled_from(NAMES), text=TEXTS, domain=st.sampled_from([None, "a/B"])
    )
    def note(self, name: str, text: str, domain: str | None) -> str:
        """Remember something."""
        return operations.note(self.stores[name], text, domain=domain).uid

    @rule(name=st.sampled_from(NAMES), uid=uids, text=TEXTS, tag=st.sampled_from(["t", "no"]))
    def edit(self, name: str, uid: str, text: str, tag: str) -> None:
        """Change a memory in a store."""
        self._try(operations.edit, self.stores[name], uid, text, add_tags=(tag,))

    @rule(name=st.sampled_from(NAMES), uid=uids, gone=st.booleans())
    def put_away(self, name: str, uid: str, gone: bool) -> None:
        """Archive a memory or bring it back."""
        self._try(operations.forget if gone else operations.restore, self.stores[name], (uid,))

    @rule(name=st.sampled_from(NAMES), uid=uids, other=uids, away=st.booleans())
    def relate(self, name: str, uid: str, other: str, away: bool) -> None:
        """Relate two memories or take that back."""
        function = operations.unlink if away else operations.link
        self._try(function, self.stores[name], uid, "relates_to", other)

    @rule(text=TEXTS, tagged=st.booleans())
    def put_file(self, text: str, tagged: bool) -> None:
        """Put a new file into the folder."""
        head = "---\ntags: [new]\naliases: [x]\n---\n" if tagged else "# New\n"
        (self.pages / f"new {next(self.files)}.md").write_text(head + text)

    @rule(text=TEXTS, pick=st.integers(0, 9))
    def edit_page(self, text: str, pick: int) -> None:
        """Change the text of a page."""
        path = self._page(pick)
        if path is not None:
            raw = path.read_text()
            end = raw.index("\n---\n", 4) + 5 if raw.startswith("---\nuid") else 0
            path.write_text(raw[:end] + text + "\n")

    @rule(pick=st.integers(0, 9), other=uids)
    def relate_page(self, pick: int, other: str) -> None:
        """Write a relation into a page."""
        path = self._page(pick)
        raw = path.read_text() if path is not None else ""
        if path is not None and "relations:" not in raw and not re.search(rf"uid: \W?{other}", raw):
            link = f'\nrelations:\n  - {{type: see, to: "{other}"}}\n---\n'
            if raw.startswith("---\nuid"):
                path.write_text(raw.replace("\n---\n", link, 1))

    @rule(pick=st.integers(0, 9))
    def delete_page(self, pick: int) -> None:
        """Delete a page."""
        path = self._page(pick)
        if path is not None and sum(1 for _ in self.pages.rglob("*.md")) > 1:
            path.unlink()

    @rule(pick=st.integers(0, 9))
    def move_page(self, pick: int) -> None:
        """Give a page another name."""
        path = self._page(pick)
        if path is not None:
            (self.pages / "moved").mkdir(exist_ok=True)
            os.rename(path, self.pages / "moved" / f"{next(self.files)}.md")

    @rule(name=st.sampled_from(NAMES))
    def sync(self, name: str) -> None:
        """Sync one store."""
        self._sync(name)

    def _sync(self, name: str) -> Any:
        answer = operations.sync(self.stores[name], str(self.pages))
        assert answer.errors == (), answer
        return answer

    def _page(self, pick: int) -> Path | None:
        found = sorted(self.pages.rglob("*.md"))
        return found[pick % len(found)] if found else None

    def _try(self, function: Callable[..., object], *arguments: object, **options: object) -> None:
        try:
            function(*arguments, **options)
        except MemaiError:
            return  # that memory or relation is not in this store

    def teardown(self) -> None:
        """Sync both until nothing changes any more, and compare."""
        if not hasattr(self, "stores"):
            return
        for name in (*NAMES, *NAMES, *NAMES):
            self._sync(name)
        before = {path: path.read_bytes() for path in self.pages.rglob("*.md")}
        for name in NAMES:
            answer = self._sync(name)
            assert (answer.new, answer.changed, answer.conflicts) == (0, 0, ()), answer
        assert {path: path.read_bytes() for path in self.pages.rglob("*.md")} == before
        pages_say = on_disk(self.pages)
        for store in self.stores.values():
            ours = told(store)
            for uid, said in pages_say.items():
                # A relation to what only another store knows waits in the page.
                known = frozenset(edge for edge in said.edges if edge[1] in ours)
                assert ours[uid] == said._replace(edges=known)
            for uid in ours.keys() - pages_say.keys():  # their pages were deleted
                assert ours[uid].fields["status"] == "archived"
            assert store.check(deep=True) == []
            store.close()


def test_two_stores_and_a_folder_agree_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was changed where, and synced when, both stores and the pages say the same."""
    monkeypatch.setitem(embedding._loaded, MODEL.name, MODEL)
    monkeypatch.setattr(Syncing, "folder", tmp_path, raising=False)
    run_state_machine_as_test(
        Syncing,
        settings=settings(
            max_examples=20,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
