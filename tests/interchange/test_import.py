"""import and export of memai's own form: what is kept, what is refused, and what is said of it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from exchange import all_of, counts, exported, save, wholes, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import CHECKOUT, MODEL, memory

from memai import embedding, operations
from memai.embedding import NoModel
from memai.errors import NoSpace, NotWritable, SecretFound, Unreadable, UsageError
from memai.formats import own
from memai.operations import importing
from memai.records import Edit, Relation
from memai.store import Store

Opener = Callable[..., Store]
SECRET = "AWS key AKIAIOSFODNN7EXAMPLE found in log"
LATER = "2026-12-30T08:00:00.000000Z"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folder of the tests from naming a domain."""
    monkeypatch.chdir(tmp_path)


def line(content: str = "A text.", history: tuple[Edit, ...] = (), **fields: Any) -> dict[str, Any]:
    """Return a line for import."""
    return own.line(memory(content, **fields), history, ())


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(wholes(), max_size=6, unique_by=lambda whole: whole[0].uid))
def test_a_store_survives_the_round_trip_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, opener: Opener, found: list[Any]
) -> None:
    """Export, import into an empty store, export: whatever was kept, the bytes are the same."""
    folder = tmp_path_factory.mktemp("trip")
    one, two = opener(str(folder / "one.db")), opener(str(folder / "two.db"))
    path = folder / "given.jsonl"
    path.write_text("".join(own.dumps(own.line(*whole)) + "\n" for whole in found), "utf-8")
    operations.import_memories(one, str(path), allow_secret=True)
    first = Path(save(one, folder / "first.jsonl")).read_bytes()
    answer = operations.import_memories(two, str(folder / "first.jsonl"), allow_secret=True)
    assert answer.new == len(found)
    assert Path(save(two, folder / "second.jsonl")).read_bytes() == first
    known = {whole[0].uid for whole in found}
    for memory_, history, relations in found:
        kept = two.get(memory_.uid)
        claims = {"key": kept.key, "origin": kept.origin, "superseded_by": ()}
        assert kept._replace(superseded_by=()) == memory_._replace(**claims)
        assert tuple(two.history(memory_.uid)) == history
        there = [r for r in two.relations(memory_.uid, removed=True) if r.from_uid == memory_.uid]
        assert set(there) == {r for r in relations if r.to_uid in known}


@pytest.mark.parametrize("read_meanwhile", [False, True])
def test_a_bulk_leaves_no_log_to_whoever_opens_next(
    store: Store, tmp_path: Path, read_meanwhile: bool
) -> None:
    """The log is folded into the file; where somebody is reading it stays, and nothing fails."""
    operations.note(store, "The first.")
    reader = apsw.Connection(store.settings.path, flags=apsw.SQLITE_OPEN_READONLY)
    if read_meanwhile:
        reader.execute("BEGIN; SELECT count(*) FROM memories")
    given = written(tmp_path / "given.jsonl", (line(f"Number {n}.") for n in range(50)))
    assert operations.import_memories(store, given).new == 50
    log = os.path.getsize(store.settings.path + "-wal")
    assert (log > 0) == read_meanwhile
    reader.close()


def test_a_huge_history_survives(opener: Opener, tmp_path: Path) -> None:
    """Hundreds of versions of a long text come back, each with its time and reason."""
    store = opener()
    uid = operations.note(store, "begin " * 2_000).uid
    for number in range(200):
        operations.edit(store, uid, f"version {number} " * 2_000, reason=f"for {number}")
    path = save(store, tmp_path / "out.jsonl")
    other = opener("other.db")
    operations.import_memories(other, path)
    assert exported(other) == exported(store)
    assert other.get(uid).version == 201


def test_importing_twice_is_importing_once(opener: Opener, tmp_path: Path) -> None:
    """The second time everything is the same, related or not."""
    store = opener()
    one, two = memory("one"), memory("two")
    relation = Relation(one.uid, "relates_to", two.uid, None, "t", one.created_at)
    path = written(tmp_path / "in.jsonl", [own.line(one, (), [relation]), own.line(two, (), ())])
    assert counts(operations.import_memories(store, path)) == (2, 0, 0, 0, 0)
    before = exported(store)
    assert counts(operations.import_memories(store, path)) == (0, 0, 2, 0, 0)
    assert exported(store) == before


