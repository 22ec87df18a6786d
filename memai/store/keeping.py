"""The SQLite engine with writing."""

from __future__ import annotations

import apsw

from memai.errors import MemaiError
from memai.store.sqlite import SQLiteStore
from memai.store.writing import ERASE_PENDING, Writing


class KeepingStore(SQLiteStore, Writing):
    """A store that keeps memories."""

    def _after_commit(self) -> None:
        """Let the whole engine finish what a purge had to leave; the commit stands anyway."""
        try:
            pending = self.meta(ERASE_PENDING) is not None
        except (MemaiError, apsw.Error):
            return
        if pending:
            self._become("erase_traces")
            self._after_commit()
