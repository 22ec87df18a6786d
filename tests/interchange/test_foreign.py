"""What other tools wrote: the reference server's graph, mem0's JSON, Memory Arbiter's backup."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exchange import all_of, counts, exported, save, written

from memai import operations
from memai.errors import UsageError
from memai.formats import foreign
from memai.formats.foreign import Home, made, nearest, origin_of, time, uid_of
from memai.records import Memory
from memai.store import Store

Opener = Callable[..., Store]

GRAPH: list[dict[str, Any]] = [
    {
        "type": "entity",
        "name": "Ada Lovelace",
        "entityType": "person",
        "observations": ["wrote the first program", "lived in London\nand Ockham"],
    },
    {"type": "entity", "name": "Engine", "entityType": "machine", "observations": []},
    {"type": "entity", "name": "Bugs", "entityType": "gotcha", "observations": ["look twice"],
     "createdAt": "2024-05-06T07:08:09Z", "mood": {"of": "day"}},
    {"type": "relation", "from": "Ada Lovelace", "to": "Engine", "relationType": "programs"},
    {"type": "relation", "from": "Engine", "to": "Nobody", "relationType": "knows"},
]  # fmt: skip

MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "ea925981-272f-40dd-b576-be64e4871429",
            "memory": "Likes vegetarian food",
            "hash": "x",
            "user_id": "alice",
            "agent_id": "cook",
            "run_id": "sitting 1",
            "categories": ["food"],
            "metadata": {"type": "preference", "tags": ["diet"], "score": 3},
            "created_at": "2024-07-01T12:00:00-07:00",
            "updated_at": None,
        },
        {"id": "2", "memory": "Gone", "state": "archived", "created_at": "2024-01-01"},
    ],
    "relations": [{"source": "alice", "relationship": "likes", "target": "pizza"}],
}

ARBITER: list[dict[str, Any]] = [
    {
        "backup_schema": 1,
        "replay_key": "one",
        "backup_written_at": "2026-08-16T10:00:00.123456+00:00",
        "workspace_canonical": "shop",
        "record": {
            "content": "Tokens last an hour.",
            "subject": "tokens",
            "agent_id": "claude",
            "workspace": "shop",
            "tags": ["auth"],
            "source_type": "user_confirmed",
            "source_ref": "docs/auth.md",
            "event_time": "2026-08-01T00:00:00+00:00",
            "ingest_time": "2026-08-02T00:00:00+00:00",
            "confidence": 0.9,
            "protection_level": "locked",
            "status": "active",
            "metadata": {"k": "v"},
        },
    },
    {
        "content": "Older rows have no envelope.",
        "agent_id": "a",
        "workspace": "default",
        "status": "superseded",
        "backup_written_at": "2026-07-16T10:00:00+00:00",
        "event_time": "2026-07-01T00:00:00+00:00",
        "id": 7,
    },
]


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folder of the tests from naming a domain."""
    monkeypatch.chdir(tmp_path)


def by_text(store: Store) -> dict[str, Memory]:
    """Return the memories by the first line of their text."""
    return {memory.content.split("\n")[0]: memory for memory in all_of(store)}


def test_a_knowledge_graph_becomes_memories_and_relations(opener: Opener, tmp_path: Path) -> None:
    """An entity is one memory with its observations; foreign types and fields are not lost."""
    store = opener()
    answer = operations.import_memories(store, written(tmp_path / "memory.jsonl", GRAPH))
    assert counts(answer) == (3, 0, 0, 0, 0)
    assert answer.notes == ("1 relations lead to memories that are not here; left out.",)
    ada, engine, bugs = (by_text(store)[name] for name in ("Ada Lovelace", "Engine", "Bugs"))
    assert ada.content == (
        "Ada Lovelace\n- wrote the first program\n- lived in London\n  and Ockham"
    )
    assert (ada.type, ada.tags, ada.agent) == ("note", ("person",), "mcp-memory")
    assert ada.source == "mcp-memory: Ada Lovelace"
    assert (bugs.type, bugs.tags, bugs.extra) == (
        "anti_pattern",
        ("gotcha",),
        {"mood": {"of": "day"}},
    )
    assert bugs.created_at == "2024-05-06T07:08:09.000000Z"
    (relation,) = store.relations(ada.uid)
    assert (relation.type, relation.to_uid) == ("programs", engine.uid)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_graph_in_one_object_is_the_same(
    opener: Opener, tmp_path: Path, indent: int | None
) -> None:
    """What the server's read_graph answers is taken in too, on one line or many."""
    bare = [{k: v for k, v in item.items() if k != "type"} for item in GRAPH]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"entities": bare[:3], "relations": bare[3:]}, indent=indent))
    store = opener()
    assert operations.import_memories(store, str(path)).new == 3
    assert store.counts().relations == 1


