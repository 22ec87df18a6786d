"""How apsw is used: opening a file with every setting, and what its errors mean in memai's words.

While a connection is open, this process must not touch the file by other means: closing any
descriptor of it drops SQLite's locks, and the next process then believes it is alone.
"""

from __future__ import annotations

import errno
import os
import time

import apsw

from memai.errors import (
    Busy,
    Damaged,
    ForeignFile,
    MemaiError,
    NoSpace,
    NotWritable,
    StorageFault,
)
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

# For every connection. FULL: NORMAL lost acknowledged writes in 144 of 150 simulated power cuts,
# FULL in none of 650. secure_delete: what was purged leaves the file. The rest is SQLite's advice
# for files that others may have had in their hands.
PRAGMAS = """
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = 1;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA journal_size_limit = 4194304;
PRAGMA mmap_size = 0;
"""

# For a bulk, until its log is folded in. Memories come in an order of their own, so each dirties
# four pages of indexes anywhere in the file. Those of a batch are 24 MB in a million, and stay in
# memory until it is committed: in less room each is written and read again. A log that is folded in
# every 128 MB instead of 4 holds many of them twice, which are then written once, and keeps its
# blocks: of 130 microseconds of CPU that SQLite takes for each of a million, room saves 8 and the
# log 20, and it waits half as long for the disk.
BULK = """
PRAGMA cache_size = -32000;
PRAGMA wal_autocheckpoint = 32000;
PRAGMA journal_size_limit = 134217728;
"""
NO_BULK = """
PRAGMA cache_size = -16000;
PRAGMA wal_autocheckpoint = 1000;
PRAGMA journal_size_limit = 4194304;
"""

# What SQLite says where the schema in the file is not the one that was made there.
_GONE = ("no such table", "no such column", "has no column named")

# The write-ahead log of older versions could lose acknowledged rows when two writers met a
# checkpoint (https://sqlite.org/wal.html#the_wal_reset_bug).
_BUG_FREE = (3, 51, 3)
_BACKPORTS = ((3, 44, 6), (3, 50, 7))


class Translating:
    """Turns what the driver raises about a file into memai's errors; may be entered many times."""

    def __init__(self, path: str, busy_seconds: float) -> None:
        self.path = path
        self.busy_seconds = busy_seconds

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, apsw.Error):
            found = self._meaning(error)
            if found is not None:  # what is no fault of the file is a bug, and stays as it is
                raise found from error
        elif isinstance(error, UnicodeDecodeError):
            raise Damaged(path=self.path, reason="a text in it is not UTF-8") from error
        elif isinstance(error, OSError):
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoSpace(path=self.path) from error
            raise NotWritable(path=self.path, reason=error.strerror or str(error)) from error

    def _meaning(self, error: apsw.Error) -> MemaiError | None:
        """Return the memai error for a driver's error."""
        reason = str(error).rpartition(":")[2].strip() or type(error).__name__
        found: MemaiError | None = None
        if isinstance(error, apsw.BusyError | apsw.LockedError | apsw.ProtocolError):
            found = Busy(seconds=self.busy_seconds)
        elif isinstance(error, apsw.FullError):
            found = NoSpace(path=self.path)
        elif isinstance(error, apsw.NotADBError):
            reason = "no SQLite database, or its first page is destroyed"
            found = ForeignFile(path=self.path, reason=reason)
        elif isinstance(error, apsw.CorruptError | apsw.FormatError):
            found = Damaged(path=self.path, reason=reason)
        elif isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
            found = NotWritable(path=self.path, reason=reason)
        elif isinstance(error, apsw.SQLError) and any(gone in str(error) for gone in _GONE):
            found = Damaged(path=self.path, reason=f"its schema was altered: {reason}")
        elif isinstance(error, apsw.IOError):
            found = StorageFault(path=self.path, reason=reason)
        return found


