"""Meaning in SQLite: the nearest vectors, by sqlite-vec's functions over an ordinary table.

Vectors are unit length, so the distance d between two of them gives their order and their cosine,
1 - d * d / 2; it costs three quarters of the cosine itself.
"""

from __future__ import annotations

import os
import sys
from array import array

import apsw

from memai import numeric
from memai.lean import TYPE_CHECKING
from memai.records import Scored, Where
from memai.store.columns import CURRENT_SPACE, condition
from memai.store.rows import Rows
from memai.store.transactions import Snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from memai.store.rescoring import Seen

_VECTORS = f"vectors v ON v.passage_id = p.id AND v.space_id = {CURRENT_SPACE}"
# In this order: a filter is applied before any vector is read.
_JOINED = f"memories m CROSS JOIN passages p ON p.memory_id = m.id CROSS JOIN {_VECTORS}"
_LISTED = (
    f"carray(:ids) j CROSS JOIN passages p ON p.memory_id = j.value CROSS JOIN {_VECTORS} WHERE 1"
)
_NARROW = 5_000  # memories of a filter that are scored one by one: 5 microseconds each, when new
_COLD = 2  # searches of a process before numpy and a matrix are worth it: a command makes one
_WIDTH = 4  # nearest passages that are looked at for each memory that is wanted


