"""What all foreign forms have in common: who a memory is, and what its words become here."""

import re
from typing import Any, NamedTuple

from memai import text, when
from memai.formats import Broken, Incoming, check_extra
from memai.formats.fields import Fields
from memai.records import Memory, Origin, Relation
from memai.vocabulary import MAX_NAME_CHARACTERS, MAX_TAG_CHARACTERS, MAX_TAGS, NO_DOMAIN

_LONGEST_KEY = 400
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_NOT_A_LINE = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")

# The nearest of our types for the words others use; what is in none of them is a note.
_NEAREST = {
    "anti_pattern": "antipattern pitfall gotcha mistake lesson lessonlearned lessonslearned bug"
    " error warning caveat knownissue knownissues trap",
    "reasoning": "decision adr rationale analysis thought argument tradeoff decisionlog"
    " decisionrecord architecturedecision",
    "checkpoint": "progress activecontext currentcontext workinprogress status snapshot sessionlog",
    "handoff": "handover sessionhandoff transition",
}
_TYPES = {word: ours for ours, words in _NEAREST.items() for word in (ours.replace("_", ""),
          *words.split())}  # fmt: skip


class Home(NamedTuple):
    """What is not said by what comes in: its domain, and when it was written."""

    domain: str | None
    at: str


def origin_of(system: str, key: str) -> Origin:
    """Return where a memory comes from; a key that is too long for a line is cut and hashed."""
    from hashlib import sha256

    kept = _NOT_A_LINE.sub(" ", key).strip()
    if len(kept) > _LONGEST_KEY:
        kept = f"{kept[:_LONGEST_KEY]} {sha256(key.encode(errors='replace')).hexdigest()[:16]}"
    return Origin(system, kept or "-")


def uid_of(origin: Origin) -> str:
    """Return the uid of a foreign memory: that of its origin, so that all stores give it alike.

    The first ten characters of its SHA-256 in the base32 of all uids.
    """
    from hashlib import sha256

    number = int.from_bytes(sha256("\0".join(origin).encode()).digest()[:7])
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(51, 1, -5))


def made(
    system: str,
    key: str,
    home: Home,
    place: str,
    *,
    content: Any,
    type: str = "note",
    tags: Any = (),
    domain: Any = None,
    session: Any = None,
    agent: Any = None,
    source: Any = None,
    created: Any = None,
    updated: Any = None,
    status: str = "active",
    confidence: str = "unverified",
    extra: dict[str, Any] | None = None,
) -> Incoming:
    """Return a foreign memory as one of ours; raises Broken if it has no text that can be kept.

    `type` is any word: it becomes the nearest of our types, and a tag where that is another.
    """
    check_extra(extra or {})
    origin = origin_of(system, key)
    ours, word = nearest(type)
    created_at = time(created) or min(time(updated) or home.at, home.at)
    return Incoming(
        place,
        Memory(
            uid=uid_of(origin),
            type=ours,
            domain=_domain(domain) or home.domain,
            session=line(session),
            tags=clean_tags([*_listed(tags), *([word] if word else [])]),
            status=status,
            confidence=confidence,
            content=Fields({"text": content}).content("text"),
            agent=line(agent) or system,
            source=line(source),
            key=None,
            origin=origin,
            created_at=created_at,
            updated_at=max(created_at, time(updated) or created_at),
            version=1,
            extra=extra or {},
        ),
        "foreign",
    )


def relation(system: str, key: str, type: Any, other: str, home: Home, agent: str) -> Relation:
    """Return a relation between two memories of a foreign system, named by their keys there."""
    ends = uid_of(origin_of(system, key)), uid_of(origin_of(system, other))
    return Relation(ends[0], line(type) or "relates_to", ends[1], None, agent, home.at)


def nearest(word: str) -> tuple[str, str | None]:
    """Return the nearest of our types, and the word itself where it says something else."""
    bare = re.sub(r"[\W_]+", "", text.fold(word))
    ours = _TYPES.get(bare) or _TYPES.get(bare.removesuffix("s")) or "note"
    plain = bare in ("", "note", "memory", "memories", "notes", ours.replace("_", ""))
    return ours, None if plain else word


def time(value: Any) -> str | None:
    """Return a time in the stored form: of ISO 8601, or of seconds or milliseconds since 1970.

    Without a zone it is taken as UTC, so that all machines read the same. None if it is no time.
    """
    from datetime import UTC, datetime

    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) > 1e11 else value
            return when.from_micros(round(seconds * 1_000_000)) if abs(value) > 1e8 else None
        if not isinstance(value, str):
            return None
        instant = datetime.fromisoformat(value.strip().replace(" UTC", "Z"))
        instant = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
        return instant.astimezone(UTC).replace(tzinfo=None).isoformat("T", "microseconds") + "Z"
    except (ValueError, OverflowError):
        return None


def line(value: Any, most: int = MAX_NAME_CHARACTERS) -> str | None:
    """Return a short text on one line, cut where it is too long; None where there is none."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    kept = " ".join(_NOT_A_LINE.sub(" ", str(value)).split())
    return (kept if len(kept) <= most else kept[: most - 1] + "…") or None


def clean_tags(values: list[Any]) -> tuple[str, ...]:
    """Return words as tags: on one line, short, each once."""
    kept: dict[str, str] = {}
    for value in values:
        tag = line(value, MAX_TAG_CHARACTERS)
        if tag:
            kept.setdefault(text.fold(tag), tag)
    return tuple(kept.values())[:MAX_TAGS]


def _listed(value: Any) -> list[Any]:
    """Return what may be a list, words with commas, or nothing, as a list."""
    if isinstance(value, str):
        return value.split(",")
    return list(value) if isinstance(value, list | tuple | dict) else []


def _domain(value: Any) -> str | None:
    """Return a word as a domain."""
    kept = line(value)
    parts = [part.strip() for part in (kept or "").split("/") if part.strip()]
    return "/".join(parts) if parts and parts != [NO_DOMAIN] else None


def rest(record: dict[str, Any], *known: str) -> dict[str, Any]:
    """Return the fields of a record that mean nothing here; they are kept and come out again."""
    return {
        name: value for name, value in record.items() if name not in known and value is not None
    }


def texts(value: Any) -> list[str]:
    """Return a list of texts; raises Broken for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Broken("a list of texts is something else")
    return value