def test_a_dry_run_says_what_would_be_and_changes_nothing(opener: Opener, tmp_path: Path) -> None:
    """New, changed, the same, in conflict and in error: all is listed, and nothing is kept."""
    store = opener()
    same = memory("same")
    ours = memory("ours", version=2, updated_at=LATER)
    base = Edit(1, LATER, "a", None, {"content": "base"})
    older = memory("changed here", uid="0000000001")
    seed = [own.line(same, (), ()), own.line(ours, (base,), ()), own.line(older, (), ())]
    operations.import_memories(store, written(tmp_path / "seed.jsonl", seed))
    before, writes = exported(store), store.meta("changes")
    their_edit = base._replace(at="2026-12-31T08:00:00.000000Z")
    theirs = own.line(ours._replace(content="theirs", updated_at=their_edit.at), (their_edit,), ())
    newer = own.line(
        older._replace(content="newer", version=2, updated_at=LATER),
        (base._replace(before={"content": "changed here"}),),
        (),
    )
    path = tmp_path / "in.jsonl"
    written(path, [line("new"), seed[0], theirs, newer])
    with path.open("a") as file:
        file.write("{broken\n")
    answer = operations.import_memories(store, str(path), dry_run=True)
    assert counts(answer) == (1, 2, 1, 1, 1)
    assert answer.needs_person
    assert [change.what for change in answer.changes] == ["new", "changed", "changed"]
    assert [fault.place for fault in answer.errors] == ["line 5"]
    assert (exported(store), store.meta("changes")) == (before, writes)
    empty = opener("empty.db")
    assert operations.import_memories(empty, str(path), dry_run=True).new == 4
    assert not empty.exists()


def test_nothing_is_kept_where_a_line_cannot_be_read(opener: Opener, tmp_path: Path) -> None:
    """The whole file is read before the first write; the error names the line."""
    store = opener()
    path = tmp_path / "in.jsonl"
    written(path, [line() for _ in range(1_200)])
    with path.open("a") as file:
        file.write('{"uid": "0123456789"}\n')
    with pytest.raises(Unreadable, match="line 1201") as raised:
        operations.import_memories(store, str(path))
    assert raised.value.exit_code == 2
    assert not store.exists()


def test_keep_going_takes_the_rest_and_lists_the_lines(opener: Opener, tmp_path: Path) -> None:
    """Lines that cannot be read are listed with their numbers; the others are kept."""
    store = opener()
    path = tmp_path / "in.jsonl"
    good = [json.dumps(line(f"text {number}")) for number in range(3)]
    path.write_text("\n".join([good[0], "nonsense", "", good[1], '{"a": NaN}', good[2], ""]))
    answer = operations.import_memories(store, str(path), keep_going=True)
    assert counts(answer) == (3, 0, 0, 0, 2)
    assert [fault.place for fault in answer.errors] == ["line 2", "line 5"]
    assert answer.needs_person
    again = operations.import_memories(store, str(path), keep_going=True)
    assert counts(again) == (0, 0, 3, 0, 2)


def test_a_byte_order_mark_and_windows_lines_are_no_matter(opener: Opener, tmp_path: Path) -> None:
    """What editors and shells of Windows add is taken away."""
    store = opener()
    path = tmp_path / "in.jsonl"
    text = "\r\n".join(json.dumps(line(f"text {number}")) for number in range(2))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    assert operations.import_memories(store, str(path)).new == 2


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"\x1f\x8b\x08\x00", "unpack"),
        (b"PK\x03\x04rest", "unpack"),
        ("{}".encode("utf-16"), "UTF-16"),
        (b"just some words", "--format"),
        (b"\x00\x01\x02", "--format"),
        (b'{"some": "thing else"}', "--format"),
    ],
)
def test_a_file_of_no_known_form_is_refused(
    opener: Opener, tmp_path: Path, raw: bytes, why: str
) -> None:
    """The refusal says what can be done."""
    path = tmp_path / "in"
    path.write_bytes(raw)
    with pytest.raises(UsageError, match=why):
        operations.import_memories(opener(), str(path))


