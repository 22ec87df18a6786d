"""How the SQLite file is opened, locked and let go: every connection and transaction is made here.

While a connection is open, this process must not touch the file by other means: closing any
descriptor of it drops SQLite's locks, and the next process then believes it is alone.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import apsw

from memai.errors import (
    Busy,
    Damaged,
    ForeignFile,
    MemaiError,
    NewerStore,
    NoSpace,
    NotWritable,
    StorageFault,
)
from memai.records import Caller
from memai.settings import Settings
from memai.store import filesystem, schema

# For every connection. FULL: NORMAL lost acknowledged writes in 144 of 150 simulated power cuts,
# FULL in none of 650. secure_delete: what was purged leaves the file. The rest is SQLite's advice
# for files that others may have had in their hands.
_PRAGMAS = """
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = 1;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA journal_size_limit = 4194304;
PRAGMA mmap_size = 0;
"""

# The write-ahead log of these could lose acknowledged rows when two writers met a checkpoint.
_BUG_FREE = (3, 51, 3)
_BACKPORTS = ((3, 44, 6), (3, 50, 7))


class Connection:
    """One connection to one file, opened on first use and made for writing only by a write.

    A missing, empty or just-created file reads as an empty store: until there is a schema, reads
    are answered by an empty store in memory.
    """

    def __init__(self, settings: Settings, caller: Caller) -> None:
        self.settings = settings
        self.caller = caller
        self._file: apsw.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._nothing: apsw.Connection | None = None
        self._in_write = False

    # --- what the other parts of the engine use -----------------------------------------------

    def all(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        with self._translated():
            return self._current().execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        rows = self.all(sql, parameters)
        return rows[0][0] if rows else None

    def stream(
        self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()
    ) -> Iterator[Any]:
        """Run a statement and yield its rows; the caller must exhaust or close it."""
        with self._translated():
            yield from self._current().execute(sql, parameters)

    def run(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> int:
        """Run a statement that writes, inside `writing`; return how many rows it changed."""
        with self._translated():
            connection = self._current()
            connection.execute(sql, parameters).fetchall()
            return connection.changes()

    def run_many(self, sql: str, rows: Iterator[Sequence[Any]] | Sequence[Sequence[Any]]) -> None:
        """Run a statement that writes once for each row."""
        with self._translated():
            self._current().executemany(sql, rows)

    def exists(self) -> bool:
        """Whether there is a store with a schema."""
        return self._open(create=False) is not None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock for one transaction: all of it is kept, or nothing.

        Raises Busy after the seconds in the settings, NoSpace, NotWritable, Damaged, NewerStore.
        """
        connection = self._open_for_writing()
        with self._translated():
            connection.execute("BEGIN IMMEDIATE")
        self._in_write = True
        try:
            self._check_version(connection)
            yield
            with self._translated():
                connection.execute(
                    "INSERT INTO meta VALUES('changes', '1') ON CONFLICT(name) "
                    "DO UPDATE SET value = CAST(value AS INTEGER) + 1"
                )
                connection.execute("COMMIT")
        except BaseException:
            # A full disk has rolled back already; a second error here would hide the first.
            if connection.in_transaction:
                try:
                    connection.execute("ROLLBACK")
                except apsw.Error:
                    connection.close()
                    self._file = None
            raise
        finally:
            self._in_write = False

    @contextmanager
    def rehearsing(self) -> Iterator[None]:
        """Hold the write lock for checks that SQLite words as writes; nothing of it is kept."""
        connection = self._current()
        with self._translated():
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            if connection.in_transaction:
                with self._translated():
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close what is open."""
        for connection in (self._file, self._nothing):
            if connection is not None:
                connection.close()
        self._file = self._nothing = None

    @property
    def path(self) -> str:
        """The file."""
        return self.settings.path

    def raw(self) -> apsw.Connection:
        """Return the connection itself, for what only the driver can do (extensions, backup)."""
        with self._translated():
            return self._current()

    def reopen(self) -> None:
        """Close the file, so that the next use opens it afresh."""
        self.close()

    # --- opening ------------------------------------------------------------------------------

    def _current(self) -> apsw.Connection:
        """Return the open file, or the empty store in memory while there is none."""
        connection = self._open(create=False)
        if connection is not None:
            return connection
        if self._nothing is None:
            self._nothing = apsw.Connection(":memory:")
            for step in schema.STEPS:
                self._nothing.execute(step)
        return self._nothing

    def _open(self, *, create: bool) -> apsw.Connection | None:
        """Return the connection to the file; None while there is no schema and none is made."""
        if self._file is not None:
            if self._in_write or self._identity == self._inode():
                return self._file
            self._file.close()  # the file was replaced or removed under a long-lived process
            self._file = None
        if not create and not self._inode():
            return None
        filesystem.check(self.settings)
        with self._translated():
            connection = connect(self.settings)
        try:
            with self._translated():
                version = self._recognised(connection)
                if version == 0 and not create:
                    connection.close()
                    return None
                if version == 0:
                    use_write_ahead_log(connection, self.settings)
                if version < schema.VERSION:
                    self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._file, self._identity = connection, self._inode()
        return connection

    def _open_for_writing(self) -> apsw.Connection:
        """Return the connection to a file that has the current schema, making what is missing."""
        refuse_old_engine()
        connection = self._open(create=False)
        if connection is None:
            filesystem.make(self.settings)
            connection = self._open(create=True)
        if connection is None:  # pragma: no cover - create=True always opens
            raise NotWritable(path=self.path, reason="it could not be created")
        return connection

    def _inode(self) -> tuple[int, int] | None:
        """Return which file the path names now; stat opens nothing, so no lock is dropped."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NotWritable(path=self.path, reason=error.strerror or "it cannot be read") from None
        return status.st_dev, status.st_ino

    def _recognised(self, connection: apsw.Connection) -> int:
        """Return the version of the schema, 0 for an empty file.

        Raises ForeignFile, NewerStore. One statement, so that a schema that another process
        commits meanwhile is seen whole or not at all.
        """
        row: Any = connection.execute(
            "SELECT (SELECT application_id FROM pragma_application_id),"
            " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)"
        ).fetchall()[0]
        application, version, tables = row
        if application == schema.APPLICATION_ID:
            if version > schema.VERSION:
                raise NewerStore(path=self.path, found=version, known=schema.VERSION)
            return int(version)
        if application or version or tables:
            raise ForeignFile(path=self.path, reason="a database of another program")
        return 0

    def _schema_of(self, connection: apsw.Connection) -> int:
        """Return the version of the schema in the file."""
        with self._translated():
            version: Any = connection.execute("PRAGMA user_version").fetchall()[0][0]
        return int(version)

    def _check_version(self, connection: apsw.Connection) -> None:
        """Look again under the lock: another process may have migrated the file meanwhile."""
        version = self._schema_of(connection)
        if version != schema.VERSION:
            raise NewerStore(path=self.path, found=version, known=schema.VERSION)

    def _migrate(self, connection: apsw.Connection) -> None:
        """Run the steps that are missing, each with its version in one transaction."""
        if self._schema_of(connection) not in (0, schema.VERSION):
            self._back_up_before_migration(connection)
        for number, step in enumerate(schema.STEPS, start=1):
            if self._schema_of(connection) >= number:
                continue
            connection.execute("BEGIN IMMEDIATE")
            try:
                # Read again under the lock: of many first opens only one makes the schema.
                if self._schema_of(connection) < number:
                    connection.execute(step)
                    if number == 1:
                        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
                        connection.execute(
                            "INSERT INTO meta VALUES('model', ?), ('store', lower(hex(randomblob(8))))",
                            (self.settings.model,),
                        )
                    connection.execute(f"PRAGMA user_version = {number}")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _back_up_before_migration(self, connection: apsw.Connection) -> None:
        """Copy the file beside itself before its schema changes."""
        version = self._schema_of(connection)
        target = f"{self.path}.schema-{version}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
        filesystem.create_private(target)
        connection.execute("VACUUM INTO ?", (target,))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what the driver raises into memai's errors."""
        try:
            yield
        except apsw.Error as error:
            self._raise(error)
        except OSError as error:
            raise NotWritable(path=self.path, reason=error.strerror or str(error)) from None

    def _raise(self, error: apsw.Error) -> NoReturn:
        """Raise the memai error for a driver's error, or the driver's own where it is a bug."""
        found: MemaiError
        reason = str(error).rpartition(":")[2].strip() or type(error).__name__
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            found = Busy(seconds=self.settings.busy_seconds)
        elif isinstance(error, apsw.FullError):
            found = NoSpace(path=self.path)
        elif isinstance(error, apsw.NotADBError):
            found = ForeignFile(path=self.path, reason="no SQLite database")
        elif isinstance(error, apsw.CorruptError | apsw.FormatError):
            found = Damaged(path=self.path, reason=reason)
        elif isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
            found = NotWritable(path=self.path, reason=reason)
        elif isinstance(error, apsw.IOError):
            found = StorageFault(path=self.path, reason=reason)
        else:
            raise error
        raise found from error


