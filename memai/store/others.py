"""Another store as a guest: read, never written, and believed only after a look at all of it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Self

import apsw

from memai.errors import Damaged, ForeignFile
from memai.store import copies, filesystem, schema
from memai.store.columns import MEMORY, memory_checksum, memory_of
from memai.store.driver import connect, value
from memai.store.migrating import run_steps
from memai.store.recovering import Recovering

_KEPT = (
    ("edits", "memory_id, version, at, agent, reason, before"),
    ("relations", "from_id, type, to_id, note, agent, created_at, removed_at"),
    ("tombstones", "uid, purged_at, origin_sha256"),
)


class Others(Recovering):
    """Stores that are not this one."""

    @contextmanager
    def other(self, path: str) -> Iterator[Self]:
        """Open another store for reading, after its schema and every row were checked.

        One of an older schema is copied beside this store and brought to the current one; the file
        itself is never written. Raises UsageError if it is this store, ForeignFile, NewerStore,
        Damaged.
        """
        self._refuse_itself(path)
        place = os.path.realpath(path)
        with ExitStack() as open_files:
            guest = open_files.enter_context(self.beside(place))
            with guest._translated:  # noqa: SLF001 - the same class
                connection = _for_reading(place)
                guest._file, guest._pinned = connection, True  # noqa: SLF001 - the same class
                version = schema.version_of(connection, place)
                if version == 0:
                    raise ForeignFile(path=path, reason="a database that holds nothing")
                if version < schema.VERSION:
                    guest = open_files.enter_context(self._current_copy(guest))
                guest._refuse_altered(path)  # noqa: SLF001 - the same class
            yield guest

    @contextmanager
    def _current_copy(self, guest: Self) -> Iterator[Self]:
        """Copy a store of an older schema beside this one, as one of the current schema."""
        ready = f"{os.path.realpath(self.path)}.{os.getpid()}-{os.urandom(4).hex()}.partial"
        filesystem.make(self.settings._replace(path=ready))
        try:
            guest.raw().execute("VACUUM INTO ?", (ready,))
            with closing(connect(ready, 0)) as copy:
                run_steps(copy, guest.settings)
            with self.beside(ready) as current:
                yield current
        finally:
            copies.discard(ready)

    def _refuse_altered(self, path: str) -> None:
        """Refuse a file whose schema is not exactly memai's, or that is damaged.

        A trigger or view of somebody else would run when it is read.
        """
        wanted, present = schema.objects(), dict[tuple[str, str], str]()
        for kind, name, made in self.all(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
        ):
            present[kind, name] = made
        # The tables behind the word indexes are made by FTS5, each version in its own words.
        shadows = tuple(f"{index}_" for index in schema.WORD_INDEXES)
        for kind, name in sorted(present.keys() | wanted.keys()):
            if name.startswith(("sqlite_", *shadows)):
                continue
            if present.get((kind, name)) != wanted.get((kind, name)):
                raise Damaged(path=path, reason=f"the {kind} {name} is not as memai makes it")
        self._refuse_damaged(path)

    def _refuse_damaged(self, path: str) -> None:
        """Refuse a file that is not as it was written."""
        told = value(self.raw(), "PRAGMA quick_check(1)")
        if told != "ok":
            raise Damaged(path=path, reason=told)
        for table, columns in _KEPT:
            if self._altered(table, columns):
                raise Damaged(path=path, reason=f"rows of {table} were altered on disk")
        last = 0
        while rows := self.all(
            f"SELECT {MEMORY} FROM memories m WHERE m.id > ? ORDER BY m.id LIMIT 500", (last,)
        ):
            for row in rows:
                try:
                    sound = memory_checksum(memory_of(row)) == row[18]
                except (Damaged, LookupError, TypeError, ValueError):
                    sound = False
                if not sound:
                    raise Damaged(path=path, reason=f"the memory {row[1]} was altered on disk")
            last = rows[-1][0]


def _for_reading(place: str) -> apsw.Connection:
    """Open a file for reading, in a way that leaves nothing beside it where that is possible."""
    for end in ("-wal", "-journal"):
        if os.path.exists(place + end) and os.stat(place + end).st_size:
            # What was written last is in there, and perhaps somebody writes now.
            return connect(place, 0, read_only=True)
    return connect(place, 0, unchanging=True)
