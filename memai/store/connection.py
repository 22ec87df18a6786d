"""How the SQLite file is read, locked and let go: every transaction is opened here."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import apsw

from memai.errors import Damaged, NewerStore, NotWritable
from memai.records import Caller
from memai.settings import Settings
from memai.store import filesystem, schema
from memai.store.driver import (
    Translating,
    connect,
    connect_unchanging,
    refuse_old_engine,
    use_journal,
    value,
)
from memai.store.migrating import migrate, roll_back, version_of

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

    def exists(self) -> bool:
        """Whether there is a store with a schema."""
        return self._open(create=False) is not None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock for one transaction: all of it is kept, or nothing.

        Raises Busy after the seconds in the settings, NoSpace, NotWritable, Damaged, NewerStore.
        """
        if self._held:
            raise RuntimeError("a transaction is open already")
        connection = self._open_for_writing()
        try:
            with self._translated:
                connection.execute("BEGIN IMMEDIATE")
            self._held = True
            self._check_version(connection)
            yield
            with self._translated:
                connection.execute(
                    "INSERT INTO meta(name, value) VALUES('changes', '1') ON CONFLICT(name) "
                    "DO UPDATE SET value = CAST(value AS INTEGER) + 1"
                )
                connection.execute("COMMIT")
        except BaseException:
            # An error while rolling back would hide the first one.
            if not roll_back(connection):
                self._file = None
            raise
        finally:
            self._held = False
        self._after_commit()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the store throughout, whatever others write meanwhile.

        Inside `writing` or another `reading` it changes nothing. It must not outlive a call.
        """
        if self._held:
            yield
            return
        connection = self._current()
        try:
            with self._translated:
                connection.execute("BEGIN")
            self._held = True
            yield
        finally:
            self._held = False
            if not roll_back(connection):
                self._file = None

    @contextmanager
    def rehearsing(self) -> Iterator[None]:
        """Hold the write lock for checks that SQLite words as writes; nothing of it is kept."""
        connection = self._current()
        try:
            with self._translated:
                connection.execute("BEGIN IMMEDIATE")
            self._held = True
            yield
        finally:
            self._held = False
            if not roll_back(connection):
                self._file = None

    @contextmanager
    def beside(self, path: str) -> Iterator[Self]:
        """Open another file as a store of the same kind."""
        other = type(self)(self._settings_for(path), self.caller)
        try:
            yield other
        finally:
            other.close()

    @contextmanager
    def in_memory(self, path: str) -> Iterator[Self]:
        """Open a copy in memory of a file that nobody writes; the file stays as it is."""
        other = type(self)(self._settings_for(path), self.caller)
        memory = apsw.Connection(":memory:")
        try:
            with other._translated:  # noqa: SLF001 - the same class
                source = connect_unchanging(path)
                try:
                    with memory.backup("main", source, "main") as backup:
                        backup.step(-1)
                finally:
                    source.close()
                version_of(memory, path)
            other._file, other._pinned = memory, True  # noqa: SLF001 - the same class
            yield other
        finally:
            memory.close(True)

    def _settings_for(self, path: str) -> Settings:
        return self.settings._replace(path=path, allow_network_fs=True)

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

    def _after_commit(self) -> None:
        """Do what a commit makes possible; what fails here does not undo the commit."""

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
                version = version_of(connection, self.path)
                if version == 0 and not create:
                    connection.close()
                    return None
                if version == 0:
                    self._choose_journal(connection)
                if version < schema.VERSION:
                    refuse_old_engine()
                    migrate(connection, self.settings)
            except BaseException:
                connection.close()
                raise
        self._file, self._process, self._ready = connection, os.getpid(), False
        # As it was before opening: what was replaced in between is noticed by the next use.
        self._identity = before or self._inode()
        return connection

    def _open_for_writing(self) -> apsw.Connection:
        """Return the connection to a file that has the current schema, making what is missing."""
        refuse_old_engine()
        connection = self._open(create=False)
        if connection is None:
            filesystem.check(self.settings)
            filesystem.make(self.settings)
            connection = self._open(create=True)
        if connection is None:  # pragma: no cover - create=True always opens
            raise NotWritable(path=self.path, reason="it could not be created")
        if not self._ready:
            if connection.readonly("main"):
                raise NotWritable(path=self.path, reason="it can only be read here")
            filesystem.check_names(self.path)
            with self._translated:
                self._choose_journal(connection)
            self._ready = True
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

    def _check_version(self, connection: apsw.Connection) -> None:
        """Look again under the lock: another process may have migrated the file meanwhile."""
        with self._translated:
            version = int(value(connection, "PRAGMA user_version"))
        if version > schema.VERSION:
            raise NewerStore(path=self.path, found=version, known=schema.VERSION)
        if version < schema.VERSION:
            raise Damaged(path=self.path, reason="it was replaced by an older one while open")
