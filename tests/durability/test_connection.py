"""How the file is opened, locked and let go: interruptions, links, forks, disks, odd paths."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from durability.workload import EVERYTHING, MODELS, opened, use_small_models
from support import CHECKOUT

from memai import open_store, operations
from memai.errors import Busy, MemaiError, NetworkFilesystem, NotWritable, UsageError
from memai.settings import resolve
from memai.store import Store, filesystem

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "tests")))}


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Name a store that is not there yet, and load the embedders of the tests."""
    use_small_models()
    return str(tmp_path / "memories.db")


def raw(store: Store) -> apsw.Connection:
    """Return the connection of a store."""
    connection: apsw.Connection = store.raw()  # type: ignore[attr-defined]
    return connection


def texts(store: Store) -> list[str]:
    """Return what is kept."""
    return [memory.content for memory in store.page(EVERYTHING, 100)]


# --- interruptions ------------------------------------------------------------------------------


def test_an_interruption_at_any_statement_leaves_all_or_nothing(db: str) -> None:
    """Ctrl-C while a write begins, runs or commits: the lock is free and the next write works."""
    store, other = opened(db), opened(db)
    operations.note(store, "the first")
    operations.note(other, "the second")
    at, done = 0, False
    while not done:
        at += 1
        counted = 0

        def strike(*_: object, at: int = at) -> bool:
            nonlocal counted
            counted += 1
            if counted == at:
                raise KeyboardInterrupt
            return True

        before = texts(other)
        raw(store).exec_trace = strike
        try:
            operations.note(store, f"interrupted at {at}")
            done = True
        except KeyboardInterrupt:
            pass
        finally:
            raw(store).exec_trace = None
        assert texts(other) in (before, [f"interrupted at {at}", *before])
        operations.note(other, f"another after {at}")  # waits for no lock
        operations.note(store, f"again after {at}")
    assert at > 10
    assert store.check(deep=True) == []
    store.close()
    other.close()


def test_waiting_for_a_lock_can_be_interrupted(db: str) -> None:
    """Ctrl-C is heard at once, not when the lock comes free."""
    store, other = opened(db), opened(db)
    operations.note(store, "the first")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with other.writing():
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                operations.note(store, "never")
            assert time.monotonic() - began < 10  # it would have waited for thirty seconds
    finally:
        signal.signal(signal.SIGALRM, before)
    operations.note(store, "the second")
    assert texts(store) == ["the second", "the first"]
    store.close()
    other.close()


def test_a_failing_rollback_does_not_hide_the_first_error(db: str) -> None:
    """The caller sees what went wrong, and the next write works on a fresh connection."""
    store = opened(db)
    operations.note(store, "the first")

    def refuse(_: object, sql: str, *__: object) -> bool:
        if sql == "ROLLBACK":
            raise apsw.IOError("injected")
        return True

    raw(store).exec_trace = refuse
    with pytest.raises(ZeroDivisionError), store.writing():
        raise ZeroDivisionError
    operations.note(store, "the second")
    assert texts(store) == ["the second", "the first"]
    store.close()


def test_transactions_do_not_nest(db: str) -> None:
    """It would be a bug, and is told as one; what was begun is taken back."""
    store = opened(db)
    operations.note(store, "the first")
    with pytest.raises(RuntimeError, match="open already"), store.writing(), store.writing():
        pass
    with pytest.raises(RuntimeError, match="open already"), store.reading(), store.writing():
        pass
    operations.note(store, "the second")
    store.close()


def test_a_reader_sees_one_state(db: str) -> None:
    """Whatever others write meanwhile; inside a write it is the write's own state."""
    store, other = opened(db), opened(db)
    operations.note(store, "the first")
    with other.reading():
        assert texts(other) == ["the first"]
        operations.note(store, "the second")
        with other.reading():
            assert texts(other) == ["the first"]
    assert texts(other) == ["the second", "the first"]
    with store.writing(), store.reading():
        store.set_meta("remark", "x")
        assert store.meta("remark") == "x"
    store.close()
    other.close()


# --- files --------------------------------------------------------------------------------------


def test_a_store_that_is_removed_while_open_is_begun_anew(db: str) -> None:
    """A server does not go on writing into a file without a name."""
    store = opened(db)
    operations.note(store, "the first")
    for end in ("", "-wal", "-shm"):
        os.unlink(db + end)
    assert texts(store) == []
    operations.note(store, "the second")
    assert texts(opened(db)) == ["the second"]
    store.close()


def test_a_store_that_is_replaced_while_open_is_read_afresh(db: str, tmp_path: Path) -> None:
    """As when it was moved away and another one put in its place."""
    store, other = opened(db), opened(str(tmp_path / "other.db"))
    operations.note(store, "the first")
    operations.note(other, "of another store")
    other.close()
    for end in ("", "-wal", "-shm"):
        os.replace(str(tmp_path / "other.db") + end, db + end)
    assert texts(store) == ["of another store"]
    store.close()


