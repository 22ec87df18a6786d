"""Operations that curate: correct, relate, retire, bring back, erase."""

from collections.abc import Callable, Iterable
from typing import Any

from memai import when
from memai.errors import (
    ConfirmationNeeded,
    NoSpace,
    NoSuchRelation,
    NotErased,
    StorageFault,
    UsageError,
)
from memai.operations import checking
from memai.operations.changing import DRY, change, merge_tags, writing
from memai.operations.copies import holding
from memai.operations.versions import REVERTED, as_of
from memai.records import Changed, Connected, Memory, Purged, Relation, Written
from memai.store import Store
from memai.vocabulary import (
    SUPERSEDES,
    AddTags,
    AllowSecret,
    Clear,
    Confirm,
    Content,
    Domain,
    DryRun,
    IfVersion,
    Other,
    Reason,
    Redact,
    RelationNote,
    RelationType,
    RemoveTags,
    Revert,
    Source,
    SupersededBy,
    Tags,
    Type,
    Uid,
    Uids,
    VerdictValue,
)


def edit(
    store: Store,
    uid: Uid,
    content: Content | None = None,
    *,
    tags: Tags | None = None,
    add_tags: AddTags | None = None,
    remove_tags: RemoveTags | None = None,
    domain: Domain | None = None,
    type: Type | None = None,
    source: Source | None = None,
    clear: Clear | None = None,
    revert: Revert | None = None,
    version: IfVersion | None = None,
    reason: Reason | None = None,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Written:
    """Correct a memory: text, tags, domain or type; history keeps the old.

    An edit that changes nothing is no edit. With --revert text, tags, domain, type and source
    become again what they were in an earlier version; history lists them.
    """
    remarks: list[str] = []
    changes: dict[str, Any] = {}
    if content is not None:
        kept, remarks = checking.without_secrets(
            checking.content(content), "content", allow=allow_secret, redact=redact
        )
        changes["content"] = kept
    if domain is not None:
        changes["domain"] = checking.domain(domain, store)
    if type is not None:
        changes["type"] = type
    if source is not None:
        changes["source"] = checking.name(source, "source")
    for field in clear or ():
        changes[field] = () if field == "tags" else None
    if tags is not None:
        changes["tags"] = checking.tags(tags)
    added, removed = checking.tags(add_tags), checking.tags(remove_tags)
    why = checking.reason(reason, allow=allow_secret)
    if bool(changes or added or removed) == (revert is not None):
        raise UsageError(
            reason="Nothing to edit: give a new text, or a field to change."
            if revert is None
            else "Going back (--revert) and other changes are two edits."
        )

    def changed(memory: Memory) -> Memory:
        kept_tags = merge_tags(changes.get("tags", memory.tags), added, removed)
        after = memory._replace(**{**changes, "tags": kept_tags})
        new = {field for field in after._fields if getattr(after, field) != getattr(memory, field)}
        if new & {"source", "tags", "domain"}:
            checking.beside_content(after, allow=allow_secret)
        return after

    memories, notes = change(
        store,
        (uid,),
        changed if revert is None else _as_before(store, revert),
        why if revert is None else why or f"back to version {revert}",
        version=version,
    )
    return Written(memories[0].uid, False, memories[0], (*remarks, *notes))


def _as_before(store: Store, version: int) -> Callable[[Memory], Memory]:
    """Return the change that makes of a memory what it was in a version."""

    def changed(memory: Memory) -> Memory:
        was = as_of(memory, store.history(memory.uid), version)
        return memory._replace(**{field: getattr(was, field) for field in REVERTED})

    return changed


def confidence(
    store: Store, uid: Uid, verdict: VerdictValue, *, reason: Reason | None = None
) -> Written:
    """Say whether a memory proved right: confirmed or contradicted.

    Search puts contradicted memories behind all others. 'unverified' takes a verdict back.
    """
    memories, notes = change(
        store, (uid,), lambda m: m._replace(confidence=verdict), checking.reason(reason)
    )
    return Written(memories[0].uid, False, memories[0], tuple(notes))


def link(
    store: Store,
    uid: Uid,
    relation: RelationType,
    other: Other,
    *,
    note: RelationNote | None = None,
) -> Connected:
    """Relate two memories: 'A supersedes B' hides B, the others only connect.

    The relation is read from left to right.
    """
    kind = checking.name(relation, "relation") or ""
    remark = checking.reason(note, "note")
    # Named before the lock is taken, so that a store is not made for a mistake.
    source, target = store.resolve(uid), store.resolve(other)
    with store.writing():
        made, created, notes = _relate(store, source, kind, target, remark)
    return Connected(made, created, tuple(notes))


def unlink(store: Store, uid: Uid, relation: RelationType, other: Other) -> Connected:
    """Take a relation away; what it superseded is current again."""
    kind = checking.name(relation, "relation") or ""
    source, target = store.resolve(uid), store.resolve(other)
    with store.writing():
        gone = store.unrelate(source, kind, target, when.now())
        if gone is None:
            raise NoSuchRelation(uid=source, relation=kind, other=target)
    return Connected(gone, False)


def forget(
    store: Store,
    uids: Uids,
    *,
    reason: Reason | None = None,
    superseded_by: SupersededBy | None = None,
    dry_run: DryRun = False,
) -> Changed:
    """Archive memories that are no longer true or needed.

    Restore brings them back. With a memory that replaces them they are superseded instead: hidden
    while that one stands. Nothing is erased; see purge for that.
    """
    why = checking.reason(reason)
    if superseded_by is not None:
        notes: list[str] = []
        newer = store.resolve(superseded_by)
        whole = checking.uids(store, uids)
        with writing(store, dry_run=dry_run):
            for uid in whole:
                notes += _relate(store, newer, SUPERSEDES, uid, why)[2]
            memories = tuple(store.get(uid) for uid in whole)
        return Changed(whole, memories, (*notes, *([DRY] if dry_run else [])))
    done, remarks = change(
        store, uids, lambda m: m._replace(status="archived"), why, dry_run=dry_run
    )
    for memory in done:
        hidden = [
            r.to_uid
            for r in store.relations(memory.uid)
            if r.type == SUPERSEDES and r.from_uid == memory.uid
        ]
        if hidden:
            remarks.append(
                f"{memory.uid} superseded {', '.join(hidden)}: these stay hidden. "
                "'memai restore' brings one back."
            )
    return Changed(tuple(m.uid for m in done), tuple(done), tuple(remarks))


def restore(
    store: Store, uids: Uids, *, reason: Reason | None = None, dry_run: DryRun = False
) -> Changed:
    """Make memories current again: no longer archived, no longer superseded.

    Their relations are what they were. To go back to a backup of the store, see recover.
    """
    _no_backup(uids)
    why = checking.reason(reason)

    def uncover(memory: Memory) -> list[str]:
        for newer in memory.superseded_by:
            store.unrelate(newer, SUPERSEDES, memory.uid, when.now())
        return [f"{memory.uid} is no longer superseded by {n}." for n in memory.superseded_by]

    done, notes = change(
        store,
        uids,
        lambda m: m._replace(status="active"),
        why,
        meanwhile=uncover,
        dry_run=dry_run,
    )
    return Changed(tuple(m.uid for m in done), tuple(done), tuple(notes))


def purge(
    store: Store, uid: Uid, *, confirm: Confirm | None = None, dry_run: DryRun = False
) -> Purged:
    """Erase a memory for good: text, history, words, vectors and relations.

    It cannot be undone. It wants the whole uid and the phrase 'DELETE <uid>'. The bytes leave the
    disk; what remains is the uid and the time. Backups that still hold it are named, exports and
    other copies are not known.
    """
    whole = store.resolve(uid)
    if dry_run:
        held = tuple(holding(store, whole))
        memory = store.get(whole)
        remark = (
            f"It has {memory.version} versions and {len(store.relations(whole))} relations, and is "
            f"in {len(held)} backups."
        )
        return Purged(whole, False, False, held, (remark, DRY))
    if uid != whole or confirm is None or confirm.strip() != f"DELETE {whole}":
        raise ConfirmationNeeded(uid=whole)
    pages = store.pages_of(whole)
    with store.writing():
        store.remove(store.resolve(uid), when.now())
    try:
        erased = store.erase_traces()
    except (NoSpace, StorageFault) as error:
        raise NotErased(uid=whole, reason=error.code.replace("-", " ")) from error
    remark = (
        "Another process is still reading: the bytes leave the disk when it ends and the next "
        "write or 'memai doctor' has run."
    )
    notes = [] if erased else [remark]
    held = tuple(holding(store, whole))
    if held:
        notes.append(f"{len(held)} backups still hold it: {', '.join(held)}.")
    notes += [f"Its page {page} still holds it: delete that too." for page in pages]
    return Purged(whole, True, erased, held, tuple(notes))


def _no_backup(uids: Iterable[str]) -> None:
    """Point who means a backup to the operation for it."""
    for uid in uids:
        if "/" in uid or uid.endswith(".db"):
            raise UsageError(
                reason=f"'{uid}' is no uid: restore brings back archived memories. To go back to a "
                f"backup of the whole store: memai recover '{uid}'."
            )


def _relate(
    store: Store, from_uid: str, kind: str, to_uid: str, note: str | None
) -> tuple[Relation, bool, list[str]]:
    """Add a relation inside the caller's transaction."""
    if from_uid == to_uid:
        raise UsageError(reason=f"{from_uid} cannot be related to itself.")
    if kind == SUPERSEDES and supersedes(store, to_uid, from_uid):
        raise UsageError(
            reason=f"{to_uid} already supersedes {from_uid}: a circle would hide both. "
            "Take one relation away with 'memai unlink'."
        )
    edge = from_uid, kind, to_uid
    known = next((r for r in store.relations(from_uid, removed=True) if r[:3] == edge), None)
    if known is not None and known.removed_at is None:
        return known, False, [f"{from_uid} {kind} {to_uid} was already so."]
    # Strictly after it was taken away: merging goes by time.
    now = when.after(known.removed_at) if known and known.removed_at else when.now()
    made = Relation(*edge, note, store.caller.agent, now)
    store.relate(made)
    return made, True, []


def supersedes(store: Store, newer: str, older: str) -> bool:
    """Whether a chain of supersedes leads from one memory to another."""
    seen: set[str] = set()
    reached = [newer]
    while reached:
        uid = reached.pop()
        if uid == older:
            return True
        if uid not in seen:
            seen.add(uid)
            reached += [
                r.to_uid for r in store.relations(uid) if r.type == SUPERSEDES and r.from_uid == uid
            ]
    return False
