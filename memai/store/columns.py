"""What the columns of SQLite's tables hold: records as rows and back, and filters over them."""

from __future__ import annotations

from memai.errors import Damaged
from memai.folding import fold
from memai.lean import TYPE_CHECKING
from memai.limits import NO_DOMAIN, SUPERSEDES
from memai.records import Memory, Origin, Relation
from memai.store.sums import checksum
from memai.when import from_micros, to_micros

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from memai.records import Edit, Where

CURRENT_SPACE = "(SELECT value FROM meta WHERE name = 'space')"
REPLACED = "EXISTS(SELECT 1 FROM links r WHERE r.to_id = m.id AND r.type = '" + SUPERSEDES + "')"
MEMORY = (
    "m.id, m.uid, m.type, m.domain, m.session, m.tags, m.status, m.confidence, m.content, m.agent,"
    " m.source, m.key, m.origin_system, m.origin_key, m.created_at, m.updated_at, m.version,"
    " m.extra, m.crc, (SELECT group_concat(s.uid) FROM links r JOIN memories s"
    " ON s.id = r.from_id WHERE r.to_id = m.id AND r.type = '" + SUPERSEDES + "')"
)
COLUMNS = (
    "uid type domain domain_key session tags tag_keys status confidence content content_hash"
    " agent source key origin_system origin_key created_at updated_at version extra crc words"
    " tag_words domain_words"
).split()
INSERT_EDIT = (
    "INSERT INTO edits(memory_id, version, at, agent, reason, before, crc)"
    " VALUES(?, ?, ?, ?, ?, ?, ?)"
)
_SEPARATOR = "\x1f"
_ORIGIN = Memory._fields.index("origin")


def condition(where: Where) -> tuple[str, dict[str, Any]]:
    """Return a filter as SQL over `memories m`, with its values."""
    parts = ["1"]
    values: dict[str, Any] = {}
    if where.domain == NO_DOMAIN:
        parts.append("m.domain_key IS NULL")
    elif where.domain is not None:
        # What is below a domain begins with it and a slash; '0' is the character after '/'. One
        # range, which is read from its index alone, and what lies in it by chance is left out.
        parts.append(
            "m.domain_key >= :domain AND m.domain_key < :domain || '0' AND (m.domain_key = :domain"
            " OR substr(m.domain_key, length(:domain) + 1, 1) = '/')"
        )
        values["domain"] = fold(where.domain)
    for name in ("type", "session", "status"):
        value = getattr(where, name)
        if value is not None:
            parts.append(f"m.{name} = :{name}")
            values[name] = value
    for number, tag in enumerate(where.tags):
        parts.append(f"instr(m.tag_keys, :tag{number})")
        values[f"tag{number}"] = _SEPARATOR + tag + _SEPARATOR
    if where.since is not None:
        parts.append("m.created_at >= :since")
        values["since"] = to_micros(where.since)
    if where.until is not None:
        parts.append("m.created_at <= :until")
        values["until"] = to_micros(where.until)
    if where.current:
        parts.append(f"m.status = 'active' AND NOT {REPLACED}")
    return " AND ".join(parts), values


def instant(micros: int) -> str:
    """Return the time in a row as records hold it; raises Damaged."""
    try:
        return from_micros(micros)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Damaged(path="itself", reason="a time in it is none") from error


