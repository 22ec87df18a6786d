"""How the SQLite file is opened, read and let go; `transactions` holds it for longer."""

from __future__ import annotations

import os

import apsw

from memai.errors import NotWritable
from memai.lean import TYPE_CHECKING
from memai.store import filesystem, schema
from memai.store.driver import Translating, connect, refuse_old_engine, use_journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from memai.records import Caller
    from memai.settings import Settings
    from memai.store.caches import Caches

Identity = tuple[int, int]

# Connections of a parent process: even closing them in the child would be a use of them.
_inherited: list[apsw.Connection] = []


class Connection:
    """One connection to one file, opened on first use and made for writing only by a write.

    A missing, empty or just-created file reads as an empty store: until there is a schema, reads
    are answered by an empty store in memory.
    """

    def __init__(self, settings: Settings, caller: Caller) -> None:
        self.settings = settings
        self.caller = caller
        self._translated = Translating(settings.path, settings.busy_seconds)
        self._file: apsw.Connection | None = None
        self._identity: Identity | None = None
        self._process = os.getpid()
        self._nothing: apsw.Connection | None = None
        self._held = False  # in a transaction, which must stay on its connection
        self._pinned = False  # a copy in memory, which no path leads to
        self._ready = False  # looked at and found fit for writing
        self._tables = ""  # temporary ones that searches want; see `Snapshots.reading`
        self._tables_of: apsw.Connection | None = None
        self._caches: Caches | None = None  # of the open file, once they are worth their making

    # --- what the other parts of the engine use -----------------------------------------------

    def all(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        with self._translated:
            return self._current().execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        rows = self.all(sql, parameters)
        return rows[0][0] if rows else None

    def run(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> int:
        """Run a statement that writes, inside `writing`; return how many rows it changed."""
        with self._translated:
            connection = self._current()
            connection.execute(sql, parameters).fetchall()
            return connection.changes()

    def run_many(self, sql: str, rows: Iterator[Sequence[Any]] | Sequence[Sequence[Any]]) -> None:
        """Run a statement that writes once for each row."""
        with self._translated:
            self._current().executemany(sql, rows)

    def read_blob(self, table: str, column: str, row: int, buffer: Any) -> None:
        """Read a value that is as long as the buffer into it."""
        with self._translated, self._current().blob_open("main", table, column, row, False) as blob:
            blob.read_into(buffer)

    def exists(self) -> bool:
        """Whether there is a store with a schema."""
        return self._open(create=False) is not None

    def close(self) -> None:
        """Close what is open."""
        self._let_go()
        if self._nothing is not None:
            self._nothing.close()
            self._nothing = None

    @property
    def path(self) -> str:
        """The file."""
        return self.settings.path

    def raw(self) -> apsw.Connection:
        """Return the connection itself, for what only the driver can do (extensions, backup)."""
        with self._translated:
            return self._current()

    def shareable(self) -> bool:
        """Whether what is seen here is what other connections see, or have seen.

        It is not inside `writing`, whose rows may never come to be, and in a copy in memory.
        """
        connection = self.raw()
        return (
            connection is self._file
            and not self._pinned
            and connection.txn_state("main") != apsw.SQLITE_TXN_WRITE
        )

    def caches(self) -> Caches | None:
        """Return what this process keeps of the file, None where nothing is to be kept."""
        if not self.shareable() or self._identity is None:
            return None
        if self._caches is None:
            from memai.store import caches

            self._caches = caches.of(self._identity)
            # Who searches again and again reads the same pages: a third off what rows cost, in
            # at most 16 MB a connection instead of 2; in 8, those of 500 memories had no room.
            self.raw().execute("PRAGMA cache_size = -16000")
        return self._caches

    # --- opening ------------------------------------------------------------------------------

    def _current(self) -> apsw.Connection:
        """Return the open file, or the empty store in memory while there is none."""
        connection = self._open(create=False)
        if connection is not None:
            return connection
        if self._nothing is None:
            self._nothing = schema.in_memory()
        return self._nothing

    def _open(self, *, create: bool) -> apsw.Connection | None:
        """Return the connection to the file; None while there is no schema and none is made."""
        if self._file is not None:
            if self._process == os.getpid() and (
                self._held or self._pinned or self._identity == self._inode()
            ):
                return self._file
            self._let_go()  # the file was replaced or removed under a long-lived process
        before = self._inode()
        if before is None and not create:
            return None
        filesystem.check(self.settings)
        with self._translated:
            connection = connect(self.path, self.settings.busy_seconds)
            try:
                version = schema.version_of(connection, self.path)
                if version == 0 and not create:
                    connection.close()
                    return None
                if version == 0:
                    self._choose_journal(connection)
                if version < schema.VERSION:
                    from memai.store.migrating import migrate

                    refuse_old_engine()
                    migrate(connection, self.settings)
            except BaseException:
                connection.close()
                raise
        self._file, self._process, self._ready = connection, os.getpid(), False
        # As it was before opening: what was replaced in between is noticed by the next use.
        self._identity = before or self._inode()
        return connection

    def _choose_journal(self, connection: apsw.Connection) -> None:
        """Use the write-ahead log, or where its shared memory does not reach, a plain journal."""
        mode = "delete" if filesystem.is_network(self.path) else "wal"
        if not use_journal(connection, mode, self.settings.busy_seconds):
            raise NotWritable(
                path=self.path, reason="its filesystem has no memory that processes can share"
            )

    def _let_go(self) -> None:
        """Close the file, or leave it alone if a parent process opened it."""
        if self._file is not None and self._process == os.getpid():
            self._file.close(True)
        elif self._file is not None:
            _inherited.append(self._file)
            self._held = False
        self._file = None
        self._caches = None

    def _inode(self) -> Identity | None:
        """Return which file the path names now; stat opens nothing, so no lock is dropped."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or "it cannot be read"
            raise NotWritable(path=self.path, reason=reason) from None
        return status.st_dev, status.st_ino
