"""How incoming memories are merged with what is here: batches, each one transaction."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from memai import when
from memai.embedding import Embedder, NoModel
from memai.errors import MemaiError
from memai.formats import Incoming
from memai.operations import checking, embedding_policy
from memai.operations.budget import first_line
from memai.operations.merging import merge, newest, states
from memai.records import (
    Change,
    Edit,
    Embedded,
    Fault,
    Imported,
    Memory,
    Relation,
)
from memai.store import Progress, Store

# Memories of one transaction: whoever waits behind it waits for a fraction of a second.
BATCH = 500
# A dry run lists at most so many changes; the counts are of all.
_LISTED = 1_000
_AGAIN = "imported again"


class Policy(NamedTuple):
    """What the caller of an import allows."""

    dry_run: bool = False
    allow_secret: bool = False
    redact: bool = False


class Plan(NamedTuple):
    """What shall become of one incoming memory, seen against ours at `version` (0: none)."""

    incoming: Incoming
    what: str  # new, changed, conflict, same, buried
    version: int = 0
    memory: Memory | None = None
    history: tuple[Edit, ...] = ()
    why: str | None = None


class Tally:
    """Counts and lists what an import did."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("new", "changed", "conflict", "same", "buried"), 0)
        self.conflicts: list[Change] = []
        self.changes: list[Change] = []
        self.errors: list[Fault] = []
        self.pending: list[Relation] = []
        self.notes: list[str] = []

    def add(self, plan: Plan) -> None:
        """Count one memory."""
        self.counts[plan.what] += 1
        if plan.what in ("new", "changed", "conflict"):
            memory = plan.memory or plan.incoming.memory
            change = Change(
                memory.uid,
                plan.what,  # type: ignore[arg-type]
                plan.incoming.place,
                first_line(memory.content, 80),
                plan.why,
            )
            if plan.what == "conflict":
                self.conflicts.append(change)
            if len(self.changes) < _LISTED:
                self.changes.append(change)

    def answer(self, *, dry_run: bool) -> Imported:
        """Return the record of the import."""
        if self.counts["buried"]:
            self.notes.append(f"{self.counts['buried']} were purged here and stay so.")
        if self.pending:
            self.notes.append(
                f"{len(self.pending)} relations lead to memories that are not here; left out."
            )
        return Imported(
            new=self.counts["new"],
            changed=self.counts["changed"] + self.counts["conflict"],
            same=self.counts["same"] + self.counts["buried"],
            conflicts=tuple(self.conflicts),
            errors=tuple(self.errors),
            changes=tuple(self.changes) if dry_run else (),
            notes=tuple(self.notes),
        )


def take(
    store: Store,
    incoming: Iterable[Incoming],
    policy: Policy,
    tally: Tally,
    progress: Progress | None = None,
) -> None:
    """Merge a stream of memories into the store, a batch at a time."""
    done = 0
    for batch in _batches(_checked(incoming, policy, tally)):
        if policy.dry_run:
            for item in batch:
                tally.add(_plan(store, item))
        else:
            _take_batch(store, batch, tally)
        done += len(batch)
        if progress is not None:
            progress(done, 0)
    if not policy.dry_run:
        with store.writing():
            tally.pending = [r for r in tally.pending if _relate(store, r) is None]


def _take_batch(store: Store, batch: list[Incoming], tally: Tally) -> None:
    """Merge one batch in one transaction."""

    def act(model: Embedder | NoModel) -> tuple[list[Plan], list[Relation]]:
        plans = [_plan(store, item) for item in batch]
        wanted = [p.memory for p in plans if p.memory is not None and _needs_vectors(store, p)]
        vectors = dict(
            zip((m.uid for m in wanted), embedding_policy.embed(model, wanted), strict=True)
        )
        done: list[Plan] = []
        pending: list[Relation] = []
        with store.writing():
            for plan in plans:
                # Planned before the lock; what changed meanwhile, or came twice, is planned again.
                now = plan if _still(store, plan) else _plan(store, plan.incoming)
                if now.memory is not None:
                    embedded = vectors.get(now.memory.uid) if now is plan else None
                    if embedded is None and _needs_vectors(store, now):
                        (embedded,) = embedding_policy.embed(model, [now.memory])
                    store.adopt(now.memory, now.history, embedded)
                related = False
                if now.what != "buried":
                    for relation in plan.incoming.relations:
                        outcome = _relate(store, relation)
                        if outcome is None:
                            pending.append(relation)
                        related = related or bool(outcome)
                done.append(now._replace(what="changed") if related and now.what == "same" else now)
        return done, pending

    done, pending = embedding_policy.write(store, act)
    for plan in done:
        tally.add(plan)
    tally.pending += pending


