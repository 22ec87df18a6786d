"""The SQLite engine: one file, put together from its parts as they are asked for.

`connection` opens and locks, `rows` keeps memories: with these a store begins. Its other rooms take
as long to import as a short command takes altogether, so it becomes more when a method is called
that it lacks: as `finding` it searches, as `whole` it does all that an engine must.
"""

from __future__ import annotations

import apsw

from memai.errors import MemaiError
from memai.lean import TYPE_CHECKING
from memai.store.rows import ERASE_PENDING, Rows

if TYPE_CHECKING:
    from typing import Any


class SQLiteStore(Rows):
    """A store in one SQLite file; see `memai.store.Store` for what it promises."""

    def __getattr__(self, name: str) -> Any:
        """Become what has this method; only what is not there is looked for here."""
        if name.startswith("__") or not self._become(name):
            raise AttributeError(f"a store has no '{name}'")
        return getattr(self, name)

    def _become(self, name: str) -> bool:
        """Become the smallest class that has this method; false if there is none."""
        from memai.store.finding import FindingStore

        larger: type[SQLiteStore] = FindingStore
        if not hasattr(larger, name):
            from memai.store.whole import WholeStore

            larger = WholeStore
        if isinstance(self, larger) or not hasattr(larger, name):
            return False
        self.__class__ = larger
        return True

    def _after_commit(self) -> None:
        """Let the whole engine finish what a purge had to leave; the commit stands anyway."""
        try:
            pending = self.meta(ERASE_PENDING) is not None
        except (MemaiError, apsw.Error):
            return
        if pending:
            self._become("erase_traces")
            self._after_commit()
