"""Meaning in a long-lived process: the nearest vectors by way of a matrix in its memory.

The matrix is never the judge: it names the passages that may be the nearest, and their rows in the
table decide. What it does not know yet is read before it is asked; what it knows and is no more is
noticed by its missing row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memai.errors import Damaged
from memai.store.matrix import OUT_OF_REACH, Matrix
from memai.store.nearest import numbers
from memai.store.transactions import GENERATION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memai.records import Scored, Where
    from memai.store.caches import Caches
    from memai.store.nearest import Nearest

_LEAST = 4096  # passages below which a scan takes 3 ms and numpy is not worth its 25 MB
_PAGE = 4096  # vectors held as rows at a time: 4 MB
_GROWTH = 250_000  # vectors read in one search: 0.5 s, so that no single one waits for a million
_WIDEST = 65_536  # candidates beyond which reading all of a filter is quicker
_SPACE = "(SELECT value FROM meta WHERE name = 'space')"


class View:
    """The matrix of a store as one of its states sees it."""

    def __init__(self, matrix: Matrix, caches: Caches) -> None:
        self.matrix = matrix
        self._caches = caches
        self._changes = caches.changes
        self._forgotten = caches.forgotten

    def forget(self, ids: Sequence[int]) -> bool:
        """Take out what this state of the store does not have; false if a newer one was seen."""
        with self._caches.lock:
            if not self._as_seen():
                return False
            self.matrix.forget(ids)
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
            kept.matrix is self.matrix
            and kept.changes == self._changes
            and (kept.forgotten == self._forgotten)
        )


def view(store: Nearest) -> View | None:
    """Return the matrix of what the store sees now, inside `reading`; None while there is none."""
    caches = store.caches()
    if caches is None:
        return None
    known = dict(store.all("SELECT name, value FROM meta WHERE name IN ('changes', 'space')"))
    changes, space = int(known.get("changes", "0")), known.get("space")
    with caches.lock:
        if changes < caches.changes and caches.matrix is not None:
            return None  # another thread has seen more than this one may
        if space != caches.space or changes - caches.changes >= GENERATION:
            caches.matrix, caches.complete, caches.space = None, False, space
        if changes != caches.changes or not caches.complete:
            _bring_up(store, caches)
            caches.changes = changes
        matrix = caches.matrix
        return View(matrix, caches) if caches.complete and matrix is not None else None


def _bring_up(store: Nearest, caches: Caches) -> None:
    """Read what the matrix does not have yet, and forget at once what was purged."""
    if caches.matrix is None:
        rows = store.all(
            "SELECT s.dim, (SELECT max(passage_id) FROM vectors) FROM spaces s"
            f" WHERE s.id = {_SPACE}"
        )
        if not rows or (rows[0][1] or 0) < _LEAST:
            return
        caches.matrix = Matrix(rows[0][0])
    matrix = caches.matrix
    caches.complete = False
    for _ in range(0, _GROWTH, _PAGE):
        found = store.all(
            f"SELECT passage_id, embedding FROM vectors WHERE space_id = {_SPACE}"
            " AND passage_id > ? AND embedding IS NOT NULL ORDER BY passage_id LIMIT ?",
            (matrix.last, _PAGE),
        )
        if any(len(vector) != 4 * matrix.dim for _, vector in found):
            raise Damaged(path=store.path, reason="a vector in it has a wrong length")
        matrix.add(found)
        if len(found) < _PAGE:
            caches.complete = True
            break
    buried = store.one("SELECT count(*) FROM tombstones")
    if buried != caches.buried:
        matrix.keep(store.one("SELECT group_concat(passage_id) FROM vectors") or "")
        caches.buried, caches.forgotten = buried, caches.forgotten + 1


def nearest(
    store: Nearest, seen: View, vector: bytes, where: Where, limit: int
) -> list[Scored] | None:
    """Return memories by the cosine of their best passage; None where only a scan can tell."""
    width = limit + limit // 4  # where one in five is archived, one look will do
    products = seen.matrix.products(vector)
    while width <= _WIDEST:
        reach = seen.matrix.nearest(products, width)
        # The rows of the likely first say how far is far enough: that halves what is in reach.
        first, rest, horizon = reach.ids[:width], reach.ids[width:], reach.horizon
        compared = _compared(store, vector, first)
        if len(compared) == width:
            horizon = max(horizon, min(score for score, _ in compared))
            rest = rest[reach.highs[width:] >= horizon]
        compared += _compared(store, vector, rest)
        gone = {*first.tolist(), *rest.tolist()} - {id for _, id in compared}
        if gone:
            if not seen.forget(sorted(gone)):
                return None
            continue
        # What is at the horizon or nearer is all there; of what is behind it some is not.
        near = [(score, id) for score, id in compared if score >= horizon]
        found = store.joined(near, where)
        if len(found) >= limit or reach.horizon == OUT_OF_REACH:
            return found[:limit] if seen.holds() else None
        # So many more as would do if what is inside lay evenly.
        width = max(4 * width, int(1.3 * width * limit / max(1, len(found))))
    return None


def _compared(store: Nearest, vector: bytes, ids: Any) -> list[tuple[float, int]]:
    """Return (cosine, passage) of those passages that there are."""
    if not ids.size:  # an array of none cannot be bound
        return []
    by_itself = store.can_compare()
    measured = "vec_distance_l2(v.embedding, :vector)" if by_itself else "v.embedding"
    rows = store.all(
        f"SELECT {measured}, v.passage_id FROM carray(:ids) c"
        f" CROSS JOIN vectors v ON v.passage_id = c.value AND v.space_id = {_SPACE}",
        {"vector": vector, "ids": numbers(ids.tolist())},
    )
    if by_itself:
        return [(1 - d * d / 2, id) for d, id in rows]
    cosines = store.products([row[0] for row in rows], vector)
    return [(cosine, id) for cosine, (_, id) in zip(cosines, rows, strict=True)]
