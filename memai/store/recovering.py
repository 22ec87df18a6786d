"""Backups looked at again, and a backup brought back into the store that is in use.

The live file is never renamed over or written past SQLite: a copy of the backup is made ready
beside it (brought to the current schema, what was purged since taken out, read through), and then
SQLite's backup API puts it into the live file in one transaction. Killed at any moment the store
is the old one or the new one, and processes that have it open go on working.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress

import apsw

from memai import when
from memai.errors import Damaged, ForeignFile, MemaiError, NewerStore, StorageFault, UsageError
from memai.records import Backup, Recovered
from memai.store import copies, filesystem, schema
from memai.store.driver import (
    PRAGMAS,
    Patience,
    Translating,
    connect_unchanging,
    rows,
    use_journal,
    value,
)
from memai.store.migrating import run_steps
from memai.store.transactions import GENERATION
from memai.store.upkeep import Upkeep


class Recovering(Upkeep):
    """Going back to a backup."""

    def inspect(self, path: str, *, deep: bool) -> Backup:
        """Return what is known of a backup; `deep` reads every byte of it again.

        Raises UsageError if it is the store itself, ForeignFile, NewerStore, NotWritable.
        """
        self._refuse_itself(path)
        with Translating(path, 0):
            found = copies.known(path)
            if not deep or found.state == "altered":
                return found
            manifest = copies.read_manifest(path)
            if manifest.get("sha256") is not None:
                if copies.sha256(path) != manifest["sha256"]:
                    return found._replace(
                        state="altered",
                        verified_at=None,
                        reason="its SHA-256 is not that of its manifest",
                    )
                if found.state == "unverified":
                    return found
                found = found._replace(verified_at=when.now())
                with suppress(OSError):  # a backup on a read-only disk is as good
                    copies.write_manifest(path, {**manifest, "verified_at": found.verified_at})
                return found
            return self._read_through(path, found)

    def holds(self, path: str, uids: Sequence[str]) -> list[str]:
        """Return those of the memories that a backup holds; raises what is wrong with the file."""
        self._refuse_itself(path)
        with Translating(path, 0), closing(connect_unchanging(path)) as copy:
            schema.version_of(copy, path)
            found = rows(
                copy,
                "SELECT uid FROM memories WHERE uid IN (SELECT value FROM json_each(?))",
                (json.dumps(list(uids)),),
            )
            return [row[0] for row in found]

    def recover(self, path: str, safety: str | None) -> Recovered:
        """Put a backup in the place of what the store holds; without `safety` only say what would.

        `safety` is the file that the store as it is now is copied to first.
        """
        with self._prepared(path) as (prepared, told):
            if safety is None:
                return told
            kept = None
            with self._others_waiting() as let_go:
                # Writers wait, so that what they acknowledge is in one of the two.
                if os.path.exists(self.path):
                    kept = self._keep(safety)
                self._begin_anew(prepared)
                self.close()
                with self._translated:
                    self._take_over(prepared, let_go)
            worst = [f for f in self.check(deep=False) if f.level == "damage"]
            if worst:
                raise Damaged(path=self.path, reason=worst[0].message)
            return told._replace(safety=kept)

    # --- steps --------------------------------------------------------------------------------

    def _refuse_itself(self, path: str) -> None:
        """Refuse to read the live file as if nobody wrote it; stat opens nothing."""
        if not os.path.exists(path):
            raise UsageError(reason=f"There is no file {path}.")
        if not os.path.isfile(path):  # to open a pipe would wait for whoever writes to it
            raise UsageError(reason=f"{path} is no file, so it is no backup.")
        if os.path.exists(self.path) and os.path.samefile(path, self.path):
            raise UsageError(reason=f"{path} is the store itself, not a backup of it.")

    def _read_through(self, path: str, known: Backup) -> Backup:
        """Check a backup that has no manifest as doctor would."""
        try:
            with self.in_memory(path) as copy:
                memories = copy.number("SELECT count(*) FROM memories")
                version = copy.number("PRAGMA user_version")
                if version == schema.VERSION:
                    faults = [f.message for f in copy.check(deep=True) if f.level == "damage"]
                else:
                    told = copy.all("PRAGMA integrity_check(1)")
                    faults = [row[0] for row in told if row[0] != "ok"]
        except (Damaged, apsw.Error) as error:
            return known._replace(state="damaged", reason=str(error))
        if faults:
            return known._replace(state="damaged", reason=faults[0])
        return known._replace(
            state="verified",
            verified_at=when.now(),
            memories=memories,
            schema=version,
            reason="it has no manifest, but it was read through",
        )

    @contextmanager
    def _prepared(self, path: str) -> Iterator[tuple[str, Recovered]]:
        """Make the backup ready beside the store; yield the file and what it would change."""
        backup = self.inspect(path, deep=True)
        if backup.state != "verified":
            raise Damaged(path=path, reason=f"{backup.reason}; nothing was recovered from it")
        place = os.path.realpath(self.path)
        ready = copies.partial_name(place)
        filesystem.make(self.settings._replace(path=ready))
        copies.tidy(os.path.dirname(place))
        try:
            with Translating(ready, 0):
                with closing(connect_unchanging(path)) as source:
                    source.execute("VACUUM INTO ?", (ready,))
                with self.beside(ready) as copy:
                    run_steps(copy.raw(), copy.settings)
                    told = self._fit(copy, path)
                    faults = [f for f in copy.check(deep=True) if f.level == "damage"]
            if faults:
                raise Damaged(path=path, reason=faults[0].message)
            yield ready, told
        finally:
            copies.discard(ready)

    def _fit(self, copy: "Recovering", path: str) -> Recovered:
        """Take out of the copy what was purged since, and compare it with the store."""
        notes: list[str] = []
        ours: dict[str, int] = {}
        buried = 0
        try:
            tombstones = self.all("SELECT uid, purged_at, origin_sha256, crc FROM tombstones")
            kept = dict(self.all("SELECT name, value FROM meta"))
            ours = dict(self.all("SELECT uid, crc FROM memories"))
        except MemaiError as error:
            if isinstance(error, NewerStore):
                raise
            tombstones, kept = [], {}
            notes.append(
                "The store as it is cannot be read: what it held beyond the backup, and what was "
                f"purged since, is not known. {error.message}"
            )
        theirs = dict(copy.all("SELECT uid, crc FROM memories"))
        with copy.writing():
            for row in tombstones:
                buried += copy.run("DELETE FROM memories WHERE uid = ?", row[:1])
                theirs.pop(row[0], None)
                copy.run("INSERT OR REPLACE INTO tombstones VALUES(?, ?, ?, ?)", row)
            for name in ("last_backup", "backup_folders"):
                if name in kept:
                    copy.set_meta(name, kept[name])
            copy.set_meta("erase_pending", None)
        return Recovered(
            path=self.path,
            backup=path,
            safety=None,
            memories=len(theirs),
            back=len(theirs.keys() - ours.keys()),
            gone=len(ours.keys() - theirs.keys()),
            changed=sum(ours.get(uid, crc) != crc for uid, crc in theirs.items()),
            buried=buried,
            notes=tuple(notes),
        )

    def _begin_anew(self, prepared: str) -> None:
        """Give the copy a counter of changes that no process has seen of it or of the store.

        While writers wait: by what they wrote meanwhile the copy would be taken for a later state.
        """
        ours = 0
        with suppress(MemaiError, apsw.Error):  # what is damaged has none
            ours = int(self.meta("changes") or 0)
        with self.beside(prepared) as copy, copy.writing():
            copy.run(
                "UPDATE meta SET value = max(CAST(value AS INTEGER), ?) + ? WHERE name = 'changes'",
                (ours, GENERATION),
            )

    def _keep(self, safety: str) -> str | None:
        """Copy the store as it is, verified if it can be, else as it lies."""
        try:
            if not self.exists():
                return None
            return self.copy(safety).path
        except (MemaiError, apsw.Error) as error:
            if isinstance(error, NewerStore):
                raise
            if isinstance(error, ForeignFile) and self._is_database():
                raise
        try:
            return self.copy(safety, verified=False).path
        except (MemaiError, apsw.Error):
            self.close()  # nobody can use a file without a first page: it is copied as bytes
            with self._translated:
                copies.write_bytes(os.path.realpath(self.path), safety)
            return safety

    @contextmanager
    def _others_waiting(self) -> Iterator[Callable[[], None]]:
        """Hold the write lock through another connection, if the store can still be locked.

        Yields what gives it free.
        """
        with ExitStack() as opened, ExitStack() as lock:
            with suppress(MemaiError, apsw.Error):
                other = opened.enter_context(self.beside(self.path))
                if other.exists():
                    lock.enter_context(other.rehearsing())
            yield lock.close

    def _is_database(self) -> bool:
        """Whether SQLite can read the file at all."""
        try:
            with closing(apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE)) as file:
                file.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                rows(file, "PRAGMA user_version")
        except apsw.Error:
            return False
        return True

    def _take_over(self, prepared: str, let_go: Callable[[], None]) -> None:
        """Put the prepared file into the live one, in one transaction.

        `let_go` is called at the last moment before it, and gives the write lock free.
        """
        filesystem.make(self.settings)
        place = os.path.realpath(self.path)
        # Not with all the settings of other connections: they need a schema that can be read.
        with closing(apsw.Connection(place, flags=apsw.SQLITE_OPEN_READWRITE)) as live:
            live.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            live.set_busy_handler(Patience(self.settings.busy_seconds))
            try:
                mode = "delete" if filesystem.is_network(place) else "wal"
                if value(live, "PRAGMA journal_mode") != mode:
                    let_go()
                    use_journal(live, mode, self.settings.busy_seconds)
                live.execute(PRAGMAS).fetchall()
            except (apsw.CorruptError, apsw.NotADBError):
                let_go()
                live.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
                live.execute("VACUUM")
                live.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)
            with (
                closing(apsw.Connection(prepared, flags=apsw.SQLITE_OPEN_READWRITE)) as source,
                live.backup("main", source, "main") as backup,
            ):
                patience, tries = Patience(self.settings.busy_seconds), 0
                let_go()
                while not backup.done:
                    try:
                        backup.step(-1)
                    except (apsw.BusyError, apsw.LockedError):
                        if not patience(tries):
                            raise
                        tries += 1
            if rows(live, "PRAGMA quick_check(1)") != [("ok",)]:
                raise StorageFault(path=self.path, reason="what was written does not read back")