class Nearest(Rows, Snapshots):
    """What is nearest to a vector, exactly."""

    searches = 0
    """How many there were in this process, of any store."""

    _filtered: tuple[Any, list[int] | None] | None = None
    _cosine_connection: apsw.Connection | None = None
    _cosine_loaded = False

    def by_meaning(self, vector: bytes, where: Where, limit: int) -> list[Scored]:
        """Return memories by the cosine of their best passage, best first, exact, ties by id."""
        with self.reading():  # what is kept of a filter belongs to the state it was read in
            return self._nearest(vector, where, limit, self._seen(vector, where))

    def closest(self, vector: bytes, ids: Sequence[int]) -> dict[int, Scored]:
        """Return the best passage of each of these memories with its cosine."""
        return _best_of_each(self._compared(_LISTED, {"ids": numbers(ids)}, vector))

    def first_vectors(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the vector of the first passage of each of these memories that has one."""
        sql = f'SELECT p.memory_id, v.embedding FROM {_LISTED} AND p."start" = 0'
        return dict(self.all(f"{sql} AND v.embedding IS NOT NULL", {"ids": numbers(ids)}))

    def cosines(
        self, rows: tuple[bytes, ...], among: tuple[bytes, ...], at_least: float
    ) -> list[tuple[int, int, float]] | None:
        """Return (row, other, cosine) for the int8 vectors whose cosine is at least that.

        None without the extension. 8 times 3,000 rows take 8 ms; with numpy 0.4, after 80 for its
        import.
        """
        if not self._load_cosine():
            return None
        if not rows or not among:
            return []
        # An array is bound once for all: numbers of rows come from 1.
        return self.all(
            "SELECT a.rowid - 1, b.rowid - 1, 1 - vec_distance_cosine(vec_int8(b.value),"
            " vec_int8(a.value)) AS cosine FROM carray(?) a, carray(?) b WHERE cosine >= ?",
            (apsw.carray(rows), apsw.carray(among), at_least),
        )

    def measured(
        self, columns: str, source: str, values: dict[str, Any], vector: bytes
    ) -> list[tuple[float, Any]]:
        """Return each vector `v` of a source with its cosine and a row.

        The columns asked for stand second in it and behind.
        """
        by_itself = self._load_cosine()
        measure = "vec_distance_l2(v.embedding, :vector)" if by_itself else "v.embedding"
        rows = self.all(f"SELECT {measure}, {columns} FROM {source}", {**values, "vector": vector})
        rows = [row for row in rows if row[0] is not None]  # no number: altered on the disk
        if by_itself:
            return [(1 - row[0] * row[0] / 2, row) for row in rows]
        products = self.products([row[0] for row in rows], vector)
        return [both for both in zip(products, rows, strict=True) if both[0] == both[0]]

    def products(self, vectors: Sequence[bytes], vector: bytes) -> list[float]:
        """Return the dot products of float32 vectors with one of them, by numpy."""
        numeric.prepare()
        import numpy as np

        if not vectors:
            return []
        matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
        # Row by row the same additions, so that equal vectors have equal products: BLAS would not.
        with np.errstate(all="ignore"):  # what was altered on the disk may be no number
            products = np.einsum("ij,j->i", matrix, np.frombuffer(vector, "<f4"))
        found: list[float] = products.tolist()
        return found

    def _seen(self, vector: bytes, where: Where) -> Seen | None:
        """Return all vectors as there is a quick way to compare them, for one search.

        None for by their rows, and where a filter leaves few.
        """
        Nearest.searches += 1
        again = Nearest.searches > _COLD
        if again and "numpy" not in sys.modules:
            numeric.prepare()  # what ranks words and reads tokens looks whether it is there
        if self._inside(where) is not None:
            return None
        if again:
            from memai.store import warm

            return warm.view(self, vector)
        if self.one("SELECT 1 FROM packed LIMIT 1") is None:
            return None
        from memai.store import packed

        return packed.view(self, vector)

    def _nearest(self, vector: bytes, where: Where, limit: int, seen: Seen | None) -> list[Scored]:
        """Return what `by_meaning` does, of all vectors as they are seen."""
        inside = self._inside(where)
        if inside is not None:
            return self._narrow(vector, where, inside, limit)
        found = None
        if seen is not None:
            from memai.store import rescoring

            found = rescoring.nearest(self, seen, where, limit)
        elif self._load_cosine():
            found = self._scan(vector, where, limit)
        if found is None:
            sql, values = condition(where)
            found = self._best(f"{_JOINED} WHERE {sql}", values, vector, limit)
        return found

    def _narrow(self, vector: bytes, where: Where, inside: list[int], limit: int) -> list[Scored]:
        """Look among the few memories of a filter."""
        values = {"ids": numbers(inside)}
        if Nearest.searches > _COLD:
            from memai.store import rescoring, warm

            seen = warm.narrow(self, where, _LISTED, values, vector)
            if seen is not None:
                found = rescoring.nearest(self, seen, where, limit)
                if found is not None:
                    return found
        return self._best(_LISTED, values, vector, limit)

    def _inside(self, where: Where) -> list[int] | None:
        """Return the memories of a filter by id, if it leaves so few that none else need be read.

        None for more. Words and meaning ask the same within a search.
        """
        if where._replace(current=True) == Where():
            return None
        state = self.shareable() and (where, self.raw(), self.meta("changes"))
        if state and self._filtered is not None and self._filtered[0] == state:
            return self._filtered[1]
        sql, values = condition(where)
        listed = f"SELECT m.id FROM memories m WHERE {sql} LIMIT :narrow"
        rows = self.all(listed, {**values, "narrow": _NARROW})
        found = sorted([row[0] for row in rows]) if len(rows) < _NARROW else None
        self._filtered = (state, found)
        return found

    def _scan(self, vector: bytes, where: Where, limit: int) -> list[Scored] | None:
        """Read the vectors of all passages and join the nearest; None if those are too few.

        100,000 vectors take 65 ms; joined before they are compared, 450.
        """
        from memai.store import scanning

        width = _WIDTH * limit
        with self.reading():
            near = [(1 - d * d / 2, id) for d, id in scanning.nearest(self, vector, width)]
            found = self.joined(near, where)[:limit]
        # What was not looked at is no nearer than the last; at the same distance ids decide.
        if len(near) < width or (len(found) == limit and found[-1].score > near[-1][0]):
            return found
        return None

    def joined(self, near: Sequence[tuple[float, int]], where: Where) -> list[Scored]:
        """Return the memories of a filter by the best of these passages, best first, ties by id.

        `near` are (cosine, passage).
        """
        sql, values = condition(where)
        scores = {passage: score for score, passage in near}
        best: dict[int, Scored] = {}
        for passage, id, start, end in self.all(
            'SELECT p.id, p.memory_id, p."start", p."end" FROM carray(:ids) c'
            " CROSS JOIN passages p ON p.id = c.value"
            f" CROSS JOIN memories m ON m.id = p.memory_id WHERE {sql}",
            {**values, "ids": numbers(scores)},
        ):
            score = scores[passage]
            if id not in best or score > best[id].score:
                best[id] = Scored(id, score, start, end)
        return sorted(best.values(), key=lambda scored: (-scored.score, scored.id))

    def _best(self, source: str, values: dict[str, Any], vector: bytes, limit: int) -> list[Scored]:
        """Return the best passage of each memory of a source, best first."""
        if not self._load_cosine():
            best = _best_of_each(self._compared(source, values, vector)).values()
            return sorted(best, key=lambda scored: (-scored.score, scored.id))[:limit]
        rows = self.all(
            # With a bare min(), SQLite takes the other columns from the row of the minimum.
            'SELECT p.memory_id, min(vec_distance_l2(v.embedding, :vector)), p."start", p."end"'
            f" FROM {source} AND v.embedding IS NOT NULL"
            " GROUP BY p.memory_id HAVING min(vec_distance_l2(v.embedding, :vector)) IS NOT NULL"
            " ORDER BY 2, 1 LIMIT :limit",
            {**values, "vector": vector, "limit": limit},
        )
        return [Scored(id, 1 - d * d / 2, start, end) for id, d, start, end in rows]

    def _compared(self, source: str, values: dict[str, Any], vector: bytes) -> list[Scored]:
        """Return every passage of a source with its cosine."""
        source += " AND v.embedding IS NOT NULL"
        found = self.measured('p.memory_id, p."start", p."end"', source, values, vector)
        return [Scored(row[1], cosine, row[2], row[3]) for cosine, row in found]

    def _load_cosine(self) -> bool:
        """Load sqlite-vec's functions into the open connection; false where that cannot be."""
        connection = self.raw()
        if self._cosine_connection is not connection:
            self._cosine_connection = connection
            self._cosine_loaded = self.load_comparing(connection)
        return self._cosine_loaded

    @staticmethod
    def load_comparing(connection: apsw.Connection) -> bool:
        """Load sqlite-vec's functions into a connection; false where that cannot be."""
        path = _vec_path()
        if path is None or os.environ.get("MEMAI_NO_SQLITE_VEC") == "1":
            return False
        try:
            connection.enable_load_extension(True)
            connection.load_extension(path)
        except apsw.Error:
            return False  # numpy gives the same results, more slowly
        finally:
            connection.enable_load_extension(False)
        return True


def _best_of_each(passages: Iterable[Scored]) -> dict[int, Scored]:
    """Return the best passage of each memory."""
    best: dict[int, Scored] = {}
    for one in passages:
        if one.id not in best or one.score > best[one.id].score:
            best[one.id] = one
    return best


def numbers(ids: Iterable[int]) -> Any:
    """Return ids as a statement takes them.

    Ascending, so that they are looked up in the fewest pages. An array of none cannot be bound: in
    its place stands 0, which is no id.
    """
    return apsw.carray(array("q", sorted(ids) or [0]), flags=apsw.SQLITE_CARRAY_INT64)


def _vec_path() -> str | None:
    """Return the path of sqlite-vec's library; importing the package would import numpy."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        return None
    return os.path.join(next(iter(spec.submodule_search_locations)), "vec0")
