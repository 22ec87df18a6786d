"""doctor: each kind of damage is found and classified, and what is derived is made again."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from durability.workload import EVERYTHING, MODELS, opened, stale_vectors, use_small_models

from memai import operations, when
from memai.operations import health
from memai.records import Finding, Relation
from memai.store import Store, driver, filesystem, schema, surroundings

CREDENTIAL = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def db(home: Path) -> str:
    """Name a store that is not there yet, and load the embedders of the tests."""
    use_small_models()
    return str(home / "memai" / "memai.db")


@pytest.fixture
def store(db: str) -> Store:
    """Open a store with some memories, all of them in the main file."""
    made = opened(db)
    uids = [operations.note(made, f"memory {n} about deploys", tags=("t",)).uid for n in range(30)]
    operations.edit(made, uids[0], "an edited memory " * 200)
    operations.link(made, uids[1], "relates_to", uids[2], note="why")
    fold(made)
    return made


def fold(store: Store) -> None:
    """Put everything into the main file."""
    raw(store).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def raw(store: Store) -> apsw.Connection:
    """Return the connection of a store."""
    connection: apsw.Connection = store.raw()  # type: ignore[attr-defined]
    return connection


def tamper(store: Store, *statements: str) -> None:
    """Change a store as no program should, behind everything that looks after it."""
    path = store.settings.path
    store.close()
    connection = apsw.Connection(path)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def serious(store: Store, *, deep: bool = False) -> list[Finding]:
    """Return what doctor finds above advice."""
    return [f for f in operations.doctor(store, deep=deep).findings if f.level != "advice"]


def exported(store: Store) -> list[str]:
    """Return everything in a store as text."""
    return [json.dumps(line, sort_keys=True) for line in operations.export(store)]


# --- what is healthy ----------------------------------------------------------------------------


def test_a_new_store_has_no_findings(db: str) -> None:
    """Neither does one that is not there yet, which doctor does not make."""
    store = opened(db)
    assert operations.doctor(store, deep=True).findings == ()
    assert not os.path.exists(db)
    operations.note(store, "the first")
    answer = operations.doctor(store, deep=True)
    assert answer.ok
    assert not answer.needs_person
    assert [f.level for f in answer.findings] == ["advice"]  # no backup yet
    operations.backup(store)
    assert operations.doctor(store, deep=True, secrets=True).findings == ()
    assert "every memory" in operations.doctor(store, deep=True).checked


def test_fixing_a_healthy_store_changes_no_answer(store: Store) -> None:
    """And a copy of it as it was is kept all the same."""
    before = exported(store)
    found = operations.search(store, "edited deploys")
    answer = operations.doctor(store, fix=True)
    assert answer.ok
    assert exported(store) == before
    assert operations.search(store, "edited deploys") == found
    (copy,) = operations.backups(store).backups
    assert "before-fix" in copy.path
    assert copy.state == "verified"


# --- words --------------------------------------------------------------------------------------

WORD_DAMAGE = {
    "a row taken out of the index": ["DELETE FROM word_index_docsize WHERE id = 5"],
    "an entry behind the trigger": ["INSERT INTO word_index(rowid, words) VALUES(99, 'stray')"],
    "a row changed without the trigger": [
        "DROP TRIGGER memories_update_words",
        "UPDATE memories SET words = 'others' WHERE id = 3",
    ],
    "a trigger that is missing": ["DROP TRIGGER memories_insert"],
    "settings": ["INSERT INTO word_index(word_index, rank) VALUES('secure-delete', 0)"],
    "trigrams of another text": [
        "DROP TRIGGER memories_update_grams",
        "UPDATE gram_index_docsize SET sz = x'7f' WHERE id = 2",
    ],
    "the tables of the index emptied": ["DELETE FROM word_index_data"],
    "the index dropped": ["DROP TABLE gram_index"],
    "an index of another table dropped": ["DROP INDEX memories_domain"],
}


@pytest.mark.parametrize("name", WORD_DAMAGE)
def test_damage_to_words_is_found_and_fixed(store: Store, name: str) -> None:
    """Without a look at every memory; the memories stay what they are."""
    before = exported(store)
    tamper(store, *WORD_DAMAGE[name])
    found = serious(store)
    assert found
    assert {(f.level, f.code) for f in found} <= {("damage", "words"), ("damage", "index")}
    assert all(f.fix == "memai doctor --fix" for f in found)
    assert operations.doctor(store, fix=True).ok
    assert serious(store, deep=True) == []
    assert exported(store) == before
    assert len(store.by_words(_words("deploys"), EVERYTHING, 99)) == 29
    operations.note(store, "a memory of after")
    assert len(store.by_words(_words("after"), EVERYTHING, 99)) == 1


@pytest.mark.parametrize("index", ["word_index", "gram_index"])
def test_terms_are_compared_one_by_one(store: Store, index: str) -> None:
    """Where the same change to two entries cancels in FTS5's own check, their terms differ."""
    assert [store.differing_terms(name) for name in ("word_index", "gram_index")] == [0, 0]  # type: ignore[attr-defined]
    source, columns = schema.INDEXED[index]
    first, *others = columns.split(", ")
    altered = ", ".join([f"replace({first}, 'deploys', 'deplo9s')", *others])
    tamper(
        store,
        f"INSERT INTO {index}({index}, rowid, {columns}) SELECT 'delete', id, {columns}"
        f" FROM {source} WHERE id = 5",
        f"INSERT INTO {index}(rowid, {columns}) SELECT id, {altered} FROM {source} WHERE id = 5",
    )
    assert store.differing_terms(index) > 1  # type: ignore[attr-defined]
    assert any("Terms of " + index in f.message for f in serious(store, deep=True))