class Patience:
    """SQLite's busy handler: short waits that grow, in Python so that Ctrl-C is heard.

    The longest wait is short: whoever sleeps long is passed by those who have just come.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began = 0.0

    def __call__(self, tries: int) -> bool:
        """Wait a little; false when the time is up. `tries` is how often it has waited."""
        now = time.monotonic()
        if tries == 0:
            self.began = now
        if now - self.began >= self.seconds:
            return False
        jitter = 0.75 + (time.perf_counter_ns() & 1023) / 2048  # so that no two keep step
        time.sleep(min(0.001 * 1.5 ** min(tries, 10), 0.03) * jitter)
        return True


def connect(
    path: str, busy_seconds: float, *, read_only: bool = False, unchanging: bool = False
) -> apsw.Connection:
    """Open a file, which must exist, with every setting that each connection has.

    For reading only where it cannot be written, or if that is asked; `unchanging` promises that
    nobody writes it meanwhile. Raises the driver's errors, NotWritable.
    """
    place = os.path.realpath(path)
    if unchanging:
        connection = connect_unchanging(place)
    elif read_only:
        connection = apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY)
    else:
        connection = _connect_as_may_be(place)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        # Nobody writes into the tables behind the word indexes, whatever a file's schema says.
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # A process that closes last would checkpoint, and a reader would so write; the log is
        # folded in by writers as it grows.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_handler(Patience(busy_seconds))
        connection.execute(PRAGMAS).fetchall()  # some answer, and would stop there unread
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_as_may_be(place: str) -> apsw.Connection:
    """Open a file for writing, or for reading where it lies on something read-only."""
    log, shared = os.path.exists(place + "-wal"), os.path.exists(place + "-shm")
    room = os.access(os.path.dirname(place), os.W_OK)
    if log and not shared and not room:
        raise NotWritable(
            path=place,
            reason="it has a log that cannot be folded in here; copy it with its '-wal' file to a "
            "folder that can be written, and use it there",
        )
    if os.access(place, os.W_OK) and (log or room):
        return apsw.Connection(place, flags=apsw.SQLITE_OPEN_READWRITE)
    if log or shared:
        return apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY)
    return connect_unchanging(place)


def connect_unchanging(path: str) -> apsw.Connection:
    """Open a file that nobody writes, without locks and without files beside it."""
    # Only these have a meaning in the path of a URI; urllib would cost as much as a command.
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return apsw.Connection(
        f"file://{quoted}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )


def rows(connection: apsw.Connection, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
    """Run a statement and return its rows."""
    return connection.execute(sql, parameters).fetchall()


def value(connection: apsw.Connection, sql: str, parameters: Sequence[Any] = ()) -> Any:
    """Run a statement and return the first column of its first row, or None."""
    found = rows(connection, sql, parameters)
    return found[0][0] if found else None


def use_journal(connection: apsw.Connection, mode: str, busy_seconds: float) -> bool:
    """Switch the journal to WAL or DELETE if it is another; false if the file cannot have it.

    First opens at the same moment are told "locked" in spite of waiting, so it is tried again.
    """
    patience = Patience(busy_seconds)
    tries = 0
    while True:
        try:
            if value(connection, "PRAGMA journal_mode") == mode:
                return True
            found = value(connection, f"PRAGMA journal_mode = {mode}")
        except apsw.BusyError:
            if not patience(tries):
                raise
            tries += 1
        else:
            return bool(found == mode)


def refuse_old_engine() -> None:
    """Refuse to write with an SQLite that has the WAL-reset bug; raises NotWritable."""
    if not has_reset_bug(apsw.sqlite_lib_version()):
        return
    raise NotWritable(
        path="the store",
        reason=f"SQLite {apsw.sqlite_lib_version()} can lose acknowledged rows; "
        "install apsw 3.51.3 or newer",
    )


def has_reset_bug(version: str) -> bool:
    """Whether this version of SQLite can lose rows when its log is reset."""
    parts = tuple(int(part) for part in version.split(".")[:3])
    return parts < _BUG_FREE and not any(parts[:2] == b[:2] and parts >= b for b in _BACKPORTS)


def roll_back(connection: apsw.Connection) -> bool:
    """End a transaction without hiding why; false if the connection had to be closed for it.

    A full disk has rolled back already.
    """
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except apsw.Error:
        connection.close(True)
        return False
    return True
