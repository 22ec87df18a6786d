"""doctor: what is wrong with the store and around it, and making again what is derived."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from memai import credentials, embedding, when
from memai.embedding import Embedder, NoModel
from memai.errors import Damaged, ForeignFile, MemaiError, NoSpace
from memai.operations import clients, copies, embedding_policy
from memai.records import Backup, Embedded, Finding, Health, Memory, Where
from memai.store import Store
from memai.vocabulary import Compact, Deep, Fix, Secrets

_BATCH = 500
_SAMPLE = 20
_OLD_DAYS = 7

# Fields of a memory that are searched for credentials as they are.
_SHORT = ("source", "domain", "key", "session")

# Two ways to add up the same float32 vectors differ by 1e-6; another text by much more.
_ALIKE = 0.999


def doctor(
    store: Store,
    *,
    deep: Deep = False,
    fix: Fix = False,
    secrets: Secrets = False,
    compact: Compact = False,
) -> Health:
    """Check the health of the store; exit code 8 if something needs a person.

    Damage means that something kept may be wrong, a problem that something does not work as it
    should; advice may be ignored. --fix makes again what is derived from the memories (words,
    vectors), after a backup; what was remembered itself comes back with recover.
    """
    notes: list[str] = []
    unreadable = _unreadable(store)
    if unreadable is not None:
        return _health([unreadable], ["structure"], [], copies.known(store))
    if store.exists():
        if fix:
            notes += _repair(store)
        if store.erasing_since() is not None:
            with suppress(NoSpace):  # then it is among the findings
                if store.erase_traces():
                    notes.append("The bytes of purged memories have left the disk.")
        if compact:
            before, after = store.compact()
            notes.append(f"Compacted from {before:,} to {after:,} bytes.")
    known = copies.known(store)
    progress = store.caller.progress
    looks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
        (
            "structure, references, words, vectors",
            lambda: store.check(deep=deep, progress=progress),
        ),
        ("engine, files, filesystem, log", store.surroundings),
        ("model", lambda: _model(store)),
        ("backups", lambda: _backups(store, known)),
        ("clients", lambda: [*clients.elsewhere(store.settings), *clients.unstartable()]),
    ]
    if secrets:
        looks.append(("secrets", lambda: _secrets(store)))
    findings: list[Finding] = []
    for _, look in looks:
        try:
            findings += look()
        except Damaged as error:
            message = f"A check could not be finished: {error.message}"
            findings.append(Finding("damage", "structure", message, _RECOVER))
    checked = [name for looked, _ in looks for name in looked.split(", ")]
    return _health(findings, checked + (["every memory"] if deep else []), notes, known)


_RECOVER = "memai recover FILE, from the last good backup"


def _health(
    findings: list[Finding], checked: list[str], notes: list[str], known: list[Backup]
) -> Health:
    """Put the answer together; what is lost names the backup it can come back from."""
    good = next((copy.path for copy in known if copy.state == "verified"), None)
    named = []
    for finding in findings:
        if finding.fix == _RECOVER:
            way = f"memai recover '{good}'" if good else "There is no verified backup"
            named.append(finding._replace(fix=way))
        else:
            named.append(finding)
    order = {"damage": 0, "problem": 1, "advice": 2}
    named.sort(key=lambda finding: order[finding.level])
    return Health(
        ok=not any(f.level in ("damage", "problem") for f in named),
        findings=tuple(named),
        checked=tuple(checked),
        notes=tuple(notes),
    )


def _unreadable(store: Store) -> Finding | None:
    """Return why the store cannot be opened as one, None if it can."""
    try:
        store.exists()
    except Damaged as error:
        return Finding("damage", "unreadable", error.message, _RECOVER)
    except ForeignFile as error:
        if "first page" not in error.message:  # another program's database is not ours to judge
            raise
        return Finding("damage", "unreadable", error.message, _RECOVER)
    return None


def _repair(store: Store) -> list[str]:
    """Make words and vectors again, after a copy of the store as it is."""
    notes = [f"The store as it was is kept in {copies.keep_as_it_is(store, 'fix')}."]
    try:
        store.rebuild()
    except Damaged:
        store.forget_vectors()
        store.rebuild()
    notes.append("The word indexes were made again from the memories.")

    def embed(model: Embedder | NoModel) -> str:
        if isinstance(model, NoModel):
            return f"Vectors were left as they are: {model.reason}."
        try:
            renewed = _renew(store, model)
        except Damaged:
            store.forget_vectors()
            renewed = _renew(store, model)
        store.settle()
        return f"{renewed} memories got new vectors."

    return [*notes, embedding_policy.write(store, embed)]


def _renew(store: Store, model: Embedder) -> int:
    """Embed every memory again and replace what differs; return how many memories."""
    last, renewed = 0, 0
    while batch := store.embedded(_BATCH, last):
        made = embedding_policy.embed(model, [memory for _, memory, _ in batch])
        wrong = [
            (id, memory, new)
            for (id, memory, kept), new in zip(batch, made, strict=True)
            if not _same(kept, new)
        ]
        if wrong:
            with store.writing():
                renewed += store.put_passages(wrong)
        last = batch[-1][0]
    return renewed


def _model(store: Store) -> Iterable[Finding]:
    """Load the model, and embed a sample of memories again."""
    model = embedding_policy.embedder(store)
    if isinstance(model, NoModel):
        yield Finding(
            "problem",
            "no-model",
            f"The model '{model.name}' cannot be used: {model.reason}. Search finds by words only.",
            "memai reembed",
        )
        return
    sample: dict[int, tuple[Memory, Embedded]] = {}
    memories = store.counts().memories
    for _ in range(4):
        start = int.from_bytes(os.urandom(6), "big") % (memories + 1)
        for id, memory, kept in store.embedded(_SAMPLE // 4, start):
            if any(passage.embedding or passage.tokens for passage in kept.passages):
                sample[id] = memory, kept
    made = embedding_policy.embed(model, [memory for memory, _ in sample.values()])
    for (memory, kept), new in zip(sample.values(), made, strict=True):
        if not _same(kept, new):
            yield Finding(
                "damage",
                "vectors",
                f"The vectors of {memory.uid} are not those of its text.",
                "memai doctor --fix",
            )


def _same(kept: Embedded, made: Embedded) -> bool:
    """Whether what is kept of a memory is what embedding it now gives."""
    if kept.space != made.space or len(kept.passages) != len(made.passages):
        return False
    for one, other in zip(kept.passages, made.passages, strict=True):
        if one[:2] != other[:2] or one.tokens != other.tokens:
            return False
        a, b = one.embedding, other.embedding
        if not isinstance(a, bytes | None):  # a flipped bit can make a number of it
            return False
        if (a is None) != (b is None) or (a and len(a) != len(b or b"")):
            return False
        if a and b and a != b and not embedding.similar(a, b) > _ALIKE:
            return False
    return True


def _backups(store: Store, known: list[Backup]) -> Iterable[Finding]:
    """Look at the age of the last verified backup, and for what was purged since each."""
    purged = [tombstone.uid for tombstone in store.tombstones()]
    for copy in known:
        with suppress(MemaiError):  # what cannot be read is told of by `memai backups`
            held = len(store.holds(copy.path, purged)) if purged else 0
            if held:
                yield Finding(
                    "advice",
                    "purged-in-backup",
                    f"{copy.path} still holds memories that were purged since: {held}.",
                    "Delete it when newer backups are enough",
                )
    if not store.exists() or store.counts().memories == 0:
        return
    verified = [copy.created_at for copy in known if copy.state == "verified"]
    if not verified:
        yield Finding(
            "advice", "no-backup", "There is no verified backup of this store.", "memai backup"
        )
        return
    days = (when.clock() - when.to_micros(max(verified))) // 86_400_000_000
    if days >= _OLD_DAYS:
        yield Finding(
            "advice",
            "old-backup",
            f"The last verified backup is {days} days old.",
            "memai backup, perhaps from cron (see 'memai help backup')",
        )


def _secrets(store: Store) -> Iterable[Finding]:
    """Look for credentials in every text that is kept, earlier versions and all."""
    for memory, history, relations in store.export(Where(current=False)):
        texts = [("content", memory.content)]
        texts += [
            (f"version {edit.version}", edit.before["content"])
            for edit in history
            if isinstance(edit.before.get("content"), str)
        ]
        texts += [(name, getattr(memory, name) or "") for name in _SHORT]
        texts += [("tags", ", ".join(memory.tags))]
        texts += [("the note of a relation", relation.note or "") for relation in relations]
        texts += [("a reason", edit.reason or "") for edit in history]
        for what, text in texts:
            for found in credentials.find(text):
                yield Finding(
                    "problem",
                    "secret",
                    f"{memory.uid} holds what looks like a {found.kind.replace('-', ' ')} at "
                    f"character {found.start} of {what}.",
                    f"memai purge {memory.uid} (an edit keeps the earlier version)",
                )