def _words(query: str) -> Any:
    from memai.queries import word_query

    return word_query(query)


@pytest.mark.parametrize("table", ["word_index_data", "word_index_config", "gram_index_docsize"])
def test_word_tables_that_cannot_be_read_are_made_again(store: Store, db: str, table: str) -> None:
    """Repair begins with the memories, not with what the damage has broken."""
    before = exported(store)
    page = driver.value(raw(store), "SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
    store.close()
    with open(db, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(400))
    assert {f.code for f in serious(store)} >= {"words"}
    answer = operations.doctor(store, fix=True)
    assert answer.ok, answer
    assert serious(store, deep=True) == []
    assert exported(store) == before
    copies = [copy for copy in operations.backups(store).backups if "before-fix" in copy.path]
    assert [copy.state for copy in copies] == ["unverified"]


@pytest.mark.parametrize("index", ["memories_created", "edits_memory", "relations_to"])
def test_indexes_that_cannot_be_read_are_made_again(store: Store, db: str, index: str) -> None:
    """They are derived, too."""
    before = exported(store)
    page = driver.value(raw(store), "SELECT rootpage FROM sqlite_schema WHERE name = ?", (index,))
    store.close()
    with open(db, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(100))
    assert {f.code for f in serious(store)} & {"index", "structure"}
    assert operations.doctor(store, fix=True).ok
    assert serious(store, deep=True) == []
    assert exported(store) == before


def test_stats_tell_of_a_word_index_that_lost_memories(store: Store) -> None:
    """Whoever looks at the figures sees it without asking doctor."""
    tamper(store, "DELETE FROM word_index_docsize WHERE id = 5")
    answer = operations.stats(store)
    assert answer.counts.indexed == 29
    assert any("29 of 30" in note for note in answer.notes)


# --- vectors ------------------------------------------------------------------------------------

VECTOR_DAMAGE = {
    "cut short": "UPDATE vectors SET embedding = substr(embedding, 1, 8) WHERE passage_id = 3",
    "all zero": "UPDATE vectors SET embedding = zeroblob(64) WHERE passage_id = 3",
    "no number": "UPDATE vectors SET embedding = unhex(replace(hex(zeroblob(16)), '00',"
    " '0000C07F')) WHERE passage_id = 3",
    "of another text": "UPDATE vectors SET embedding = (SELECT embedding FROM vectors"
    " WHERE passage_id = 4) WHERE passage_id = 3",
    "of no passage": "DELETE FROM passages WHERE id = 3",
    "of one passage missing": "DELETE FROM vectors WHERE passage_id ="
    " (SELECT max(id) FROM passages)",
    "a passage elsewhere": 'UPDATE passages SET "end" = 4 WHERE id = 3',
    "other tokens": "UPDATE vectors SET tokens = x'0102' WHERE passage_id = 3",
}


@pytest.mark.parametrize("name", VECTOR_DAMAGE)
def test_damage_to_vectors_is_found_and_fixed(store: Store, name: str) -> None:
    """By reading every row; the memories stay what they are."""
    before = exported(store)
    tamper(store, "PRAGMA foreign_keys = ON", VECTOR_DAMAGE[name])
    found = serious(store, deep=True)
    assert {f.code for f in found} <= {"vectors", "missing-vectors"}
    assert found
    assert operations.doctor(store, fix=True).ok
    assert serious(store, deep=True) == []
    assert stale_vectors(store) == []
    assert exported(store) == before


def test_a_vector_that_became_a_number_is_found(store: Store) -> None:
    """A bit that flips in the head of a row makes another kind of value of what follows."""
    tamper(
        store,
        "PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON;"
        " UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'vectors';"
        " PRAGMA writable_schema = RESET; UPDATE vectors SET embedding = 7 WHERE passage_id = 3;"
        " PRAGMA writable_schema = ON;"
        " UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name = 'vectors'",
    )
    assert any("passage 3 was altered" in f.message for f in serious(store, deep=True))


@pytest.mark.parametrize("table", ["vectors", "passages", "passages_memory"])
def test_vectors_that_cannot_be_read_are_made_again(store: Store, db: str, table: str) -> None:
    """All of them."""
    before = exported(store)
    page = driver.value(raw(store), "SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
    store.close()
    with open(db, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(100))
    assert serious(store) != []
    assert operations.doctor(store, fix=True).ok
    assert serious(store, deep=True) == []
    assert stale_vectors(store) == []
    assert exported(store) == before


def test_vectors_of_another_text_are_seen_by_a_sample(db: str) -> None:
    """Some memories are embedded again on every run."""
    store = opened(db)
    for number in range(4):
        operations.note(store, f"text number {number}")
    tamper(
        store,
        "UPDATE vectors SET embedding = (SELECT embedding FROM vectors WHERE passage_id = 1),"
        " crc = 0",
    )
    assert {f.code for f in serious(store)} == {"vectors"}


def test_missing_vectors_are_a_problem_that_fix_solves(store: Store) -> None:
    """As when they were written without a model."""
    tamper(store, "DELETE FROM vectors WHERE passage_id < 4")
    (finding,) = serious(store)
    assert (finding.level, finding.code) == ("problem", "missing-vectors")
    assert operations.doctor(store, fix=True).ok


def test_a_model_that_another_process_takes_during_a_repair_is_kept_to(
    store: Store, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repair begins with the vectors once more, as the store wants them by then."""
    tamper(store, "DELETE FROM vectors WHERE passage_id < 4")
    renew = health._renew

    def meanwhile(repaired: Store, model: Any) -> int:
        monkeypatch.setattr(health, "_renew", renew)
        operations.reembed(opened(db), model=MODELS[1])
        return renew(repaired, model)

    monkeypatch.setattr(health, "_renew", meanwhile)
    assert operations.doctor(store, fix=True).ok
    space = store.space()
    assert space is not None
    assert space.model == MODELS[1]
    assert serious(store, deep=True) == []


def test_a_missing_model_is_a_problem(db: str) -> None:
    """It is named, and search finds by words."""
    store = opened(db, model="/nowhere")
    operations.note(store, "a text")
    assert {f.code for f in serious(store)} == {"no-model", "missing-vectors"}
    answer = operations.doctor(store, fix=True)
    assert any("left as they are" in note for note in answer.notes)


# --- what was remembered ------------------------------------------------------------------------

CONTENT_DAMAGE = {
    "text": "UPDATE memories SET content = replace(content, 'deploys', 'deployed') WHERE id = 3",
    "time": "UPDATE memories SET created_at = created_at + 1 WHERE id = 3",
    "tags": "UPDATE memories SET tags = '[\"other\"]' WHERE id = 3",
    "status": "UPDATE memories SET status = 'archived' WHERE id = 3",
    "an earlier version": "UPDATE edits SET before = replace(before, 'memory', 'memoir')",
    "a reason": "UPDATE edits SET reason = 'another'",
    "a relation": "UPDATE relations SET note = 'because'",
    "which memories are related": "UPDATE relations SET to_id = 9",
    "the store's remarks": "UPDATE meta SET value = 'other' WHERE name = 'model'",
    "a checksum": "UPDATE memories SET crc = crc + 1 WHERE id = 3",
}


@pytest.mark.parametrize("name", CONTENT_DAMAGE)
def test_damage_to_what_was_remembered_is_found_and_not_fixed(store: Store, name: str) -> None:
    """It names the backup that it comes back from; --fix leaves the memories as they are."""
    before = exported(store)
    backup = operations.backup(store).path
    tamper(store, CONTENT_DAMAGE[name])
    damaged = exported(store)
    found = [f for f in serious(store, deep=True) if f.code == "content"]
    assert found
    assert found[0].level == "damage"
    assert found[0].fix == f"memai recover '{backup}'"
    answer = operations.doctor(store, deep=True, fix=True)
    assert not answer.ok
    assert exported(store) == damaged
    operations.recover(store, backup)
    assert exported(store) == before
    assert serious(store, deep=True) == []


def test_without_a_backup_it_says_so(store: Store) -> None:
    """There is nothing to go back to."""
    tamper(store, CONTENT_DAMAGE["text"])
    finding = next(f for f in serious(store, deep=True) if f.code == "content")
    assert finding.fix == "There is no verified backup"


def test_what_was_made_from_a_memory_is_compared_with_it(store: Store) -> None:
    """The folded domain by which a filter finds it, its hash, its words."""
    tamper(
        store,
        "UPDATE memories SET domain_key = 'elsewhere' WHERE id = 3",
        "UPDATE memories SET content_hash = 0 WHERE id = 4",
        "UPDATE memories SET words = 'others' WHERE id = 5",
        "UPDATE memories SET tag_keys = 'x' WHERE id = 6",
    )
    assert len([f for f in serious(store, deep=True) if f.code == "words"]) == 4
    assert operations.doctor(store, fix=True).ok
    assert serious(store, deep=True) == []


def test_rows_that_refer_to_nothing_are_damage(store: Store) -> None:
    """As a program leaves them that does not look after references."""
    tamper(store, "PRAGMA foreign_keys = OFF", "DELETE FROM memories WHERE id = 1")
    assert "references" in {f.code for f in serious(store)}


def test_what_another_program_added_is_a_problem(store: Store) -> None:
    """A trigger of another hand can change what is kept."""
    tamper(
        store,
        "CREATE TRIGGER evil AFTER INSERT ON memories BEGIN DELETE FROM edits; END",
        "CREATE TABLE litter(x)",
    )
    found = serious(store)
    assert {(f.level, f.code) for f in found} == {("problem", "foreign-object")}
    assert len(found) == 2


def test_a_table_that_is_missing_is_damage(store: Store) -> None:
    """And doctor goes on to say what else it sees."""
    tamper(store, "DROP TABLE tombstones")
    assert {"schema"} <= {f.code for f in serious(store, deep=True)}


# --- around the store ---------------------------------------------------------------------------


def test_files_that_others_can_read_are_a_problem(store: Store, db: str) -> None:
    """Each is named with the command that helps."""
    os.chmod(db, 0o644)
    (finding,) = serious(store)
    assert (finding.code, finding.fix) == ("mode", f"chmod 600 '{db}'")
    os.chmod(db, 0o600)
    os.chmod(os.path.dirname(db), 0o777)
    assert "mode" in {f.code for f in operations.doctor(store).findings}


def test_a_file_with_two_names_is_a_problem(store: Store, db: str, tmp_path: Path) -> None:
    """Opened by both at once it would be destroyed."""
    os.link(db, tmp_path / "again.db")
    (finding,) = serious(store)
    assert finding.code == "names"


@pytest.mark.parametrize(
    ("kind", "code"), [("nfs4", "network"), ("9p", "network"), ("fuse.sshfs", "network")]
)
def test_a_network_filesystem_is_remarked(
    store: Store, monkeypatch: pytest.MonkeyPatch, kind: str, code: str
) -> None:
    """If it was allowed at all."""
    monkeypatch.setattr(filesystem, "type_of", lambda _: kind)
    assert code in {f.code for f in operations.doctor(store).findings}


def test_a_synced_folder_is_remarked(home: Path) -> None:
    """The service copies the file while it is written."""
    use_small_models()
    store = opened(str(home / "Dropbox" / "memai.db"))
    operations.note(store, "a text")
    assert "synced-folder" in {f.code for f in operations.doctor(store).findings}


def test_a_large_log_is_remarked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader keeps it from being folded in."""
    monkeypatch.setattr(surroundings, "_LARGE_LOG", 10)
    operations.note(store, "something in the log")
    assert "log" in {f.code for f in operations.doctor(store).findings}


@pytest.mark.parametrize(
    ("version", "bug"),
    [
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.54.1", False),
        ("4.0.0", False),
    ],
)
def test_engines_that_lose_rows_are_known(
    store: Store, monkeypatch: pytest.MonkeyPatch, version: str, bug: bool
) -> None:
    """They are told by doctor, and refused for writing."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    assert ("engine" in {f.code for f in serious(store)}) == bug
    if bug:
        with pytest.raises(Exception, match="can lose acknowledged rows"):
            operations.note(store, "a text")
        assert operations.list_memories(store).memories
    else:
        operations.note(store, "a text")


def test_old_backups_are_remarked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """None at all, and none for a week; only verified ones count."""

    def codes() -> set[str]:
        return {f.code for f in operations.doctor(store).findings}

    assert codes() == {"no-backup"}
    path = operations.backup(store).path
    assert codes() == set()
    later = when.clock() + 8 * 86_400_000_000
    monkeypatch.setattr(when, "clock", lambda: later)
    assert codes() == {"old-backup"}
    os.truncate(path, 4096)
    assert codes() == {"no-backup"}


CONFIGURATIONS: dict[str, Callable[[str], str]] = {
    ".claude.json": lambda db: json.dumps(
        {"mcpServers": {"memory": {"command": "/usr/bin/memai", "args": ["serve-mcp", "--db", db]}}}
    ),
    ".cursor/mcp.json": lambda db: json.dumps(
        {"mcpServers": {"m": {"command": "memai", "args": ["serve-mcp"], "env": {"MEMAI_DB": db}}}}
    ),
    ".config/opencode/opencode.json": lambda db: json.dumps(
        {
            "mcp": {
                "m": {
                    "command": ["uvx", "memai", "serve-mcp"],
                    "environment": {"MEMAI_HOME": os.path.dirname(db)},
                }
            }
        }
    ),
    ".codex/config.toml": lambda db: f'[mcp_servers.m]\ncommand = "memai"\nargs = ["--db={db}"]\n',
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_clients_of_another_store_are_remarked(store: Store, home: Path, name: str) -> None:
    """One that points here is not."""
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    operations.backup(store)
    path.write_text(CONFIGURATIONS[name](store.settings.path))
    assert "other-store" not in {f.code for f in operations.doctor(store).findings}
    path.write_text(CONFIGURATIONS[name](str(home / "elsewhere" / "memai.db")))
    (finding,) = (f for f in operations.doctor(store).findings if f.code == "other-store")
    assert finding.level == "advice"
    assert str(home / "elsewhere" / "memai.db") in finding.message


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": 3}', "\x00\xff", "[" * 100_000])
def test_configurations_that_are_none_are_passed_over(
    store: Store, home: Path, content: str
) -> None:
    """They are other programs' affair."""
    (home / ".claude.json").write_text(content, encoding="latin-1")
    operations.backup(store)
    assert operations.doctor(store).findings == ()


def test_credentials_are_found_in_all_that_is_kept(store: Store) -> None:
    """In texts, earlier versions, reasons and notes; never repeated in the finding."""
    operations.backup(store)
    uid = operations.note(store, f"key {CREDENTIAL} here", allow_secret=True).uid
    operations.edit(store, uid, "no key here", reason=f"took out {CREDENTIAL}", allow_secret=True)
    other = operations.list_memories(store).memories[-1].uid
    remark = Relation(uid, "relates_to", other, f"see {CREDENTIAL}", "cli", when.now())
    with store.writing():  # as an import with --allow-secret keeps it
        store.relate(remark)
    assert operations.doctor(store).findings == ()
    findings = operations.doctor(store, secrets=True).findings
    assert {f.code for f in findings} == {"secret"}
    assert len(findings) == 3
    assert all(CREDENTIAL not in f.message and uid in f.message for f in findings)


def test_compacting_gives_space_back(store: Store) -> None:
    """With the sizes before and after; nothing else changes."""
    for number in range(60):
        uid = operations.note(store, f"to be purged {number} " * 200).uid
        operations.purge(store, uid, confirm=f"DELETE {uid}")
    before = exported(store)
    size = os.path.getsize(store.settings.path)
    answer = operations.doctor(store, compact=True)
    assert os.path.getsize(store.settings.path) < size
    assert any(f"{os.path.getsize(store.settings.path):,} bytes" in note for note in answer.notes)
    assert exported(store) == before
    assert serious(store, deep=True) == []
    assert MODELS[0] == store.model()
