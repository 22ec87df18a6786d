"""Stores of every released schema come to the current one, whole, whatever interrupts them."""

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from durability.workload import opened, stale_vectors, use_small_models
from support import CHECKOUT, python

from memai import operations
from memai.errors import Damaged, ForeignFile, NewerStore
from memai.store import Store, copies, schema

SCHEMAS = Path(__file__).parent / "schemas"
RELEASED = range(1, schema.VERSION + 1)

# Two steps that a later version might bring: they add, fill, rebuild and rename.
STEPS = (
    """
    ALTER TABLE memories ADD COLUMN review_at INTEGER;
    CREATE TABLE later(id INTEGER PRIMARY KEY, memory_id INTEGER, name TEXT NOT NULL) STRICT;
    INSERT INTO later(memory_id, name) SELECT id, uid FROM memories;
    CREATE INDEX later_memory ON later(memory_id);
    """,
    """
    CREATE TABLE renamed(id INTEGER PRIMARY KEY, memory_id INTEGER, uid TEXT NOT NULL) STRICT;
    INSERT INTO renamed SELECT id, memory_id, name FROM later;
    DROP TABLE later;
    INSERT INTO word_index(word_index) VALUES('rebuild');
    """,
)


@pytest.fixture(autouse=True)
def small_models() -> None:
    """Use the embedders of the tests."""
    use_small_models()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make this the version that knows two more steps."""

    def upgrade() -> None:
        monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, *STEPS))
        monkeypatch.setattr(schema, "VERSION", len(schema.STEPS))

    return upgrade


def released(version: int, folder: Path) -> str:
    """Lay the store that a released version wrote; return its path."""
    path = folder / "memories.db"
    path.touch(mode=0o600)
    path.write_bytes(gzip.decompress((SCHEMAS / f"schema-{version}.db.gz").read_bytes()))
    return str(path)


def exported(store: Store) -> list[dict[str, Any]]:
    """Return everything in a store."""
    return [json.loads(json.dumps(line)) for line in operations.export(store)]


def known(version: int) -> list[dict[str, Any]]:
    """Return what the export of a released store said."""
    lines = (SCHEMAS / f"schema-{version}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def says(now: Any, before: Any) -> bool:
    """Whether all that was said before is said now; later versions may say more."""
    if isinstance(before, dict):
        return all(name in now and says(now[name], value) for name, value in before.items())
    if isinstance(before, list):
        return len(now) == len(before) and all(map(says, now, before))
    return bool(now == before)


def digest(path: str) -> str:
    """Return the SHA-256 of a file that nobody has open."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.mark.parametrize("version", RELEASED)
def test_every_released_schema_comes_to_the_current_one(version: int, tmp_path: Path) -> None:
    """Tables, indexes and triggers are exactly those of a new store, and all memories are there.

    Where it fails for a schema that was not released yet: run tests/store/make_schema.py again.
    """
    store = opened(released(version, tmp_path))
    assert says(exported(store), known(version))
    assert store.check(deep=True) == []
    assert stale_vectors(store) == []
    assert store.schema_version() == schema.VERSION
    store.close()


def test_a_later_version_changes_the_schema_after_a_backup(
    later: Callable[[], None], tmp_path: Path
) -> None:
    """The old store lies beside the new one, verified and whole, and a new store is the same."""
    path = released(schema.VERSION, tmp_path)
    version = schema.VERSION
    before = known(version)
    later()
    store = opened(path)
    assert says(exported(store), before)
    assert store.check(deep=True) == []
    (copy,) = operations.backups(store).backups
    assert (copy.state, copy.schema, copy.memories) == ("verified", version, 5)
    assert os.path.dirname(copy.path) == str(tmp_path)
    assert os.stat(copy.path).st_mode & 0o777 == 0o600
    (copy,) = operations.backups(store, verify=True).backups
    assert copy.state == "verified"
    store.close()


