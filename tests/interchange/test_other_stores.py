"""Another memai.db as a source: read only, looked at first, merged the same whichever way round."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from exchange import all_of, counts, exported
from support import memory

from memai import operations
from memai.errors import Damaged, ForeignFile, NewerStore, UsageError
from memai.store import Store, schema

Opener = Callable[..., Store]


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the folder of the tests from naming a domain."""
    monkeypatch.chdir(tmp_path)


def copied(store: Store, target: Path) -> Path:
    """Copy a store as a cloud drive does, once it is closed and whole."""
    store.close()
    with apsw.Connection(store.settings.path) as whole:
        whole.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    whole.close()
    shutil.copy(store.settings.path, target)
    return target


def forked(opener: Opener, tmp_path: Path) -> tuple[Store, Store, dict[str, str]]:
    """Return a store and a conflicted copy of it that went on apart, and some uids."""
    one = opener("one.db")
    uids = {
        name: operations.note(one, f"{name} text", domain="shop", tags=("t",)).uid
        for name in ("both", "here", "there", "gone", "revived")
    }
    operations.edit(one, uids["both"], "edited before")
    copied(one, tmp_path / "two.db")
    two = opener("two.db")
    operations.edit(one, uids["both"], "edited in one")
    operations.edit(two, uids["both"], "edited in two")
    operations.edit(one, uids["here"], add_tags=("u",))
    operations.link(two, uids["there"], "supersedes", uids["here"])
    operations.note(one, "only in one")
    operations.note(two, "only in two")
    operations.forget(two, (uids["here"],))
    return one, two, uids


def test_a_conflicted_copy_is_merged_the_same_whichever_way_round(
    opener: Opener, tmp_path: Path
) -> None:
    """Both stores hold all that either knew, to the byte alike; the conflict is listed once."""
    one, two, uids = forked(opener, tmp_path)
    answer = operations.import_memories(one, two.settings.path)
    assert counts(answer) == (1, 3, 2, 2, 0)
    assert {conflict.uid for conflict in answer.conflicts} == {uids["both"], uids["here"]}
    assert counts(operations.import_memories(one, two.settings.path))[:2] == (0, 0)
    operations.import_memories(two, one.settings.path)
    assert exported(one) == exported(two)
    for store in (one, two):
        assert store.check(deep=True) == []


def test_what_was_purged_in_a_copy_of_this_store_is_purged_here(
    opener: Opener, tmp_path: Path
) -> None:
    """A copy that erased something says so to the other, unless that was edited here since."""
    one, two, uids = forked(opener, tmp_path)
    operations.purge(two, uids["gone"], confirm=f"DELETE {uids['gone']}")
    operations.purge(two, uids["revived"], confirm=f"DELETE {uids['revived']}")
    operations.edit(one, uids["revived"], "still needed")
    rehearsed = operations.import_memories(one, two.settings.path, dry_run=True)
    assert any("1 memories were purged" in note for note in rehearsed.notes)
    assert one.find(uids["gone"]) is not None
    answer = operations.import_memories(one, two.settings.path)
    assert one.find(uids["gone"]) is None
    assert one.buried(uids["gone"])
    assert one.get(uids["revived"]).content == "still needed"
    assert {c.uid for c in answer.conflicts} == {uids["both"], uids["here"], uids["revived"]}
    assert b"gone text" not in Path(one.settings.path).read_bytes()
    operations.import_memories(two, one.settings.path)
    assert two.find(uids["gone"]) is None


def test_a_stranger_cannot_erase(opener: Opener) -> None:
    """What another store purged of its own is no reason to purge here."""
    one, two = opener("one.db"), opener("two.db")
    kept = memory("kept here", uid="0000000001")
    for store in (one, two):
        with store.writing():
            store.adopt([(kept, (), None)])
    operations.purge(two, kept.uid, confirm=f"DELETE {kept.uid}")
    operations.note(two, "something else")
    operations.import_memories(one, two.settings.path)
    assert one.get(kept.uid).content == "kept here"


def test_a_store_is_read_while_others_write_it(opener: Opener) -> None:
    """What lies in its log is seen too, and the file is not changed by being read."""
    one, two = opener("one.db"), opener("two.db")
    operations.note(two, "in the log")
    assert Path(two.settings.path + "-wal").stat().st_size
    assert operations.import_memories(one, two.settings.path).new == 1
    operations.note(two, "and later")
    assert operations.import_memories(one, two.settings.path).new == 1


