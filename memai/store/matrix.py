"""Vectors in memory, most as int8, and which of them may be the nearest: sure to miss none."""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import TYPE_CHECKING, Any, NamedTuple

from memai import numeric

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from memai.store.sharing import Shared

    Products = list["Product"]

# Rows that are converted and multiplied at a time: a million rows of 256 take 33 ms so, 47 with
# 512 at a time, and 95 where all are kept as float32, which takes four times the memory.
_BLOCK = 4096
# Blocks that are kept as float32, 4 MB each: so half as many rows may be the nearest and are read,
# which saves a search of 10,000 memories 0.3 ms.
_PLAIN = 4
_ROUNDING = 1e-5  # what float32 loses in a product of 256 numbers, and more
OUT_OF_REACH = -3.0
"""A cosine below all others."""


class Vectors(NamedTuple):
    """Vectors as numbers, float32 or int8 (rows, dim), and of each its id, float32 scale and error.

    A vector is its numbers times its scale, but for less than the error in any product with a unit
    vector.
    """

    ids: NDArray[Any]
    numbers: NDArray[Any]
    scales: NDArray[Any]
    errors: NDArray[Any]


class Product(NamedTuple):
    """The cosines of some rows with a vector, and by how much each may be wrong."""

    ids: NDArray[Any]
    cosines: NDArray[Any]
    errors: NDArray[Any]


class Reach(NamedTuple):
    """Rows that may be the nearest, the likely first: their ids and what their cosines lie between.

    No other row has a cosine of the horizon or above; with all rows it is below every cosine.
    """

    ids: NDArray[Any]
    lows: NDArray[Any]
    highs: NDArray[Any]
    horizon: float


class Matrix:
    """The vectors of passages, found by the dot product with a unit vector.

    The first blocks are float32 where their rows were read so, the others are quantised. Rows are
    added in the order of their ids. Not safe to change from two threads at a time; asking meanwhile
    is.
    """

    def __init__(self, dim: int) -> None:
        numeric.prepare()
        import numpy as np

        self._np = np
        self.dim = dim
        self._blocks: list[_Block] = []
        self._spare: list[NDArray[Any]] = []
        self.last = 0
        """The highest id that was added."""

    def put(self, part: Vectors) -> None:
        """Add vectors with ids above `last`, ascending."""
        start, size = 0, part.ids.size
        while start < size:
            if not self._blocks or self._blocks[-1].filled == _BLOCK:
                plain = len(self._blocks) < _PLAIN and part.numbers.dtype == self._np.float32
                kind = self._np.float32 if plain else self._np.int8
                self._blocks.append(_Block(self._np, self.dim, kind))
            block = self._blocks[-1]
            end = min(size, start + _BLOCK - block.filled)
            block.put(Vectors(*(column[start:end] for column in part)))
            start = end
        if size:
            self.last = int(part.ids[-1])

    def forget(self, ids: Collection[int]) -> None:
        """Leave out rows that are no more."""
        gone = self._np.fromiter(ids, self._np.int64, len(ids))
        for block in self._blocks:
            dead = self._np.isin(block.ids, gone)
            if dead.any():
                block.clear(dead)

    def keep(self, listed: str) -> None:
        """Leave out all rows but those whose ids are listed, with commas between them."""
        left = self._np.fromstring(listed, self._np.int64, sep=",")
        for block in self._blocks:
            block.clear(~self._np.isin(block.ids, left))

    def products(self, vector: bytes) -> Shared:
        """Begin with the products of all rows with a unit vector, little-endian float32.

        In a second thread if there are many: a block is a piece. Its results are `Products`.
        """
        from memai.store import sharing  # a command that searches once does without

        query = self._np.frombuffer(vector, "<f4")
        # No more of the last block than there is now: later rows are not of this state of a store.
        pieces = [(block, block.filled) for block in self._blocks]
        work = sharing.Shared(lambda piece: self._product(piece[0], piece[1], query), pieces)
        if len(self._blocks) > 1:
            sharing.offer(work)
        return work

    def _product(self, block: _Block, size: int, query: NDArray[Any]) -> Product:
        filled = slice(size)
        rows = block.rows[filled]
        if rows.dtype == self._np.float32:
            cosines = (rows @ query) * block.scales[filled]
        else:
            # Kept for the next: 4 MB anew would cost a millisecond of page faults.
            try:
                floats = self._spare.pop()
            except IndexError:  # none, or other threads have them
                floats = self._np.empty((_BLOCK, self.dim), self._np.float32)
            self._np.copyto(floats[filled], rows)
            cosines = (floats[filled] @ query) * block.scales[filled]
            self._spare.append(floats)
        return Product(block.ids[filled], cosines, block.errors[filled])


