"""How incoming memories are merged with what is here: batches, each one transaction."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from memai import passages
from memai.embedding import Embedder, NoModel
from memai.errors import MemaiError
from memai.formats import Incoming
from memai.operations import embedding_policy, merging, reconciling
from memai.operations.batches import BATCH, Batch, batches
from memai.operations.curating import supersedes
from memai.operations.preparing import Prepared, Preparing, fitting, spelled
from memai.operations.tally import Policy, Tally
from memai.records import Edit, Embedded, Known, Memory, Relation
from memai.store import Store
from memai.vocabulary import SUPERSEDES

# Relations whose ends came apart in the file wait in memory; of more, the file is read again.
_WAITING = 20_000

# What a reader gives: memories, and relations that stand apart from them.
Read = Callable[[], Iterable[Incoming | Relation]]


Claim = Literal["key", "origin"]


class Plan(NamedTuple):
    """What shall become of one incoming memory.

    `memory` is what will be kept, None where nothing changes; `yielding` are ours that give up a
    key or origin to it; `conflict` says what a person should look at.
    """

    incoming: Incoming
    what: Literal["new", "changed", "same", "buried"]
    memory: Memory | None = None
    history: tuple[Edit, ...] = ()
    conflict: str | None = None
    yielding: tuple[tuple[Memory, Claim], ...] = ()


def take(
    store: Store, read: Read, policy: Policy, tally: Tally, preparing: Preparing | None = None
) -> None:
    """Merge a stream of memories into the store, a batch at a time.

    `read` gives the stream; it is asked again where relations ran ahead of too many memories. An
    error says how many memories were kept before it.
    """
    try:
        _take(store, read, policy, tally, preparing)
    except MemaiError as error:
        kept = tally.counts["new"] + tally.counts["changed"]
        if kept and not policy.dry_run:
            store.settle()
            error.add(f"Before it {kept:,} memories were kept: doing it again goes on from there.")
        raise


def _take(
    store: Store, read: Read, policy: Policy, tally: Tally, preparing: Preparing | None
) -> None:
    """Do what `take` does."""
    if policy.dry_run:
        for batch in batches(read()):
            _rehearse(store, batch, tally)
        return
    waiting: list[Relation] = []
    dropped = 0
    stream = batches(read())
    ahead = preparing.ahead(stream) if preparing is not None else ((one, {}) for one in stream)
    for batch, prepared in ahead:
        apart = _keep(store, batch, prepared, tally)
        room = _WAITING - len(waiting)
        waiting += apart[:room]
        dropped += len(apart[room:])
    if dropped:
        for batch in batches(read()):
            related = [relation for item in batch.items for relation in item.relations]
            _relate_later(store, [*related, *batch.relations], tally)
    else:
        for start in range(0, len(waiting), BATCH):
            _relate_later(store, waiting[start : start + BATCH], tally)


def _keep(store: Store, batch: Batch, prepared: Prepared, tally: Tally) -> list[Relation]:
    """Merge one batch in one transaction; return the relations that lead to what is not here."""

    def act(model: Embedder | NoModel) -> tuple[list[Plan], set[int], list[Relation]]:
        # Planned and embedded before the lock; where somebody wrote meanwhile, planned again.
        seen = store.meta("changes")
        plans = _plans(store, batch.items)
        made = fitting(prepared, (plan.memory for plan in plans if plan.memory))
        ready = _embedded(store, model, plans, made)
        with store.writing():
            if store.meta("changes") != seen:
                plans = _plans(store, batch.items)
                made = fitting(prepared, (plan.memory for plan in plans if plan.memory))
                ready = _embedded(store, model, plans, made)
            store.adopt([(m, store.history(m.uid), None) for m in _yielded(plans)])
            store.adopt(
                [
                    (plan.memory, plan.history, ready.get(plan.memory.uid))
                    for plan in plans
                    if plan.memory is not None
                ],
                {uid: one.encoded for uid, one in made.items()},
            )
            changed, waiting = _relate(store, plans, batch.relations, tally)
        return plans, changed, waiting

    plans, changed, waiting = embedding_policy.write(store, act)
    for number, plan in enumerate(plans):
        related = plan.what == "same" and number in changed
        tally.add(plan.incoming, "changed" if related else plan.what, plan.memory, plan.conflict)
    return waiting


def _rehearse(store: Store, batch: Batch, tally: Tally) -> None:
    """Say of one batch what would become of it."""
    for plan in _plans(store, batch.items):
        news = plan.what == "same" and any(_news(store, r) for r in plan.incoming.relations)
        tally.add(plan.incoming, "changed" if news else plan.what, plan.memory, plan.conflict)


# --- planning -----------------------------------------------------------------------------------


def _plans(store: Store, batch: Sequence[Incoming]) -> list[Plan]:
    """Decide what becomes of each memory of a batch."""
    batch = spelled(store, batch)
    known = store.known([item.memory for item in batch])
    plans = [_plan(store, item, known) for item in batch]
    # Who gives up a key to another memory of the batch must not claim it again.
    given_up = {(holder.uid, field) for plan in plans for holder, field in plan.yielding}
    for number, plan in enumerate(plans):
        for uid, field in given_up:
            if plan.memory is not None and plan.memory.uid == uid:
                plan = plan._replace(memory=without(plan.memory, field))  # noqa: PLW2901 - twice
        plans[number] = plan
    return plans


def _plan(store: Store, incoming: Incoming, known: Known) -> Plan:
    """Decide what becomes of one incoming memory."""
    theirs = incoming.memory
    if theirs.uid in known.buried or (theirs.origin is not None and theirs.origin in known.buried):
        return Plan(incoming, "buried")
    ours = known.uids.get(theirs.uid)
    if ours is None and incoming.kind == "foreign" and theirs.origin is not None:
        ours = known.origins.get(theirs.origin)
    if ours is None:
        return _claimed(Plan(incoming, "new", theirs, incoming.history), None, known)
    history = tuple(store.history(ours.uid)) if ours.version > 1 else ()
    if incoming.kind == "foreign":
        return _foreign(incoming, ours, history)
    if incoming.kind == "page":
        return _page(incoming, ours, history, store.caller.agent)
    merged = merging.merge(ours, history, theirs, incoming.history)
    key, origin = merging.claims(ours, theirs)
    kept = merged.memory._replace(key=key, origin=origin, superseded_by=ours.superseded_by)
    plan = Plan(incoming, "changed", kept, merged.history)
    if merged.diverged:
        newer = "theirs" if kept.content == theirs.content else "ours"
        plan = plan._replace(
            conflict=f"edited on both sides; {newer} is newer and stands, the other is in the "
            "history"
        )
    return _claimed(plan, ours, known)


def _claimed(plan: Plan, ours: Memory | None, known: Known) -> Plan:
    """Settle who keeps a key or an origin that two memories claim: the elder, in every store."""
    memory = plan.memory
    if memory is None:
        return plan
    holder = known.keys.get(memory.key) if memory.key is not None else None
    if holder is not None and holder.uid != memory.uid:
        had = ours is None or ours.key is not None
        plan = _settled(plan, holder, "key", f"key '{memory.key}'", had=had)
    origin = memory.origin
    holder = known.origins.get(origin) if origin is not None else None
    if holder is not None and origin is not None and holder.uid != memory.uid:
        had = ours is None or ours.origin is not None
        told = f"origin {origin.system} {origin.key[:60]}"
        plan = _settled(plan, holder, "origin", told, had=had)
    if ours is not None and plan.memory == ours and not plan.yielding:
        return Plan(plan.incoming, "same")
    return plan


def _settled(plan: Plan, holder: Memory, field: Claim, told: str, *, had: bool) -> Plan:
    """Return a plan in which one of two memories gives up what both claim.

    `had` is false for a memory that is here without it: that was told when it lost it.
    """
    if plan.memory is None or merging.earlier(holder, plan.memory):
        memory = None if plan.memory is None else without(plan.memory, field)
        why = f"its {told} belongs to {holder.uid}; kept without it"
        return plan._replace(memory=memory, conflict=why if had else plan.conflict)
    why = f"its {told} belonged to {holder.uid}, which is younger and lost it"
    return plan._replace(conflict=why, yielding=(*plan.yielding, (holder, field)))


def without(memory: Memory, field: Claim) -> Memory:
    """Return a memory that gave up its key or origin."""
    return memory._replace(key=None) if field == "key" else memory._replace(origin=None)


def _yielded(plans: Sequence[Plan]) -> list[Memory]:
    """Return those of ours that give something up, as they are without it."""
    ours: dict[str, Memory] = {}
    for plan in plans:
        for holder, field in plan.yielding:
            ours[holder.uid] = without(ours.get(holder.uid, holder), field)
    return list(ours.values())


def _foreign(incoming: Incoming, ours: Memory, history: tuple[Edit, ...]) -> Plan:
    """Decide about a memory of another system that was imported before."""
    theirs = incoming.memory
    if ours.origin != theirs.origin:
        told = f"the uid made for it belongs to {ours.uid}, which came from elsewhere; left out"
        return Plan(incoming, "same", conflict=told)
    merged = reconciling.again(ours, history, theirs)
    if not merged.changed:
        return Plan(incoming, "same")
    why = ""
    if merged.diverged:
        why = "edited here and at its source; the source stands, ours is in the history"
    return Plan(incoming, "changed", merged.memory, merged.history, why or None)


def _page(incoming: Incoming, ours: Memory, history: tuple[Edit, ...], agent: str) -> Plan:
    """Decide about a page of Markdown that says of a memory what it is now."""
    theirs = incoming.memory
    merged = reconciling.paged(ours, history, theirs, agent, f"edited in {incoming.place}")
    if not merged.changed:
        return Plan(incoming, "same")
    why = ""
    if merged.diverged:
        why = "edited here and in its file; both are in the history"
    return Plan(incoming, "changed", merged.memory, merged.history, why or None)


# --- vectors ------------------------------------------------------------------------------------


def _embedded(
    store: Store, model: Embedder | NoModel, plans: Sequence[Plan], made: Prepared
) -> dict[str, Embedded]:
    """Return the passages of the memories whose text is new here."""
    space = None if isinstance(model, NoModel) else embedding_policy.space_of(model)
    found = {uid: one.embedded for uid, one in made.items() if one.embedded.space == space}
    wanted = [plan for plan in plans if plan.memory is not None and _is_new_text(store, plan)]
    memories = [plan.memory for plan in wanted if plan.memory is not None]
    others = [memory for memory in memories if memory.uid not in found]
    found |= {m.uid: e for m, e in zip(others, embedding_policy.embed(model, others), strict=True)}
    return {
        memory.uid: _carried(store, plan.incoming, memory, found[memory.uid])
        for plan, memory in zip(wanted, memories, strict=True)
    }


def _is_new_text(store: Store, plan: Plan) -> bool:
    """Whether the passages of a memory have to be made."""
    now = plan.memory
    if now is None:
        return False
    ours = store.find(now.uid) if plan.what != "new" else None
    told = now.content, now.domain, now.tags
    return ours is None or (ours.content, ours.domain, ours.tags) != told


def _carried(store: Store, incoming: Incoming, memory: Memory, made: Embedded) -> Embedded:
    """Return the passages that came along where they are what is made here, else what is.

    Without a model here they are taken on trust, if they fit the text and the store's space.
    """
    theirs, given = incoming.embedded, incoming.memory
    if theirs is None or given[:5] != memory[:5] or given.content != memory.content:
        return made
    spans = [(passage.start, passage.end) for passage in theirs.passages]
    if spans != passages.passages(memory.content):
        return made
    if made.space is None:
        known = theirs.space is not None and theirs.space.model == store.model()
        fits = theirs.space == store.space() or (known and store.space() is None)
    else:
        alike = map(embedding_policy.alike, theirs.passages, made.passages)
        fits = theirs.space == made.space and all(alike)
    return theirs if fits else made


# --- relations ----------------------------------------------------------------------------------


def _relate(
    store: Store, plans: Sequence[Plan], apart: Sequence[Relation], tally: Tally
) -> tuple[set[int], list[Relation]]:
    """Merge the relations of a batch; return which plans that changed, and what has to wait."""
    changed: set[int] = set()
    waiting: list[Relation] = []
    here = [(number, plan) for number, plan in enumerate(plans) if plan.what != "buried"]
    asked = [(number, relation) for number, plan in here for relation in plan.incoming.relations]
    asked += [(-1, relation) for relation in apart]
    present = store.present({uid for _, r in asked for uid in (r.from_uid, r.to_uid)})
    for number, relation in asked:
        if relation.from_uid not in present or relation.to_uid not in present:
            waiting.append(relation)
        elif relate(store, relation, tally):
            changed.add(number)
    return changed, waiting


def _relate_later(store: Store, relations: Sequence[Relation], tally: Tally) -> None:
    """Merge relations whose ends may all be here now; count those that are not."""
    if not relations:
        return
    with store.writing():
        present = store.present({uid for r in relations for uid in (r.from_uid, r.to_uid)})
        for relation in relations:
            if relation.from_uid in present and relation.to_uid in present:
                relate(store, relation, tally)
            else:
                tally.lost += 1


def relate(store: Store, theirs: Relation, tally: Tally) -> bool:
    """Merge one relation inside the caller's transaction; return whether that changed ours."""
    ours = store.relation(*theirs[:3])
    stands = merging.newest(ours, theirs)
    if stands == ours:
        return False
    if (
        stands.type == SUPERSEDES
        and stands.removed_at is None
        and supersedes(store, stands.to_uid, stands.from_uid)
    ):
        tally.conflict(
            stands.from_uid,
            "relations",
            store.get(stands.from_uid).content,
            f"it and {stands.to_uid} supersede each other, which hides both; take one relation "
            "away with 'memai unlink'",
        )
    return store.relate(stands, replace=True)


def _news(store: Store, theirs: Relation) -> bool:
    """Whether a relation would change ours."""
    if len(store.present({theirs.from_uid, theirs.to_uid})) < 2:
        return False
    ours = store.relation(*theirs[:3])
    return merging.newest(ours, theirs) != ours