def test_a_link_is_the_store_it_points_to(db: str, tmp_path: Path) -> None:
    """Both names lead to one file with one log; a link to nothing makes what it points to."""
    link = tmp_path / "link.db"
    link.symlink_to(db)
    store = opened(str(link))
    operations.note(store, "through the link")
    assert texts(opened(db)) == ["through the link"]
    assert os.stat(db).st_mode & 0o777 == 0o600
    assert {p.name for p in tmp_path.iterdir()} >= {"memories.db", "memories.db-wal", "link.db"}
    assert not (tmp_path / "link.db-wal").exists()
    assert store.counts().wal_bytes > 0
    store.close()


def test_a_file_with_two_names_is_not_written(db: str, tmp_path: Path) -> None:
    """Each name has its own log, so that what one acknowledges the other would destroy."""
    first = opened(db)
    operations.note(first, "by its first name")
    first.close()
    os.link(db, tmp_path / "again.db")
    for path in (db, str(tmp_path / "again.db")):
        with pytest.raises(NotWritable, match="2 names"):
            operations.note(opened(path), "by one of two names")
    assert texts(opened(db)) == ["by its first name"]
    os.unlink(tmp_path / "again.db")
    operations.note(first, "by its only name")
    assert len(texts(first)) == 2


@pytest.mark.parametrize(
    "name", ["a b.db", "a?mode=ro.db", "a#b.db", "100%25.db", "ünï 🚀.db", "a\nb.db", "file:x.db"]
)
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    """None of it is taken for syntax."""
    use_small_models()
    store = opened(str(tmp_path / name))
    operations.note(store, "a text")
    operations.backup(store, str(tmp_path / "copies" / name))
    assert name in os.listdir(tmp_path)
    assert name in os.listdir(tmp_path / "copies")
    assert operations.backups(store, str(tmp_path / "copies"), verify=True).backups[0].state == (
        "verified"
    )
    store.close()


def test_paths_that_cannot_be_a_store_are_refused(tmp_path: Path) -> None:
    """Each with its reason, and nothing is made."""
    use_small_models()
    (tmp_path / "file").write_text("")
    for path, error in (
        (str(tmp_path), NotWritable),
        (str(tmp_path / "file" / "memai.db"), NotWritable),
        (str(tmp_path / "bad-\udcff.db"), UsageError),
    ):
        with pytest.raises(error):
            operations.note(opened(path), "a text")
    assert [p.name for p in tmp_path.iterdir() if p.name != "home"] == ["file"]


_FORKED = """
import os, sys
from durability.workload import EVERYTHING, opened, use_small_models
from memai import operations
use_small_models()
store = opened(sys.argv[1])
operations.note(store, "of the parent")
for number in range(5):
    child = os.fork()
    if child == 0:
        operations.note(store, f"of child {number}")
        store.close()
        os._exit(0)
    operations.note(store, f"of the parent beside child {number}")
    assert os.waitpid(child, 0)[1] == 0
assert store.count(EVERYTHING) == 11
assert store.check(deep=True) == []
store.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_child_of_a_fork_opens_the_file_for_itself(db: str) -> None:
    """It must not use its parent's connection, not even to close it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORKED, db],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# --- disks --------------------------------------------------------------------------------------


def on_network(db: str, *, allowed: bool) -> Store:
    """Open a store as on a network filesystem."""
    settings = resolve(db, allow_network_fs=allowed)._replace(model=MODELS[0])
    return open_store(settings=settings)


@pytest.mark.parametrize(
    "act",
    [
        lambda store: operations.note(store, "a text"),
        operations.list_memories,
        operations.doctor,
    ],
)
def test_a_network_filesystem_is_refused(
    db: str, monkeypatch: pytest.MonkeyPatch, act: Callable[[Store], object]
) -> None:
    """With its name; nothing is made."""
    operations.note(opened(db), "a text")
    monkeypatch.setattr(filesystem, "type_of", lambda _: "nfs4")
    with pytest.raises(NetworkFilesystem, match="nfs4"):
        act(on_network(db, allowed=False))
    with pytest.raises(NetworkFilesystem, match="nfs4"):
        operations.note(on_network(db + ".new", allowed=False), "a text")
    assert not os.path.exists(db + ".new")