def test_a_store_that_nobody_writes_is_left_as_it_is(opener: Opener, tmp_path: Path) -> None:
    """Reading leaves no byte changed and no file beside it."""
    source = opener("source.db")
    operations.note(source, "a text")
    folder = tmp_path / "drive"
    folder.mkdir()
    path = copied(source, folder / "memai.db")
    path.chmod(0o400)
    before = path.read_bytes()
    assert operations.import_memories(opener("one.db"), str(path)).new == 1
    assert path.read_bytes() == before
    assert [p.name for p in folder.iterdir()] == ["memai.db"]


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_the_store_itself_is_refused_unopened(opener: Opener, tmp_path: Path, end: str) -> None:
    """Opening the live file by other means would drop SQLite's locks: by any name it is refused."""
    store = opener("one.db")
    operations.note(store, "a text")
    link = tmp_path / "link"
    link.hardlink_to(store.settings.path + end)
    for name in (store.settings.path + end, str(link)):
        with pytest.raises(UsageError, match="itself"):
            operations.import_memories(store, name)
    soft = tmp_path / "soft"
    soft.symlink_to(store.settings.path)
    with pytest.raises(UsageError, match="itself"):
        operations.import_memories(store, str(soft))


ALTERED = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON memories BEGIN DELETE FROM memories; END",
    "a view": "CREATE VIEW v AS SELECT * FROM memories",
    "a table": "CREATE TABLE t(x)",
    "an index": "CREATE INDEX i ON memories(content)",
    "another view": "DROP VIEW links; CREATE VIEW links AS SELECT * FROM relations",
    "a missing table": "DROP TABLE tombstones",
    "another column": "ALTER TABLE memories ADD COLUMN x TEXT",
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_store_with_another_schema_is_refused(opener: Opener, tmp_path: Path, what: str) -> None:
    """Nothing that somebody put into the schema is run, and nothing is kept."""
    source = opener("source.db")
    operations.note(source, "a text")
    path = copied(source, tmp_path / "altered.db")
    with sqlite3.connect(path) as altered:
        altered.executescript(ALTERED[what])
    altered.close()
    store = opener("one.db")
    with pytest.raises(Damaged, match="is not as memai makes it"):
        operations.import_memories(store, str(path))
    assert not store.exists()


def test_a_store_with_flipped_bits_is_refused(opener: Opener, tmp_path: Path) -> None:
    """A text that is not as it was written is not merged into one that is."""
    source = opener("source.db")
    operations.note(source, "a text with walruses")
    path = copied(source, tmp_path / "flipped.db")
    path.write_bytes(path.read_bytes().replace(b"walruses", b"walrusez"))
    with pytest.raises(Damaged):
        operations.import_memories(opener("one.db"), str(path))


def test_other_databases_are_refused(opener: Opener, tmp_path: Path) -> None:
    """Another program's, a newer one's, and what only looks like one."""
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as made:
        made.execute("CREATE TABLE notes(text)")
    made.close()
    with pytest.raises(ForeignFile):
        operations.import_memories(opener("one.db"), str(other))
    source = opener("source.db")
    operations.note(source, "a text")
    newer = copied(source, tmp_path / "newer.db")
    with sqlite3.connect(newer) as made:
        made.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    made.close()
    with pytest.raises(NewerStore):
        operations.import_memories(opener("one.db"), str(newer))
    torn = tmp_path / "torn.db"
    torn.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    with pytest.raises((Damaged, ForeignFile)):
        operations.import_memories(opener("one.db"), str(torn))


def test_a_store_of_an_older_schema_is_read(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is brought to the current schema in a copy; the file itself stays as it was."""
    source = opener("source.db")
    operations.note(source, "from before")
    path = copied(source, tmp_path / "older.db")
    before = path.read_bytes()
    step = "CREATE TABLE later(id INTEGER PRIMARY KEY) STRICT"
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, step))
    monkeypatch.setattr(schema, "VERSION", len(schema.STEPS))
    store = opener("one.db")
    assert operations.import_memories(store, str(path)).new == 1
    assert [m.content for m in all_of(store)] == ["from before"]
    assert path.read_bytes() == before
    assert not [p for p in tmp_path.iterdir() if "partial" in p.name]