def test_an_empty_file_is_an_export_of_nothing(opener: Opener, tmp_path: Path) -> None:
    """An empty store gives an empty file, which is taken in without complaint."""
    store = opener()
    path = save(store, tmp_path / "empty.jsonl")
    assert Path(path).read_bytes() == b""
    assert counts(operations.import_memories(store, path)) == (0, 0, 0, 0, 0)


def test_what_was_purged_stays_purged(opener: Opener, tmp_path: Path) -> None:
    """Neither its line nor its origin brings it back; the answer says that it was left out."""
    store = opener()
    uid = operations.note(store, "to be erased").uid
    path = save(store, tmp_path / "out.jsonl")
    operations.purge(store, uid, confirm=f"DELETE {uid}")
    answer = operations.import_memories(store, path)
    assert counts(answer) == (0, 0, 1, 0, 0)
    assert "1 were purged here and stay so." in answer.notes
    assert all_of(store) == []
    foreign = written(tmp_path / "m.jsonl", [{"type": "entity", "name": "A", "entityType": "x",
                                              "observations": ["b"]}])  # fmt: skip
    operations.import_memories(store, foreign)
    (kept,) = all_of(store)
    operations.purge(store, kept.uid, confirm=f"DELETE {kept.uid}")
    assert operations.import_memories(store, foreign).new == 0
    assert all_of(store) == []


def test_an_edit_on_both_sides_is_listed_and_both_are_kept(opener: Opener, tmp_path: Path) -> None:
    """The newer text stands on both sides, the other is in both histories."""
    one, two = opener("one.db"), opener("two.db")
    uid = operations.note(one, "base").uid
    operations.import_memories(two, save(one, tmp_path / "base.jsonl"))
    operations.edit(one, uid, "first")
    operations.edit(two, uid, "second")
    answer = operations.import_memories(one, save(two, tmp_path / "two.jsonl"))
    assert counts(answer) == (0, 1, 0, 1, 0)
    assert answer.needs_person
    assert answer.conflicts[0].uid == uid
    answer = operations.import_memories(two, save(one, tmp_path / "one.jsonl"))
    assert counts(answer) == (0, 1, 0, 0, 0)
    for store in (one, two):
        assert store.get(uid).content == "second"
        assert [e.before.get("content") for e in store.history(uid)] == ["base", "first"]
    assert exported(one) == exported(two)


def test_a_key_of_two_memories_goes_to_the_elder_in_every_store(
    opener: Opener, tmp_path: Path
) -> None:
    """It is told once; the histories of both stay whole."""
    one, two = opener("one.db"), opener("two.db")
    elder = operations.note(one, "elder", key="k").uid
    younger = operations.note(two, "younger", key="k").uid
    operations.edit(two, younger, "younger, edited")
    path = save(two, tmp_path / "two.jsonl")
    answer = operations.import_memories(one, path)
    assert counts(answer) == (1, 0, 0, 1, 0)
    assert counts(operations.import_memories(one, path)) == (0, 0, 1, 0, 0)
    answer = operations.import_memories(two, save(one, tmp_path / "one.jsonl"))
    assert counts(answer) == (1, 0, 1, 1, 0)
    for store in (one, two):
        assert store.get(elder).key == "k"
        assert store.get(younger).key is None
        assert len(store.history(younger)) == 1
    assert exported(one) == exported(two)


def test_circles_of_superseding_are_listed(opener: Opener, tmp_path: Path) -> None:
    """Two stores can each say that one memory replaces the other; somebody has to decide."""
    one, two = opener("one.db"), opener("two.db")
    a, b = operations.note(one, "a").uid, operations.note(one, "b").uid
    operations.import_memories(two, save(one, tmp_path / "base.jsonl"))
    operations.link(one, a, "supersedes", b)
    operations.link(two, b, "supersedes", a)
    answer = operations.import_memories(one, save(two, tmp_path / "two.jsonl"))
    (conflict,) = answer.conflicts
    assert "supersede each other" in (conflict.why or "")


