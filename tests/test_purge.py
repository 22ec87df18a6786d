"""Purging: what was erased is in no file of the store, or the answer says what still holds it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from durability.workload import EVERYTHING, opened, use_small_models
from support import CHECKOUT

from memai import operations
from memai.errors import (
    Busy,
    ConfirmationNeeded,
    MemaiError,
    NoSpace,
    NoSuchMemory,
    NotErased,
    StorageFault,
)
from memai.queries import word_query
from memai.records import Relation
from memai.store import Store, erasing

# Words that occur nowhere else; stems and normalised forms are looked for too.
NEEDLES = (
    "quokkaword zyzzyvaterm axolotltag narwhalreason pangolinnote okapisource capybaradomain"
    " marmosetsession wombatkey tapirversion"
).split()

_READER = """
import sys
from durability.workload import EVERYTHING, opened
store = opened(sys.argv[1])
with store.reading():
    print(store.count(EVERYTHING), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def db(home: Path) -> str:
    """Name a store that is not there yet, and load the embedders of the tests."""
    use_small_models()
    return str(home / "memai" / "memai.db")


@pytest.fixture
def store(db: str) -> Iterator[Store]:
    """Open a store with other memories in it, so that pages are shared."""
    made = opened(db)
    for number in range(30):
        operations.note(made, f"another memory {number} about birds and terms", tags=("tag",))
    yield made
    made.close()


@pytest.fixture
def reader(
    store: Store, db: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator["subprocess.Popen[str]"]:
    """Start another process that reads, and reads on; a purge does not wait for it as long."""
    monkeypatch.setattr(erasing, "_SECONDS", 0.05)
    paths = os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "tests")))
    process = subprocess.Popen(
        [sys.executable, "-c", _READER, db],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def remembered(store: Store) -> tuple[str, list[bytes]]:
    """Write a memory with a needle in everything it has; return its uid and its vectors' bytes."""
    uid = operations.note(
        store,
        "quokkaword stands in the first version.",
        tags=("axolotltag",),
        domain="capybaradomain",
        session="marmosetsession",
        source="okapisource",
        key="wombatkey",
    ).uid
    first = [p.embedding for _, m, e in store.embedded(999) if m.uid == uid for p in e.passages]
    operations.edit(store, uid, "tapirversion stands in the second.", reason="narwhalreason")
    operations.edit(store, uid, "zyzzyvaterm " * 300 + "stands in the third.")
    other = operations.list_memories(store, limit=40).memories[-1].uid
    operations.link(store, uid, "relates_to", other, note="pangolinnote there")
    operations.link(store, other, "blocks", uid, note="pangolinnote back")
    operations.unlink(store, other, "blocks", uid)
    last = [p.embedding for _, m, e in store.embedded(999) if m.uid == uid for p in e.passages]
    vectors = [vector for vector in first + last if vector is not None]
    assert len(vectors) > 2
    return uid, vectors


def found_by_words(store: Store, word: str) -> list[int]:
    """Return what a word finds."""
    return [scored.id for scored in store.by_words(word_query(word), EVERYTHING, 10)]


def left(db: str, vectors: list[bytes]) -> list[str]:
    """Return what is still in the files of a store that this process has closed."""
    found = []
    for end in ("", "-wal", "-shm"):
        data = Path(db + end).read_bytes() if os.path.exists(db + end) else b""
        lowered = data.lower()
        # Trigrams of an index are stored apart; six letters in a row are not chance.
        found += [
            f"{word} in {end or 'the file'}" for word in NEEDLES if word[:6].encode() in lowered
        ]
        found += [f"a vector in {end or 'the file'}" for vector in vectors if vector[:16] in data]
    return found


def test_a_purged_memory_is_in_no_file(store: Store, db: str) -> None:
    """Text, each old version, tags, notes on relations, terms of indexes, vectors, keys."""
    uid, vectors = remembered(store)
    assert operations.purge(store, uid, confirm=f"DELETE {uid}").erased
    store.close()
    assert left(db, vectors) == []


def test_without_purging_the_needles_are_found(store: Store, db: str) -> None:
    """The test before would notice what is left."""
    _, vectors = remembered(store)
    store.close()
    assert len(left(db, vectors)) > len(NEEDLES)


def test_forgetting_erases_nothing(store: Store, db: str) -> None:
    """It can be undone, so the bytes must stay."""
    uid, vectors = remembered(store)
    operations.forget(store, (uid,))
    store.close()
    assert left(db, vectors) != []


def test_purging_leaves_a_tombstone_and_nothing_else(store: Store) -> None:
    """Its uid is known, its key can be used again, and the store is sound."""
    uid, _ = remembered(store)
    operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert store.buried(uid)
    assert store.with_key("wombatkey") is None
    with pytest.raises(NoSuchMemory):
        operations.show(store, uid)
    assert found_by_words(store, "zyzzyvaterm") == []
    assert operations.list_memories(store, tags=("axolotltag",)).memories == ()
    assert store.check(deep=True) == []
    again = operations.note(store, "another text", key="wombatkey")
    assert again.created


def test_index_terms_go_with_old_tags(store: Store) -> None:
    """Tags that were changed before the purge leave no entry in the word index."""
    uid = operations.note(store, "a text", tags=("axolotltag", "second")).uid
    operations.edit(store, uid, tags=("third",))
    operations.purge(store, uid, confirm=f"DELETE {uid}")
    for word in ("axolotltag", "second", "third"):
        assert found_by_words(store, word) == []
    assert store.check(deep=True) == []


def test_a_reader_keeps_the_bytes_and_the_next_write_finishes(
    store: Store, db: str, reader: "subprocess.Popen[str]"
) -> None:
    """The purge says so, doctor says who reads, and the store remembers it."""
    uid, vectors = remembered(store)
    answer = operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert not answer.erased
    assert "still reading" in answer.notes[0]
    (finding,) = [f for f in operations.doctor(store).findings if f.code == "purge-pending"]
    assert finding.level == "problem"
    if sys.platform.startswith("linux"):
        assert str(reader.pid) in finding.message
    reader.communicate("go on\n")
    store.close()

    other = opened(db)  # any process that writes finishes it
    operations.note(other, "written later")
    assert other.erasing_since() is None
    assert [f for f in operations.doctor(other).findings if f.code == "purge-pending"] == []
    other.close()
    assert left(db, vectors) == []


def test_closing_finishes_too(store: Store, db: str, reader: "subprocess.Popen[str]") -> None:
    """Where the process that purged ends after the reader."""
    uid, vectors = remembered(store)
    assert not operations.purge(store, uid, confirm=f"DELETE {uid}").erased
    reader.communicate("go on\n")
    store.close()
    assert left(db, vectors) == []
    assert opened(db).erasing_since() is None


def test_doctor_finishes_too(store: Store, db: str, reader: "subprocess.Popen[str]") -> None:
    """And says that it did."""
    uid, vectors = remembered(store)
    operations.purge(store, uid, confirm=f"DELETE {uid}")
    reader.communicate("go on\n")
    assert any("left the disk" in note for note in operations.doctor(store).notes)
    store.close()
    assert left(db, vectors) == []


def test_a_purge_killed_before_it_erased_is_finished(
    store: Store, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remark that bytes are left is kept with the removal itself."""
    uid, vectors = remembered(store)

    def killed(*_: object) -> bool:
        raise SystemExit

    with monkeypatch.context() as meanwhile, pytest.raises(SystemExit):
        meanwhile.setattr(erasing.Erasing, "_erase", killed)
        operations.purge(store, uid, confirm=f"DELETE {uid}")
    other = opened(db)
    with pytest.raises(NoSuchMemory):
        operations.show(other, uid)
    assert other.erasing_since() is not None
    operations.note(other, "written later")
    other.close()
    store.close()
    assert left(db, vectors) == []


@pytest.mark.parametrize("fault", [NoSpace(path="the store"), StorageFault(path="x", reason="y")])
def test_a_disk_that_keeps_the_bytes_is_said(
    store: Store, db: str, monkeypatch: pytest.MonkeyPatch, fault: MemaiError
) -> None:
    """A purge that could not fold the log in never says that it changed nothing."""
    uid, vectors = remembered(store)

    def full(*_: object) -> bool:
        raise fault

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(erasing.Erasing, "_erase", full)
        with pytest.raises(NotErased, match=f"{uid} was removed") as refused:
            operations.purge(store, uid, confirm=f"DELETE {uid}")
        assert refused.value.exit_code == 9
        if isinstance(fault, NoSpace):
            assert "purge-pending" in {f.code for f in operations.doctor(store).findings}
    with pytest.raises(NoSuchMemory):
        operations.show(store, uid)
    operations.note(store, "written when there is space again")
    store.close()
    assert left(db, vectors) == []


def test_a_lock_after_the_removal_is_no_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a purge whose bytes leave later."""
    uid, _ = remembered(store)

    def busy(*_: object) -> bool:
        raise Busy(seconds=30)

    monkeypatch.setattr(erasing.Erasing, "_erase", busy)
    answer = operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert (answer.removed, answer.erased) == (True, False)


def test_backups_that_hold_it_are_named(store: Store, tmp_path: Path) -> None:
    """Also those in other folders and those that cannot be read; later ones are not."""
    uid, _ = remembered(store)
    first = operations.backup(store).path
    second = operations.backup(store, str(tmp_path / "elsewhere")).path
    broken = operations.backup(store, str(tmp_path / "elsewhere" / "broken.db")).path
    Path(broken).write_bytes(b"destroyed")
    told = operations.purge(store, uid, dry_run=True)
    assert set(told.backups) == {first, second, broken}
    answer = operations.purge(store, uid, confirm=f"DELETE {uid}")
    assert set(answer.backups) == {first, second, broken}
    assert "3 backups" in answer.notes[-1]
    found = [f for f in operations.doctor(store).findings if f.code == "purged-in-backup"]
    assert {f.level for f in found} == {"advice"}
    assert len(found) == 2
    assert {path for path in (first, second) if any(path in f.message for f in found)} == {
        first,
        second,
    }
    later = operations.backup(store).path
    other = operations.list_memories(store).memories[0].uid
    assert later in operations.purge(store, other, confirm=f"DELETE {other}").backups
    with pytest.raises(NoSuchMemory):
        operations.purge(store, uid, confirm=f"DELETE {uid}")


def test_a_dry_run_removes_nothing(store: Store) -> None:
    """It says what would go."""
    uid, _ = remembered(store)
    answer = operations.purge(store, uid, dry_run=True)
    assert (answer.uid, answer.removed, answer.erased) == (uid, False, False)
    assert "3 versions" in answer.notes[0]
    assert operations.show(store, uid).memory.version == 3


@pytest.mark.parametrize("confirm", [None, "", "DELETE", "delete {uid}", "DELETE {short}", "yes"])
def test_purging_wants_the_whole_phrase(store: Store, confirm: str | None) -> None:
    """Anything else leaves the memory as it is."""
    uid, _ = remembered(store)
    phrase = None if confirm is None else confirm.format(uid=uid, short=uid[:5])
    with pytest.raises(ConfirmationNeeded):
        operations.purge(store, uid, confirm=phrase)
    with pytest.raises(ConfirmationNeeded):
        operations.purge(store, uid[:6], confirm=f"DELETE {uid}")
    assert operations.show(store, uid).memory.version == 3


def test_purging_what_is_not_there_is_an_error(store: Store) -> None:
    """It is not silently done."""
    with pytest.raises(NoSuchMemory):
        operations.purge(store, "zzzzzzzzzz", confirm="DELETE zzzzzzzzzz")


def test_removed_relations_of_others_stay(store: Store) -> None:
    """Purging one memory takes only the relations that it was an end of."""
    one, other, third = (m.uid for m in operations.list_memories(store, limit=3).memories)
    operations.link(store, one, "relates_to", other)
    operations.link(store, one, "relates_to", third)
    operations.purge(store, other, confirm=f"DELETE {other}")
    left_over = [r for r in store.relations(one) if isinstance(r, Relation)]
    assert [(r.type, r.to_uid) for r in left_over] == [("relates_to", third)]
