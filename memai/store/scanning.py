"""All vectors compared with one, by as many connections as there are processors.

SQLite uses one processor for a connection, and apsw lets other threads run while it does. A million
vectors take 0.65 s of a processor however they are split.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from itertools import pairwise

from memai.helper import cores
from memai.lean import TYPE_CHECKING
from memai.store.columns import CURRENT_SPACE
from memai.store.driver import connect

if TYPE_CHECKING:
    from typing import Any

    from memai.store.nearest import Nearest

    Rows = list[tuple[float, int]]

PART = 10_000
"""Rows that take as long as opening a connection, five times over: 7 ms."""

_MOST = 4  # connections at a time: memory is as fast as it is
_SQL = (
    "SELECT vec_distance_l2(embedding, :vector) AS d, passage_id FROM vectors NOT INDEXED"
    " WHERE rowid > :after AND rowid <= :last AND embedding IS NOT NULL"
    f" AND space_id = {CURRENT_SPACE}"
    " ORDER BY d NULLS LAST, passage_id LIMIT :width"  # no number: altered on the disk
)
_CHANGES = "SELECT value FROM meta WHERE name = 'changes'"


def nearest(store: Nearest, vector: bytes, width: int) -> Rows:
    """Return (distance, passage) of the nearest passages, at most `width`, the nearest first.

    Inside `reading`.
    """
    values: dict[str, Any] = {"vector": vector, "width": width}
    last = int(store.one("SELECT max(rowid) FROM vectors") or 0)
    count = min(cores(), last // PART, _MOST) if store.shareable() else 1
    edges = [last * place // max(1, count) for place in range(max(1, count) + 1)]
    parts = [{**values, "after": after, "last": end} for after, end in pairwise(edges)]
    helpers = [_Helper(store, part) for part in parts[:-1]]
    found: Rows = store.all(_SQL, parts[-1])
    for helper, part in zip(helpers, parts, strict=False):
        rows = helper.wait()
        found += store.all(_SQL, part) if rows is None else rows
    found = [row for row in found if row[0] is not None]
    return sorted(found)[:width] if helpers else found


class _Helper:
    """A thread with a connection of its own that looks through a part of the vectors."""

    def __init__(self, store: Nearest, part: dict[str, Any]) -> None:
        self._place = store.path, store.settings.busy_seconds
        self._load = store.load_comparing
        self._changes = store.all(_CHANGES)
        self._part = part
        self._rows: Rows | None = None
        self._done = allocate_lock()
        self._done.acquire()
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # no more threads: the caller does it
            self._done.release()

    def wait(self) -> Rows | None:
        """Return what was found; None where it could not be done, or not in the same state."""
        with self._done:
            return self._rows

    def _run(self) -> None:
        try:
            connection = connect(*self._place)
            try:
                if self._load(connection):
                    connection.execute("BEGIN")
                    if connection.execute(_CHANGES).fetchall() == self._changes:
                        found: Any = connection.execute(_SQL, self._part).fetchall()
                        self._rows = found
            finally:
                connection.close(True)
        except Exception:  # noqa: BLE001 - the caller meets the same, and says what it is
            self._rows = None
        finally:
            self._done.release()
