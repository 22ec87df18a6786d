"""The backup of Memory Arbiter: JSON Lines of records, in envelopes or, in older ones, bare."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memai.formats import Broken, Incoming, own
from memai.formats.fields import Fields
from memai.formats.foreign import Home, line, made, rest

SYSTEM = "memory-arbiter"

_GONE = ("superseded", "deleted")


def holds(record: dict[str, Any]) -> bool:
    """Whether an object looks like a line of such a backup."""
    return "backup_schema" in record or (
        "content" in record and "backup_written_at" in record and "workspace" in record
    )


def read(
    lines: Iterable[bytes], home: Home, broken: Callable[[str, str], None]
) -> Iterator[Incoming]:
    """Yield the memories of a backup; what cannot be read is told to `broken`."""
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        place = f"line {number}"
        try:
            yield _memory(own.loads(raw), home, place)
        except Broken as error:
            broken(place, str(error))


def _memory(envelope: dict[str, Any], home: Home, place: str) -> Incoming:
    """Return the memory of one line."""
    record = Fields(envelope).object("record") if "backup_schema" in envelope else envelope
    if not record:
        raise Broken("'record' is missing")
    workspace = envelope.get("workspace_canonical") or record.get("workspace")
    subject, status = line(record.get("subject"), 64), record.get("status")
    words = ([status] if status in ("conflicted", "pending", *_GONE) else []) + (
        [subject] if subject else []
    )
    tags = record.get("tags")
    told = line(record.get("source_ref")) or line(record.get("source_type"))
    metadata = record.get("metadata")
    kind = metadata.get("type") if isinstance(metadata, dict) else None
    return made(
        SYSTEM,
        _key(envelope, record, workspace),
        home,
        place,
        content=record.get("content"),
        type=str(kind or "note"),
        tags=[*(tags if isinstance(tags, list) else []), *words],
        domain=workspace if workspace != "default" else None,
        agent=record.get("agent_id"),
        source=f"{SYSTEM}: {told}" if told else SYSTEM,
        created=record.get("event_time") or record.get("ingest_time"),
        updated=record.get("ingest_time"),
        status="archived" if status in _GONE else "active",
        confidence="confirmed" if record.get("source_type") == "user_confirmed" else "unverified",
        extra=rest(
            record,
            *("content", "tags", "workspace", "agent_id", "event_time", "ingest_time", "id"),
            "backup_written_at",
        ),
    )


def _key(envelope: dict[str, Any], record: dict[str, Any], workspace: Any) -> str:
    """Return what tells a record from others: its key, its number, or else what it says."""
    given = envelope.get("replay_key")
    if isinstance(given, str) and given:
        return given
    if isinstance(record.get("id"), int):
        return f"{workspace}\n{record['id']}"
    said = [record.get(n) for n in ("content", "agent_id", "event_time", "subject")]
    return json.dumps([workspace, *said], ensure_ascii=False)[:2000]
