"""How purged bytes leave the disk: deleted cells are zeroed, then the log is folded in and emptied.

While another process reads, the log must stay; then the store remembers that it is to be emptied,
and the next write or close finishes it.
"""

import os
from contextlib import suppress

import apsw

from memai.errors import Busy, MemaiError
from memai.store.driver import Patience, rows
from memai.store.writing import ERASE_PENDING, Writing

# How long a purge waits for readers before it says that they keep the bytes.
_SECONDS = 2.0


class Erasing(Writing):
    """Removal that means what it says."""

    _unfinished = False

    def remove(self, uid: str, at: str) -> None:
        """Remove a memory with all that hangs on it, and leave a tombstone.

        The remark that bytes are still to be erased is kept in the same transaction, so that being
        killed now does not leave them.
        """
        self._remove(uid, at)
        self.set_meta(ERASE_PENDING, f"{at} {os.urandom(4).hex()}")

    def erase_traces(self) -> bool:
        """Make removed bytes leave the disk; false while another process still holds them.

        Raises NoSpace, StorageFault.
        """
        try:
            return self._erase(min(_SECONDS, self.settings.busy_seconds))
        except Busy:  # the removal itself is kept: not an error that changed nothing
            return False

    def erasing_since(self) -> str | None:
        """Return since when bytes of purged memories wait to leave the disk, None for none."""
        pending = self.meta(ERASE_PENDING)
        return None if pending is None else pending.partition(" ")[0]

    def close(self) -> None:
        """Close what is open, after a last attempt to finish a purge."""
        if self._unfinished and self._file is not None:
            with suppress(MemaiError, apsw.Error):
                self._erase(0)
        super().close()

    def _after_commit(self) -> None:
        """Finish what a purge had to leave; the commit stands whatever happens here."""
        with suppress(MemaiError, apsw.Error):
            if not self._unfinished and self.meta(ERASE_PENDING) is not None:
                self._unfinished = True
                self._erase(0)

    def _erase(self, seconds: float) -> bool:
        """Fold the log into the file and empty it, so that no old page stays in it."""
        pending = self.meta(ERASE_PENDING)
        if pending is None:
            self._unfinished = False
            return True
        self._unfinished = True
        if not self._empty_log(seconds):
            return False
        with self.writing():
            if self.meta(ERASE_PENDING) == pending:  # and no other purge has begun meanwhile
                self.set_meta(ERASE_PENDING, None)
        self._unfinished = False
        return True

    def _empty_log(self, seconds: float) -> bool:
        """Fold the log into the file and empty it; false while others use it."""
        connection = self.raw()
        with self._translated:
            connection.set_busy_handler(Patience(seconds))
            try:
                # TRUNCATE takes the write lock first: never PASSIVE, which old engines must not
                # run beside two writers.
                busy = rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")[0][0]
            except apsw.BusyError:
                busy = 1
            finally:
                connection.set_busy_handler(Patience(self.settings.busy_seconds))
        return not busy