def connect(settings: Settings) -> apsw.Connection:
    """Open the file, which must exist, with every setting that each connection has."""
    flags = apsw.SQLITE_OPEN_READWRITE
    if not os.access(settings.path, os.W_OK):
        flags = apsw.SQLITE_OPEN_READONLY
    connection = apsw.Connection(_name(settings.path, flags), flags=flags | apsw.SQLITE_OPEN_URI)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # A process that closes last would checkpoint, and a reader would so write; the log is folded
    # in by writers as it grows.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.set_busy_handler(_Patience(settings.busy_seconds))
    connection.execute(_PRAGMAS)
    return connection


def _name(path: str, flags: int) -> str:
    """Return the URI of a file; one in a folder that cannot be written is read as it lies."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    uri = "file:" + quoted
    if flags == apsw.SQLITE_OPEN_READONLY and not (
        os.path.exists(path + "-wal") or os.access(os.path.dirname(path), os.W_OK)
    ):
        uri += "?immutable=1"
    return uri


def use_write_ahead_log(connection: apsw.Connection, settings: Settings) -> None:
    """Switch the journal; first opens at the same moment are told "locked" in spite of waiting."""
    mode = "DELETE" if filesystem.is_network(settings.path) else "WAL"
    patience = _Patience(settings.busy_seconds)
    tries = 0
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
        except apsw.BusyError:
            tries += 1
            if not patience(tries):
                raise
        else:
            return


def refuse_old_engine() -> None:
    """Refuse to write with an SQLite that has the WAL-reset bug; raises NotWritable."""
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split(".")[:3])
    if version >= _BUG_FREE or any(version[:2] == b[:2] and version >= b for b in _BACKPORTS):
        return
    raise NotWritable(
        path="the store",
        reason=f"SQLite {apsw.sqlite_lib_version()} can lose acknowledged rows; "
        "install apsw 3.51.3 or newer",
    )


class _Patience:
    """SQLite's busy handler: short waits that grow, in Python so that Ctrl-C is heard."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began = 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries <= 1:
            self.began = now
        if now - self.began >= self.seconds:
            return False
        time.sleep(min(0.001 * 1.5 ** min(tries, 12), 0.1))
        return True
