"""Operations that read by time, by uid or by place; search has its own room."""

from __future__ import annotations

from memai import records
from memai.errors import UsageError
from memai.folding import fold
from memai.lean import TYPE_CHECKING
from memai.limits import ANSWER_BYTES, NO_DOMAIN
from memai.operations import checking
from memai.operations.budget import first_line, fitting, shortened, size

if TYPE_CHECKING:
    from memai.records import (
        Digest,
        DomainCount,
        Domains,
        Head,
        LatestCheckpoint,
        Linked,
        Listed,
        Memory,
        Pulse,
        Related,
        Shown,
        Where,
    )
    from memai.store import Store
    from memai.vocabulary import (
        After,
        All,
        Domain,
        Here,
        Limit,
        MaxBytes,
        Outline,
        Session,
        Since,
        SpanValue,
        StatusValue,
        Tags,
        Type,
        Uid,
        Until,
    )


def list_memories(
    store: Store,
    *,
    domain: Domain | None = None,
    here: Here = False,
    type: Type | None = None,
    session: Session | None = None,
    tags: Tags | None = None,
    status: StatusValue | None = None,
    since: Since | None = None,
    until: Until | None = None,
    all_: All = False,
    limit: Limit = 20,
    after: After | None = None,
    max_bytes: MaxBytes = ANSWER_BYTES,
) -> Listed:
    """List memories, newest first."""
    where = checking.where(
        store.caller,
        domain=domain,
        here=here,
        type=type,
        session=session,
        tags=tags,
        status=status,
        since=since,
        until=until,
        everything=all_,
    )
    page = store.page(where, limit + 1, after)
    notes = () if page or after else scope_notes(store, where)
    answer = records.Listed(truncated=False, memories=(), next=None, notes=notes)
    memories = fitting(page[:limit], max_bytes, answer)
    return answer._replace(
        truncated=len(memories) < min(len(page), limit),
        memories=tuple(memories),
        next=memories[-1].uid if len(page) > len(memories) else None,
    )


def show(
    store: Store, uid: Uid, *, span: SpanValue | None = None, outline: Outline = False
) -> Shown:
    """Show a memory whole, with its history and relations."""
    memory = store.get(store.resolve(uid))
    whole = memory.content
    notes: tuple[str, ...] = ()
    following: str | None = None
    if span is not None:
        start, end = _offsets(span, len(whole))
        if start >= end:
            raise UsageError(reason=f"The span '{span}' holds nothing of {len(whole)} characters.")
        memory = memory._replace(content=whole[start:end])
        notes = (f"Characters {start} to {end} of {len(whole)}.",)
        following = f"{end}:" if end < len(whole) else None
    heads: tuple[Head, ...] = ()
    if outline:
        from memai import passages

        heads = tuple(
            records.Head(*head) for head in passages.outline(whole, passages.passages(whole))
        )
        memory = memory._replace(content=shortened(whole, 200))
        notes = (*notes, f"{len(whole)} characters; read a part with span START:END.")
    history, relations = tuple(store.history(memory.uid)), linked(store, memory.uid)
    return records.Shown(False, memory, history, relations, heads, following, notes)


def _offsets(span: str, most: int) -> tuple[int, int]:
    """Return where a span begins and ends; raises UsageError."""
    first, colon, last = span.strip().partition(":")
    numbers = [part for part in (first, last) if part]
    if not colon or not all(n.isascii() and n.isdecimal() and len(n) < 10 for n in numbers):
        raise UsageError(reason=f"The span '{span}' is not START:END, as in 120:480.")
    return int(first or 0), min(int(last or most), most)


def relations(store: Store, uid: Uid) -> Related:
    """List what a memory is related to, in both directions."""
    whole = store.resolve(uid)
    return records.Related(whole, linked(store, whole))


def domains(store: Store, *, here: Here = False) -> Domains:
    """List the domains with their counts, latest activity first.

    Where a domain was written in several ways, its spellings are named: they count as one. With
    --here it is the domain at hand alone, and the answer says where that comes from.
    """
    found = store.domains()
    if here:
        return _domain_at_hand(store, found)
    drift = [d for d in found if d.spellings]
    notes = tuple(f"{d.domain} is also written {', '.join(d.spellings[1:])}." for d in drift)
    return records.Domains(tuple(found), notes)


def _domain_at_hand(store: Store, known: list[DomainCount]) -> Domains:
    """Say which domain is at hand, why, and what it holds with what is below it."""
    at_hand = store.caller.domain
    if at_hand is None:
        return records.Domains((), ("No domain is at hand: writes without one have none.",))
    wanted = fold(at_hand)
    inside = [
        d for d in known if (fold(d.domain or "") + "/").startswith(wanted + "/") and d.domain
    ]
    why = f"The domain at hand is '{at_hand}', from {store.caller.domain_from or 'the caller'}."
    return records.Domains(tuple(inside), (why, *(() if inside else ("It holds nothing yet.",))))