def test_relations_may_run_ahead_of_memories(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far apart the ends stand in a file, and however many there are."""
    made = [memory(f"text {number}") for number in range(1_300)]
    records = [
        own.line(one, (), [Relation(one.uid, "before", other.uid, None, "t", one.created_at)])
        for one, other in zip(made, reversed(made), strict=True)
        if one != other
    ]
    path = written(tmp_path / "in.jsonl", records)
    store = opener()
    operations.import_memories(store, path)
    whole = exported(store)
    assert store.counts().relations == 1_300
    monkeypatch.setattr(importing, "_WAITING", 10)
    other = opener("other.db")
    operations.import_memories(other, path)
    assert exported(other) == whole


def test_relations_to_what_is_not_here_are_left_out_and_counted(
    opener: Opener, tmp_path: Path
) -> None:
    """An export with a filter names memories that do not come along."""
    one = memory("one")
    relation = Relation(one.uid, "relates_to", "0000000000", None, "t", one.created_at)
    path = written(tmp_path / "in.jsonl", [own.line(one, (), [relation])])
    answer = operations.import_memories(opener(), path)
    assert answer.notes == ("1 relations lead to memories that are not here; left out.",)


# --- secrets ------------------------------------------------------------------------------------

EDITED = Edit(1, LATER, "a", None, {"content": SECRET})
HOLDING: list[dict[str, Any]] = [
    line(SECRET),
    line(source=SECRET),
    line(extra={"note": SECRET}),
    line(extra={"deep": [{"password": "hJ7wq92KdqqPx4zz"}]}),
    line(history=(EDITED,), version=2),
    line(history=(EDITED._replace(before={"tags": ()}, reason=SECRET),), version=2),
    own.line(
        memory(uid="0000000002"),
        (),
        [Relation("0000000002", "see", "0000000003", SECRET, "a", LATER)],
    ),
]


@pytest.mark.parametrize("holding", HOLDING, ids=range(len(HOLDING)))
def test_credentials_are_refused_wherever_they_stand(
    opener: Opener, tmp_path: Path, holding: dict[str, Any]
) -> None:
    """In the text, beside it and in earlier versions; nothing is kept, and no value shown."""
    store = opener()
    path = written(tmp_path / "in.jsonl", [line("good"), holding])
    with pytest.raises(SecretFound, match="line 2") as raised:
        operations.import_memories(store, path)
    assert "AKIA" not in raised.value.message
    assert not store.exists()
    answer = operations.import_memories(store, path, keep_going=True)
    assert counts(answer) == (1, 0, 0, 0, 1)


@pytest.mark.parametrize("holding", HOLDING, ids=range(len(HOLDING)))
def test_credentials_can_be_redacted_or_allowed(
    opener: Opener, tmp_path: Path, holding: dict[str, Any]
) -> None:
    """With --redact they leave every version; with --allow-secret all is as it was."""
    path = written(tmp_path / "in.jsonl", [holding])
    store = opener()
    assert operations.import_memories(store, path, redact=True).new == 1
    text = "".join(exported(store))
    assert "AKIA" not in text
    assert "hJ7wq92KdqqPx4zz" not in text
    assert operations.import_memories(store, path, redact=True).same == 1
    other = opener("other.db")
    operations.import_memories(other, path, allow_secret=True)
    (kept,) = exported(other)
    assert json.loads(kept)["content"] == holding["content"]


# --- sources ------------------------------------------------------------------------------------


def shell(store: Store, command: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command of a shell on a store."""
    program = f'memai() {{ "{sys.executable}" -m memai --db "{store.settings.path}" "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", program + command],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_standard_input_and_pipes_are_read(opener: Opener, tmp_path: Path) -> None:
    """What cannot be read twice is kept aside meanwhile, and nothing of it is left."""
    store = opener()
    path = written(tmp_path / "in.jsonl", [line("one"), line("two")])
    done = shell(store, f"cat {path} | memai import -", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = shell(store, f"memai import <(cat {path}) --json", tmp_path)
    assert json.loads(done.stdout)["same"] == 2
    done = shell(store, "memai export | memai import - --json", tmp_path)
    assert json.loads(done.stdout)["same"] == 2
    known = {"in.jsonl", "home", *(f"memories.db{end}" for end in ("", "-wal", "-shm"))}
    assert {p.name for p in tmp_path.iterdir()} <= known


def test_conflicts_and_errors_end_with_exit_code_8(opener: Opener, tmp_path: Path) -> None:
    """The answer is on standard output all the same."""
    store = opener()
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(line("one")) + "\nnonsense\n")
    done = shell(store, f"memai import {path} --keep-going --json", tmp_path)
    assert done.returncode == 8
    assert json.loads(done.stdout)["new"] == 1
    done = shell(store, f"memai import {path}", tmp_path)
    assert done.returncode == 2
    assert "line 2" in done.stderr


@pytest.mark.parametrize("source", ["nowhere.jsonl", "", "nul\0", "/dev/null/x"])
def test_a_source_that_is_not_there_is_refused(opener: Opener, source: str) -> None:
    """Nothing is made for a mistyped name."""
    store = opener()
    with pytest.raises(UsageError):
        operations.import_memories(store, source)
    assert not store.exists()


def test_own_lines_say_their_domain_themselves(opener: Opener, tmp_path: Path) -> None:
    """--domain is for the forms that name none."""
    path = written(tmp_path / "in.jsonl", [line("one")])
    with pytest.raises(UsageError, match="domain"):
        operations.import_memories(opener(), path, domain="shop")


# --- export -------------------------------------------------------------------------------------


def test_an_export_to_a_file_is_private_and_overwrites_nothing(
    opener: Opener, tmp_path: Path
) -> None:
    """The file is for its owner, whole or not there, and the same as on standard output."""
    store = opener()
    operations.note(store, "A text with \x7f and \u2028 in it.")
    path = tmp_path / "out.jsonl"
    answer = operations.export(store, output=str(path))
    assert (answer.path, answer.memories) == (str(path), 1)  # type: ignore[union-attr]
    assert path.stat().st_mode & 0o777 == 0o600
    done = shell(store, "memai export", tmp_path)
    assert done.stdout == path.read_text()
    with pytest.raises(UsageError, match="overwritten"):
        operations.export(store, output=str(path))
    link = tmp_path / "link.jsonl"
    link.symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match="overwritten"):
        operations.export(store, output=str(link))
    with pytest.raises(NotWritable):
        operations.export(store, output=str(tmp_path / "no" / "folder"))
    assert {p.name for p in tmp_path.iterdir()} >= {"out.jsonl", "link.jsonl"}
    assert not [p for p in tmp_path.iterdir() if "partial" in p.name]


