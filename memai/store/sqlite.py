"""The SQLite engine: one file, put together from its parts.

`connection` opens and locks, `rows` keeps memories, `retrieval` finds them, `spaces` looks after
their vectors; `exchange` takes and gives many at once; `checks`, `erasing`, `surroundings`,
`upkeep` and `recovering` look after the whole, `others` reads stores that are not this one.
"""

from memai.store.exchange import Exchange
from memai.store.others import Others
from memai.store.retrieval import Retrieval
from memai.store.spaces import Spaces
from memai.store.surroundings import Surroundings


class SQLiteStore(Others, Surroundings, Exchange, Spaces, Retrieval):
    """A store in one SQLite file; see `memai.store.Store` for what it promises."""