def test_mem0_memories_keep_who_when_and_what(opener: Opener, tmp_path: Path) -> None:
    """Users, agents, sessions, categories, times and metadata have their places."""
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(MEM0, indent=2))
    store = opener()
    assert counts(operations.import_memories(store, str(path), domain="kitchen")) == (3, 0, 0, 0, 0)
    food, gone = by_text(store)["Likes vegetarian food"], by_text(store)["Gone"]
    assert food.tags == ("food", "diet", "preference")
    assert (food.agent, food.session, food.source) == ("cook", "sitting 1", "mem0: alice")
    assert (food.domain, food.created_at) == ("kitchen", "2024-07-01T19:00:00.000000Z")
    assert food.extra["metadata"] == MEM0["results"][0]["metadata"]
    assert food.extra["user_id"] == "alice"
    assert "hash" not in food.extra
    assert (gone.status, gone.created_at) == ("archived", "2024-01-01T00:00:00.000000Z")
    assert by_text(store)["alice likes pizza"].tags == ("graph",)


@pytest.mark.parametrize(
    "shape",
    [
        MEM0["results"],
        {"memories": MEM0["results"]},
        {"count": 2, "next": None, "results": MEM0["results"]},
        {"memories": [{"id": 1, "content": "In other words.", "createdAt": 1_700_000_000_000}]},
    ],
)
def test_the_shapes_of_mem0_are_all_known(opener: Opener, tmp_path: Path, shape: Any) -> None:
    """Lists, pages of an API and exports of its relatives."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps(shape))
    assert operations.import_memories(opener(), str(path)).new >= 1


def test_a_backup_of_memory_arbiter_is_read_in_both_its_forms(
    opener: Opener, tmp_path: Path
) -> None:
    """Workspaces are domains; what a person confirmed is confirmed, what was replaced is away."""
    store = opener()
    answer = operations.import_memories(store, written(tmp_path / "backup.jsonl", ARBITER))
    assert counts(answer) == (2, 0, 0, 0, 0)
    tokens = by_text(store)["Tokens last an hour."]
    older = by_text(store)["Older rows have no envelope."]
    assert (tokens.domain, tokens.agent, tokens.confidence) == ("shop", "claude", "confirmed")
    assert (tokens.tags, tokens.source) == (("auth", "tokens"), "memory-arbiter: docs/auth.md")
    assert tokens.created_at == "2026-08-01T00:00:00.000000Z"
    assert tokens.updated_at == "2026-08-02T00:00:00.000000Z"
    assert tokens.extra["confidence"] == 0.9
    assert tokens.extra["metadata"] == {"k": "v"}
    assert (older.status, older.domain, older.tags) == ("archived", None, ("superseded",))


SOURCES: dict[str, Any] = {"memory.jsonl": GRAPH, "mem0.json": MEM0, "backup.jsonl": ARBITER}


def laid(path: Path, value: Any) -> str:
    """Write a source as its tool would."""
    if isinstance(value, list):
        return written(path, value)
    path.write_text(json.dumps(value))
    return str(path)


@pytest.mark.parametrize("name", SOURCES)
def test_foreign_memories_are_imported_once(opener: Opener, tmp_path: Path, name: str) -> None:
    """A second import finds all the same, here and in another store; both stores agree."""
    one, two = opener("one.db"), opener("two.db")
    path = laid(tmp_path / name, SOURCES[name])
    first = operations.import_memories(one, path)
    assert counts(operations.import_memories(one, path)) == (0, 0, first.new, 0, 0)
    operations.import_memories(two, path)
    assert [m.uid for m in all_of(one)] == [m.uid for m in all_of(two)]
    again = operations.import_memories(two, save(one, tmp_path / "out.jsonl"))
    assert (again.new, again.conflicts) == (0, ())
    for memory in all_of(one):
        assert memory.origin is not None
        assert memory.uid == uid_of(memory.origin)


def test_a_change_at_the_source_is_an_edit(opener: Opener, tmp_path: Path) -> None:
    """The source stands, what was changed here only stays, and a clash is listed."""
    store = opener()
    path = tmp_path / "memory.jsonl"
    operations.import_memories(store, written(path, GRAPH))
    ada = by_text(store)["Ada Lovelace"].uid
    operations.edit(store, ada, add_tags=("famous",), domain="history")
    changed = [dict(item) for item in GRAPH]
    changed[0]["observations"] = ["wrote the first program", "and its notes"]
    answer = operations.import_memories(store, written(path, changed))
    assert counts(answer) == (0, 1, 2, 0, 0)
    memory = store.get(ada)
    assert memory.content.endswith("- and its notes")
    assert (memory.tags, memory.domain) == (("person", "famous"), "history")
    assert counts(operations.import_memories(store, str(path))) == (0, 0, 3, 0, 0)
    operations.edit(store, ada, "our own words")
    assert counts(operations.import_memories(store, str(path))) == (0, 0, 3, 0, 0)
    changed[0]["observations"] = ["something else"]
    answer = operations.import_memories(store, written(path, changed))
    assert counts(answer) == (0, 1, 2, 1, 0)
    assert store.get(ada).content == "Ada Lovelace\n- something else"
    assert any(e.before.get("content") == "our own words" for e in store.history(ada))
    assert counts(operations.import_memories(store, str(path))) == (0, 0, 3, 0, 0)


def test_an_older_copy_of_the_source_changes_nothing(opener: Opener, tmp_path: Path) -> None:
    """Where a source says when it was changed, an export from before is no news."""
    store = opener()

    def export(text: str, day: int) -> str:
        record = {"id": "1", "memory": text, "updated_at": f"2026-01-{day:02}"}
        return laid(tmp_path / "mem0.json", {"results": [record]})

    operations.import_memories(store, export("first", 1))
    assert operations.import_memories(store, export("second", 5)).changed == 1
    assert operations.import_memories(store, export("first", 1)).same == 1
    assert [m.content for m in all_of(store)] == ["second"]
    assert operations.import_memories(store, export("third", 6)).changed == 1


def test_what_was_archived_here_is_not_brought_back(opener: Opener, tmp_path: Path) -> None:
    """A memory that was put away stays so when its source is imported again, or changes."""
    store = opener()
    path = laid(tmp_path / "memory.jsonl", GRAPH)
    operations.import_memories(store, path)
    uid = by_text(store)["Engine"].uid
    operations.forget(store, (uid,))
    assert operations.import_memories(store, path).changed == 0
    news = written(tmp_path / "memory.jsonl", [{**GRAPH[1], "observations": ["news"]}])
    assert operations.import_memories(store, news).changed == 1
    assert store.get(uid).status == "archived"


BROKEN: list[Any] = [
    {"type": "entity", "name": "A"},
    {"type": "entity", "name": "", "entityType": "x", "observations": []},
    {"type": "entity", "name": "B", "entityType": "x", "observations": "text"},
    {"type": "entity", "name": "C", "entityType": "x", "observations": ["\ud800"]},
    {"type": "relation", "from": "A", "to": "A", "relationType": "is"},
    {"type": "relation", "from": "A"},
    {"type": "wish"},
    [],
]


def test_broken_parts_of_a_graph_are_listed(opener: Opener, tmp_path: Path) -> None:
    """Each by its line; an entity without observations is one with none."""
    path = written(tmp_path / "memory.jsonl", [GRAPH[0], *BROKEN])
    path_text = Path(path).read_text()
    Path(path).write_text(path_text + '{"type": "entity", "name": "D", "name": "E"}\n')
    answer = operations.import_memories(opener(), path, keep_going=True, format="mcp-memory")
    assert answer.new == 2
    assert [fault.place for fault in answer.errors] == [f"line {n}" for n in range(3, 11)]


def test_broken_memories_of_mem0_are_listed(opener: Opener, tmp_path: Path) -> None:
    """What is no object or has no text is told; a file that is none of it is refused."""
    items = [{"memory": "good", "id": 1}, 7, {"id": 2}, {"memory": " ", "id": 3}, {"memory": 5}]
    path = laid(tmp_path / "m.json", {"results": items, "relations": [{"source": "x"}, 1]})
    answer = operations.import_memories(opener(), path, keep_going=True)
    assert counts(answer) == (1, 0, 0, 0, 6)
    for text in ("{", "[[[[", '{"results": 5}', '{"a": NaN}', "[" * 200_000):
        (tmp_path / "m.json").write_text(text)
        with pytest.raises(UsageError):
            operations.import_memories(opener("x.db"), str(tmp_path / "m.json"), format="mem0")


def test_everything_that_came_from_elsewhere_goes_out_again(opener: Opener, tmp_path: Path) -> None:
    """Extra fields, origins and all survive an export and an import to the byte."""
    store, other = opener("one.db"), opener("two.db")
    for name, value in SOURCES.items():
        operations.import_memories(store, laid(tmp_path / name, value))
    operations.import_memories(other, save(store, tmp_path / "out.jsonl"))
    assert exported(other) == exported(store)


@pytest.mark.parametrize(
    ("word", "ours", "tag"),
    [
        ("note", "note", None),
        ("memory", "note", None),
        ("Decision", "reasoning", "Decision"),
        ("anti-pattern", "anti_pattern", None),
        ("gotchas", "anti_pattern", "gotchas"),
        ("Lessons learned", "anti_pattern", "Lessons learned"),
        ("handover", "handoff", "handover"),
        ("progress", "checkpoint", "progress"),
        ("recipe", "note", "recipe"),
        ("", "note", None),
    ],
)
def test_foreign_types_find_the_nearest_of_ours(word: str, ours: str, tag: str | None) -> None:
    """And stay as a tag where they say something else."""
    assert nearest(word) == (ours, tag)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-03-29", "2026-03-29T00:00:00.000000Z"),
        ("2026-03-29 08:00", "2026-03-29T08:00:00.000000Z"),
        ("2026-03-29T08:00:00.123456789Z", "2026-03-29T08:00:00.123456Z"),
        ("2026-03-29T10:00:00+02:00", "2026-03-29T08:00:00.000000Z"),
        (1_774_771_200, "2026-03-29T08:00:00.000000Z"),
        (1_774_771_200_000, "2026-03-29T08:00:00.000000Z"),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (True, None),
        (7, None),
        (1e300, None),
        (None, None),
        ([], None),
    ],
)
def test_times_are_read_in_the_forms_others_write(given: Any, stored: str | None) -> None:
    """Without a zone they are UTC, so that every machine reads the same."""
    assert time(given) == stored


def test_a_key_of_any_length_makes_one_origin() -> None:
    """Long and odd keys are cut and hashed; different ones stay different."""
    keys = ["x" * 10_000, "x" * 10_001, "line\nbreak", "\ud800", "", " "]
    origins = [origin_of("s", key) for key in keys]
    assert len({uid_of(origin) for origin in origins}) == len(keys) - 2  # the last three are none
    assert all(len(origin.key) < 500 and "\n" not in origin.key for origin in origins)


def test_tags_and_names_are_made_fit() -> None:
    """Control characters, length, repeats and number are seen to; nothing breaks the import."""
    item = made(
        "s",
        "k",
        Home("at/hand", "2026-03-29T08:00:00.000000Z"),
        "line 1",
        content="text",
        tags=["One", "one", "two\nlines", "x" * 200, 7, None, "\x1b[31m", *map(str, range(99))],
        agent="a\nb",
        session="x" * 500,
        domain="/a//b/",
    ).memory
    assert item.tags[:3] == ("One", "two lines", "x" * 63 + "…")
    assert len(item.tags) == 64
    assert (item.agent, item.domain, len(item.session or "")) == ("a b", "a/b", 200)
    assert item.key is None
    assert foreign.line({"a": 1}) is None
