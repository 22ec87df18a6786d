"""How incoming memories are merged with what is here: batches, each one transaction."""

from collections.abc import Callable, Iterable, Sequence

from memai import passages
from memai.embedding import Embedder, NoModel
from memai.errors import MemaiError
from memai.formats import Incoming
from memai.operations import embedding_policy, merging
from memai.operations.batches import BATCH, Batch, batches
from memai.operations.curating import supersedes
from memai.operations.planning import Plan, planned, yielded
from memai.operations.preparing import Prepared, Preparing, fitting
from memai.operations.tally import Policy, Tally
from memai.records import Embedded, Memory, Relation
from memai.store import Store
from memai.vocabulary import SUPERSEDES

# Relations whose ends came apart in the file wait in memory; of more, the file is read again.
_WAITING = 20_000

# What a reader gives: memories, and relations that stand apart from them.
Read = Callable[[], Iterable[Incoming | Relation]]


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
        plans = planned(store, batch.items)
        made = fitting(prepared, (plan.memory for plan in plans if plan.memory))
        ready = _embedded(store, model, plans, made)
        with store.writing():
            if store.meta("changes") != seen:
                plans = planned(store, batch.items)
                made = fitting(prepared, (plan.memory for plan in plans if plan.memory))
                ready = _embedded(store, model, plans, made)
            store.adopt([(m, store.history(m.uid), None) for m in yielded(plans)])
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
    for plan in planned(store, batch.items):
        news = plan.what == "same" and any(_news(store, r) for r in plan.incoming.relations)
        tally.add(plan.incoming, "changed" if news else plan.what, plan.memory, plan.conflict)


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
