"""Backups: what is in them, how they are named, kept, verified and brought back."""

import hashlib
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from durability.workload import EVERYTHING, MODELS, opened, stale_vectors, use_small_models

from memai import operations, when
from memai.errors import (
    Damaged,
    ForeignFile,
    MemaiError,
    NewerStore,
    NoSuchMemory,
    NotWritable,
    UsageError,
)
from memai.records import Caller
from memai.store import Store, schema
from memai.store.transactions import GENERATION
from memai.store.whole import WholeStore


@pytest.fixture
def db(home: Path) -> str:
    """Name a store that is not there yet, and load the embedders of the tests."""
    use_small_models()
    return str(home / "memai" / "memai.db")


@pytest.fixture
def store(db: str) -> Store:
    """Open a store with two memories."""
    made = opened(db)
    operations.note(made, "the first", tags=("a",))
    operations.note(made, "the second")
    return made


def exported(path_or_store: str | Store) -> list[str]:
    """Return everything in a store as text."""
    store = opened(path_or_store) if isinstance(path_or_store, str) else path_or_store
    lines = [json.dumps(line, sort_keys=True) for line in operations.export(store)]
    if isinstance(path_or_store, str):
        store.close()
    return lines


def mode(path: str | Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(os.stat(path).st_mode)


# --- making -------------------------------------------------------------------------------------


def test_a_backup_holds_everything_and_opens_as_a_store(store: Store, tmp_path: Path) -> None:
    """Also what is only in the log, and what was written a moment ago."""
    done = operations.backup(store, str(tmp_path / "copy.db"))
    assert done.path == str(tmp_path / "copy.db")
    assert done.memories == 2
    assert exported(done.path) == exported(store)


def test_a_backup_has_a_manifest(store: Store, tmp_path: Path) -> None:
    """It has the SHA-256 of the file, counts, schema and space."""
    done = operations.backup(store, str(tmp_path / "copy.db"))
    manifest = json.loads((tmp_path / "copy.db.json").read_text())
    assert manifest["sha256"] == done.sha256
    assert manifest["sha256"] == hashlib.sha256(Path(done.path).read_bytes()).hexdigest()
    assert manifest["bytes"] == os.path.getsize(done.path)
    assert manifest["rows"]["memories"] == 2
    assert manifest["rows"]["vectors"] == 2
    assert manifest["schema"] == schema.VERSION
    assert manifest["space"]["model"] == MODELS[0]
    assert manifest["verified"] is True


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_store_backups_and_manifests_are_private_whatever_the_umask(home: Path, umask: int) -> None:
    """Files are 0600 and folders 0700, those in between too."""
    use_small_models()
    before = os.umask(umask)
    try:
        store = opened(str(home / "deep" / "er" / "memai.db"))
        operations.note(store, "a text")
        done = operations.backup(store, str(home / "other" / "folder"))
        operations.backup(store)
    finally:
        os.umask(before)
    made = [home / "deep", home / "other", home / "memai"]
    for path in [*made, *(path for folder in made for path in folder.rglob("*"))]:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    names = {path.name for path in (home / "deep" / "er").iterdir()}
    assert names == {"memai.db", "memai.db-wal", "memai.db-shm"}
    assert os.path.dirname(done.path) == str(home / "other" / "folder")
    store.close()


def test_a_folder_gets_a_file_named_after_the_time(store: Store, home: Path) -> None:
    """By default in the backups of MEMAI_HOME; two at once have two names."""
    one, two = operations.backup(store), operations.backup(store)
    assert os.path.dirname(one.path) == str(home / "memai" / "backups")
    assert one.path < two.path


def test_a_backup_overwrites_nothing(store: Store, tmp_path: Path) -> None:
    """A file that is there stays, even one that is a link to nowhere."""
    (tmp_path / "taken.db").write_text("precious")
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere")
    for name in ("taken.db", "link.db"):
        with pytest.raises(UsageError, match="overwrites nothing"):
            operations.backup(store, str(tmp_path / name))
    assert (tmp_path / "taken.db").read_text() == "precious"


def test_a_failed_backup_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a file with the name of a backup nor a part of one."""
    monkeypatch.setattr(WholeStore, "check", lambda *_, **__: [_damage()])
    with pytest.raises(Damaged):
        operations.backup(store, str(tmp_path / "folder"))
    assert list((tmp_path / "folder").iterdir()) == []


def _damage() -> object:
    from memai.records import Finding

    return Finding("damage", "content", "A memory was altered.")


def test_what_a_killed_backup_left_is_removed_by_a_later_one(store: Store, tmp_path: Path) -> None:
    """But not what a running process writes, nor what is young."""
    old, running, young = (
        tmp_path / f"memai-x.db.{process}-0123abcd.partial"
        for process in ("999999998", os.getpid(), "999999999")
    )
    for path in (old, running, young):
        path.write_text("half a backup")
    for path in (old, running):
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    operations.backup(store, str(tmp_path))
    assert not old.exists()
    assert running.exists()
    assert young.exists()


def test_nothing_is_backed_up_before_there_is_a_store(db: str) -> None:
    """Cron hears of it, and no store is made."""
    with pytest.raises(UsageError, match="no store"):
        operations.backup(opened(db))
    assert not os.path.exists(db)


def test_a_store_in_a_folder_that_cannot_be_made_says_so(store: Store, tmp_path: Path) -> None:
    """The path is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable, match="file"):
        operations.backup(store, str(tmp_path / "file" / "folder"))


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_is_not_the_folder_at_hand(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A variable that is not set puts no copy of everything into a repository."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for act in (operations.backup, operations.backups, operations.recover):
        with pytest.raises(UsageError, match="is empty"):
            act(store, path)
    assert os.listdir(".") == []


def test_a_remote_caller_names_no_paths(db: str) -> None:
    """Over MCP a backup has a plain name, and only the store's own backups are listed."""
    from memai.settings import resolve
    from memai.store import open_store

    use_small_models()
    settings = resolve(db)._replace(model=MODELS[0])
    store = open_store(settings=settings, caller=Caller(remote=True))
    operations.note(store, "a text")
    for target in ("/tmp/copy.db", "../copy.db", "..", ""):
        with pytest.raises(UsageError):
            operations.backup(store, target)
    done = operations.backup(store, "mine.db")
    assert os.path.dirname(done.path).endswith("backups")
    with pytest.raises(UsageError):
        operations.backups(store, "/etc")
    assert [copy.path for copy in operations.backups(store).backups] == [done.path]
    store.close()


def test_the_command_is_quiet_on_success_and_loud_on_failure(store: Store, db: str) -> None:
    """As cron wants it: nothing printed and exit code 0, or the reason and another code."""

    def memai(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "memai", "--db", db, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    store.close()
    done = memai("backup", "--keep", "2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = memai("backup", "-q")
    assert (done.returncode, os.path.exists(done.stdout.strip())) == (0, True)
    assert json.loads(memai("backup", "--json").stdout)["memories"] == 2
    done = memai("backup", "/dev/null/nowhere")
    assert (done.returncode, done.stdout) == (9, "")
    assert "/dev/null" in done.stderr
    done = memai("backups", "--verify")
    assert done.returncode == 0
    assert done.stdout.count("verified") == 3


# --- keeping ------------------------------------------------------------------------------------


def test_only_the_newest_are_kept(store: Store, home: Path) -> None:
    """Of twelve runs with --keep 5 the five newest remain, each with its manifest."""
    made = [operations.backup(store, keep=5).path for _ in range(12)]
    folder = home / "memai" / "backups"
    assert sorted(str(path) for path in folder.glob("*.db")) == made[-5:]
    assert len(list(folder.glob("*.json"))) == 5


def test_days_and_weeks_are_kept(store: Store, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of 3 days and of 4 weeks, and the 2 newest; several days had two."""
    half = 43_200_000_000
    start = when.to_micros("2026-03-02T06:00:00.000000Z")  # a Monday
    days = (0, 10, 13, 18, 20, 25, 27, 34, 36, 37, 38, 39)
    for number in sorted(2 * day + later for day in days for later in (0, 1)):
        monkeypatch.setattr(when, "clock", lambda at=start + number * half: at)
        operations.backup(store, keep=2, keep_daily=3, keep_weekly=4)
    left = sorted(path.name[6:17] for path in (home / "memai" / "backups").glob("*.db"))
    # The fortieth day is Friday, 10 April.
    assert left == [
        *("20260322T18", "20260329T18", "20260405T18"),  # last of earlier weeks: Sundays
        *("20260408T18", "20260409T18"),  # last of earlier days
        *("20260410T06", "20260410T18"),  # the two newest; also of this day and week
    ]


def test_only_backups_of_this_store_are_removed(store: Store, home: Path, tmp_path: Path) -> None:
    """Another store's backups, files with names of their own and other files stay."""
    other = opened(str(tmp_path / "other.db"))
    operations.note(other, "another store")
    folder = str(home / "shared")
    theirs = operations.backup(other, folder).path
    named = operations.backup(store, os.path.join(folder, "before-the-merge.db")).path
    bare = os.path.join(folder, "memai-20200101T000000.000000Z.db")
    Path(bare).write_text("without a manifest")
    done = [operations.backup(store, folder, keep=1) for _ in range(3)]
    left = {os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".db")}
    assert left == {theirs, named, bare, done[-1].path}
    assert done[-1].removed == (done[-2].path,)
    other.close()


def test_a_failed_backup_removes_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old ones go only after the new one was verified."""
    first = operations.backup(store, keep=1).path
    monkeypatch.setattr(WholeStore, "check", lambda *_, **__: [_damage()])
    with pytest.raises(Damaged):
        operations.backup(store, keep=1)
    assert os.path.exists(first)


def test_keep_goes_with_a_folder(store: Store, tmp_path: Path) -> None:
    """One file cannot be one of many."""
    with pytest.raises(UsageError, match="folder"):
        operations.backup(store, str(tmp_path / "copy.db"), keep=3)
    assert not (tmp_path / "copy.db").exists()


# --- listing and verifying ----------------------------------------------------------------------


def test_backups_are_listed_wherever_they_were_put(store: Store, tmp_path: Path) -> None:
    """Newest first, in every folder that was ever a target, without the store itself."""
    one = operations.backup(store).path
    two = operations.backup(store, str(tmp_path / "elsewhere")).path
    three = operations.backup(store, str(tmp_path / "copy.db")).path
    found = operations.backups(store).backups
    assert [copy.path for copy in found] == [three, two, one]
    assert {copy.state for copy in found} == {"verified"}
    assert {copy.memories for copy in found} == {2}
    (only,) = operations.backups(store, str(tmp_path / "elsewhere")).backups
    assert only.path == two
    (only,) = operations.backups(store, two).backups
    assert only.path == two


def test_there_may_be_no_backup(store: Store, tmp_path: Path) -> None:
    """Then it says how to make one; a place that is not there is named."""
    assert "memai backup" in operations.backups(store).notes[0]
    with pytest.raises(UsageError, match="no file or folder"):
        operations.backups(store, str(tmp_path / "nowhere"))


def test_every_flipped_bit_of_a_backup_is_found(store: Store) -> None:
    """Verifying reads every byte."""
    path = operations.backup(store).path
    whole = Path(path).read_bytes()
    for place in range(0, len(whole), len(whole) // 50):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        Path(path).write_bytes(data)
        answer = operations.backups(store, path, verify=True)
        assert answer.backups[0].state == "altered"
        assert answer.needs_person
    Path(path).write_bytes(whole)
    assert operations.backups(store, path, verify=True).backups[0].state == "verified"


def test_verifying_is_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest says when every byte was last read."""
    path = operations.backup(store).path
    later = when.clock() + 3_600_000_000
    monkeypatch.setattr(when, "clock", lambda: later)
    operations.backups(store, verify=True)
    (copy,) = operations.backups(store).backups
    assert copy.verified_at == when.from_micros(later)
    assert copy.created_at < copy.verified_at
    assert os.path.exists(path)


@pytest.mark.parametrize(
    ("harm", "state"),
    [
        (lambda path: os.truncate(path, 8192), "altered"),
        (lambda path: os.unlink(path + ".json"), "unverified"),
        (lambda path: Path(path + ".json").write_text("{"), "unverified"),
        (lambda path: Path(path + "-wal").write_text("written to"), "altered"),
    ],
)
def test_the_list_says_what_is_known(
    store: Store, harm: Callable[[str], object], state: str
) -> None:
    """Without reading a byte of the backup itself."""
    path = operations.backup(store).path
    harm(path)
    (copy,) = operations.backups(store).backups
    assert copy.state == state
    assert copy.reason


def test_a_backup_without_manifest_is_read_through(store: Store) -> None:
    """It is as good as one with, if it is sound; what is none is called damaged."""
    path = operations.backup(store).path
    os.unlink(path + ".json")
    (copy,) = operations.backups(store, verify=True).backups
    assert (copy.state, copy.memories) == ("verified", 2)
    assert not os.path.exists(path + ".json")
    Path(path).write_bytes(b"no database " * 1000)
    (copy,) = operations.backups(store, verify=True).backups
    assert copy.state == "damaged"


def test_the_live_store_is_no_backup(store: Store, db: str, tmp_path: Path) -> None:
    """Not by its path nor by a link: reading it by other means would drop its locks."""
    (tmp_path / "link.db").symlink_to(db)
    os.link(db, tmp_path / "hard.db")
    for path in (db, str(tmp_path / "link.db"), str(tmp_path / "hard.db")):
        with pytest.raises(MemaiError, match="itself"):
            store.inspect(path, deep=True)
        with pytest.raises(UsageError, match="itself"):
            operations.recover(store, path)
    assert operations.backups(store, str(tmp_path)).backups == ()


# --- going back ---------------------------------------------------------------------------------


def test_recovering_makes_the_store_what_the_backup_is(store: Store, db: str) -> None:
    """Other processes that have it open go on, and what it was is kept."""
    before = exported(store)
    other = opened(db)
    assert len(operations.list_memories(other).memories) == 2
    path = operations.backup(store).path
    first = operations.list_memories(store).memories[-1].uid
    operations.edit(store, first, "changed since")
    third = operations.note(store, "the third").uid
    now = exported(store)

    told = operations.recover(store, path, dry_run=True)
    assert (told.memories, told.back, told.gone, told.changed) == (2, 0, 1, 1)
    assert told.safety is None
    assert exported(store) == now

    done = operations.recover(store, path)
    assert done.safety is not None
    assert exported(store) == exported(db) == before
    assert [m.content for m in operations.list_memories(other).memories] == [
        "the second",
        "the first",
    ]
    with pytest.raises(NoSuchMemory):
        operations.show(other, third)
    operations.note(other, "written after")
    assert operations.search(store, "written after").hits[0].snippet == "written after"
    assert store.check(deep=True) == []
    assert stale_vectors(store) == []

    operations.recover(store, done.safety)
    assert exported(store) == now
    other.close()


def test_caches_know_that_the_store_is_another(store: Store) -> None:
    """The counter by which processes know that something was written never comes again."""
    path = operations.backup(store).path
    for number in range(5):
        operations.note(store, f"since {number}")
    before = int(store.meta("changes") or "0")
    operations.recover(store, path)
    assert int(store.meta("changes") or "0") > before + 1_000_000


def test_what_is_written_while_a_backup_is_made_ready_is_not_of_its_counter(
    store: Store, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has seen the last writes before a recovery does not take it for one of them."""
    path = operations.backup(store).path
    other, seen = opened(db), []
    waiting = WholeStore._others_waiting

    def meanwhile(self: WholeStore) -> object:
        for number in range(3):
            operations.note(other, f"meanwhile {number}")
        seen.append(int(other.meta("changes") or "0"))
        return waiting(self)

    monkeypatch.setattr(WholeStore, "_others_waiting", meanwhile)
    operations.recover(store, path)
    assert int(store.meta("changes") or "0") - seen[0] >= GENERATION
    other.close()


def test_what_was_purged_since_stays_purged(store: Store) -> None:
    """Going back does not bring back what was to be erased for good."""
    first = operations.list_memories(store).memories[-1].uid
    path = operations.backup(store).path
    operations.purge(store, first, confirm=f"DELETE {first}")
    told = operations.recover(store, path, dry_run=True)
    assert (told.buried, told.memories) == (1, 1)
    operations.recover(store, path)
    assert [m.content for m in operations.list_memories(store).memories] == ["the second"]
    assert store.buried(first)
    assert store.check(deep=True) == []


def test_a_store_that_is_gone_is_recovered(store: Store, db: str) -> None:
    """The file was deleted, log and all."""
    before = exported(store)
    path = operations.backup(store).path
    store.close()
    for end in ("", "-wal", "-shm"):
        os.unlink(db + end)
    done = operations.recover(store, path)
    assert done.safety is None
    assert (done.back, done.memories) == (2, 2)
    assert exported(store) == before
    assert mode(db) == 0o600


@pytest.mark.parametrize("harm", ["header", "schema", "pages", "text"])
def test_a_damaged_store_is_recovered(store: Store, db: str, harm: str) -> None:
    """Whatever is wrong with it; the damaged file is kept."""
    before = exported(store)
    path = operations.backup(store).path
    store.raw().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # type: ignore[attr-defined]
    store.close()
    with open(db, "r+b") as file:
        if harm == "header":
            file.write(os.urandom(100))
        elif harm == "schema":
            file.seek(100)
            file.write(os.urandom(3000))
        elif harm == "pages":
            file.seek(4096)
            file.write(os.urandom(os.path.getsize(db) - 4096))
        else:
            file.truncate(0)
            file.write(b"this was a store once " * 1000)
    done = operations.recover(store, path)
    assert exported(store) == before
    assert store.check(deep=True) == []
    assert done.safety is not None
    assert os.path.getsize(done.safety) > 0
    assert operations.backups(store, done.safety).backups[0].state == "unverified"


def test_a_backup_that_is_not_what_it_was_is_refused(store: Store) -> None:
    """Nothing is changed then."""
    before = exported(store)
    path = operations.backup(store).path
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 1
    Path(path).write_bytes(data)
    operations.note(store, "a third")
    now = exported(store)
    with pytest.raises(Damaged, match="nothing was recovered"):
        operations.recover(store, path)
    assert exported(store) == now != before


def test_what_is_no_store_is_not_recovered(store: Store, tmp_path: Path) -> None:
    """Another program's database, a newer store, a folder, a pipe, a device, and no file at all."""
    os.mkfifo(tmp_path / "pipe")
    songs = str(tmp_path / "songs.db")
    apsw.Connection(songs).execute("CREATE TABLE songs(name)")
    newer = operations.backup(store, str(tmp_path / "newer.db")).path
    os.unlink(newer + ".json")
    connection = apsw.Connection(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for path, error in (
        (songs, ForeignFile),
        (newer, NewerStore),
        (str(tmp_path / "nowhere.db"), UsageError),
        (str(tmp_path), UsageError),
        (str(tmp_path / "pipe"), UsageError),
        ("/dev/null", UsageError),
    ):
        with pytest.raises(error):
            operations.recover(store, path)
    assert len(exported(store)) == 2


def test_another_programs_database_is_not_recovered_over(store: Store, tmp_path: Path) -> None:
    """A path that names it by mistake does not make it a store."""
    path = operations.backup(store).path
    songs = str(tmp_path / "songs.db")
    connection = apsw.Connection(songs)
    connection.execute("CREATE TABLE songs(name)")
    connection.close()
    with pytest.raises(ForeignFile):
        operations.recover(opened(songs), path)
    assert apsw.Connection(songs).execute("SELECT name FROM sqlite_schema").fetchall() == [
        ("songs",)
    ]


def test_restore_points_to_recover(store: Store) -> None:
    """Who takes one for the other is told."""
    path = operations.backup(store).path
    with pytest.raises(UsageError, match="memai recover"):
        operations.restore(store, (path,))


def test_a_backup_can_be_read_as_a_store(store: Store) -> None:
    """Reading it leaves no file beside it and changes no byte."""
    path = operations.backup(store).path
    before = Path(path).read_bytes()
    copy = opened(path)
    assert len(copy.page(EVERYTHING, 9)) == 2
    copy.close()
    assert Path(path).read_bytes() == before
    assert sorted(os.listdir(os.path.dirname(path))) == [
        os.path.basename(path),
        os.path.basename(path) + ".json",
    ]
