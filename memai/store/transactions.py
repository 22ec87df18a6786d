"""How the SQLite file is held for longer than a statement: every transaction is opened here."""

from __future__ import annotations

from contextlib import contextmanager

import apsw

from memai.errors import Damaged, NewerStore, NotWritable
from memai.lean import TYPE_CHECKING
from memai.store import filesystem, schema
from memai.store.connection import Connection
from memai.store.driver import connect_unchanging, refuse_old_engine, roll_back, value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from memai.settings import Settings


GENERATION = 1 << 32
"""What the counter of changes is moved on by where ids may mean something else from then on.

It is more than writes could, so that no cache of another process takes the store for the one it
knows.
"""


class Snapshots(Connection):
    """One state of the store, for several statements."""

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
                if self._tables and self._tables_of is not connection:
                    # Made in the transaction they would end with it, and every statement with them.
                    connection.execute(self._tables).fetchall()
                    self._tables_of = connection
                connection.execute("BEGIN")
            self._held = True
            yield
        finally:
            self._held = False
            if not roll_back(connection):
                self._file = None


class Transactions(Snapshots):
    """What is kept together or not at all."""

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

    def _begin_generation(self) -> None:
        """Inside `writing`: let every process forget what it knows of the vectors."""
        self.all(
            "UPDATE meta SET value = CAST(value AS INTEGER) + ? WHERE name = 'changes'",
            (GENERATION,),
        )

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
                schema.version_of(memory, path)
            other._file, other._pinned = memory, True  # noqa: SLF001 - the same class
            yield other
        finally:
            memory.close(True)

    def _settings_for(self, path: str) -> Settings:
        return self.settings._replace(path=path, allow_network_fs=True)

    def _after_commit(self) -> None:
        """Do what a commit makes possible; what fails here does not undo the commit."""

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

    def _check_version(self, connection: apsw.Connection) -> None:
        """Look again under the lock: another process may have migrated the file meanwhile."""
        with self._translated:
            version = int(value(connection, "PRAGMA user_version"))
        if version > schema.VERSION:
            raise NewerStore(path=self.path, found=version, known=schema.VERSION)
        if version < schema.VERSION:
            raise Damaged(path=self.path, reason="it was replaced by an older one while open")
