"""Vectors once more, packed as int8: what a large store is looked through by.

A million vectors are 1.4 GB of rows, and 270 MB of blocks. A block is a cache: triggers keep it in
step with the rows, what is in none is read from its row, and nothing but time is lost without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memai import numeric
from memai.errors import Damaged
from memai.store.columns import CURRENT_SPACE
from memai.store.matrix import Product, Vectors, plain, quantised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from memai.store.connection import Connection
    from memai.store.matrix import Products

BLOCK = 1024
"""Passages of a block, by id: an edit writes one, of 270 KB. The triggers know the number too."""

_ROWS = (
    f"SELECT passage_id, embedding FROM vectors WHERE space_id = {CURRENT_SPACE}"
    " AND passage_id > ? AND passage_id < ? AND embedding IS NOT NULL ORDER BY passage_id LIMIT ?"
)


def read(store: Connection, dim: int, after: int) -> Iterator[Vectors]:
    """Yield all vectors of passages behind one, inside `reading`; raises Damaged.

    What is yielded must be used before the next is asked for.
    """
    numeric.prepare()
    import numpy as np

    blocks = store.all(
        "SELECT block, rowid, length(rows) FROM packed"
        f" WHERE space_id = {CURRENT_SPACE} AND block >= ? ORDER BY block",
        ((after + 1) // BLOCK,),
    )
    rows = np.empty(BLOCK, _row(dim))
    if any(size != rows.nbytes for _, _, size in blocks):
        raise Damaged(path=store.path, reason="packed vectors in it have a wrong length")
    for block, place, _ in blocks:
        yield from _unpacked(store, dim, after, block * BLOCK)
        # Into the same memory again and again: half of the time went to pages new to the process.
        store.read_blob("packed", "rows", place, rows)
        yield _unpack(rows, after, block)
        after = (block + 1) * BLOCK - 1
    yield from _unpacked(store, dim, after, 1 << 62)


def _unpacked(store: Connection, dim: int, after: int, end: int) -> Iterator[Vectors]:
    """Yield the vectors between two passages from their rows."""
    while after + 1 < end:
        rows = store.all(_ROWS, (after, end, BLOCK))
        if any(len(vector) != 4 * dim for _, vector in rows):
            raise Damaged(path=store.path, reason="a vector in it has a wrong length")
        if rows:
            yield plain(rows, dim)
        if len(rows) < BLOCK:
            break
        after = rows[-1][0]


def _unpack(rows: NDArray[Any], after: int, block: int) -> Vectors:
    """Return the vectors of a block that are of passages behind one."""
    import numpy as np

    ids = np.arange(block * BLOCK, (block + 1) * BLOCK)
    kept = (rows["scale"] > 0) & (ids > after)
    if not kept.all():  # all of them is the rule, and copying costs as much as reading
        ids, rows = ids[kept], rows[kept]
    return Vectors(ids, rows["numbers"], rows["scale"], rows["error"])


def pack(vectors: Sequence[tuple[int, bytes]], dim: int) -> bytes:
    """Return a block of (passage, little-endian float32 vector)."""
    numeric.prepare()
    import numpy as np

    rows = np.zeros(BLOCK, _row(dim))
    if vectors:
        ids, *parts = quantised(plain(vectors, dim))
        for name, part in zip(("numbers", "scale", "error"), parts, strict=True):
            rows[name][ids % BLOCK] = part
    return rows.tobytes()


def alike(block: bytes, other: bytes, dim: int) -> bool:
    """Whether two blocks are the same but for how machines add up errors."""
    import numpy as np

    if not isinstance(block, bytes) or len(block) != len(other):
        return False
    one, two = (np.frombuffer(packed, _row(dim)) for packed in (block, other))
    same = all(np.array_equal(one[name], two[name]) for name in ("numbers", "scale"))
    return same and np.allclose(one["error"], two["error"], rtol=0, atol=1e-6)


def _row(dim: int) -> Any:
    import numpy as np

    return np.dtype([("numbers", "i1", (dim,)), ("scale", "<f4"), ("error", "<f4")])


class View:
    """The vectors of one state of a store, read anew for each product, and that of a query.

    A million take 0.1 s, and no memory.
    """

    def __init__(self, store: Connection, dim: int, vector: bytes) -> None:
        self.vector = vector
        self._store = store
        self._dim = dim

    def products(self) -> Products:
        """Return the products of all vectors with that of the query."""
        numeric.prepare()
        import numpy as np

        query = np.frombuffer(self.vector, "<f4")
        floats = np.empty((BLOCK, self._dim), np.float32)
        found = []
        for ids, numbers, scales, errors in read(self._store, self._dim, 0):
            part = floats[: ids.size]
            np.copyto(part, numbers)
            # Errors are those of the next block by the time they are looked at, unless copied.
            found.append(Product(ids, (part @ query) * scales, errors.copy()))
        return found

    def forget(self, ids: Sequence[int]) -> bool:  # noqa: ARG002
        """Do nothing: what is packed and is no more would be damage."""
        return False

    def holds(self) -> bool:
        """Whether this is still the state that was looked at: inside `reading` it is."""
        return True


def view(store: Connection, vector: bytes) -> View | None:
    """Return a view of a store that is packed for the greater part, for one search; else None."""
    rows = store.all(
        f"SELECT s.dim, (SELECT count(*) FROM packed WHERE space_id = s.id),"
        f" (SELECT max(id) FROM passages) FROM spaces s WHERE s.id = {CURRENT_SPACE}"
    )
    if not rows or not rows[0][1] or 2 * BLOCK * rows[0][1] < rows[0][2]:
        return None
    return View(store, rows[0][0], vector)
