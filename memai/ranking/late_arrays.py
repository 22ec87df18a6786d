"""Late interaction as in `memai.ranking.late`, by numpy, for a process that has it anyway.

A hundred candidates with their neighbours take 1 ms instead of 6.
"""

from __future__ import annotations

from itertools import accumulate

from memai import numeric
from memai.lean import TYPE_CHECKING
from memai.ranking.late import BESIDE, BLOCK, NEAR

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    from numpy import float64
    from numpy.typing import NDArray

    from memai.ranking.late import Neighbours


def late_interaction(
    weights: Mapping[int, float],
    near: Mapping[int, Mapping[int, float]],
    memories: Mapping[int, array[int]],
    beside: Mapping[int, Neighbours],
) -> dict[int, float]:
    """Score memories as `late.late_interaction` does, to rounding; all must have tokens, uint16."""
    numeric.prepare()
    import numpy as np

    total = sum(weights.values())
    if not total > 0 or not beside:
        return dict.fromkeys(beside, 0.0)
    tokens = np.frombuffer(b"".join(memories.values()), np.uint16)
    sizes = [len(held) for held in memories.values()]
    ends = list(accumulate(sizes))
    starts = [
        start
        for end, size in zip(ends, sizes, strict=True)
        for start in range(end - size, end, BLOCK)
    ]
    blocks = np.maximum.reduceat(_gains(weights, near)[:, tokens], starts, axis=1).T
    counts = [-(-size // BLOCK) for size in sizes]
    spans = {
        id: (end - count, end)
        for id, count, end in zip(memories, counts, accumulate(counts), strict=True)
    }
    first: list[int] = []  # of each window its two blocks and whose it is
    second: list[int] = []
    owner: list[int] = []
    for place, id in enumerate(beside):
        begin, end = spans[id]
        most = max(begin + 1, end - 1)
        first += range(begin, most)
        second += range(begin + 1, most + 1) if end - begin > 1 else (begin,)
        owner += [place] * (most - begin)
    covered = np.maximum(blocks[first], blocks[second])
    covered = np.maximum(covered, _context(blocks, spans, beside)[owner])
    shares = np.fromiter(weights.values(), np.float64, len(weights)) / total
    windows = np.zeros(len(beside))
    np.maximum.at(windows, owner, covered @ shares)
    return dict(zip(beside, windows.tolist(), strict=True))


def _gains(
    weights: Mapping[int, float], near: Mapping[int, Mapping[int, float]]
) -> NDArray[float64]:
    """Return the cosine of each token of a query (rows) to each token there may be (columns)."""
    import numpy as np

    gains = np.zeros((len(weights), 1 << 16))
    for row, token in zip(gains, weights, strict=True):
        found = near.get(token)
        if found:
            row[np.fromiter(found, np.int64, len(found))] = np.fromiter(
                found.values(), np.float64, len(found)
            )
    gains[gains < NEAR] = 0.0
    return gains


def _context(
    blocks: NDArray[float64],
    spans: Mapping[int, tuple[int, int]],
    beside: Mapping[int, Neighbours],
) -> NDArray[float64]:
    """Return what the neighbours of each memory add to it for each token of a query."""
    import numpy as np

    given: list[int] = []
    share: list[float] = []
    owner: list[int] = []
    for place, neighbours in enumerate(beside.values()):
        for side, near_end in ((neighbours.before, slice(-2, None)), (neighbours.after, slice(2))):
            for step, id in enumerate(side, 1):
                nearest = range(*spans[id])[near_end]
                given += nearest
                share += [BESIDE**step] * len(nearest)
                owner += [place] * len(nearest)
    context = np.zeros((len(beside), blocks.shape[1]))
    if given:
        np.maximum.at(context, owner, blocks[given] * np.array(share)[:, None])
    return context
