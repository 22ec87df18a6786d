r"""Answers for pipes: fields separated by tabs, one row a line, uncut, times in UTC.

A backslash, and every character that would break a row or that a terminal would obey, is written
as an escape (``\\``, ``\t``, ``\n``, ``\r``, ``\x1b``, ``\u2028``), as `printf %b` reads it.
"""

from __future__ import annotations

from memai import records
from memai.lean import TYPE_CHECKING
from memai.limits import NO_DOMAIN

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

_SPECIAL = "[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029]"
_NAMES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def rows(answer: Any, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of an answer."""
    if type(answer).__name__ == "Shown":
        yield from _shown(answer)
        return
    describe = _ROWS.get(type(answer).__name__, _any)
    for row in describe(answer, verbose):
        yield "\t".join(field(value) for value in row) + "\n"


def names(answer: Any) -> Iterator[str]:
    """Yield the lines of --quiet: uids, or what else names the things of an answer."""
    describe = _NAMES_OF.get(type(answer).__name__, lambda _answer: ())
    for name in describe(answer):
        yield field(name) + "\n"


def field(value: Any) -> str:
    """Return a value as one field."""
    if value is None:
        return NO_DOMAIN
    if isinstance(value, tuple | list):
        return ",".join(field(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    shown = str(value)
    if shown.isprintable() and "\\" not in shown:
        return shown
    import re

    return re.sub(_SPECIAL, _escape, shown)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _NAMES.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def state(memory: Any) -> str:
    """Return how a memory stands: superseded is not a status, but what a reader must know."""
    if getattr(memory, "superseded_by", ()):
        return "superseded"
    return str(memory.status)


def _listed(answer: records.Listed, _verbose: bool) -> Iterator[tuple[Any, ...]]:
    for m in answer.memories:
        yield m.uid, m.type, m.domain, m.created_at, state(m), m.tags, m.content


def _found(answer: records.Found, verbose: bool) -> Iterator[tuple[Any, ...]]:
    for h in answer.hits:
        row = (h.uid, h.type, h.domain, h.created_at, h.match_source, h.score, h.snippet)
        scores = ",".join(f"{name}={value:g}" for name, value in h.scores.items())
        yield (*row, scores) if verbose else row


def _pulse(answer: records.Pulse, _verbose: bool) -> Iterator[tuple[Any, ...]]:
    if answer.latest_checkpoint is not None:
        memory, related = answer.latest_checkpoint
        yield "checkpoint", memory.uid, memory.domain, memory.created_at, memory.content
        for r in related:
            yield "relation", memory.uid, r.direction, r.type, r.uid, r.first_line
    for kind, digests in (
        ("handoff", answer.handoffs),
        ("anti_pattern", answer.anti_patterns),
        ("note", answer.recent_notes),
    ):
        for d in digests:
            yield kind, d.uid, d.domain, d.created_at, d.text
    left = answer.omitted
    if any(left[:3]):
        yield (
            "omitted",
            f"{left.handoffs} handoffs",
            f"{left.anti_patterns} anti_patterns",
            (f"{left.recent_notes} notes"),
            left.hint,
        )


def _related(answer: records.Related, _verbose: bool) -> Iterator[tuple[Any, ...]]:
    for r in answer.relations:
        yield r.direction, r.type, r.uid, r.created_at, r.agent, r.note, r.first_line


def _imported(answer: records.Imported, _verbose: bool) -> Iterator[tuple[Any, ...]]:
    yield "new", answer.new
    yield "changed", answer.changed
    yield "same", answer.same
    for c in (*answer.changes, *answer.conflicts):
        yield c.what, c.uid, c.place, c.first_line, c.why or ""
    for fault in answer.errors:
        yield "error", fault.place, fault.reason


def _history(answer: records.History, _verbose: bool) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each change, and one for a version that changed nothing: the first."""
    for v in answer.versions:
        head = (v.version, v.at, v.agent, v.reason or "")
        for c in v.changes:
            yield (*head, c.field, c.before, c.after, c.diff or "")
        if not v.changes:
            yield (*head, "", None, None, "")


def _shown(answer: records.Shown) -> Iterator[str]:
    """Yield a memory: a head of names and values, an empty line, then its text unchanged."""
    m = answer.memory
    head: list[tuple[Any, ...]] = [
        (name, getattr(m, name))
        for name in m._fields
        if name not in ("content", "extra", "origin", "superseded_by")
        and getattr(m, name) not in (None, ())
    ]
    if m.origin is not None:
        head.append(("origin", *m.origin))
    if m.superseded_by:
        head.append(("superseded_by", m.superseded_by))
    head += [("relation", r.direction, r.type, r.uid, r.first_line) for r in answer.relations]
    head += [
        ("edit", e.version, e.at, e.agent, e.reason or "", tuple(e.before)) for e in answer.history
    ]
    head += [("passage", f"{h.start}:{h.end}", h.first_line) for h in answer.outline]
    for row in head:
        yield "\t".join(field(value) for value in row) + "\n"
    yield "\n"
    yield m.content


def _any(answer: Any, _verbose: bool) -> Iterator[tuple[Any, ...]]:
    """Yield names and values of an answer that has no form of its own, nested names with dots."""

    def flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            for name, item in value.items():
                yield from flat(f"{prefix}{name}.", item)
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            for number, item in enumerate(value):
                yield from flat(f"{prefix}{number}.", item)
        else:
            yield prefix[:-1], value

    fields = {k: v for k, v in records.to_json(answer).items() if k != "notes"}
    yield from flat("", fields)


def _uids(items: Iterable[Any]) -> Iterator[str]:
    for item in items:
        yield item.uid


# By the names of the records, so that no other record than that of the answer is imported.
_ROWS: dict[str, Callable[[Any, bool], Iterable[tuple[Any, ...]]]] = {
    "Written": lambda a, _v: [(a.uid,)],
    "Changed": lambda a, _v: [(uid,) for uid in a.uids],
    "Connected": lambda a, _v: [(a.relation.from_uid, a.relation.type, a.relation.to_uid)],
    "Purged": lambda a, _v: [(a.uid,)],
    "Listed": _listed,
    "Found": _found,
    "Pulse": _pulse,
    "Related": _related,
    "History": _history,
    "Domains": lambda a, _v: [
        (d.domain, d.memories, d.current, d.latest_at, d.spellings) for d in a.domains
    ],
    "Renamed": lambda a, _v: [(a.domain, a.new, a.memories)],
    "Spelling": lambda a, _v: [(a.policy, a.otherwise)],
    "Duplicates": lambda a, _v: [
        (p.uid, p.other, p.score, p.method, p.why, p.first_line, p.other_first_line)
        for p in a.pairs
    ],
    "Health": lambda a, _v: [
        *([("ok", "all-is-well", ", ".join(a.checked), "")] if a.ok else []),
        *((f.level, f.code, f.message, f.fix or "") for f in a.findings),
    ],
    # Nothing unless asked (-q, -v, --json): cron would send it by mail every night.
    "BackedUp": lambda a, v: [(a.path, a.sha256, a.memories)] if v else [],
    "Saved": lambda a, v: [(a.path, a.memories, a.files)] if v else [],
    "Backups": lambda a, _v: [
        (b.path, b.created_at, b.state, b.memories, b.bytes, b.sha256) for b in a.backups
    ],
    "Imported": _imported,
}
_NAMES_OF: dict[str, Callable[[Any], Iterable[str]]] = {
    "Written": lambda a: [a.uid],
    "Changed": lambda a: a.uids,
    "Connected": lambda a: [a.relation.from_uid, a.relation.to_uid],
    "Purged": lambda a: [a.uid],
    "Listed": lambda a: _uids(a.memories),
    "Found": lambda a: _uids(a.hits),
    "Shown": lambda a: [a.memory.uid],
    "Pulse": lambda a: _uids(
        [
            *([a.latest_checkpoint.memory] if a.latest_checkpoint else []),
            *a.handoffs,
            *a.anti_patterns,
            *a.recent_notes,
        ]
    ),
    "Related": lambda a: _uids(a.relations),
    "History": lambda a: [a.uid],
    "Domains": lambda a: [d.domain or NO_DOMAIN for d in a.domains],
    "Renamed": lambda a: a.uids,
    "Duplicates": lambda a: [uid for p in a.pairs for uid in (p.uid, p.other)],
    "BackedUp": lambda a: [a.path],
    "Saved": lambda a: [a.path],
    "Backups": lambda a: [b.path for b in a.backups],
    "Recovered": lambda a: [a.path],
}
