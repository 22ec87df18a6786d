"""memai's own form: whatever a store holds comes out and goes in again to the byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from exchange import wholes
from hypothesis import given, settings

from memai.formats import Broken, own
from memai.records import Edit, Memory, Relation


@settings(max_examples=150)
@given(wholes())
def test_a_line_is_read_as_it_was_written(
    whole: tuple[Memory, tuple[Edit, ...], tuple[Relation, ...]],
) -> None:
    """Any text, any history and any relation come back the same, and give the same line again."""
    memory, history, relations = whole
    line = own.dumps(own.line(memory, history, relations))
    assert "\n" not in line
    assert len(line.splitlines()) == 1
    incoming = own.parse(own.loads(line.encode()), "line 1")
    assert (incoming.memory, incoming.history, incoming.relations) == whole
    assert own.dumps(own.line(incoming.memory, incoming.history, incoming.relations)) == line


GOOD: dict[str, Any] = {
    "uid": "0123456789",
    "type": "note",
    "content": "A text.",
    "created_at": "2026-03-29T08:00:00.000000Z",
}
EDIT = {"version": 1, "at": "2026-03-30T08:00:00.000000Z", "agent": "a", "before": {"content": "x"}}
RELATION = {"type": "supersedes", "to_uid": "9876543210", "created_at": GOOD["created_at"]}


def test_a_line_needs_only_what_makes_a_memory() -> None:
    """Uid, type, content and time are enough; what is not said has the usual value."""
    memory = own.parse(own.loads(json.dumps(GOOD).encode()), "line 1").memory
    assert (memory.status, memory.confidence, memory.version) == ("active", "unverified", 1)
    assert (memory.agent, memory.domain, memory.tags) == ("unknown", None, ())
    assert memory.updated_at == memory.created_at


def test_fields_of_later_versions_are_kept_among_the_extra_ones() -> None:
    """What this version does not know comes out again."""
    memory = own.parse({**GOOD, "mood": {"of": "day"}, "extra": {"title": "T"}}, "line 1").memory
    assert memory.extra == {"title": "T", "mood": {"of": "day"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"uid": "012345678"},
        {"uid": "0123456789a"},
        {"uid": "012345678L"},
        {"uid": 1234567890},
        {"uid": None},
        {"type": "wish"},
        {"status": "lost"},
        {"confidence": 0.5},
        {"content": ""},
        {"content": " \n\u200b"},
        {"content": None},
        {"content": "nul\0"},
        {"content": "half \ud800"},
        {"content": "x" * 1_000_001},
        {"content": "é" * 600_000},
        {"tags": "a,b"},
        {"tags": ["a"] * 65},
        {"tags": [""]},
        {"tags": ["x" * 65]},
        {"tags": ["two\nlines"]},
        {"tags": [1]},
        {"domain": ""},
        {"domain": "a//b"},
        {"domain": "-"},
        {"domain": "a\x1b[31m"},
        {"domain": "x" * 201},
        {"session": ["s"]},
        {"source": "two\nlines"},
        {"agent": 7},
        {"key": {}},
        {"origin": "mem0"},
        {"origin": {"system": "mem0"}},
        {"origin": {"system": "mem0", "key": "k", "more": 1}},
        {"created_at": "yesterday"},
        {"created_at": "2026-03-29T08:00:00Z"},
        {"created_at": 1},
        {"updated_at": "2026-02-30T08:00:00.000000Z"},
        {"version": 0},
        {"version": "1"},
        {"version": True},
        {"version": 2},
        {"extra": []},
        {"extra": {"k": "\ud800"}},
        {"extra": {"\udfff": 1}},
        {"extra": {"k": "x" * 300_000}},
        {"mood": "\ud800"},
        {"history": {}},
        {"history": ["x"]},
        {"history": [EDIT]},
        {"version": 2, "history": [{**EDIT, "version": 2}]},
        {"version": 2, "history": [{**EDIT, "at": "2025-03-30T08:00:00.000000Z"}]},
        {"version": 2, "history": [{**EDIT, "before": {"uid": "9876543210"}}]},
        {"version": 2, "history": [{**EDIT, "before": {"content": 7}}]},
        {"version": 2, "history": [{**EDIT, "before": {"type": "wish"}}]},
        {"version": 2, "history": [{**EDIT, "before": {"extra": 7}}]},
        {"version": 2, "history": [{**EDIT, "before": []}]},
        {"relations": "supersedes"},
        {"relations": [{**RELATION, "to_uid": "../../etc"}]},
        {"relations": [{**RELATION, "to_uid": GOOD["uid"]}]},
        {"relations": [{**RELATION, "type": ""}]},
        {"relations": [{**RELATION, "created_at": None}]},
        {"relations": [{**RELATION, "note": "x" * 2001}]},
        {"vectors": {"space": {}}},
        {"vectors": {"space": {"model": "m", "sha256": "s", "dim": 1, "recipe": "r"},
                     "passages": [[0, 7, "AAAAAA==", ""]]}},
    ],
    ids=lambda wrong: json.dumps(wrong)[:40],
)  # fmt: skip
def test_what_no_memory_is_names_the_field(wrong: dict[str, Any]) -> None:
    """Every field is looked at, in the history and the relations too."""
    with pytest.raises(Broken):
        own.parse({**GOOD, **wrong}, "line 1")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "not JSON"),
        (b"[]", "object"),
        (b"7", "object"),
        (b'"text"', "object"),
        (b"\xff\xfe{}", "UTF-8"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"b": {"a": 1, "a": 2}}', "twice"),
        (b"[" * 200_000 + b"]" * 200_000, "nested"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "not JSON"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_readers_could_differ_about_is_refused(raw: bytes, why: str) -> None:
    """NaN, double keys, deep nesting and the like are no lines, and end nothing but the line."""
    with pytest.raises(Broken, match=why):
        own.loads(raw)


def test_fields_that_are_nested_too_deeply_are_refused() -> None:
    """What JSON could still read is refused where it would end the program later."""
    value: Any = 1
    for _ in range(500):
        value = [value]
    with pytest.raises(Broken, match="deep"):
        own.parse({**GOOD, "extra": {"k": value}}, "line 1")


def test_a_line_without_end_costs_no_more_than_the_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a line that is too long only the beginning is read; the lines behind it are not lost."""
    from memai import files

    path = tmp_path / "long"
    path.write_bytes(b"x" * 3_000_000 + b"\n" + b"short\n" + b"y" * 500 + b"\n" + b"z" * 70)
    with path.open("rb") as file:
        found = list(files.lines(file, 100))
    assert [len(line) for line in found] == [101, 6, 101, 70]
    monkeypatch.setattr(own, "MAX_LINE_BYTES", 100)
    told: list[tuple[str, str]] = []
    list(own.read(found, lambda place, why: told.append((place, why))))
    assert [place for place, why in told if "longer" in why] == ["line 1", "line 3"]