def test_an_export_takes_filters(opener: Opener) -> None:
    """Domain, type, status and time choose what comes out; without them everything does."""
    store = opener()
    operations.note(store, "one", domain="shop")
    operations.reasoning(store, "two", domain="shop/part")
    gone = operations.note(store, "three").uid
    operations.forget(store, (gone,))

    def texts(**filters: Any) -> set[str]:
        return {line["content"] for line in operations.export(store, **filters)}  # type: ignore[index]

    assert texts() == {"one", "two", "three"}
    assert texts(domain="shop") == {"one", "two"}
    assert texts(type="reasoning") == {"two"}
    assert texts(status="archived") == {"three"}
    assert texts(since="2099-01-01") == set()
    assert texts(domain="-") == {"three"}


def test_an_export_within_a_published_repository_warns(opener: Opener, tmp_path: Path) -> None:
    """A remote means that others may read what is committed; without one nothing is said."""
    store = opener()
    operations.note(store, "private thoughts")
    for name, config in (("plain", ""), ("shared", '[remote "origin"]\n\turl = https://x/y\n')):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "config").write_text(config)
    inside = tmp_path / "shared" / "deep"
    inside.mkdir()
    answer = operations.export(store, output=str(inside / "out.jsonl"))
    assert "'origin'" in answer.notes[0]  # type: ignore[union-attr]
    assert "'origin'" in operations.export(store, markdown=str(inside / "md")).notes[0]  # type: ignore[union-attr]
    assert operations.export(store, output=str(tmp_path / "plain" / "o.jsonl")).notes == ()  # type: ignore[union-attr]
    done = shell(store, "memai export", inside)
    assert "origin" in done.stderr
    assert json.loads(done.stdout)


