"""Operations that look after the store: its health, its copies, its vectors."""

import os
from collections.abc import Iterator
from typing import Any

from memai import embedding, when
from memai.embedding import NoModel
from memai.errors import ModelMissing, NotWritable, UsageError
from memai.operations import checking, embedding_policy
from memai.records import (
    BackedUp,
    Exported,
    Finding,
    Health,
    Reembedded,
    Stats,
    Where,
    to_json,
)
from memai.settings import expanded
from memai.store import Store
from memai.vocabulary import (
    Deep,
    Domain,
    Fix,
    Model,
    Since,
    StatusValue,
    Target,
    Type,
)

_BATCH = 500


def doctor(store: Store, *, deep: Deep = False, fix: Fix = False) -> Health:
    """Check the health of the store; exit code 8 if something needs a person.

    Damage means that something kept may be wrong, a problem that something does not work as it
    should; advice may be ignored.
    """
    notes: list[str] = []
    if fix and store.exists():
        notes.append(f"Backed up to {backup(store).path} first.")
        with store.writing():
            store.rebuild()
        notes.append("The word indexes were made again from the memories.")
        if not isinstance(embedding_policy.embedder(store), NoModel):
            notes.append(f"{_backfill(store)} memories got the vectors they were missing.")
    findings = list(store.check(deep=deep))
    model = embedding_policy.embedder(store)
    if isinstance(model, NoModel):
        findings.append(
            Finding(
                "problem",
                "no-model",
                f"The model '{model.name}' cannot be used: {model.reason}. "
                "Search finds by words only.",
                "memai reembed",
            )
        )
    checked = ["structure", "references", "words", "vectors", "model"]
    return Health(
        ok=not any(f.level in ("damage", "problem") for f in findings),
        findings=tuple(findings),
        checked=tuple(checked + (["every memory"] if deep else [])),
        notes=tuple(notes),
    )


def backup(store: Store, target: Target | None = None) -> BackedUp:
    """Write a verified copy of the store, safe while others write.

    A target ending in .db is the file; anything else is a folder, made if missing, that gets a
    file named after the time. Nothing is ever overwritten.
    """
    if not store.exists():
        raise UsageError(reason=f"There is no store at {store.settings.path} to back up yet.")
    path = _target(store, target)
    memories = store.copy(path)
    with store.writing():
        store.set_meta("last_backup", when.now())
    return BackedUp(path, _sha256(path), memories)


def reembed(store: Store, *, model: Model | None = None) -> Reembedded:
    """Make every vector again, with another model or a newer version of this one.

    The old vectors serve until all new ones are there; then they are dropped in one step.
    """
    name = model or os.environ.get("MEMAI_EMBED_MODEL") or store.model()
    loaded = embedding.load(name)
    if isinstance(loaded, NoModel):
        raise ModelMissing(model=name, reason=loaded.reason)
    space = embedding_policy.space_of(loaded)
    done = 0
    while True:
        batch = store.unembedded(space, _BATCH)
        if batch:
            embedded = embedding_policy.embed(loaded, [memory for _, memory in batch])
            rows = [(id, m, e) for (id, m), e in zip(batch, embedded, strict=True)]
            with store.writing():
                done += store.put_vectors(space, rows)
            continue
        with store.writing():
            if store.switch_space(space):
                break
    counts = store.counts()
    return Reembedded(name, done, counts.passages)


def stats(store: Store) -> Stats:
    """Show where the store is and what it holds."""
    model = embedding_policy.embedder(store)
    notes = []
    if isinstance(model, NoModel):
        notes.append(f"Words only: the model '{model.name}' cannot be used: {model.reason}.")
    counts = store.counts()
    if counts.without_vectors:
        notes.append(f"{counts.without_vectors} memories have no vectors. Run 'memai reembed'.")
    return Stats(
        path=store.settings.path,
        exists=store.exists(),
        domain=store.caller.domain,
        model=store.model(),
        space=store.space(),
        schema=store.schema_version(),
        counts=counts,
        last_backup=store.meta("last_backup"),
        notes=tuple(notes),
    )


def export(
    store: Store,
    *,
    domain: Domain | None = None,
    type: Type | None = None,
    status: StatusValue | None = None,
    since: Since | None = None,
) -> Iterator[dict[str, Any]]:
    """Write every memory as one line of JSON, with its history and relations.

    Archived and superseded memories are included; the order is that of the uids.
    """
    where = checking.where(
        store.caller, domain=domain, type=type, status=status, since=since, everything=True
    )
    return exported(store, where)


def exported(store: Store, where: Where) -> Iterator[dict[str, Any]]:
    """Yield the lines of an export as objects."""
    for memory, history, relations in store.export(where):
        line = to_json(Exported(memory, tuple(history), tuple(relations)))
        flat = line.pop("memory")
        flat.pop("superseded_by")  # a view of the relations of other memories
        for relation in line["relations"]:
            del relation["from_uid"]
        yield {**flat, **line}


def _backfill(store: Store) -> int:
    """Embed what has no vectors in the store's own space; return how many memories."""
    model = embedding_policy.embedder(store)
    if isinstance(model, NoModel):
        return 0
    space, done = embedding_policy.space_of(model), 0
    while batch := store.unembedded(space, _BATCH):
        embedded = embedding_policy.embed(model, [memory for _, memory in batch])
        with store.writing():
            done += store.put_vectors(
                space, [(id, m, e) for (id, m), e in zip(batch, embedded, strict=True)]
            )
    return done


def _target(store: Store, target: str | None) -> str:
    """Return the file a backup goes to; raises UsageError, NotWritable."""
    home = os.path.join(store.settings.home, "backups")
    if target is None:
        path = home
    elif store.caller.remote:
        if os.path.basename(target) != target or target in ("", ".", ".."):
            raise UsageError(reason="Over MCP a backup has a plain name, without folders.")
        path = os.path.join(home, target)
    else:
        path = expanded(target)
    if not path.endswith(".db"):
        path = os.path.join(path, f"memai-{when.now().replace(':', '').replace('-', '')}.db")
    try:
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700)
            os.chmod(folder, 0o700)
    except OSError as error:
        raise NotWritable(path=path, reason=error.strerror or str(error)) from None
    if os.path.lexists(path):
        raise UsageError(reason=f"{path} is there already, and a backup overwrites nothing.")
    return path


def _sha256(path: str) -> str:
    """Return the SHA-256 of a backup (never of the live file, whose locks that would drop)."""
    from hashlib import file_digest

    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()
