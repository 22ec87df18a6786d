"""The SQLite engine with search."""

from memai.store.retrieval import Retrieval
from memai.store.sqlite import SQLiteStore


class FindingStore(SQLiteStore, Retrieval):
    """A store that finds memories by words and by meaning."""