def _plan(store: Store, incoming: Incoming) -> Plan:
    """Decide what becomes of one incoming memory."""
    memory = incoming.memory
    if store.buried(memory.uid, memory.origin):
        return Plan(incoming, "buried")
    ours = store.find(memory.uid)
    if ours is None and memory.origin is not None:
        ours = store.with_origin(memory.origin)
    if ours is None:
        if memory.key is not None and store.with_key(memory.key) is not None:
            why = f"its key '{memory.key}' belongs to another memory here; kept without it"
            return Plan(incoming, "conflict", 0, memory._replace(key=None), incoming.history, why)
        return Plan(incoming, "new", 0, memory, incoming.history)
    if ours.uid != memory.uid and incoming.own:
        why = f"it comes from the same origin as {ours.uid}, which is kept"
        return Plan(incoming, "conflict", ours.version, None, (), why)
    history = tuple(store.history(ours.uid)) if ours.version > 1 else ()
    if not incoming.own:
        return _plan_foreign(incoming, ours, history)
    merged = merge(ours, history, memory, incoming.history)
    if not merged.changed:
        return Plan(incoming, "same", ours.version)
    kept = merged.memory._replace(key=ours.key, origin=ours.origin)
    if not merged.diverged:
        return Plan(incoming, "changed", ours.version, kept, merged.history)
    newer = "theirs" if kept.content == memory.content else "ours"
    why = f"edited on both sides; {newer} is newer and stands, the other is in the history"
    return Plan(incoming, "conflict", ours.version, kept, merged.history, why)


def _plan_foreign(incoming: Incoming, ours: Memory, history: tuple[Edit, ...]) -> Plan:
    """Decide about a memory of a foreign form that was imported before."""
    theirs = incoming.memory
    seen = states(ours, history)
    if any(state.fields["content"] == theirs.content for state in seen):
        return Plan(incoming, "same", ours.version)
    last = next((s for s in reversed(seen) if s.reason == _AGAIN), seen[0])
    at = max(theirs.updated_at, when.from_micros(when.to_micros(ours.updated_at) + 1))
    edit = Edit(ours.version, at, theirs.agent, _AGAIN, {"content": ours.content})
    memory = ours._replace(content=theirs.content, version=ours.version + 1, updated_at=at)
    if last.fields["content"] == ours.content:
        return Plan(incoming, "changed", ours.version, memory, (*history, edit))
    why = "edited here and at its source; the source stands, ours is in the history"
    return Plan(incoming, "conflict", ours.version, memory, (*history, edit), why)


def _still(store: Store, plan: Plan) -> bool:
    """Whether what a plan saw is still so."""
    memory = plan.memory or plan.incoming.memory
    ours = store.find(memory.uid)
    if (0 if ours is None else ours.version) != plan.version:
        return False
    return plan.what != "new" or not (
        (memory.key is not None and store.with_key(memory.key))
        or (memory.origin is not None and store.with_origin(memory.origin))
    )


def _needs_vectors(store: Store, plan: Plan) -> bool:
    """Whether the passages of a memory have to be made."""
    if plan.memory is None:
        return False
    ours = store.find(plan.memory.uid)
    if ours is None:
        return True
    now = plan.memory
    return (ours.content, ours.domain, ours.tags) != (now.content, now.domain, now.tags)


def _relate(store: Store, theirs: Relation) -> bool | None:
    """Merge one relation; true if that changed ours, None if an end is not here (yet)."""
    if store.find(theirs.from_uid) is None or store.find(theirs.to_uid) is None:
        return None
    ours = next(
        (r for r in store.relations(theirs.from_uid, removed=True) if r[:3] == theirs[:3]), None
    )
    stands = newest(ours, theirs)
    if stands == ours:
        return False
    return store.relate(stands, replace=True)


def _checked(
    incoming: Iterable[Incoming], policy: Policy, tally: Tally
) -> Iterator[Incoming]:
    """Apply the rules of writing to what comes in; what breaks them is listed, not kept."""
    for item in incoming:
        memory = item.memory
        try:
            content, _ = checking.without_secrets(
                checking.content(memory.content),
                "content",
                allow=policy.allow_secret,
                redact=policy.redact,
            )
        except MemaiError as error:
            tally.errors.append(Fault(item.place, error.message))
            continue
        yield item._replace(memory=memory._replace(content=content))


def _batches(items: Iterator[Incoming]) -> Iterator[list[Incoming]]:
    """Cut a stream into batches."""
    while batch := list(islice(items, BATCH)):
        yield batch
