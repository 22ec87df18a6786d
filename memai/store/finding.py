"""The SQLite engine with search."""

from memai.store.retrieval import Retrieval
from memai.store.sqlite import SQLiteStore
from memai.store.transactions import Snapshots


class FindingStore(SQLiteStore, Retrieval, Snapshots):
    """A store that finds memories by words and by meaning."""
