"""How one memory is carried between the store and its page, whichever of them was changed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memai import when
from memai.errors import SecretFound, UsageError
from memai.files import Draft, Seen
from memai.formats import Broken, Incoming, pages
from memai.formats.pages import Page
from memai.operations import embedding_policy, statements
from memai.operations.folder import Folder, text_of, trusted
from memai.operations.importing import relate
from memai.operations.merging import CHANGEABLE, states
from memai.operations.reconciling import advanced, reconciled
from memai.operations.spelling import POLICY, placed
from memai.operations.statements import Statement
from memai.operations.tally import Policy, Tally, checked
from memai.records import Edit, Embedded, Memory, Relation, Synced
from memai.store import Store

DELETED = "its page was deleted"


class Taken(NamedTuple):
    """What a changed page makes of a memory; `page` and `text` are what it says."""

    before: Memory
    memory: Memory
    history: tuple[Edit, ...]
    path: str
    seen: Seen
    sha256: bytes
    text: str
    page: Page
    said: Statement
    base: Statement | None
    diverged: bool


class Written(NamedTuple):
    """A page to be written, and what it says; `whole` if every relation in it leads somewhere."""

    uid: str
    draft: Draft
    said: Statement
    whole: bool


class Carrier:
    """Carries memories of one sync; `rows` is what was remembered of the pages, by uid."""

    def __init__(
        self, store: Store, folder: Folder, rows: dict[str, Synced], policy: Policy, tally: Tally
    ) -> None:
        self.store = store
        self.folder = folder
        self.rows = rows
        self.policy = policy
        self.tally = tally
        self.now = when.clock() * 1000

    # --- from pages ---------------------------------------------------------------------------

    def taken(self, memory: Memory, relations: Sequence[Relation], path: str) -> Taken | None:
        """Read a changed page and say what it makes of its memory; None if it cannot be taken."""
        try:
            data, seen = self.folder.read(path)
            text = text_of(data)
            whole = pages.parse(text, memory, relations)
            page = whole or statements.bare(memory, text)
            item = checked(Incoming(path, page.memory, "page", (), page.relations), self.policy)
        except Broken as error:
            self.tally.fault(path, str(error))
            return None
        except SecretFound as error:
            self.tally.fault(path, error.message)
            return None
        row = self.rows.get(memory.uid)
        base = statements.loads(row.said) if row is not None else None
        # What the file itself says: where that is not what is taken from it, it is written again.
        said = statements.of(page.memory, self._resolved(page.relations))
        said = said if whole is not None else statements.SILENT
        page = Page(placed(item.memory, self.store.meta(POLICY)), item.relations)
        history = tuple(self.store.history(memory.uid)) if memory.version > 1 else ()
        made, edits, diverged = self._merged(memory, history, page, base, path, seen)
        return Taken(
            memory, made, edits, path, seen, digest(data), text, page, said, base, diverged
        )

    def _merged(
        self,
        memory: Memory,
        history: tuple[Edit, ...],
        page: Page,
        base: Statement | None,
        path: str,
        seen: Seen,
    ) -> tuple[Memory, tuple[Edit, ...], bool]:
        """Return what a memory and its history become, and whether both sides had changed."""
        told = {name: getattr(page.memory, name) for name in CHANGEABLE}
        known = states(memory, history)
        if base is not None:
            before = statements.base_of(base, memory, page.memory)
        else:
            if any(told == state.fields for state in known[:-1]):
                return memory, history, False  # an old copy of the page
            written = (s.fields for s in reversed(known) if s.at == page.memory.updated_at)
            found = next(written, None)
            before = found if found is not None else {}
        if memory.status == told["status"] == before.get(
            "status", "archived"
        ) == "archived" and told["content"] != before.get("content", memory.content):
            told["status"] = "active"  # whoever edits what was put away wants it back
        done = reconciled(
            memory,
            history,
            told,
            before or None,
            self.store.caller.agent,
            f"edited in {path}",
            theirs_newer=seen.mtime // 1000 > when.to_micros(memory.updated_at),
            at=page.memory.updated_at,  # of another store that wrote it; by hand it stays as it is
        )
        return done.memory, done.history, done.diverged

    def keep(self, taken: Sequence[Taken], embedded: dict[str, Embedded]) -> list[Taken]:
        """Keep what pages made of memories, inside the caller's transaction.

        What was changed in the store since it was read is left for the next sync.
        """
        done = [t for t in taken if self.store.get(t.before.uid).version == t.before.version]
        self.store.adopt(
            [
                (t.memory, t.history, embedded.get(t.memory.uid))
                for t in done
                if t.memory != t.before
            ]
        )
        for one in done:
            self._relate(one)
        self.store.put_synced(
            self.folder.root,
            [
                self._row(
                    *(t.memory.uid, t.path, t.seen, t.sha256, t.said),
                    whole=len(t.said.edges) == len(t.page.relations),
                )
                for t in done
            ],
        )
        return done

    def embed(self, taken: Sequence[Taken]) -> dict[str, Embedded]:
        """Return the passages of the memories whose text pages have changed."""
        model = embedding_policy.embedder(self.store)
        wanted = [
            t.memory
            for t in taken
            if (t.memory.content, t.memory.domain, t.memory.tags)
            != (t.before.content, t.before.domain, t.before.tags)
        ]
        made = embedding_policy.embed(model, wanted)
        return {memory.uid: one for memory, one in zip(wanted, made, strict=True)}

    def _relate(self, one: Taken) -> bool:
        """Add and take away the relations that a page does; return whether any."""
        uid = one.memory.uid
        now = when.now()
        ours = statements.of(one.memory, self.store.relations(uid)).edges
        base = one.base.edges if one.base is not None else ours & one.said.edges
        changed = False
        for kind, other, _ in sorted((base - one.said.edges) & ours, key=repr):
            changed = self.store.unrelate(uid, kind, other, now) is not None or changed
        added = one.said.edges - base - ours
        for relation in one.page.relations:
            if (relation.type, relation.to_uid, relation.note) in added:
                # Said again after it was taken away, or with another note: that is news of today.
                known = self.store.relation(uid, relation.type, relation.to_uid)
                fresh = (
                    relation if known is None else relation._replace(created_at=later(known, now))
                )
                changed = relate(self.store, fresh, self.tally) or changed
        return changed

    def _resolved(self, relations: Iterable[Relation]) -> list[Relation]:
        """Return those relations whose other end is here."""
        listed = list(relations)
        present = self.store.present({r.to_uid for r in listed}) if listed else set()
        return [r for r in listed if r.to_uid in present]

    # --- to pages -----------------------------------------------------------------------------

    def write(self, uid: str, path: str, seen: Seen | None) -> Written | None:
        """Return the page of a memory as it is to be written; None if it is gone."""
        memory = self.store.find(uid)
        if memory is None:  # purged meanwhile
            return None
        relations = [r for r in self.store.relations(uid) if r.from_uid == uid]
        relations.sort(key=lambda r: (r.type, r.to_uid))
        others = self._unresolved(uid, path, seen)
        text = pages.render(memory, [*relations, *others], self._name_of)
        said = statements.of(memory, relations)
        return Written(uid, Draft(path, text.encode(), seen), said, whole=not others)

    def stamp(self, one: Taken) -> Written | None:
        """Return the page that was taken as it is to be written, None if it is up to date."""
        memory = self.store.get(one.memory.uid)
        relations = [r for r in self.store.relations(memory.uid) if r.from_uid == memory.uid]
        if statements.of(memory, relations) != one.said:
            return self.write(memory.uid, one.path, one.seen)
        text = pages.stamped(one.text, memory.updated_at)
        if memory == one.before or text == one.text:
            return None  # only what is edited here says so, or stores would answer one another
        whole = len(one.said.edges) == len(one.page.relations)
        return Written(memory.uid, Draft(one.path, text.encode(), one.seen), one.said, whole=whole)

    def put(self, pages_: Iterable[Written]) -> list[Synced]:
        """Write pages; return what is to be remembered of them."""
        ready = []
        for page in pages_:
            try:
                self.folder.make_place(page.draft.path)
                ready.append(page)
            except UsageError as error:
                self.tally.fault(page.draft.path, error.message)
        rows = []
        for page, seen in zip(ready, self.folder.write([p.draft for p in ready]), strict=True):
            path, data, _ = page.draft
            if seen is None:
                self.tally.fault(path, "it was made or changed while it was synced; sync again")
            else:
                rows.append(
                    self._row(page.uid, path, seen, digest(data), page.said, whole=page.whole)
                )
        return rows

    def _unresolved(self, uid: str, path: str, seen: Seen | None) -> list[Relation]:
        """Return the relations of the page that is there to memories that are not here.

        Another store may know them: they stay in the page.
        """
        if seen is None:
            return []
        try:
            page = pages.parse(text_of(self.folder.read(path)[0]))
        except Broken:
            return []
        if page is None or page.memory.uid != uid:
            return []
        resolved = self._resolved(page.relations)
        return [r for r in page.relations if r not in resolved]

    def _name_of(self, uid: str) -> str | None:
        """Return the page of another memory, for links to it."""
        row = self.rows.get(uid)
        if row is not None and row.path:
            return row.path
        other = self.store.find(uid)
        return None if other is None else pages.file_name(other)

    def _row(
        self, uid: str, path: str, seen: Seen, sha256: bytes, said: Statement, *, whole: bool
    ) -> Synced:
        """Return what is to be remembered of a page.

        One that names memories that are not here is not `whole`: it is read again each time, for
        they may come.
        """
        if not whole:
            return Synced(uid, path, -1, 0, b"", said.dumps())
        return Synced(uid, path, *trusted(seen, self.now), sha256, said.dumps())


def archived(
    memory: Memory, history: tuple[Edit, ...], agent: str
) -> tuple[Memory, tuple[Edit, ...]]:
    """Return a memory after its page was deleted."""
    return advanced(memory, history, [(agent, DELETED, {"status": "archived"})])


def digest(data: bytes) -> bytes:
    """Return the SHA-256 of the bytes of a page."""
    from hashlib import sha256

    return sha256(data).digest()


def later(relation: Relation, now: str) -> str:
    """Return a time after the last that is known of a relation."""
    last = relation.removed_at or relation.created_at
    return max(now, when.from_micros(when.to_micros(last) + 1))