def nearest(products: Products, width: int) -> Reach:
    """Return rows among which the `width` nearest to the vector of some products are."""
    import numpy as np

    horizon = OUT_OF_REACH
    ids: list[NDArray[Any]] = []
    lows: list[NDArray[Any]] = []
    highs: list[NDArray[Any]] = []
    held = 0
    for product in products:
        high = product.cosines + product.errors
        kept = np.flatnonzero(high >= horizon)
        if not kept.size:
            continue
        ids.append(product.ids[kept])
        highs.append(high[kept])
        lows.append(product.cosines[kept] - product.errors[kept])
        held += kept.size
        if held > 4 * width + _BLOCK // 2:
            ids, lows, highs, horizon = _pruned(np, ids, lows, highs, width, horizon)
            held = ids[0].size
    if not ids:
        none = np.empty(0)
        return Reach(none.astype(np.int64), none, none, OUT_OF_REACH)
    ids, lows, highs, horizon = _pruned(np, ids, lows, highs, width, horizon)
    order = np.argsort(-(lows[0] + highs[0]), kind="stable")
    return Reach(ids[0][order], lows[0][order], highs[0][order], horizon)


def plain(vectors: Sequence[tuple[int, bytes]], dim: int) -> Vectors:
    """Return (id, little-endian float32 unit vector) as they are."""
    import numpy as np

    ids = np.array([id for id, _ in vectors], np.int64)
    floats = np.frombuffer(b"".join(vector for _, vector in vectors), "<f4").reshape(-1, dim)
    with np.errstate(all="ignore"):
        # What is compared in the end, 1 - d * d / 2, is off by this where a length is not 1.
        errors = np.abs(np.square(floats).sum(axis=1) - 1) / 2 + _ROUNDING
    sound = np.isfinite(errors)
    if not sound.all():  # altered on the disk: no numbers, or too large to be multiplied
        floats = np.where(sound[:, None], floats, np.float32(0))
        errors[~sound] = 2 * OUT_OF_REACH
    return Vectors(ids, floats, np.ones(len(ids), np.float32), errors)


def quantised(part: Vectors) -> Vectors:
    """Return vectors that are float32 as int8.

    The length of what that loses is added to their errors: no product with a unit vector is wrong
    by more (Cauchy-Schwarz).
    """
    import numpy as np

    floats = part.numbers
    scales = np.maximum(np.abs(floats).max(axis=1), np.finfo(np.float32).tiny) / np.float32(127)
    numbers = np.rint(floats / scales[:, None])
    errors = np.linalg.norm(floats - numbers * scales[:, None], axis=1) + part.errors
    return Vectors(part.ids, numbers.astype(np.int8), scales, errors)


class _Block:
    """So many rows, filled in order; those that are gone are out of reach of every query."""

    def __init__(self, np: Any, dim: int, kind: Any) -> None:
        self._np = np
        self.ids: NDArray[Any] = np.zeros(_BLOCK, np.int64)
        # Of the system, not of malloc, which would leave holes of a third beside so many of them.
        memory = _memory(_BLOCK * dim * np.dtype(kind).itemsize)
        self.rows: NDArray[Any] = np.frombuffer(memory, kind).reshape(-1, dim)
        self.scales: NDArray[Any] = np.zeros(_BLOCK, np.float32)
        self.errors: NDArray[Any] = np.zeros(_BLOCK, np.float32)
        self.filled = 0

    def put(self, part: Vectors) -> None:
        """Fill rows."""
        if self.rows.dtype == self._np.int8 and part.numbers.dtype != self._np.int8:
            part = quantised(part)
        end = self.filled + part.ids.size
        rows = slice(self.filled, end)
        self.ids[rows], self.rows[rows], self.scales[rows], self.errors[rows] = part
        self.filled = end  # last: from here on the rows are seen

    def clear(self, rows: NDArray[Any]) -> None:
        """Take rows (a mask) out of reach."""
        self.errors[rows] = 2 * OUT_OF_REACH
        self.rows[rows] = 0


def _memory(size: int) -> mmap:
    return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)


def _pruned(
    np: Any,
    ids: list[NDArray[Any]],
    lows: list[NDArray[Any]],
    highs: list[NDArray[Any]],
    width: int,
    horizon: float,
) -> tuple[list[NDArray[Any]], list[NDArray[Any]], list[NDArray[Any]], float]:
    """Return what of some rows is still in reach, and how far the reach is."""
    all_ids, low, high = (np.concatenate(parts) for parts in (ids, lows, highs))
    if low.size <= width:
        return [all_ids], [low], [high], horizon
    horizon = float(np.partition(low, low.size - width)[low.size - width])
    kept = high >= horizon
    return [all_ids[kept]], [low[kept]], [high[kept]], horizon