def pulse(
    store: Store,
    *,
    domain: Domain | None = None,
    max_bytes: MaxBytes = ANSWER_BYTES,
    limit: Limit = 10,
) -> Pulse:
    """Show where work stands: checkpoint, hand-offs, pitfalls, recent notes.

    The latest checkpoint in full, then what is open, by time only. Without a domain it is the
    domain at hand, or everything if there is none. What does not fit is left out from the end, and
    the answer says how to read it.
    """
    scope = checking.where(
        store.caller, domain=domain if domain is not None else store.caller.domain
    )

    types = ("checkpoint", "handoff", "anti_pattern", "note")
    there = dict(zip(types, store.count_types(scope, types), strict=True))

    def latest(type: str, most: int) -> list[Memory]:
        # No more than there are: to find that there is none left takes as long as to count them.
        most = min(most, there[type])
        return store.page(scope._replace(type=type), most) if most else []

    found = latest("checkpoint", 1)
    groups = {type: latest(type, limit) for type in types[1:]}
    left_out = records.Omitted(0, 0, 0, _reading_hint(scope))
    answer = records.Pulse(scope.domain, None, (), (), (), left_out)
    budget = max_bytes - size(answer) - _RESERVE
    notes: list[str] = []
    if found:
        whole = records.LatestCheckpoint(found[0], linked(store, found[0].uid))
        checkpoint = _cut(whole, budget)
        if checkpoint != whole:
            notes.append(f"The checkpoint did not fit: see 'memai show {found[0].uid}'.")
        budget -= size(checkpoint)
        answer = answer._replace(latest_checkpoint=checkpoint)
    kept_digests: dict[str, list[Digest]] = {}
    for type, memories in groups.items():
        kept_digests[type] = []
        for memory in memories:
            digest = _digest(memory)
            if size(digest) > budget:
                budget = 0  # what comes later is less important: nothing jumps the queue
                break
            budget -= size(digest)
            kept_digests[type].append(digest)

    missing = {type: there[type] - len(kept) for type, kept in kept_digests.items()}
    return answer._replace(
        handoffs=tuple(kept_digests["handoff"]),
        anti_patterns=tuple(kept_digests["anti_pattern"]),
        recent_notes=tuple(kept_digests["note"]),
        omitted=left_out._replace(
            handoffs=missing["handoff"],
            anti_patterns=missing["anti_pattern"],
            recent_notes=missing["note"],
        ),
        notes=(*notes, *([] if found or any(groups.values()) else scope_notes(store, scope))),
    )


# Bytes kept free for the remarks of a pulse, and the fewest bytes of a checkpoint that help.
_RESERVE = 160
_WORTH_SHOWING = 80


def linked(store: Store, uid: str) -> tuple[Linked, ...]:
    """Return the relations of a memory as seen from it, with the first line of each other end."""
    seen = []
    for relation in store.relations(uid):
        outgoing = relation.from_uid == uid
        other = relation.to_uid if outgoing else relation.from_uid
        line = first_line(store.get(other).content)
        seen.append(
            records.Linked(
                "to" if outgoing else "from",
                relation.type,
                other,
                line,
                relation.note,
                relation.agent,
                relation.created_at,
            )
        )
    return tuple(seen)


def scope_notes(store: Store, where: Where) -> tuple[str, ...]:
    """Say why a scope may be empty: no such domain, and which ones are like it."""
    if where.domain is None or where.domain == NO_DOMAIN:
        return ()
    if store.count(records.Where(domain=where.domain, current=False)):
        return ()  # something else left nothing
    wanted = fold(where.domain)
    names = [d for d in store.domains() if d.domain is not None]
    from difflib import SequenceMatcher  # only when a scope turned out empty

    def likeness(name: str) -> float:
        folded = fold(name)
        if wanted in folded or folded in wanted:
            return 1.0
        return SequenceMatcher(None, wanted, folded).ratio()

    alike = [(likeness(d.domain or ""), d) for d in names]
    alike = sorted((pair for pair in alike if pair[0] >= 0.6), key=lambda pair: -pair[0])[:5]
    if not alike:
        return (f"There is no domain '{where.domain}'. 'memai domains' lists them.",)
    listed = ", ".join(f"{d.domain} ({d.memories})" for _, d in alike)
    return (f"Nothing in '{where.domain}'. Similar domains: {listed}.",)


def _digest(memory: Memory) -> Digest:
    """Return a memory shortened for pulse."""
    return records.Digest(
        memory.uid,
        memory.domain,
        memory.created_at,
        memory.agent,
        memory.source,
        memory.confidence,
        shortened(" ".join(memory.content.split()), 280),
        len(memory.content),
    )


def _cut(checkpoint: LatestCheckpoint, most: int) -> LatestCheckpoint | None:
    """Return a checkpoint that takes at most so many bytes, None where too little would be left."""
    if size(checkpoint) <= most:
        return checkpoint
    content = checkpoint.memory.content
    bare = records.LatestCheckpoint(checkpoint.memory._replace(content="…"), ())
    room = most - size(bare)
    if room < _WORTH_SHOWING:
        return None
    fits, above = 0, room + 1  # a character takes a byte or more
    while fits + 1 < above:
        middle = (fits + above) // 2
        if size(content[:middle]) <= room:
            fits = middle
        else:
            above = middle
    return records.LatestCheckpoint(
        checkpoint.memory._replace(content=content[:fits].rstrip() + "…"), ()
    )


def _reading_hint(scope: Where) -> str:
    """Return the command that lists what pulse leaves out."""
    if scope.domain is None:
        return "memai list"
    quoted = scope.domain.replace("'", "'\"'\"'")
    return f"memai list -d '{quoted}'"
