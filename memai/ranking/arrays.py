"""Late interaction in arrays: what `memai.ranking.late` says, for processes that have numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memai import numeric
from memai.ranking.late import BESIDE, BLOCK, NEAR, Texts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from memai.ranking.late import Neighbours

_TOKENS = 1 << 16


class ArrayTexts(Texts):
    """The tokens of memories, joined: 100 memories and their neighbours take 2 ms, without 20."""

    def __init__(self, memories: Mapping[int, bytes]) -> None:
        numeric.prepare()
        import numpy as np

        self._np = np
        self._place = {id: place for place, id in enumerate(memories)}
        self._joined = np.frombuffer(b"".join(memories.values()), np.uint16)
        self._sizes = np.fromiter(map(len, memories.values()), np.int64, len(memories)) // 2
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._last: Any = None

    def holds(self, id: int) -> bool:
        """See `Texts.holds`."""
        return id in self._place and bool(self._sizes[self._place[id]])

    def of(self, id: int) -> Sequence[int]:
        """See `Texts.of`."""
        if id not in self._place:
            return ()
        start = self._starts[self._place[id]]
        tokens: list[int] = self._joined[start : start + self._sizes[self._place[id]]].tolist()
        return tokens

    def distinct(self) -> list[int]:
        """See `Texts.distinct`."""
        present = self._np.zeros(_TOKENS, bool)
        present[self._joined] = True
        found: list[int] = self._np.flatnonzero(present).tolist()
        return found

    def frequencies(self, tokens: Collection[int], ids: Collection[int]) -> dict[int, int]:
        """See `Texts.frequencies`."""
        np = self._np
        number = np.zeros(_TOKENS, np.int64)
        order = list(tokens)
        number[order] = np.arange(1, len(order) + 1)
        numbers = number[self._joined]
        at = np.flatnonzero(numbers > 0)  # of bool it is five times quicker
        memory = np.repeat(np.arange(self._sizes.size), self._sizes)[at]
        held = np.zeros((self._sizes.size, len(order) + 1), bool)
        held[memory, numbers[at]] = True
        counts = held[self._places(ids)].sum(axis=0)[1:].tolist()
        return dict(zip(order, counts, strict=True))

    def interaction(
        self,
        weights: Mapping[int, float],
        near: Mapping[int, Mapping[int, float]],
        beside: Mapping[int, Neighbours],
    ) -> dict[int, float]:
        """See `Texts.interaction`."""
        np = self._np
        ids = list(beside)
        shares = np.fromiter(weights.values(), np.float64, len(weights))
        if not ids or not shares.sum() > 0:
            return dict.fromkeys(ids, 0.0)
        shares /= shares.sum()
        order = list(weights)
        # Asked twice, with other weights: what is near stays the same object.
        if self._last is None or self._last[0] is not near or self._last[1] != order:
            self._last = (near, order, self._blocks(order, near))
        rows, firsts, counts = self._last[2]
        places = self._places(ids)
        first, count = firsts[places], counts[places]
        memory = np.repeat(np.arange(len(ids)), count)
        begins = np.cumsum(count) - count
        block = np.arange(memory.size) - begins[memory] + first[memory]
        ends = block + 1 == (first + count)[memory]
        window = np.maximum(rows[block], rows[np.where(ends, -1, block + 1)])
        # The last block of several is the second of the window before, and not one by itself.
        single = count[memory] == 1
        window[ends & ~single] = 0
        np.maximum(window, self._context(beside, rows, firsts, counts)[memory], out=window)
        window[ends & ~single] = 0
        best = np.maximum.reduceat(window @ shares, begins)
        return dict(zip(ids, best.tolist(), strict=True))

    def _places(self, ids: Collection[int]) -> NDArray[Any]:
        places: NDArray[Any] = self._np.array([self._place[id] for id in ids], self._np.int64)
        return places

    def _blocks(
        self, order: list[int], near: Mapping[int, Mapping[int, float]]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the best cosine of each block to each query token, and whose the blocks are.

        That is (blocks + 1, query tokens), the last row zero; the first block of each memory, and
        how many it has, one at least.
        """
        np = self._np
        number = np.zeros(_TOKENS, np.int32)
        # As precise as cosines are; float64 would take twice the time.
        gains = np.zeros((1 + sum(map(len, near.values())), len(order)), np.float32)
        known = 0
        for place, token in enumerate(order):
            others = near.get(token)
            if not others:
                continue
            ids = np.fromiter(others, np.int64, len(others))
            cosines = np.fromiter(others.values(), np.float32, len(others))
            fresh = ids[number[ids] == 0]
            number[fresh] = np.arange(known + 1, known + 1 + fresh.size)
            known += fresh.size
            gains[number[ids], place] = np.where(cosines >= NEAR, cosines, 0)
        counts = np.maximum(1, -(-self._sizes // BLOCK))
        firsts = np.cumsum(counts) - counts
        rows = np.zeros((int(counts.sum()) + 1, len(order)))
        numbers = number[self._joined]
        at = np.flatnonzero(numbers > 0)  # of bool it is five times quicker
        if at.size:
            memory = np.repeat(np.arange(counts.size), self._sizes)[at]
            block = firsts[memory] + (at - self._starts[memory]) // BLOCK
            begins = np.flatnonzero(np.diff(block, prepend=-1))
            rows[block[begins]] = np.maximum.reduceat(gains.take(numbers[at], 0), begins, axis=0)
        return rows, firsts, counts

    def _context(
        self,
        beside: Mapping[int, Neighbours],
        rows: NDArray[Any],
        firsts: NDArray[Any],
        counts: NDArray[Any],
    ) -> NDArray[Any]:
        """Return what neighbours add to each memory, (memories, query tokens)."""
        np = self._np
        context: NDArray[Any] = np.zeros((len(beside), rows.shape[1]))
        reach = max((len(side) for both in beside.values() for side in both), default=0)
        for step in range(reach):
            for side in (0, 1):
                there = [
                    (place, self._place[both[side][step]])
                    for place, both in enumerate(beside.values())
                    if len(both[side]) > step
                ]
                if not there:
                    continue
                place, other = np.array(there).T
                one, two = firsts[other], counts[other] - 1
                # The two blocks nearest to the memory: the last before it, the first after it.
                two = one + np.minimum(two, 1) if side else one + np.maximum(two - 1, 0)
                one = one if side else firsts[other] + counts[other] - 1
                said = BESIDE ** (step + 1) * np.maximum(rows[one], rows[two])
                context[place] = np.maximum(context[place], said)
        return context
