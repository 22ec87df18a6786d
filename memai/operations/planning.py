"""What becomes of each incoming memory: kept as it is, merged with ours, or left out."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from memai.formats import Incoming
from memai.operations import merging, reconciling
from memai.operations.merging import Merged
from memai.operations.preparing import spelled
from memai.records import Edit, Known, Memory
from memai.store import Store

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


def planned(store: Store, batch: Sequence[Incoming]) -> list[Plan]:
    """Decide what becomes of each memory of a batch."""
    batch = spelled(store, batch)
    known = store.known([item.memory for item in batch])
    plans = [_plan(store, item, known) for item in batch]
    # Who gives up a key to another memory of the batch must not claim it again.
    given_up = {(holder.uid, field) for plan in plans for holder, field in plan.yielding}
    for number, plan in enumerate(plans):
        for uid, field in given_up:
            if plan.memory is not None and plan.memory.uid == uid:
                plan = plan._replace(memory=_without(plan.memory, field))  # noqa: PLW2901 - twice
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
        memory = None if plan.memory is None else _without(plan.memory, field)
        why = f"its {told} belongs to {holder.uid}; kept without it"
        return plan._replace(memory=memory, conflict=why if had else plan.conflict)
    why = f"its {told} belonged to {holder.uid}, which is younger and lost it"
    return plan._replace(conflict=why, yielding=(*plan.yielding, (holder, field)))


def _without(memory: Memory, field: Claim) -> Memory:
    """Return a memory that gave up its key or origin."""
    return memory._replace(key=None) if field == "key" else memory._replace(origin=None)


def yielded(plans: Sequence[Plan]) -> list[Memory]:
    """Return those of ours that give something up, as they are without it."""
    ours: dict[str, Memory] = {}
    for plan in plans:
        for holder, field in plan.yielding:
            ours[holder.uid] = _without(ours.get(holder.uid, holder), field)
    return list(ours.values())


def _foreign(incoming: Incoming, ours: Memory, history: tuple[Edit, ...]) -> Plan:
    """Decide about a memory of another system that was imported before."""
    theirs = incoming.memory
    if ours.origin != theirs.origin:
        told = f"the uid made for it belongs to {ours.uid}, which came from elsewhere; left out"
        return Plan(incoming, "same", conflict=told)
    merged = reconciling.again(ours, history, theirs)
    why = "edited here and at its source; the source stands, ours is in the history"
    return _reconciled(incoming, merged, why)


def _page(incoming: Incoming, ours: Memory, history: tuple[Edit, ...], agent: str) -> Plan:
    """Decide about a page of Markdown that says of a memory what it is now."""
    why = f"edited in {incoming.place}"
    merged = reconciling.paged(ours, history, incoming.memory, agent, why)
    return _reconciled(incoming, merged, "edited here and in its file; both are in the history")


def _reconciled(incoming: Incoming, merged: Merged, diverged: str) -> Plan:
    """Return the plan for what was reconciled, with what is to be said where both sides differ."""
    if not merged.changed:
        return Plan(incoming, "same")
    conflict = diverged if merged.diverged else None
    return Plan(incoming, "changed", merged.memory, merged.history, conflict)