def test_a_network_filesystem_that_is_allowed_has_a_plain_journal(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of a store that comes there is folded in; back on a local disk it has one again."""
    operations.note(opened(db), "the first")
    with monkeypatch.context() as moved:
        moved.setattr(filesystem, "type_of", lambda _: "nfs4")
        store = on_network(db, allowed=True)
        operations.note(store, "the second")
        assert raw(store).pragma("journal_mode") == "delete"
        assert not os.path.exists(db + "-wal")
        uid = store.page(EVERYTHING, 9)[1].uid
        assert operations.purge(store, uid, confirm=f"DELETE {uid}").erased
        operations.backup(store)
        assert store.check(deep=True) == []
        store.close()
    store = opened(db)
    operations.note(store, "the third")
    assert raw(store).pragma("journal_mode") == "wal"
    assert texts(store) == ["the third", "the second"]
    store.close()


def test_filesystems_are_known_by_the_table_of_mounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deepest mount counts, the last of several on one place, and blanks are escaped."""
    table = tmp_path / "mounts"
    table.write_text(
        "/dev/a / ext4 rw 0 0\n"
        "server:/x /mnt/a\\040b nfs4 rw 0 0\n"
        "/dev/b /mnt/a\\040b/local ext4 rw 0 0\n"
        "tmpfs /mnt/over tmpfs rw 0 0\n"
        "//server/y /mnt/over cifs rw 0 0\n"
    )
    monkeypatch.setattr(
        "builtins.open", lambda path, *_, _open=open, **__: _open(table, encoding="utf-8")
    )
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert filesystem.type_of("/home/me/memai.db") == "ext4"
    assert filesystem.type_of("/mnt/a b/memai.db") == "nfs4"
    assert filesystem.type_of("/mnt/a b/local/memai.db") == "ext4"
    assert filesystem.type_of("/mnt/a bc/memai.db") == "ext4"
    assert filesystem.type_of("/mnt/over/memai.db") == "cifs"


_READ_ONLY = """
import os, subprocess, sys
from durability.workload import opened, use_small_models
from memai import operations
from memai.errors import MemaiError
folder, log = sys.argv[1:]
os.environ["MEMAI_HOME"] = os.path.join(folder, "home")
db = os.path.join(folder, "memories.db")
use_small_models()
store = opened(db)
operations.note(store, "the first")
if log != "full":
    store.raw().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
store.close()
if log == "none":
    os.unlink(db + "-wal"); os.unlink(db + "-shm")
subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
store = opened(db)
assert [m.content for m in operations.list_memories(store).memories] == ["the first"]
assert len(operations.search(store, "first").hits) == 1
assert operations.doctor(store, deep=True).ok
for act in (
    lambda: operations.note(store, "never"),
    lambda: operations.doctor(store, fix=True),
    lambda: operations.backup(store),
):
    try:
        act()
    except MemaiError as error:
        assert error.exit_code == 9, error
    else:
        raise AssertionError("it was written")
assert len(list(operations.export(store))) == 1
store.close()
"""


@pytest.mark.parametrize("log", ["full", "empty", "none"])
def test_a_store_on_a_read_only_disk_can_be_read(tmp_path: Path, log: str) -> None:
    """Whatever state its log is in; writes are refused with exit code 9."""
    folder = shlex.quote(str(tmp_path))
    program = shlex.join([sys.executable, "-c", _READ_ONLY, str(tmp_path), log])
    done = subprocess.run(
        [
            *("unshare", "-m", "sh", "-c"),
            f"mount -t tmpfs -o size=20m tmpfs {folder} || exit 77; {program}",
        ],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr


# --- waiting ------------------------------------------------------------------------------------


def test_a_writer_waits_behind_a_lock_and_gives_up_in_the_end(db: str) -> None:
    """It gets the lock when it comes free; if it never does, it says so and nothing is written."""
    store, other = opened(db), opened(db)
    operations.note(store, "the first")
    impatient = open_store(settings=resolve(db)._replace(model=MODELS[0], busy_seconds=0.3))
    with other.writing():
        began = time.monotonic()
        with pytest.raises(Busy):
            operations.note(impatient, "never")
        assert time.monotonic() - began >= 0.3
        # Readers do not wait.
        assert texts(store) == ["the first"]
        assert operations.search(store, "first").hits
    operations.note(impatient, "the second")
    assert texts(store) == ["the second", "the first"]
    for one in (store, other, impatient):
        one.close()


def test_every_error_of_the_driver_about_the_file_is_ours(db: str) -> None:
    """With an exit code of its own; what is a bug stays what it is."""
    from memai.store.driver import Translating

    ours = {
        apsw.BusyError: 5,
        apsw.LockedError: 5,
        apsw.ProtocolError: 5,
        apsw.FullError: 9,
        apsw.IOError: 9,
        apsw.ReadOnlyError: 9,
        apsw.CantOpenError: 9,
        apsw.PermissionsError: 9,
        apsw.CorruptError: 6,
        apsw.NotADBError: 6,
        apsw.FormatError: 6,
        PermissionError: 9,
        FileNotFoundError: 9,
    }
    for kind, code in ours.items():
        with pytest.raises(MemaiError) as told, Translating(db, 1):
            raise kind("reason")
        assert told.value.exit_code == code, kind
        assert told.value.__cause__ is not None
    for kind in (apsw.SQLError, apsw.ConstraintError, apsw.MisuseError, ValueError):
        with pytest.raises(kind), Translating(db, 1):
            raise kind("a bug")