# --- vectors ------------------------------------------------------------------------------------


def test_vectors_go_along_where_asked(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round trip with vectors is to the byte; without a model here they are taken as is."""
    store = opener()
    operations.note(store, "The walrus polishes its tusks. " * 60, domain="zoo", tags=("x",))
    operations.note(store, "12345")
    plain, path = tmp_path / "plain.jsonl", tmp_path / "vectors.jsonl"
    operations.export(store, output=str(plain))
    operations.export(store, vectors=True, output=str(path))
    assert "vectors" not in plain.read_text()
    other = opener("other.db")
    operations.import_memories(other, str(path))
    operations.export(other, vectors=True, output=str(tmp_path / "again.jsonl"))
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    monkeypatch.setitem(embedding._loaded, MODEL.name, NoModel(MODEL.name, "it is elsewhere"))
    third = opener("third.db")
    answer = operations.import_memories(third, str(path))
    assert any("without vectors" in note for note in answer.notes)
    operations.export(third, vectors=True, output=str(tmp_path / "third.jsonl"))
    assert (tmp_path / "third.jsonl").read_bytes() == path.read_bytes()


def test_vectors_that_do_not_fit_are_made_again(opener: Opener, tmp_path: Path) -> None:
    """Vectors of another text, another model or another cut are no vectors of this memory."""
    store = opener()
    operations.note(store, "The walrus polishes its tusks.")
    (line,) = operations.export(store, vectors=True)  # type: ignore[misc]
    vectors = line["vectors"]
    shorter = [[0, 3, *vectors["passages"][0][2:]]]
    wrong: list[dict[str, Any]] = [
        {**line, "content": "A giraffe met someone."},
        {**line, "vectors": {**vectors, "passages": shorter}},
        {**line, "vectors": {**vectors, "space": {**vectors["space"], "model": "x"}}},
    ]
    for number, record in enumerate(wrong):
        other = opener(f"other{number}.db")
        operations.import_memories(other, written(tmp_path / f"{number}.jsonl", [record]))
        assert other.check(deep=True) == []
        told = {finding.code for finding in operations.doctor(other, deep=True).findings}
        assert "vectors" not in told


def test_an_import_that_fills_the_disk_says_what_it_has_kept(
    opener: Opener, tmp_path: Path
) -> None:
    """Whole batches stay, the message says how many memories, and importing again goes on."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f"{own.dumps(line(f'number {n}'))}\n" for n in range(2500)), "utf-8")
    store = opener()
    operations.note(store, "the first")
    raw = store.raw()
    raw.execute("PRAGMA max_page_count = 180")
    with pytest.raises(NoSpace, match=r"1,000 memories were kept: doing it again goes on") as told:
        operations.import_memories(store, str(path))
    assert "Nothing was changed" not in told.value.message
    assert operations.stats(store).counts.memories == 1001
    assert raw.execute("PRAGMA wal_autocheckpoint").fetchall() == [(1000,)]
    raw.execute("PRAGMA max_page_count = 100000")
    answer = operations.import_memories(store, str(path))
    assert (answer.new, answer.same) == (1500, 1000)
    ((pages,),) = raw.execute("PRAGMA page_count").fetchall()
    raw.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(NoSpace) as told:
        operations.note(store, "one more " * 100_000)
    assert "kept" not in told.value.message
