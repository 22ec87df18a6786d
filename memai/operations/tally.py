"""What an import or sync did, counted and listed, and what it may take."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from memai import credentials
from memai.errors import SecretFound
from memai.formats import Incoming
from memai.operations.budget import first_line
from memai.records import Change, Fault, Imported, Memory, Relation

# So many conflicts, errors and changes are listed; the counts are of all.
LISTED = 1_000


class Policy(NamedTuple):
    """What the caller of an import allows."""

    dry_run: bool = False
    allow_secret: bool = False
    redact: bool = False


class Tally:
    """Counts and lists what an import did."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("new", "changed", "same", "buried"), 0)
        self.conflicts: list[Change] = []
        self.changes: list[Change] = []
        self.errors: list[Fault] = []
        self.lost = 0  # relations to memories that are not here
        self.notes: list[str] = []
        self._unlisted = 0

    def add(
        self,
        incoming: Incoming,
        what: Literal["new", "changed", "same", "buried"],
        memory: Memory | None = None,
        conflict: str | None = None,
    ) -> None:
        """Count one memory, and list what became of it."""
        self.counts[what] += 1
        memory = memory or incoming.memory
        if conflict is not None:
            self.conflict(memory.uid, incoming.place, memory.content, conflict)
        if what in ("new", "changed"):
            self.change(memory.uid, what, incoming.place, memory.content)

    def change(
        self,
        uid: str,
        what: Literal["new", "changed"],
        place: str,
        content: str,
        why: str | None = None,
    ) -> None:
        """List what is done with a memory."""
        if len(self.changes) < LISTED:
            self.changes.append(Change(uid, what, place, first_line(content, 80), why))

    def conflict(self, uid: str, place: str, content: str, why: str) -> None:
        """List what a person should look at."""
        if len(self.conflicts) < LISTED:
            self.conflicts.append(Change(uid, "conflict", place, first_line(content, 80), why))
        else:
            self._unlisted += 1

    def fault(self, place: str, reason: str) -> None:
        """List what could not be read or kept."""
        if len(self.errors) < LISTED:
            self.errors.append(Fault(place, reason))
        else:
            self._unlisted += 1

    def answer(self, *, dry_run: bool) -> Imported:
        """Return the record of the import."""
        notes = list(self.notes)
        if self.counts["buried"]:
            notes.append(f"{self.counts['buried']} were purged here and stay so.")
        if self.lost:
            notes.append(f"{self.lost} relations lead to memories that are not here; left out.")
        if self._unlisted:
            notes.append(f"{self._unlisted} more conflicts and errors are not listed.")
        return Imported(
            new=self.counts["new"],
            changed=self.counts["changed"],
            same=self.counts["same"] + self.counts["buried"],
            conflicts=tuple(self.conflicts),
            errors=tuple(self.errors),
            changes=tuple(self.changes) if dry_run else (),
            notes=tuple(notes),
        )


def checked(item: Incoming, policy: Policy) -> Incoming:
    """Return a memory that may be kept; raises SecretFound, for its earlier versions too."""
    if policy.allow_secret or not credentials.find("\n".join(_texts(item))):
        return item
    if policy.redact:
        return _redacted(item)
    for text, what in zip(_texts(item), _names(item), strict=True):
        found = credentials.find(text)
        if found:
            raise SecretFound(
                kind=found[0].kind.replace("-", " "),
                offset=found[0].start,
                what=what,
                hint="Import it with --redact, or as it is with --allow-secret.",
            )
    return item  # one that only the seams between the texts seemed to make


# The short fields in which people put what does not belong there.
_SHORT = ("source", "tags", "domain", "session", "key")


def _texts(item: Incoming) -> Iterator[str]:
    """Yield every free text of a memory that comes in."""
    memory = item.memory
    yield memory.content
    for field in _SHORT:
        yield " ".join(memory.tags) if field == "tags" else getattr(memory, field) or ""
    yield from _strings(memory.extra)
    for edit in item.history:
        yield edit.reason or ""
        yield from _strings(edit.before)
    for relation in item.relations:
        yield relation.note or ""


def _names(item: Incoming) -> Iterator[str]:
    """Yield what the texts are called, in the same order."""
    yield "content"
    yield from _SHORT
    yield from ("extra" for _ in _strings(item.memory.extra))
    for edit in item.history:
        yield f"the reason of edit {edit.version}"
        yield from (f"version {edit.version}" for _ in _strings(edit.before))
    yield from ("the note of a relation" for _ in item.relations)


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            # A pair such as `password: ...` is one by its key.
            yield f"{key}: {item}" if isinstance(item, str) and key != "content" else key
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _redacted(item: Incoming) -> Incoming:
    """Return a memory with the credentials in all its texts replaced."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return credentials.redact(value, credentials.find(value))
        if isinstance(value, dict):
            return {key: _pair(key, inner, clean(inner)) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(clean(inner) for inner in value)
        return value

    memory = item.memory._replace(
        content=clean(item.memory.content),
        extra=clean(item.memory.extra),
        **{field: clean(getattr(item.memory, field)) for field in _SHORT},
    )
    history = tuple(
        edit._replace(reason=clean(edit.reason), before=clean(edit.before)) for edit in item.history
    )
    relations: Iterable[Relation] = (
        relation._replace(note=clean(relation.note)) for relation in item.relations
    )
    return item._replace(memory=memory, history=history, relations=tuple(relations), embedded=None)


def _pair(key: str, value: Any, clean: Any) -> Any:
    """Return a value without what only its key shows to be a credential."""
    if isinstance(value, str) and clean == value and key != "content":
        for found in credentials.find(f"{key}: {value}"):
            return f"[redacted:{found.kind}]"
    return clean
