"""memai's own form: JSON Lines, one memory a line with its history and relations.

Keys stand in the order of the record, so that the same store gives the same bytes and a version
control system shows what changed.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from memai.formats import Broken, Incoming
from memai.records import Edit, Memory, Origin, Relation, to_json
from memai.vocabulary import (
    MAX_CONTENT_BYTES,
    MAX_NAME_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    MEMORY_TYPES,
    STATUSES,
    VERDICTS,
)
from memai.when import to_micros

# A line holds a content and its earlier versions; this bounds what one line can make us read.
MAX_LINE_BYTES = 64_000_000

_UID = frozenset("0123456789abcdefghjkmnpqrstvwxyz")
_TOP = frozenset(Memory._fields) - {"superseded_by"} | {"history", "relations", "vectors"}
_CHANGEABLE = frozenset(Memory._fields) - {"uid", "created_at", "updated_at", "version"}


def line(memory: Memory, history: Iterable[Edit], relations: Iterable[Relation]) -> dict[str, Any]:
    """Return one memory as the object of its line."""
    flat = to_json(memory)
    del flat["superseded_by"]  # a view of the relations of other memories
    flat["history"] = to_json(tuple(history))
    flat["relations"] = [_relation(relation) for relation in relations]
    return flat  # type: ignore[no-any-return]


def dumps(record: dict[str, Any]) -> str:
    """Return an object as its line, without the newline."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def read(lines: Iterable[bytes], broken: Callable[[str, str], None]) -> Iterator[Incoming]:
    """Yield the memories of a file; what cannot be read is told to `broken` (place, reason)."""
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        place = f"line {number}"
        try:
            yield parse(loads(raw), place)
        except Broken as error:
            broken(place, str(error))


