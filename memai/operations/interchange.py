"""Operations that bring memories in and take them out: nothing is locked in."""

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from memai import files, repository
from memai.embedding import NoModel
from memai.errors import NotWritable, UsageError
from memai.formats import own, pages
from memai.helper import Helper
from memai.operations import checking, embedding_policy
from memai.operations.batches import handfuls
from memai.operations.changing import DRY
from memai.operations.importing import take
from memai.operations.intake import leniently, strictly
from memai.operations.preparing import Preparing
from memai.operations.sources import Source
from memai.operations.tally import Policy, Tally
from memai.records import Imported, Saved, Where
from memai.settings import expanded
from memai.store import Store
from memai.vocabulary import (
    AllowSecret,
    Domain,
    DryRun,
    Form,
    Here,
    ImportSource,
    KeepGoing,
    MarkdownFolder,
    OutputFile,
    Redact,
    Since,
    StatusValue,
    Type,
    Vectors,
)


def import_memories(
    store: Store,
    source: ImportSource,
    *,
    format: Form | None = None,
    domain: Domain | None = None,
    dry_run: DryRun = False,
    keep_going: KeepGoing = False,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Imported:
    """Take in memories from a file, a folder, another store or another tool.

    What is there already is merged: by uid, or by where it came from. A memory edited on both sides
    is kept whole on both: the newer version stands, the other is in its history, and the conflict
    is listed (exit code 8). What was purged here stays purged. Doing it twice is doing it once.

    All of it is read and checked before anything is kept; with --keep-going what can be read is
    kept and the rest is listed. Memories of other tools that name no domain get --domain, else that
    of the project the source lies in, else the one at hand.
    """
    named = checking.name(domain, "domain")
    policy, tally = Policy(dry_run, allow_secret, redact), Tally()
    with Source(store, source, format, named) as opened:
        if opened.form == "memai" and domain is not None:
            raise UsageError(
                reason="memai's own form says of each memory which domain it is in: import it "
                "without --domain, and move it with 'memai domains rename'."
            )
        with closing(Preparing(store)) as preparing, closing(Helper()) as helper:
            if keep_going or dry_run:
                read = leniently(store, opened, policy, tally, preparing)
            else:
                read = strictly(store, opened, policy, preparing, helper)
            take(store, read, policy, tally, preparing)
        _bury(store, opened, policy, tally)
    model = embedding_policy.embedder(store) if tally.counts["new"] and not dry_run else None
    if isinstance(model, NoModel):
        tally.notes += embedding_policy.missing_model_note(model)
    if dry_run:
        tally.notes.append(DRY)
    else:
        store.settle()
    return tally.answer(dry_run=dry_run)


def export(
    store: Store,
    *,
    domain: Domain | None = None,
    here: Here = False,
    type: Type | None = None,
    status: StatusValue | None = None,
    since: Since | None = None,
    vectors: Vectors = False,
    output: OutputFile | None = None,
    markdown: MarkdownFolder | None = None,
) -> Iterator[dict[str, Any]] | Saved:
    """Write every memory as one line of JSON, with its history and relations.

    Archived and superseded memories are included; the order is that of the uids, so that the same
    store gives the same bytes. 'memai import' takes it in again without loss. With --markdown each
    memory becomes a file of a new folder, without its history; 'memai sync' keeps such a folder and
    the store alike.
    """
    where = checking.where(
        store.caller,
        domain=domain,
        here=here,
        type=type,
        status=status,
        since=since,
        everything=True,
    )
    if markdown is not None:
        if output is not None or vectors:
            raise UsageError(reason="--markdown goes with neither --output nor --vectors.")
        return _to_folder(store, where, expanded(markdown))
    lines = _lines(store, where, vectors=vectors)
    if output is None:
        return Lines(lines, published(os.getcwd()))
    path = expanded(output)
    count = [0]

    def chunks() -> Iterator[bytes]:
        for line in lines:
            count[0] += 1
            yield own.dumps(line).encode() + b"\n"

    files.write_new(path, chunks())
    return Saved(path, count[0], 1, tuple(published(os.path.dirname(path))))


class Lines(Iterator[dict[str, Any]]):
    """The lines of an export as objects, with remarks for who reads them."""

    def __init__(self, lines: Iterator[dict[str, Any]], notes: list[str]) -> None:
        self._lines = lines
        self.notes = tuple(notes)

    def __next__(self) -> dict[str, Any]:
        return next(self._lines)


# --- in -----------------------------------------------------------------------------------------


def _bury(store: Store, source: Source, policy: Policy, tally: Tally) -> None:
    """Purge what was purged in another copy of this very store, unless it was edited here since."""
    purged = 0
    for batch in handfuls(source.tombstones()):
        here = [(grave, store.find(grave.uid)) for grave in batch]
        later = {g.uid for g, memory in here if memory is not None and memory.updated_at > g.at}
        for grave, memory in here:
            if memory is not None and grave.uid in later:
                tally.conflict(
                    grave.uid,
                    source.name,
                    memory.content,
                    "purged there and edited here since; kept. 'memai purge' erases it",
                )
        purged += sum(memory is not None for _, memory in here) - len(later)
        if not policy.dry_run:
            with store.writing():
                for grave, _ in here:
                    if grave.uid not in later:
                        store.bury(grave)
    if purged:
        if not policy.dry_run:
            store.erase_traces()
        tally.notes.append(
            f"{purged} memories were purged in the other copy of this store, and so here too."
        )


# --- out ----------------------------------------------------------------------------------------


def _lines(store: Store, where: Where, *, vectors: bool) -> Iterator[dict[str, Any]]:
    """Yield the lines of an export as objects."""
    for batch in handfuls(store.export(where)):
        found = store.passages_of([memory.uid for memory, _, _ in batch]) if vectors else {}
        for memory, history, relations in batch:
            yield own.line(memory, history, relations, found.get(memory.uid))


def published(folder: str) -> list[str]:
    """Return a warning if a folder is one that git carries to others."""
    remote = repository.remote_of(folder)
    if remote is None:
        return []
    warning = (
        f"{folder} is in a git repository with a remote ('{remote}'): what is committed there is "
        "seen by whoever can read that."
    )
    return [warning]


def _to_folder(store: Store, where: Where, folder: str) -> Saved:
    """Write a page for each memory into a new folder, or one without pages."""
    count = 0

    def name_of(uid: str) -> str | None:
        other = store.find(uid)
        return None if other is None else pages.file_name(other)

    files.make_folders(folder, "")
    if next(files.walk(folder, ".md", lambda _path, _reason: None), None) is not None:
        raise UsageError(
            reason=f"{folder} holds Markdown already, and nothing is overwritten. "
            f"'memai sync {folder}' brings it and the store together."
        )
    for batch in handfuls(store.export(where)):
        drafts = []
        for memory, _, relations in batch:
            path = files.make_folders(folder, pages.file_name(memory))
            text = pages.render(memory, relations, name_of)
            drafts.append(files.Draft(path, text.encode(), None))
        for draft, seen in zip(drafts, files.write_all(drafts), strict=True):
            if seen is None:
                why = "another file of this name was made meanwhile"
                raise NotWritable(path=draft.path, reason=why)
        count += len(batch)
    return Saved(folder, count, count, tuple(published(folder)))
