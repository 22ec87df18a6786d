"""How memories are changed: all in one transaction, each change with the edit that remembers it."""

from __future__ import annotations

from contextlib import contextmanager, suppress

from memai import when
from memai.errors import VersionConflict
from memai.folding import fold
from memai.lean import TYPE_CHECKING
from memai.operations import checking, embedding_policy
from memai.records import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memai.embedding import Embedder, NoModel
    from memai.records import Embedded, Memory
    from memai.store import Store

DRY = "A dry run: nothing was changed."  # the remark of a dry run


def change(
    store: Store,
    uids: Iterable[str],
    changed: Callable[[Memory], Memory],
    reason: str | None,
    *,
    version: int | None = None,
    meanwhile: Callable[[Memory], list[str]] | None = None,
    dry_run: bool = False,
) -> tuple[list[Memory], list[str]]:
    """Change memories, all of them or none; return them as they are now, and remarks.

    `changed` is a pure function from what a memory is to what it shall be; `meanwhile` does what
    else belongs in the transaction. A dry run does it all and takes it back. Raises
    VersionConflict where `version` is not the memory's.
    """
    wanted = checking.uids(store, uids)

    def act(model: Embedder | NoModel) -> tuple[list[Memory], list[str]]:
        foreseen = _foresee(store, model, wanted, changed)
        done: list[Memory] = []
        notes: list[str] = []
        with writing(store, dry_run=dry_run):
            for uid in wanted:
                before = store.get(uid)
                if version is not None and before.version != version:
                    raise VersionConflict(uid=uid, version=before.version, expected=version)
                after = changed(before)
                told = meanwhile(before) if meanwhile is not None else []
                if after != before:
                    embedded = _embedded(model, foreseen, before, after)
                    if embedded is not None:
                        notes += embedding_policy.missing_model_note(model)
                    put(store, before, after, reason, embedded)
                elif not told:
                    notes.append(f"{uid} was already so.")
                notes += told
                done.append(store.get(uid))
        return done, [*notes, *([DRY] if dry_run else [])]

    return embedding_policy.write(store, act)


class _Rehearsed(Exception):
    """A transaction that was only to be tried has come to its end."""


@contextmanager
def writing(store: Store, *, dry_run: bool) -> Iterator[None]:
    """Hold the one transaction of a write; that of a dry run is rolled back at its end."""
    with suppress(_Rehearsed), store.writing():
        yield
        if dry_run:
            raise _Rehearsed


def _foresee(
    store: Store,
    model: Embedder | NoModel,
    uids: Iterable[str],
    changed: Callable[[Memory], Memory],
) -> dict[str, tuple[Memory, Embedded]]:
    """Embed what will have to be embedded, by uid.

    It comes before the lock, so that a long text keeps no other writer waiting; a memory that is
    changed in between is embedded again under it.
    """
    foreseen: dict[str, tuple[Memory, Embedded]] = {}
    for uid in uids:
        before = store.get(uid)
        after = changed(before)
        if _embedded_text(before) != _embedded_text(after):
            foreseen[uid] = after, embedding_policy.embed(model, [after])[0]
    return foreseen


def _embedded(
    model: Embedder | NoModel,
    foreseen: dict[str, tuple[Memory, Embedded]],
    before: Memory,
    after: Memory,
) -> Embedded | None:
    """Return the new passages of a memory, None where the old ones still fit."""
    if _embedded_text(before) == _embedded_text(after):
        return None
    planned = foreseen.get(after.uid)
    if planned is not None and _embedded_text(planned[0]) == _embedded_text(after):
        return planned[1]
    return embedding_policy.embed(model, [after])[0]


def put(
    store: Store, before: Memory, after: Memory, reason: str | None, embedded: Embedded | None
) -> Memory:
    """Write one changed memory inside the caller's transaction, with what it was before."""
    # Strictly after the state it ends: merging goes by time.
    now = when.after(before.updated_at)
    after = after._replace(version=before.version + 1, updated_at=now)
    was = {
        field: getattr(before, field)
        for field in before._fields
        if field not in _NOT_HISTORY and getattr(before, field) != getattr(after, field)
    }
    store.change(after, Edit(before.version, now, store.caller.agent, reason, was), embedded)
    return after


# Counted by the edit itself, or a view of the relations.
_NOT_HISTORY = ("version", "updated_at", "superseded_by")


def merge_tags(
    base: tuple[str, ...], added: tuple[str, ...], removed: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the tags with some added and some taken away, compared folded."""
    gone = {fold(tag) for tag in removed}
    return checking.tags(tag for tag in (*base, *added) if fold(tag) not in gone)


def _embedded_text(memory: Memory) -> tuple[object, ...]:
    """Return what a memory's vectors depend on."""
    return memory.content, memory.domain, memory.tags