def test_reading_an_old_store_brings_it_up_to_date_too(
    later: Callable[[], None], tmp_path: Path
) -> None:
    """A search or list is as good a first use as any."""
    path = released(schema.VERSION, tmp_path)
    later()
    store = opened(path)
    assert len(operations.list_memories(store, all_=True).memories) == 5
    assert store.schema_version() == schema.VERSION
    store.close()


def test_an_old_store_that_cannot_be_written_is_left_alone(
    later: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the backup cannot be made, nothing is changed and the reason is told."""
    path = released(schema.VERSION, tmp_path)
    before = digest(path)

    def full(*_: object) -> None:
        raise apsw.FullError("no space")

    monkeypatch.setattr(copies, "plain", full)
    later()
    store = opened(path)
    with pytest.raises(Exception, match="no space"):
        store.exists()
    store.close()
    assert digest(path) == before


@pytest.mark.parametrize("version", [schema.VERSION + 1, 999])
def test_a_newer_store_is_refused_and_left_as_it_is(version: int, tmp_path: Path) -> None:
    """Reads and writes are refused with the error for it, and no byte changes."""
    path = released(schema.VERSION, tmp_path)
    connection = apsw.Connection(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = digest(path)
    store = opened(path)
    for act in (
        lambda: operations.note(store, "a text"),
        lambda: operations.list_memories(store),
        lambda: operations.search(store, "a text"),
        lambda: operations.doctor(store),
        lambda: operations.doctor(store, fix=True),
        lambda: operations.backup(store),
        lambda: operations.reembed(store),
        lambda: list(operations.export(store)),
    ):
        with pytest.raises(NewerStore):
            act()
    store.close()
    assert digest(path) == before
    assert os.listdir(tmp_path) in (
        ["memories.db"],
        ["home", "memories.db"],
        ["memories.db", "home"],
    )


@pytest.mark.parametrize("wal", [False, True])
def test_a_database_of_another_program_is_left_as_it_is(wal: bool, tmp_path: Path) -> None:
    """It is refused whatever is asked."""
    path = str(tmp_path / "memories.db")
    connection = apsw.Connection(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("CREATE TABLE songs(name)")
    connection.close()
    before = digest(path)
    store = opened(path)
    for act in (
        lambda: operations.note(store, "a text"),
        lambda: operations.list_memories(store),
        lambda: operations.doctor(store, fix=True),
    ):
        with pytest.raises(ForeignFile):
            act()
    store.close()
    assert digest(path) == before


def test_what_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    """A text file that is named by mistake keeps its text."""
    path = tmp_path / "notes.txt"
    path.write_text("precious " * 1000)
    store = opened(str(path))
    with pytest.raises(ForeignFile):
        operations.note(store, "a text")
    store.close()
    assert path.read_text() == "precious " * 1000


def test_a_store_that_lost_its_version_is_no_empty_store(tmp_path: Path) -> None:
    """A flipped bit in the header must not make a store read as if nothing was ever written."""
    path = released(schema.VERSION, tmp_path)
    connection = apsw.Connection(path)
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    store = opened(path)
    with pytest.raises(Damaged):
        store.exists()
    (finding,) = operations.doctor(store).findings
    assert (finding.level, finding.code) == ("damage", "unreadable")
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_migration_killed_at_any_statement_can_be_done_again(tmp_path: Path) -> None:
    """The file is at the old schema, the new one or a step between, and the next open finishes."""
    for version in RELEASED:
        released(version, tmp_path)
    done = python(
        str(CHECKOUT / "tests" / "store" / "killed_migration.py"),
        str(tmp_path / "memories.db"),
        env={"PYTHONPATH": os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "tests")))},
    )
    said, errors = done.communicate()
    assert done.returncode == 0, errors.decode()
    told = json.loads(said)
    assert told["wrong"] == []
    assert told["killed"] > 20
    assert set(told["found"]) == {schema.VERSION, schema.VERSION + 1, schema.VERSION + 2}
