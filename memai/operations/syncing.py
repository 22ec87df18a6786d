"""sync: a folder of Markdown and the store are brought to say the same, both ways."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from memai import when
from memai.errors import MemaiError, Refused, UsageError
from memai.files import Found, Seen, make_folders
from memai.formats import Broken, Incoming, markdown, pages
from memai.formats.foreign import Home
from memai.operations import carrying, checking, embedding_policy, statements
from memai.operations.batches import handfuls
from memai.operations.carrying import Carrier, Taken
from memai.operations.changing import DRY
from memai.operations.folder import Folder, locked, text_of, trusted
from memai.operations.importing import take
from memai.operations.interchange import published
from memai.operations.looking import Look
from memai.operations.spelling import POLICY, placed
from memai.operations.statements import NOTHING
from memai.operations.tally import Policy, Tally, checked
from memai.records import Imported, Memory, Relation, Synced, Where
from memai.settings import expanded
from memai.store import Store
from memai.vocabulary import AllowSecret, DryRun, Redact, SyncFolder


def sync(
    store: Store,
    folder: SyncFolder,
    *,
    dry_run: DryRun = False,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Imported:
    """Bring a folder of Markdown and the store together, both ways.

    Each memory has a page, made for git and editors. An edited page is an edit with history, a new
    file a new memory; a deleted one archives its memory and never purges it, and an edit of an
    archived one brings it back. What was changed on both sides since the last sync is listed (exit
    code 8): the newer side stands, both are in the history. What cannot be read is reported and
    left alone. A store can be made again from its folder: sync it with an empty one.
    """
    if not folder.strip():
        raise UsageError(reason="The folder is empty. Name one, or '.' for this one.")
    root = os.path.realpath(expanded(folder))
    policy, tally = Policy(dry_run, allow_secret, redact), Tally()
    rows = {row.uid: row for row in store.synced(root)}
    if not os.path.isdir(root):
        if any(row.path for row in rows.values()):
            raise Refused(reason=f"{root} is not there, but was synced before. Nothing was done.")
        if os.path.lexists(root):
            raise UsageError(reason=f"{root} is no folder.")
        if not dry_run:
            make_folders(root, "")
    if not rows:
        tally.notes += published(root)
    if os.path.isdir(root):
        with locked(root, store.settings.busy_seconds):
            _Sync(store, Folder(root), rows, policy, tally).run()
    else:
        tally.counts["new"] = store.count(Where(current=False))
    if dry_run:
        tally.notes.append(DRY)
    else:
        store.settle()
    return tally.answer(dry_run=dry_run)


class Step(NamedTuple):
    """What is to be done with one memory: take its page, write it, or only remember it.

    `why` is told in a dry run.
    """

    memory: Memory
    relations: list[Relation]
    do: str  # take, write, archive, remember
    path: str
    seen: Seen | None = None
    row: Synced | None = None
    new: bool = False


class _Sync:
    """One sync of one folder."""

    def __init__(
        self, store: Store, folder: Folder, rows: dict[str, Synced], policy: Policy, tally: Tally
    ) -> None:
        self.store = store
        self.folder = folder
        self.rows = rows
        self.policy = policy
        self.tally = tally
        self.carrier = Carrier(store, folder, rows, policy, tally)
        self.look = Look(folder, rows)
        self.new: set[str] = set()  # memories that came from pages
        self.written = 0
        self.read = 0

    def run(self) -> None:
        """Look at the folder, take in what is new in it, and carry each memory."""
        self.look.run()
        for path, reason in self.look.faults:
            self.tally.fault(path, reason)
        self._take_new()
        self._take_fresh()
        done = 0
        total = self.store.count(Where(current=False)) if self.store.caller.progress else 0
        for batch in handfuls(self._steps()):
            self._carry(batch)
            done += len(batch)
            if self.store.caller.progress is not None:
                self.store.caller.progress(done, max(total, done))
        if self.read:
            self.tally.notes.append(f"From pages to memories: {self.read}.")
        if self.written:
            self.tally.notes.append(f"From memories to pages: {self.written}.")

    # --- what is new in it --------------------------------------------------------------------

    def _take_new(self) -> None:
        """Take the pages of memories that are not here, as another store wrote them."""
        unknown = self.look.changed - self.store.present(self.look.changed)
        self.look.changed -= unknown

        def read() -> Iterator[Incoming]:
            for batch in handfuls(sorted(unknown)):
                found = [item for uid in batch if (item := self._page_of(uid)) is not None]
                buried = self.store.known([item.memory for item in found]).buried
                for item in found:
                    if item.memory.uid in buried or item.memory.origin in buried:
                        self._refuse_buried(item)
                    else:
                        yield item

        before = self.tally.counts["new"]
        take(self.store, read, self.policy, self.tally)
        self.read += self.tally.counts["new"] - before
        self.look.changed |= unknown  # and now they are compared with their pages like all others
        self.new = unknown

    def _page_of(self, uid: str) -> Incoming | None:
        """Return the memory of a page; what cannot be kept is listed."""
        found = self.look.here[uid]
        try:
            item = pages.incoming(text_of(self.folder.read(found.path)[0]), found.path)
            return None if item is None else checked(item, self.policy)
        except Broken as error:
            self.tally.fault(found.path, str(error))
        except MemaiError as error:
            self.tally.fault(found.path, error.message)
        return None

    def _refuse_buried(self, item: Incoming) -> None:
        """List a page of what was purged."""
        self.tally.conflict(
            item.memory.uid,
            item.place,
            item.memory.content,
            "purged here, and its page still holds it: delete that, or take its uid out of it",
        )

    def _take_fresh(self) -> None:
        """Make memories of files that have no uid; they get one when their page is written."""
        for batch in handfuls(self.look.fresh):
            made = [item for found in batch if (item := self._fresh(found)) is not None]
            for memory, found, _ in made:
                self.tally.counts["new"] += 1
                self.tally.change(memory.uid, "new", found.path, memory.content, "from its file")
            self.read += len(made)
            if made and not self.policy.dry_run:
                self._keep_fresh(made)

    def _keep_fresh(self, made: list[tuple[Memory, Found, bytes]]) -> None:
        """Keep the memories of some files, and which files they are, in one transaction."""

        def act(model: embedding_policy.Model) -> None:
            memories = [memory for memory, _, _ in made]
            embedded = embedding_policy.embed(model, memories)
            with self.store.writing():
                self.store.adopt([(m, (), e) for m, e in zip(memories, embedded, strict=True)])
                self._remember([self._unstamped(*one) for one in made])

        embedding_policy.write(self.store, act)
        self.look.here.update((memory.uid, found) for memory, found, _ in made)

    def _fresh(self, found: Found) -> tuple[Memory, Found, bytes] | None:
        """Return the memory that a file becomes; what cannot be kept is listed."""
        at = when.from_micros(found.seen.mtime // 1000)
        try:
            data, _ = self.folder.read(found.path)
            home = Home(self.store.caller.domain, at)
            item = markdown.fresh(text_of(data), found.path, home)
            memory = checked(item, self.policy).memory
        except Broken as error:
            self.tally.fault(found.path, str(error))
            return None
        except MemaiError as error:
            self.tally.fault(found.path, error.message)
            return None
        memory = placed(memory, self.store.meta(POLICY))
        agent = self.store.caller.agent if memory.agent == markdown.SYSTEM else memory.agent
        return memory._replace(uid=checking.new_uid(), origin=None, agent=agent), found, data

    def _unstamped(self, memory: Memory, found: Found, data: bytes) -> Synced:
        """Return what is remembered of a file without a uid: enough to know it again."""
        kept = trusted(found.seen, self.carrier.now)
        return Synced(memory.uid, found.path, *kept, carrying.digest(data), NOTHING)

    # --- each memory --------------------------------------------------------------------------

    def _steps(self) -> Iterator[Step]:
        """Yield what is to be done with each memory."""
        for memory, _, relations in self.store.export(Where(current=False)):
            step = self._step(memory, [r for r in relations if r.removed_at is None])
            if step is None:
                self.tally.counts["same"] += memory.uid not in self.new
            else:
                yield step

    def _step(self, memory: Memory, relations: list[Relation]) -> Step | None:
        """Decide about one memory; None if nothing is to be done."""
        row, found = self.rows.get(memory.uid), self.look.here.get(memory.uid)
        hidden = found is None and row is not None and bool(row.path)
        if memory.uid in self.look.held or (hidden and row and self.folder.hides(row.path)):
            return None
        if found is None:
            return self._without_page(memory, relations, row)
        if memory.uid in self.look.changed or row is None:
            return Step(memory, relations, "take", found.path, found.seen)
        ours = statements.of(memory, relations)
        if statements.loads(row.said) != ours:
            return Step(memory, relations, "write", found.path, found.seen)
        if memory.uid in self.look.touched or row.path != found.path:
            kept = trusted(found.seen, self.carrier.now)
            new = row._replace(path=found.path, size=kept.size, mtime=kept.mtime)
            return Step(memory, relations, "remember", found.path, None, new)
        return None

    def _without_page(
        self, memory: Memory, relations: list[Relation], row: Synced | None
    ) -> Step | None:
        """Decide about a memory that has no page."""
        if row is None:
            return Step(memory, relations, "write", pages.file_name(memory), None, new=True)
        ours = statements.of(memory, relations)
        news = statements.loads(row.said) != ours
        path = row.path or pages.file_name(memory)
        if memory.status == "active" and news:
            if row.path:
                self.tally.conflict(
                    memory.uid,
                    path,
                    memory.content,
                    "its page was deleted and it was changed here; kept, and its page made again",
                )
            return Step(memory, relations, "write", path)
        if row.path and memory.status == "active":
            return Step(memory, relations, "archive", row.path)
        if row.path or news:
            gone = row._replace(path="", size=0, mtime=0, sha256=b"", said=ours.dumps())
            return Step(memory, relations, "remember", row.path, None, gone)
        return None

    def _carry(self, steps: list[Step]) -> None:
        """Do what was decided: what concerns the store in one transaction, then the pages."""
        takes = [t for s in steps if s.do == "take" and (t := self._taken(s)) is not None]
        for step in steps:
            self._count(step, takes)
        if self.policy.dry_run:
            return

        def act(_model: embedding_policy.Model) -> list[Taken]:
            embedded = self.carrier.embed(takes)
            with self.store.writing():
                kept = self.carrier.keep(takes, embedded)
                self._archive([s.memory for s in steps if s.do == "archive"])
                self._remember([s.row for s in steps if s.row is not None])
            return kept

        kept = embedding_policy.write(self.store, act)
        writes = [s for s in steps if s.do == "write"]
        written = [
            *(self.carrier.stamp(one) for one in kept),
            *(self.carrier.write(s.memory.uid, s.path, s.seen) for s in writes),
        ]
        rows = self.carrier.put(page for page in written if page is not None)
        self.written += len(rows)
        if rows:
            with self.store.writing():
                self._remember(rows)

    def _taken(self, step: Step) -> Taken | None:
        """Read the page of a step, and list where both sides were changed."""
        taken = self.carrier.taken(step.memory, step.relations, step.path)
        if taken is not None and taken.diverged:
            self.tally.conflict(
                step.memory.uid,
                step.path,
                step.memory.content,
                "changed here and in its page; the newer stands, both are in the history",
            )
        return taken

    def _count(self, step: Step, takes: list[Taken]) -> None:
        """Count a step, and list it."""
        uid = step.memory.uid
        if uid in self.new or step.do == "remember":
            self.tally.counts["same"] += uid not in self.new
            return
        if step.do == "take":
            one = next((t for t in takes if t.before.uid == uid), None)
            ours = statements.of(step.memory, step.relations)
            if one is None or one.said == ours:
                self.tally.counts["same"] += 1
                return
            self.read += one.memory != one.before
        if self.rows.get(uid) is not None and self.rows[uid].said == NOTHING:
            return  # counted when it was found
        what: Literal["new", "changed"] = "new" if step.new else "changed"
        why = {"take": "from its page", "archive": carrying.DELETED}.get(step.do, "to its page")
        self.tally.counts[what] += 1
        self.tally.change(uid, what, step.path, step.memory.content, why)

    def _archive(self, memories: Iterable[Memory]) -> None:
        """Archive memories whose pages were deleted, inside the caller's transaction."""
        for read in memories:
            memory = self.store.get(read.uid)
            if memory.version == read.version:
                history = tuple(self.store.history(memory.uid)) if memory.version > 1 else ()
                made, edits = carrying.archived(memory, history, self.store.caller.agent)
                self.store.adopt([(made, edits, None)])
                said = statements.of(made, self.store.relations(memory.uid)).dumps()
                self._remember([Synced(memory.uid, "", 0, 0, b"", said)])

    def _remember(self, rows: list[Synced]) -> None:
        """Remember what pages say, inside the caller's transaction."""
        self.store.put_synced(self.folder.root, rows)
        self.rows.update((row.uid, row) for row in rows)
