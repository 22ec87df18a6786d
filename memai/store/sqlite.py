"""The SQLite engine: one file, put together from its parts as they are asked for.

`connection` opens the file, `rows` reads memories: with these a store begins. Its other rooms take
longer to import than a list takes altogether, so it becomes more when a method is called that it
lacks: as `keeping` it writes, as `finding` it searches, as `whole` it does all that an engine must.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING
from memai.store.rows import Rows

if TYPE_CHECKING:
    from typing import Any

# Methods by which a store becomes one that writes.
WRITES = frozenset(
    ("change", "insert", "put_passage", "put_vector", "relate", "set_meta", "unrelate", "writing")
)


class SQLiteStore(Rows):
    """A store in one SQLite file; see `memai.store.Store` for what it promises."""

    def __getattr__(self, name: str) -> Any:
        """Become what has this method; only what is not there is looked for here."""
        if name.startswith("__") or not self._become(name):
            raise AttributeError(f"a store has no '{name}'")
        return getattr(self, name)

    def _become(self, name: str) -> bool:
        """Become the smallest class that has this method; false if there is none."""
        larger: type[SQLiteStore]
        if name in WRITES:
            from memai.store.keeping import KeepingStore

            larger = KeepingStore
        else:
            from memai.store.finding import FindingStore

            larger = FindingStore
        if not (hasattr(larger, name) and issubclass(larger, type(self))):
            from memai.store.whole import WholeStore

            larger = WholeStore
        if isinstance(self, larger) or not hasattr(larger, name):
            return False
        self.__class__ = larger
        return True
