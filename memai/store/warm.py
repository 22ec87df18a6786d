"""Meaning in a long-lived process: the nearest vectors by way of those in its memory.

They are never the judge: they name the passages that may be the nearest, and their rows in the
table decide. What the matrix of all vectors does not know yet is read before it is asked; what it
knows and is no more is noticed by its missing row. The vectors of a filter that leaves few memories
are kept besides, as long as nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memai.store import packed
from memai.store.columns import CURRENT_SPACE
from memai.store.matrix import Matrix, Product, plain
from memai.store.transactions import GENERATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memai.records import Where
    from memai.store.caches import Caches
    from memai.store.matrix import Products, Vectors
    from memai.store.nearest import Nearest

_KEPT = 4  # filters whose vectors are kept
_MOST = 6_000  # passages of one of them: 6 MB
_LEAST = 256  # passages below which a scan is as quick: 0.6 ms


class View:
    """The matrix of a store as one of its states sees it, and the vector of a query."""

    def __init__(self, matrix: Matrix, caches: Caches, vector: bytes) -> None:
        self.vector = vector
        self._matrix = matrix
        self._caches = caches
        self._changes = caches.changes
        self._forgotten = caches.forgotten
        self._begun = matrix.products(vector)

    def products(self) -> Products:
        """Return the products of all vectors with that of the query."""
        return self._begun.results()

    def forget(self, ids: Sequence[int]) -> bool:
        """Take out what this state of the store does not have; false if a newer one was seen."""
        with self._caches.lock:
            if not self._as_seen():
                return False
            self._matrix.forget(ids)
            self._caches.forgotten += 1
            self._forgotten = self._caches.forgotten
            return True

    def holds(self) -> bool:
        """Whether no other state has taken rows out since."""
        with self._caches.lock:
            return self._caches.forgotten == self._forgotten

    def _as_seen(self) -> bool:
        kept = self._caches
        return (
            kept.matrix is self._matrix
            and kept.changes == self._changes
            and (kept.forgotten == self._forgotten)
        )


class Narrow:
    """The vectors of the few memories of a filter, as one state sees them, and that of a query.

    Those of 500 memories of a million are on 500 pages, and take 3 ms to read.
    """

    def __init__(self, vectors: Vectors, vector: bytes) -> None:
        self.vector = vector
        self._vectors = vectors

    def products(self) -> Products:
        """Return the products of all vectors with that of the query."""
        import numpy as np

        ids, rows, scales, errors = self._vectors
        cosines = rows @ np.frombuffer(self.vector, "<f4") * scales
        return [Product(ids, cosines, errors)]

    def forget(self, ids: Sequence[int]) -> bool:  # noqa: ARG002
        """Do nothing: in this state of the store none are missing."""
        return False

    def holds(self) -> bool:
        """Whether it is still the same state: its vectors are kept for no other."""
        return True


def narrow(
    store: Nearest, where: Where, source: str, values: dict[str, Any], vector: bytes
) -> Narrow | None:
    """Return the vectors of a filter that leaves few, for one search, inside `reading`.

    None where there are none, or too many. `source` with its values gives their passages `p` and
    vectors `v`.
    """
    caches = store.caches()
    if caches is None:
        return None
    changes = int(store.meta("changes") or 0)
    with caches.lock:
        current = caches.renew_narrow(changes)
        asked = current and where in caches.narrow
        known = caches.narrow[where] if asked else None
    if not asked:
        rows = store.all(
            f"SELECT p.id, v.embedding FROM {source} AND v.embedding IS NOT NULL"
            " ORDER BY p.id LIMIT :most",
            {**values, "most": _MOST + 1},
        )
        fitting = len(rows) <= _MOST and {len(other) for _, other in rows} == {len(vector)}
        known = plain(rows, len(vector) // 4) if fitting else None
        with caches.lock:
            if caches.renew_narrow(changes):
                if len(caches.narrow) == _KEPT:
                    del caches.narrow[next(iter(caches.narrow))]
                caches.narrow[where] = known
    return Narrow(known, vector) if known is not None else None


def view(store: Nearest, vector: bytes) -> View | None:
    """Return the matrix of what the store sees now, for one search, inside `reading`.

    None while there is none. That it is compared with the vector begins at once.
    """
    caches = store.caches()
    if caches is None:
        return None
    known = dict(store.all("SELECT name, value FROM meta WHERE name IN ('changes', 'space')"))
    changes, space = int(known.get("changes", "0")), known.get("space")
    with caches.lock:
        caches.renew_narrow(changes)
        if changes < caches.changes and caches.matrix is not None:
            return None  # another thread has seen more than this one may
        if space != caches.space or changes - caches.changes >= GENERATION:
            caches.matrix, caches.complete, caches.space = None, False, space
        if changes != caches.changes or not caches.complete:
            _bring_up(store, caches)
            caches.changes = changes
        matrix = caches.matrix
        return View(matrix, caches, vector) if caches.complete and matrix is not None else None


def _bring_up(store: Nearest, caches: Caches) -> None:
    """Read what the matrix does not have yet, and forget at once what was purged."""
    if caches.matrix is None:
        rows = store.all(
            "SELECT s.dim, (SELECT max(passage_id) FROM vectors) FROM spaces s"
            f" WHERE s.id = {CURRENT_SPACE}"
        )
        if not rows or (rows[0][1] or 0) < _LEAST:
            return
        caches.matrix = Matrix(rows[0][0])
    matrix = caches.matrix
    caches.complete = False
    for part in packed.read(store, matrix.dim, matrix.last):
        matrix.put(part)
    caches.complete = True
    buried = store.one("SELECT count(*) FROM tombstones")
    if buried != caches.buried:
        matrix.keep(store.one("SELECT group_concat(passage_id) FROM vectors") or "")
        caches.buried, caches.forgotten = buried, caches.forgotten + 1