class Legible:
    """Says that the store is damaged where a row has values that none can have."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ArithmeticError | AttributeError | TypeError | ValueError):
            raise Damaged(path="itself", reason=f"{self.what} cannot be read") from error


_TEXTS = frozenset((str, type(None)))
_MEMORY = Legible("the row of a memory")
EDIT = Legible("an earlier version of a memory")


def memory_of(row: Sequence[Any]) -> Memory:
    """Return a row of the MEMORY columns as a record; raises Damaged."""
    with _MEMORY:
        if not _TEXTS.issuperset(map(type, row[1:14])):
            raise TypeError(row)
        return _memory_of(row)


def _memory_of(row: Sequence[Any]) -> Memory:
    (_, uid, type, domain, session, tags, status, confidence, content) = row[:9]
    (agent, source, key, system, origin_key, created, updated, version, extra) = row[9:18]
    superseded = row[19]
    origin = Origin(system, origin_key) if system is not None else None
    return Memory(  # in the order of its fields: by their names it takes 4 microseconds more
        uid,
        type,
        domain,
        session,
        _tags(tags),
        status,
        confidence,
        content,
        agent,
        source,
        key,
        origin,
        instant(created),
        instant(updated),
        version,
        {} if extra == "{}" else read_json(extra),
        tuple(sorted(superseded.split(","))) if superseded else (),
    )


def _tags(written: str) -> tuple[str, ...]:
    """Return the tags of a row; as they are usually written, without importing `json` (6 ms)."""
    if written == "[]":
        return ()
    if written[:2] == '["' and written[-2:] == '"]' and written.isprintable():
        tags = written[2:-2].split('","')
        # With neither escapes nor other quotes each stands between its two.
        if "\\" not in written and len(written) > 3 and not any('"' in tag for tag in tags):
            return tuple(tags)
    return tuple(read_json(written))


def read_json(written: str) -> Any:
    """Return what was written as JSON."""
    import json

    return json.loads(written)


def relation_of(row: Sequence[Any]) -> Relation:
    """Return a row of a relation as a record."""
    from_uid, type, to_uid, note, agent, created, removed = row
    gone = None if removed is None else instant(removed)
    return Relation(from_uid, type, to_uid, note, agent, instant(created), gone)


def memory_checksum(memory: Memory) -> int:
    """Return the CRC-32 over every stored field of a memory."""
    return _checksum(memory, *_times(memory), _json(memory.extra))


def _checksum(memory: Memory, created: int, updated: int, extra: str) -> int:
    origin = memory.origin or (None, None)
    return checksum((*memory[:_ORIGIN], *origin, created, updated, memory.version, extra))


def _times(memory: Memory) -> tuple[int, int]:
    """Return when a memory was made and changed; of most these are the same."""
    created = to_micros(memory.created_at)
    same = memory.updated_at == memory.created_at
    return created, created if same else to_micros(memory.updated_at)


def content_hash(content: str) -> int:
    """Return what a content is looked up by: equal texts are compared after that."""
    return int.from_bytes(digest(content)[:8], "big", signed=True)


def digest(content: str) -> bytes:
    """Return the SHA-256 of a text."""
    from hashlib import sha256

    return sha256(content.encode()).digest()


def row_of(memory: Memory) -> tuple[Any, ...]:
    """Return a memory as a row in the order of COLUMNS."""
    from memai import text

    created, updated = _times(memory)
    extra = _json(memory.extra)
    return (
        memory.uid,
        memory.type,
        memory.domain,
        domain_key(memory.domain),
        memory.session,
        _json(list(memory.tags)),
        _SEPARATOR + "".join(fold(tag) + _SEPARATOR for tag in memory.tags),
        memory.status,
        memory.confidence,
        memory.content,
        content_hash(memory.content),
        memory.agent,
        memory.source,
        memory.key,
        *(memory.origin or (None, None)),
        created,
        updated,
        memory.version,
        extra,
        _checksum(memory, created, updated, extra),
        text.words_beside(memory.content),
        text.label_words(" ".join(memory.tags)),
        text.label_words(memory.domain or ""),
    )


def edit_row(id: int, edit: Edit) -> tuple[Any, ...]:
    """Return an edit of the memory with this id as a row."""
    values = (
        id, edit.version, to_micros(edit.at), edit.agent, edit.reason, _json(edit.before)
    )  # fmt: skip
    return (*values, checksum(values))


def fields(before: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an edit as a record holds them."""
    if "tags" in before:
        before["tags"] = tuple(before["tags"])
    return before


def _json(value: dict[str, Any] | list[str]) -> str:
    if not value:  # as the further fields of most memories are
        return "{}" if isinstance(value, dict) else "[]"
    if not _encode:
        import json

        encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        _encode.append(encoder.encode)
    return _encode[0](value)


_encode: list[Callable[[Any], str]] = []  # made once: `json.dumps` makes one each time


def domain_key(domain: str | None) -> str | None:
    """Return what domains are compared by."""
    return None if domain is None else fold(domain)
