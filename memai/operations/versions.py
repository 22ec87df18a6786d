"""Views of the history: every version of a memory with what changed, and going back to one."""

from collections.abc import Sequence
from typing import Any

from memai.errors import UsageError
from memai.records import Edit, FieldChange, History, Memory, Version
from memai.store import Store
from memai.vocabulary import Uid

# What an edit can change, and so what going back can bring back.
REVERTED = ("type", "domain", "tags", "content", "source")


def history(store: Store, uid: Uid) -> History:
    """Show every version of a memory with what changed, newest first.

    'memai edit UID --revert VERSION' makes one of them the current text again.
    """
    whole = store.resolve(uid)
    with store.reading():
        memory, edits = store.get(whole), store.history(whole)
    return History(whole, tuple(reversed(_versions(memory, edits))))


def as_of(memory: Memory, edits: Sequence[Edit], version: int) -> Memory:
    """Return a memory as it was in a version; raises UsageError if it never had that."""
    if not 1 <= version <= memory.version:
        raise UsageError(
            reason=f"{memory.uid} has no version {version}: it has versions 1 to {memory.version}."
        )
    for edit in reversed(edits):
        if edit.version >= version:
            memory = memory._replace(**edit.before, version=edit.version)
    return memory


def _versions(memory: Memory, edits: Sequence[Edit]) -> list[Version]:
    """Return the versions of a memory, oldest first."""
    first = as_of(memory, edits, 1)
    found = [Version(1, memory.created_at, first.agent, None, (), len(first.content))]
    for edit in edits:
        before = as_of(memory, edits, edit.version)
        after = as_of(memory, edits, edit.version + 1)
        changes = tuple(
            _change(field, getattr(before, field), getattr(after, field)) for field in edit.before
        )
        found.append(
            Version(edit.version + 1, edit.at, edit.agent, edit.reason, changes, len(after.content))
        )
    return found


def _change(field: str, before: Any, after: Any) -> FieldChange:
    """Describe how one field changed; a text by the lines that differ."""
    if field != "content":
        return FieldChange(field, before, after, None)
    from difflib import unified_diff  # only when someone looks

    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    told = list(lines)[2:]  # the first two name files, and there are none
    return FieldChange(field, None, None, "\n".join(told) or "Only the ends of lines differ.")
