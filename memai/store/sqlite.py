"""The SQLite engine: one file, put together from its parts.

`connection` opens and locks, `rows` keeps memories, `retrieval` finds them, `upkeep` looks after
the whole; each builds on the one before.
"""

from memai.store.upkeep import Upkeep


class SQLiteStore(Upkeep):
    """A store in one SQLite file; see `memai.store.Store` for what it promises."""
