"""Making again what is derived, giving back space, and copying the store."""

import os
from collections.abc import Sequence
from contextlib import suppress

import apsw

from memai.errors import Damaged, MemaiError
from memai.records import Backup
from memai.store import Progress, copies, schema
from memai.store.checks import Checks
from memai.store.columns import COLUMNS, MEMORY, memory_of, row_of
from memai.store.driver import NO_BULK
from memai.store.erasing import Erasing
from memai.store.overview import size
from memai.store.ticking import ticking

_BATCH = 1000


class Upkeep(Checks, Erasing):
    """What changes the store as a whole without changing what is remembered."""

    def settle(self) -> None:
        """Pack the vectors of a bulk, and fold its log into the file unless others use it now.

        Whoever opens a file first reads its log: of the 128 MB that a bulk may leave, 5 take 1 ms.
        """
        with suppress(MemaiError, apsw.Error):  # the bulk itself is kept, whatever happens here
            self.run(NO_BULK)
            self.pack_vectors()
            self._empty_log(0)

    def rebuild(self) -> None:
        """Make the word indexes and all else that is derived again, also from under damage."""
        made = schema.objects()
        indexes = [name for kind, name in made if kind == "index"]
        try:
            with self.writing():
                for trigger in schema.DERIVED_TRIGGERS:
                    self.run(f"DROP TRIGGER IF EXISTS {trigger}")
                for table in schema.DERIVED_TABLES:
                    self.run(f"DROP TABLE IF EXISTS {table}")
                for index in indexes:
                    self.run(f"DROP INDEX IF EXISTS {index}")
                self._make(made, indexes)
        except (Damaged, apsw.Error):
            # What is damaged cannot even be dropped: it is forgotten instead.
            self.close()
            with self.writing():
                self._forget((*schema.DERIVED_TABLES, *schema.DERIVED_TRIGGERS, *indexes))
                self._make(made, indexes)
        with self.writing():
            self._derive_again()
            self._count_rewriting()
        self._vacuum()

    def forget_vectors(self) -> None:
        """Drop every passage and vector, also from under damage; they can be made again."""
        made = schema.objects()
        self.close()
        with self.writing():
            self._forget(("vectors", "passages", "packed"))
            self.run("DELETE FROM sqlite_sequence WHERE name = 'passages'")
            for name in ("passages", "vectors"):
                self.run(made["table", name])
            self.run(made["index", "passages_memory"])
            self.run(schema.PACKED)
            self._begin_generation()
        with suppress(Damaged, apsw.Error):  # where other things are damaged too
            self._vacuum()

    def compact(self) -> tuple[int, int]:
        """Merge the word indexes and give unused space back; return the bytes before and after."""
        before = self._bytes()
        with self.writing():
            for index in schema.WORD_INDEXES:
                self.run(f"INSERT INTO {index}({index}) VALUES('optimize')")
            self.run("DELETE FROM packed")  # of what edits have left holes in
        self.pack_vectors()
        self._vacuum()
        return before, self._bytes()

    def copy(
        self, target: str, progress: Progress | None = None, *, verified: bool = True
    ) -> Backup:
        """Write a copy of the store to a new file, with a manifest beside it.

        The copy is made and looked at under another name and then gets its own: what has the name
        of a backup is one. `verified=False` keeps a damaged store as it is. Raises Damaged,
        NoSpace, NotWritable.
        """

        def verify(path: str) -> None:
            with self.beside(path) as copy:
                for finding in copy.check(deep=True, progress=progress):
                    if finding.level == "damage":
                        raise Damaged(path=self.path, reason=finding.message)

        with self._translated, ticking(self.raw(), progress, 0, 1):
            if verified:
                copies.write(self.raw(), target, verify)
            else:
                copies.write_pages(self.raw(), target)
        return copies.known(target)

    def _make(self, made: dict[tuple[str, str], str], indexes: Sequence[str]) -> None:
        """Make indexes of all kinds, and fill them."""
        for index in indexes:
            self.run(made["index", index])
        self.run(schema.DERIVED)
        for index in schema.WORD_INDEXES:
            self.run(f"INSERT INTO {index}({index}) VALUES('rebuild')")
        self.run("REINDEX")

    def _forget(self, names: Sequence[str]) -> None:
        """Take tables, indexes and triggers out of the schema without reading them.

        On a connection that has not used them yet; VACUUM gives back the pages they leave.
        """
        connection = self.raw()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        try:
            self.run("PRAGMA writable_schema = ON")
            for name in names:
                self.run(
                    "DELETE FROM sqlite_schema WHERE :name IN (name, tbl_name)"
                    " OR name GLOB :name || '_*' AND tbl_name <> 'memories'",
                    {"name": name},
                )
            self.run("PRAGMA writable_schema = RESET")
        finally:
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)

    def _derive_again(self) -> None:
        """Write what is made from each memory's fields, where it does not fit them."""
        assignments = ", ".join(f"{column} = ?" for column in COLUMNS)
        last = 0
        while rows := self.all(
            f"SELECT {MEMORY} FROM memories m WHERE m.id > ? ORDER BY m.id LIMIT ?", (last, _BATCH)
        ):
            for row in rows:
                made = row_of(memory_of(row))
                kept = self.all(f"SELECT {', '.join(COLUMNS)} FROM memories WHERE id = ?", row[:1])
                if kept[0] != made and row[18] == made[COLUMNS.index("crc")]:
                    self.run(f"UPDATE memories SET {assignments} WHERE id = ?", (*made, row[0]))
            last = rows[-1][0]

    def _vacuum(self) -> None:
        """Write the file anew without its holes, and fold the log in."""
        with self._translated:
            self.raw().execute("VACUUM")
            try:
                self.raw().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except apsw.BusyError:
                return  # a reader: the log is folded in later

    def _bytes(self) -> int:
        """Return what the store takes on disk."""
        place = os.path.realpath(self.path)
        return size(place) + size(place + "-wal")
