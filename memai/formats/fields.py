"""Typed access to the fields of a record that somebody else wrote; what is wrong raises Broken."""

import re
from typing import Any

from memai.formats import Broken, check_extra
from memai.records import Origin
from memai.vocabulary import (
    MAX_CONTENT_BYTES,
    MAX_NAME_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    MEMORY_TYPES,
    NO_DOMAIN,
    STATUSES,
    VERDICTS,
)
from memai.when import to_micros

_UID = re.compile("[0-9a-hjkmnp-tv-z]{10}")
_NOT_KEPT = re.compile("[\0\ud800-\udfff]")
_NOT_A_LINE = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BLANK = re.compile(r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
                    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]*")  # fmt: skip


class Fields:
    """The fields of one object, each asked for with what it must be."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record

    def uid(self, name: str) -> str:
        """Return a whole uid."""
        value = self.record.get(name)
        if not isinstance(value, str) or not _UID.fullmatch(value):
            raise Broken(f"'{name}' is no uid")
        return value

    def line(self, name: str, most: int = MAX_NAME_CHARACTERS) -> str:
        """Return a short text of one line."""
        value = self.optional(name, most)
        if value is None:
            raise Broken(f"'{name}' is missing")
        return value

    def optional(self, name: str, most: int = MAX_NAME_CHARACTERS) -> str | None:
        """Return a short text of one line, None where there is none."""
        value = self.record.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise Broken(f"'{name}' is no text")
        if len(value) > most:
            raise Broken(f"'{name}' is longer than {most:,} characters")
        if not value.isprintable() and _NOT_A_LINE.search(value):
            raise Broken(f"'{name}' holds a control character or half a character")
        return value.strip()

    def domain(self, name: str) -> str | None:
        """Return a domain: a path of parts, none of them empty."""
        value = self.optional(name)
        if value is None:
            return None
        parts = [part.strip() for part in value.split("/")]
        if not all(parts) or value == NO_DOMAIN:
            raise Broken(f"'{name}' has an empty part")
        return "/".join(parts)

    def content(self, name: str) -> str:
        """Return a text to keep."""
        value = self.record.get(name)
        if not isinstance(value, str):
            raise Broken(f"'{name}' is missing or no text")
        if ("\0" in value or not value.isascii()) and _NOT_KEPT.search(value):
            raise Broken(f"'{name}' holds a NUL or half a character (a lone surrogate)")
        if _BLANK.fullmatch(value):
            raise Broken(f"'{name}' is empty")
        if 4 * len(value) > MAX_CONTENT_BYTES < len(value.encode()):
            raise Broken(f"'{name}' is larger than {MAX_CONTENT_BYTES:,} bytes")
        return value

    def remark(self, name: str) -> str | None:
        """Return a reason or note, which may have several lines; None where there is none."""
        value = self.record.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or _NOT_KEPT.search(value):
            raise Broken(f"'{name}' is no text")
        if len(value) > MAX_REASON_CHARACTERS:
            raise Broken(f"'{name}' is longer than {MAX_REASON_CHARACTERS:,} characters")
        return value

    def choice(self, name: str, known: tuple[str, ...], default: str | None = None) -> str:
        """Return one of the known words."""
        value = self.record.get(name, default)
        if value not in known:
            raise Broken(f"'{name}' is none of {', '.join(known)}")
        return str(value)

    def tags(self, name: str) -> tuple[str, ...]:
        """Return tags, in the order given."""
        value = self.record.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or len(value) > MAX_TAGS:
            raise Broken(f"'{name}' is no list of at most {MAX_TAGS}")
        for tag in value:
            if not isinstance(tag, str) or not tag.strip() or len(tag) > MAX_TAG_CHARACTERS:
                raise Broken(f"'{name}' holds what is no tag of {MAX_TAG_CHARACTERS} characters")
            if not tag.isprintable() and _NOT_A_LINE.search(tag):
                raise Broken(f"'{name}' holds a control character or half a character")
        return tuple(value)

    def origin(self, name: str) -> Origin | None:
        """Return where an imported memory had its home, None where it was made here."""
        value = self.record.get(name)
        if value is None:
            return None
        if not isinstance(value, dict) or set(value) != {"system", "key"}:
            raise Broken(f"'{name}' is no object of system and key")
        fields = Fields(value)
        return Origin(fields.line("system"), fields.line("key", 2000))

    def time(self, name: str, default: str | None = None) -> str:
        """Return a time in the stored form."""
        value = self.record.get(name, default)
        try:
            if isinstance(value, str):
                to_micros(value)
                return value
        except ValueError:
            pass
        raise Broken(f"'{name}' is no time like 2026-03-29T08:00:00.000000Z")

    def whole(self, name: str, default: int) -> int:
        """Return a whole number from 1."""
        value = self.record.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 10**9:
            raise Broken(f"'{name}' is no whole number from 1")
        return value

    def object(self, name: str) -> dict[str, Any]:
        """Return an object, empty where there is none."""
        value = self.record.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise Broken(f"'{name}' is no object")
        return value

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Return a list of objects, empty where there is none."""
        value = self.record.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise Broken(f"'{name}' is no list of objects")
        return value


def changeable(record: dict[str, Any]) -> dict[str, Any]:
    """Return those fields of a memory that an edit can change, each checked."""
    fields = Fields(record)
    found: dict[str, Any] = {}
    for name in record:
        if name in ("type", "status", "confidence"):
            found[name] = fields.choice(name, _WORDS[name])
        elif name in ("session", "source"):
            found[name] = fields.optional(name)
        elif name == "domain":
            found[name] = fields.domain(name)
        elif name == "tags":
            found[name] = fields.tags(name)
        elif name == "content":
            found[name] = fields.content(name)
        elif name == "extra":
            found[name] = fields.object(name)
            check_extra(found[name])
        else:
            raise Broken(f"'{name}' is a field that no edit can change")
    return found


_WORDS: dict[str, tuple[str, ...]] = {
    "type": MEMORY_TYPES,
    "status": STATUSES,
    "confidence": VERDICTS,
}