def loads(raw: bytes) -> dict[str, Any]:
    """Return the object of a line; raises Broken for anything that is not strictly one."""
    if len(raw) > MAX_LINE_BYTES:
        raise Broken(f"longer than {MAX_LINE_BYTES:,} bytes")
    try:
        value = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except UnicodeDecodeError:
        raise Broken("not UTF-8") from None
    except RecursionError:
        raise Broken("nested too deeply") from None
    except ValueError as error:
        raise Broken(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Broken("not a JSON object")
    return value


def parse(record: dict[str, Any], place: str) -> Incoming:
    """Return the memory of an object; raises Broken naming the field that is wrong."""
    fields = _Fields(record)
    uid = fields.text("uid", 10)
    if len(uid) != 10 or not set(uid) <= _UID:
        raise Broken(f"'{uid}' is no uid")
    memory = Memory(
        uid=uid,
        type=fields.choice("type", MEMORY_TYPES),
        domain=fields.name("domain"),
        session=fields.name("session"),
        tags=fields.tags("tags"),
        status=fields.choice("status", STATUSES, "active"),
        confidence=fields.choice("confidence", VERDICTS, "unverified"),
        content=fields.content("content"),
        agent=fields.name("agent") or "unknown",
        source=fields.name("source"),
        key=fields.name("key"),
        origin=fields.origin("origin"),
        created_at=fields.time("created_at"),
        updated_at=fields.time("updated_at", fields.time("created_at")),
        version=fields.whole("version", 1),
        extra={**fields.object("extra"), **_unknown(record)},
    )
    history = tuple(_edit(item) for item in fields.objects("history"))
    if [edit.version for edit in history] != list(range(1, memory.version)):
        raise Broken(f"a history of {len(history)} edits does not lead to version {memory.version}")
    times = [memory.created_at, *(edit.at for edit in history)]
    if any(later <= earlier for earlier, later in pairwise(times)):
        raise Broken("the history does not go forward in time")
    relations = tuple(_related(uid, item) for item in fields.objects("relations"))
    vectors = record.get("vectors")
    if vectors is not None and not isinstance(vectors, dict):
        raise Broken("'vectors' is no object")
    return Incoming(place, memory, history, relations, vectors=vectors)


class _Fields:
    """Typed access to the fields of an object."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    def text(self, name: str, most: int, default: str | None = None) -> str:
        value = self.record.get(name, default)
        if not isinstance(value, str):
            raise Broken(f"'{name}' is missing or no text")
        if len(value) > most:
            raise Broken(f"'{name}' is longer than {most:,} characters")
        return _stored(value, name)

    def name(self, name: str) -> str | None:
        if self.record.get(name) is None:
            return None
        return self.text(name, MAX_NAME_CHARACTERS) or None

    def content(self, name: str) -> str:
        value = self.text(name, MAX_CONTENT_BYTES)
        if len(value.encode()) > MAX_CONTENT_BYTES:
            raise Broken(f"'{name}' is larger than {MAX_CONTENT_BYTES:,} bytes")
        if not value.strip():
            raise Broken(f"'{name}' is empty")
        return value

    def choice(self, name: str, known: tuple[str, ...], default: str | None = None) -> str:
        value = self.record.get(name, default)
        if value not in known:
            raise Broken(f"'{name}' is none of {', '.join(known)}")
        return str(value)

    def tags(self, name: str) -> tuple[str, ...]:
        value = self.record.get(name, [])
        if not isinstance(value, list) or len(value) > MAX_TAGS:
            raise Broken(f"'{name}' is no list of at most {MAX_TAGS}")
        for tag in value:
            if not isinstance(tag, str) or not tag or len(tag) > MAX_TAG_CHARACTERS:
                raise Broken(f"'{name}' holds what is no tag")
            _stored(tag, name)
        return tuple(value)

    def origin(self, name: str) -> Origin | None:
        value = self.record.get(name)
        if value is None:
            return None
        if not isinstance(value, dict) or set(value) != {"system", "key"}:
            raise Broken(f"'{name}' is no object of system and key")
        fields = _Fields(value)
        return Origin(fields.text("system", 200), fields.text("key", 2000))

    def time(self, name: str, default: str | None = None) -> str:
        value = self.text(name, 27, default)
        try:
            to_micros(value)
        except ValueError:
            raise Broken(f"'{name}' is no time like 2026-03-29T08:00:00.000000Z") from None
        return value

    def whole(self, name: str, default: int) -> int:
        value = self.record.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10**9:
            raise Broken(f"'{name}' is no whole number from 1")
        return value

    def object(self, name: str) -> dict[str, Any]:
        value = self.record.get(name) or {}
        if not isinstance(value, dict):
            raise Broken(f"'{name}' is no object")
        return value

    def objects(self, name: str) -> list[dict[str, Any]]:
        value = self.record.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise Broken(f"'{name}' is no list of objects")
        return value


def _edit(record: dict[str, Any]) -> Edit:
    """Return one edit of a history."""
    fields = _Fields(record)
    before = fields.object("before")
    if not set(before) <= _CHANGEABLE:
        raise Broken("the history changes a field that cannot change")
    if "tags" in before:
        before = {**before, "tags": _Fields(before).tags("tags")}
    if "content" in before:
        _Fields(before).content("content")
    reason = record.get("reason")
    return Edit(
        fields.whole("version", 0),
        fields.time("at"),
        fields.name("agent") or "unknown",
        None if reason is None else fields.text("reason", MAX_REASON_CHARACTERS),
        before,
    )


def _related(uid: str, record: dict[str, Any]) -> Relation:
    """Return one relation from the memory of a line."""
    fields = _Fields(record)
    note = record.get("note")
    return Relation(
        uid,
        fields.text("type", MAX_NAME_CHARACTERS),
        fields.text("to_uid", 2000),
        None if note is None else fields.text("note", MAX_REASON_CHARACTERS),
        fields.name("agent") or "unknown",
        fields.time("created_at"),
        None if record.get("removed_at") is None else fields.time("removed_at"),
    )


def _relation(relation: Relation) -> dict[str, Any]:
    """Return a relation as it stands in the line of the memory it goes from."""
    flat: dict[str, Any] = to_json(relation)
    del flat["from_uid"]
    if relation.removed_at is None:
        del flat["removed_at"]
    return flat


def _unknown(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields this version does not know; they are kept and come out again."""
    return {name: value for name, value in record.items() if name not in _TOP}


def _stored(value: str, name: str) -> str:
    """Refuse characters that no store keeps."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Broken(f"'{name}' holds half a character (a lone surrogate)") from None
    if "\0" in value:
        raise Broken(f"'{name}' holds a NUL character")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that says one thing twice: readers differ in which they believe."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise Broken("an object has the same key twice")
    return record


def _no_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which are no JSON."""
    raise Broken(f"{name} is no JSON number")
