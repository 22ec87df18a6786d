"""Random histories of a store, compared step by step with a dictionary."""

import shutil
import tempfile
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from support import MODEL, HashedWords

from memai import embedding, operations, queries
from memai.records import Caller, Memory, Relation, Where
from memai.settings import resolve
from memai.store import Store
from memai.store.sqlite import SQLiteStore
from memai.text import fold

EVERYTHING = Where(current=False)
OTHER = HashedWords("other-words", 8)
WORDS = st.lists(st.sampled_from("alpha beta gamma delta".split()), min_size=1, max_size=4)
TEXT = WORDS.map(" ".join)
DOMAIN = st.sampled_from([None, "shop", "Shop", "shop/part", "other"])
TAGS = st.lists(st.sampled_from(["one", "two", "three"]), max_size=2, unique=True).map(tuple)
RELATION = st.sampled_from(["relates_to", "contradicts", "supersedes"])


class AgainstADictionary(RuleBasedStateMachine):
    """A store, and what it should hold: memories, histories and relations by uid."""

    uids = Bundle("uids")

    @initialize()
    def open(self) -> None:
        """Start with no store at all."""
        embedding._loaded.update({MODEL.name: MODEL, OTHER.name: OTHER})
        self.model = MODEL
        self.folder = tempfile.mkdtemp()
        self.settings = resolve(f"{self.folder}/memories.db", {})._replace(model=MODEL.name)
        self.store: Store = SQLiteStore(self.settings, Caller(agent="tester"))
        self.memories: dict[str, dict[str, Any]] = {}
        self.histories: dict[str, list[dict[str, Any]]] = {}
        self.relations: set[tuple[str, str, str]] = set()
        self.purged: set[str] = set()

    def teardown(self) -> None:
        """Let go of the file."""
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    # --- what the dictionary knows ------------------------------------------------------------

    def superseded(self, uid: str) -> bool:
        """Whether something stands in the place of a memory."""
        return any((kind, to) == ("supersedes", uid) for _, kind, to in self.relations)

    def current(self, uid: str) -> bool:
        """Whether lists show a memory."""
        return self.memories[uid]["status"] == "active" and not self.superseded(uid)

    def reaches(self, newer: str, older: str) -> bool:
        """Whether a chain of superseding leads from one memory to another."""
        reached, seen = [newer], set()
        while reached:
            at = reached.pop()
            if at == older:
                return True
            if at not in seen:
                seen.add(at)
                reached += [
                    to for frm, kind, to in self.relations if (frm, kind) == (at, "supersedes")
                ]
        return False

    def alter(self, uid: str, **fields: Any) -> None:
        """Change fields, remembering those that differ."""
        old = self.memories[uid]
        before = {k: old[k] for k, v in fields.items() if old[k] != v}
        if before:
            self.histories[uid].append(before)
            self.memories[uid] = {**old, **fields}

    # --- what may happen ----------------------------------------------------------------------

    @rule(
        target=uids,
        text=TEXT,
        domain=DOMAIN,
        tags=TAGS,
        kind=st.sampled_from(["note", "reasoning"]),
    )
    def write(self, text: str, domain: str | None, tags: tuple[str, ...], kind: str) -> Any:
        """Save a text; one that is there in its domain and type gets the new tags instead."""
        same = [
            uid
            for uid, m in self.memories.items()
            if (m["content"], m["type"], fold(m["domain"] or ""))
            == (text, kind, fold(domain or ""))
            and self.current(uid)
        ]
        act = operations.note if kind == "note" else operations.reasoning
        written = act(self.store, text, domain=domain, tags=tags)
        assert written.created == (not same)
        if same:
            assert written.uid in same
            known = self.memories[written.uid]["tags"]
            self.alter(written.uid, tags=tuple(dict.fromkeys((*known, *tags))))
            return multiple()
        self.memories[written.uid] = {
            "type": kind,
            "content": text,
            "domain": domain,
            "tags": tags,
            "status": "active",
            "confidence": "unverified",
        }
        self.histories[written.uid] = []
        return written.uid

    @rule(uid=uids, text=TEXT, domain=DOMAIN, tags=st.none() | TAGS)
    def edit(self, uid: str, text: str, domain: str | None, tags: tuple[str, ...] | None) -> None:
        """Give a memory another text, perhaps another place."""
        fields: dict[str, Any] = {"content": text}
        if domain is not None:
            fields["domain"] = domain
        if tags is not None:
            fields["tags"] = tags
        operations.edit(self.store, uid, text, domain=domain, tags=tags)
        self.alter(uid, **fields)

    @rule(uid=uids, verdict=st.sampled_from(["confirmed", "contradicted", "unverified"]))
    def judge(self, uid: str, verdict: Any) -> None:
        """Say how far a memory can be trusted."""
        operations.confidence(self.store, uid, verdict)
        self.alter(uid, confidence=verdict)

    @rule(one=uids, other=uids)
    def forget(self, one: str, other: str) -> None:
        """Archive one or two memories."""
        operations.forget(self.store, (one, other))
        for uid in (one, other):
            self.alter(uid, status="archived")

    @rule(uid=uids)
    def restore(self, uid: str) -> None:
        """Bring a memory back, from the archive and from behind others."""
        operations.restore(self.store, (uid,))
        self.alter(uid, status="active")
        self.relations = {r for r in self.relations if r[1:] != ("supersedes", uid)}

    @rule(one=uids, kind=RELATION, other=uids)
    def link(self, one: str, kind: str, other: str) -> None:
        """Relate two memories where that makes sense."""
        if one == other or (kind == "supersedes" and self.reaches(other, one)):
            return
        made = operations.link(self.store, one, kind, other)
        assert made.created == ((one, kind, other) not in self.relations)
        self.relations.add((one, kind, other))

    @rule(one=uids, kind=RELATION, other=uids)
    def unlink(self, one: str, kind: str, other: str) -> None:
        """Take a relation away if there is one."""
        if (one, kind, other) in self.relations:
            operations.unlink(self.store, one, kind, other)
            self.relations.remove((one, kind, other))

    @rule(uid=consumes(uids))
    def purge(self, uid: str) -> None:
        """Erase a memory with all that hangs on it."""
        assert operations.purge(self.store, uid, confirm=f"DELETE {uid}").erased
        del self.memories[uid], self.histories[uid]
        self.relations = {r for r in self.relations if uid not in (r[0], r[2])}
        self.purged.add(uid)

    @rule()
    def reopen(self) -> None:
        """Let another process take over."""
        self.store.close()
        self.store = SQLiteStore(self.settings, Caller(agent="tester"))

    @rule(model=st.sampled_from([MODEL, OTHER]))
    def reembed(self, model: HashedWords) -> None:
        """Make every vector again, perhaps with another model."""
        if self.memories:
            operations.reembed(self.store, model=model.name)
            self.model = model

    # --- what must hold -----------------------------------------------------------------------

    @rule(domain=st.sampled_from([None, "SHOP", "shop/part", "-"]), all_=st.booleans())
    def list_and_search(self, domain: str | None, all_: bool) -> None:
        """Ask lists and both sides of search for exactly what lies in a scope."""
        expected = {
            uid
            for uid, m in self.memories.items()
            if (all_ or self.current(uid)) and _inside(m["domain"], domain)
        }
        where = Where(domain=domain, current=not all_)
        assert {m.uid for m in self.store.page(where, 1000)} == expected
        assert self.store.count(where) == len(expected)
        for word in ("alpha", "gamma"):
            found = self.store.by_words(queries.word_query(word), where, 1000)
            held = {u for u in expected if word in self.memories[u]["content"].split()}
            assert self._uids([s.id for s in found]) == held
        vector = self.model.embed("alpha")
        assert vector is not None
        near = self.store.by_meaning(vector, where, 1000)
        assert self._uids([s.id for s in near]) == expected

    @rule()
    def look_deeply(self) -> None:
        """Nothing is damaged, and words, vectors and rows agree."""
        health = operations.doctor(self.store, deep=True)
        assert health.ok, health.findings

    @invariant()
    def the_store_holds_what_the_dictionary_holds(self) -> None:
        """Every memory, field by field, with its history and its relations."""
        if not hasattr(self, "store"):
            return
        held: dict[str, Memory] = {}
        relations: set[tuple[str, str, str]] = set()
        for memory, history, outgoing in self.store.export(EVERYTHING):
            held[memory.uid] = memory
            assert [dict(e.before) for e in history] == self.histories[memory.uid]
            assert [e.version for e in history] == list(range(1, memory.version))
            relations |= {_edge(r) for r in outgoing if r.removed_at is None}
        assert held.keys() == self.memories.keys()
        assert relations == self.relations
        for uid, fields in self.memories.items():
            assert {name: getattr(held[uid], name) for name in fields} == fields
            assert held[uid].current == self.current(uid)
        assert all(self.store.buried(uid) for uid in self.purged)

    def _uids(self, ids: list[int]) -> set[str]:
        return {m.uid for m in self.store.memories(ids).values()}


def _edge(relation: Relation) -> tuple[str, str, str]:
    return relation.from_uid, relation.type, relation.to_uid


def _inside(domain: str | None, scope: str | None) -> bool:
    """Say whether a domain lies in a scope."""
    if scope is None or domain is None:
        return scope is None or scope == "-"
    return fold(domain) == fold(scope) or fold(domain).startswith(fold(scope) + "/")


TestModel = AgainstADictionary.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
