"""Which form a source has, by what is in it."""

import re
from typing import Any, get_args

from memai.formats import Broken, mem0, memory_arbiter, own
from memai.vocabulary import FormName

FORMS: tuple[FormName, ...] = get_args(FormName)

# So much of a file is looked at.
HEAD_BYTES = 256_000

SQLITE = b"SQLite format 3\0"
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")
_BEGINNINGS: tuple[tuple[FormName, bytes], ...] = (
    ("memai", rb'\{\s*"uid":\s*"[0-9a-z]{10}"\s*,\s*"type":'),
    ("memory-arbiter", rb'\{\s*"backup_schema":'),
    ("mcp-memory", rb'\{\s*"type":\s*"(?:entity|relation)"'),
)
_MARKDOWN = (".md", ".markdown", ".mdx", ".mdown")


def form_of(head: bytes, name: str) -> FormName:
    """Return the form of a file with this beginning; raises Broken with what can be done."""
    if head.startswith(SQLITE):
        return "memai"
    if head.startswith(_PACKED):
        raise Broken("it is an archive; unpack it first")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Broken("it is UTF-16; convert it to UTF-8 first")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return "memai"  # the export of an empty store
    if text[:1] in (b"{", b"["):
        form = _json(text)
        if form is not None:
            return form
    elif name.lower().endswith(_MARKDOWN) or text.startswith((b"---", b"#")):
        return "markdown"
    raise Broken(f"its form is none that is known; name it with --format: {', '.join(FORMS)}")


def _json(text: bytes) -> FormName | None:
    """Return the form of JSON or JSON Lines with this beginning."""
    for raw in text.split(b"\n")[:20]:
        try:
            record = own.strictly(raw)
        except Broken:
            continue
        form = _record(record)
        if form is not None:
            return form
    # A line that is longer than what was looked at, or one object over many lines: how it begins
    # says whose it is.
    for form, begins in _BEGINNINGS:
        if re.match(begins, text):
            return form
    if b'"entities"' in text:
        return "mcp-memory"
    if any(f'"{name}"'.encode() in text for name in ("memory", "memories", "results")):
        return "mem0"
    return None


def _record(record: Any) -> FormName | None:
    """Return whose object this is."""
    if isinstance(record, dict):
        if {"uid", "content", "created_at"} <= record.keys():
            return "memai"
        if memory_arbiter.holds(record):
            return "memory-arbiter"
        if "entities" in record or record.get("type") in ("entity", "relation"):
            return "mcp-memory"
    return "mem0" if mem0.holds(record) else None
