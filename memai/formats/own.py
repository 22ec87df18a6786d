"""memai's own form: JSON Lines, one memory a line with its history and relations.

Keys stand in the order of the record, so that the same store gives the same bytes and a version
control system shows what changed. What version of memai wrote a line does not matter: fields that
this one does not know are kept among the extra ones.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from memai.formats import Broken, Incoming, check_extra
from memai.formats.fields import Fields, changeable
from memai.records import (
    Edit,
    Embedded,
    Memory,
    Passage,
    Relation,
    Space,
    to_json,
)
from memai.vocabulary import MEMORY_TYPES, STATUSES, VERDICTS

# A line holds a content and its earlier versions; this bounds what one line can make us read.
MAX_LINE_BYTES = 128_000_000

_TOP = frozenset(Memory._fields) - {"superseded_by"} | {"history", "relations", "vectors"}
# What some readers take for the end of a line, and what a terminal would obey.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029]")


# --- writing ------------------------------------------------------------------------------------


def line(
    memory: Memory,
    history: Iterable[Edit],
    relations: Iterable[Relation],
    embedded: Embedded | None = None,
) -> dict[str, Any]:
    """Return one memory as the object of its line."""
    flat: dict[str, Any] = to_json(memory)
    del flat["superseded_by"]  # a view of the relations of other memories
    flat["history"] = to_json(tuple(history))
    flat["relations"] = [_relation(relation) for relation in relations]
    if embedded is not None and embedded.space is not None:
        flat["vectors"] = _vectors(embedded)
    return flat


def dumps(record: dict[str, Any]) -> str:
    """Return an object as its line, without the newline."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _relation(relation: Relation) -> dict[str, Any]:
    """Return a relation as it stands in the line of the memory it goes from."""
    flat: dict[str, Any] = to_json(relation)
    del flat["from_uid"]
    return flat


def _vectors(embedded: Embedded) -> dict[str, Any]:
    """Return passages with their vectors as text."""
    from base64 import b64encode

    return {
        "space": to_json(embedded.space),
        "passages": [
            [
                passage.start,
                passage.end,
                None if passage.embedding is None else b64encode(passage.embedding).decode(),
                b64encode(passage.tokens).decode(),
            ]
            for passage in embedded.passages
        ],
    }


# --- reading ------------------------------------------------------------------------------------


def read(
    lines: Iterable[bytes], broken: Callable[[str, str], None], first: int = 1
) -> Iterator[Incoming]:
    """Yield the memories of a file; what cannot be read is told to `broken` (place, reason).

    `first` is the number of the first line.
    """
    for number, raw in enumerate(lines, start=first):
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
    value = strictly(raw)
    if not isinstance(value, dict):
        raise Broken("not a JSON object")
    return value


def strictly(raw: bytes) -> Any:
    """Return what JSON says; raises Broken where readers could differ about it."""
    try:
        return _DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise Broken("not UTF-8") from None
    except RecursionError:
        raise Broken("nested too deeply") from None
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            why = f"{error.msg.removesuffix(' at')} at character {error.pos}"
            raise Broken(f"not JSON: {why}") from None
        raise Broken(f"not JSON: {error}") from None


def parse(record: dict[str, Any], place: str) -> Incoming:
    """Return the memory of an object; raises Broken naming the field that is wrong."""
    fields = Fields(record)
    memory = memory_of(fields, {**fields.object("extra"), **_unknown(record)})
    history = tuple(_edit(item) for item in fields.objects("history"))
    if [edit.version for edit in history] != list(range(1, memory.version)):
        raise Broken(f"a history of {len(history)} edits does not lead to version {memory.version}")
    if history:
        times = [memory.created_at, *(edit.at for edit in history)]
        # Equal times come from two stores that met; what goes back was never written.
        if any(later < earlier for earlier, later in pairwise(times)):
            raise Broken("the history does not go forward in time")
    relations = tuple(related(memory.uid, item) for item in fields.objects("relations"))
    return Incoming(place, memory, "own", history, relations, _embedded(fields))


def memory_of(fields: Fields, extra: dict[str, Any]) -> Memory:
    """Return the memory whose fields these are."""
    if extra:
        check_extra(extra)
    created = fields.time("created_at")
    return Memory(  # in the order of its fields: by their names it takes 4 microseconds more
        fields.uid("uid"),
        fields.choice("type", MEMORY_TYPES),
        fields.domain("domain"),
        fields.optional("session"),
        fields.tags("tags"),
        fields.choice("status", STATUSES, "active"),
        fields.choice("confidence", VERDICTS, "unverified"),
        fields.content("content"),
        fields.remark("agent") or "unknown",
        fields.optional("source"),
        fields.optional("key"),
        fields.origin("origin"),
        created,
        created
        if fields.record.get("updated_at") == created
        else fields.time("updated_at", created),
        fields.whole("version", 1),
        extra,
    )


def related(uid: str, record: dict[str, Any]) -> Relation:
    """Return one relation from a memory; raises Broken."""
    fields = Fields(record)
    other = fields.uid("to_uid")
    if other == uid:
        raise Broken("it is related to itself")
    return Relation(
        uid,
        fields.line("type"),
        other,
        fields.remark("note"),
        fields.remark("agent") or "unknown",
        fields.time("created_at"),
        None if record.get("removed_at") is None else fields.time("removed_at"),
    )


def _edit(record: dict[str, Any]) -> Edit:
    """Return one edit of a history."""
    fields = Fields(record)
    return Edit(
        fields.whole("version", 0),
        fields.time("at"),
        fields.remark("agent") or "unknown",
        fields.remark("reason"),
        changeable(fields.object("before")),
    )


def _embedded(fields: Fields) -> Embedded | None:
    """Return the passages that came along, as far as they can be vectors at all."""
    record = fields.object("vectors")
    if not record:
        return None
    from base64 import b64decode

    try:
        model, sha256, dim, recipe = (record["space"][name] for name in Space._fields)
        passages = tuple(
            Passage(
                int(start),
                int(end),
                None if vector is None else b64decode(vector, validate=True),
                b64decode(tokens, validate=True),
            )
            for start, end, vector, tokens in record["passages"]
        )
        space = Space(str(model), str(sha256), int(dim), str(recipe))
    except (KeyError, TypeError, ValueError):
        raise Broken("'vectors' holds no space and passages") from None
    for passage in passages:
        if len(passage.tokens) % 2 or (
            passage.embedding is not None and not _is_unit(passage.embedding, space.dim)
        ):
            raise Broken("'vectors' holds what is no vector of unit length")
    return Embedded(space, passages)


def _is_unit(vector: bytes, dim: int) -> bool:
    """Whether bytes are a float32 vector of so many finite components and of length 1."""
    from array import array

    if len(vector) != 4 * dim:
        return False
    length = sum(component * component for component in array("f", vector))
    return abs(length - 1) < 1e-3


def _unknown(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields this version does not know; they are kept and come out again."""
    if record.keys() <= _TOP:
        return {}
    return {name: value for name, value in record.items() if name not in _TOP}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that says one thing twice: readers differ in which they believe."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise Broken("an object has the same key twice")
    return record


def _no_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which are no JSON."""
    raise Broken(f"{name} is no JSON number")


def _finite(text: str) -> float:
    """Return a number; refuse one that only looks finite."""
    value = float(text)
    if value - value != 0:
        raise Broken("a number is too large")
    return value


_DECODER = json.JSONDecoder(  # made once: `json.loads` makes one for each line
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
)
