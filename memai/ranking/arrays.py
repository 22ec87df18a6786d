"""Late interaction in arrays: what `memai.ranking.late` says, for processes that have numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memai import numeric
from memai.ranking.late import BLOCK, NEAR, Neighbours, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

_TOKENS = 1 << 16
_NONE = Neighbours()


class ArrayTexts(Texts):
    """The tokens of memories, joined, then of what stands before and after each: 50 take 0.5 ms.

    `cosines` gives those of other tokens, row by row, with the tokens asked for.
    """

    def __init__(
        self,
        memories: Mapping[int, bytes],
        beside: Mapping[int, Neighbours],
        asked: list[int],
        cosines: Callable[[NDArray[Any]], NDArray[Any]],
    ) -> None:
        numeric.prepare()
        import numpy as np

        self._np = np
        self._asked = asked
        sides = zip(*(beside.get(id, _NONE) for id in memories), strict=True)
        parts = [*memories.values(), *(tokens for side in sides for tokens in side), b""]
        self._place = {id: place for place, id in enumerate(memories)}
        # As wide as indexes are: narrower ones are converted by each look-up.
        self._joined = np.frombuffer(b"".join(parts), np.uint16).astype(np.int64)
        self._sizes = np.fromiter(map(len, parts), np.int64, len(parts)) // 2
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._owner = np.repeat(np.arange(self._sizes.size), self._sizes)
        telling = self._compare(cosines)
        self._counts = np.maximum(1, -(-self._sizes // BLOCK))
        self._firsts = np.cumsum(self._counts) - self._counts
        self._rows = self._blocks(telling)
        self._join_windows()

    def __contains__(self, id: int) -> bool:
        """See `Texts.__contains__`."""
        return id in self._place

    def of(self, id: int) -> Sequence[int]:
        """See `Texts.of`."""
        if id not in self._place:
            return ()
        start = self._starts[self._place[id]]
        tokens: list[int] = self._joined[start : start + self._sizes[self._place[id]]].tolist()
        return tokens

    def near(self, tokens: Collection[int]) -> dict[int, dict[int, float]]:
        """See `Texts.near`."""
        np = self._np
        others = np.fromiter(tokens, np.int64, len(tokens))
        found = {}
        for token, cosines in zip(self._asked, self._gains[self._number[others]].T, strict=True):
            kept = np.flatnonzero(cosines)
            found[token] = dict(zip(others[kept].tolist(), cosines[kept].tolist(), strict=True))
        return found

    def frequencies(self) -> dict[int, int]:
        """See `Texts.frequencies`."""
        np = self._np
        number = np.zeros(_TOKENS, np.int32)
        number[self._asked] = np.arange(len(self._asked))
        at = self._where(self._asked)
        held = np.zeros((self._sizes.size, len(self._asked)), bool)
        held[self._owner[at], number[self._joined[at]]] = True
        counts = held[: len(self._place)].sum(axis=0).tolist()
        return dict(zip(self._asked, counts, strict=True))

    def interaction(self, weights: Mapping[int, float]) -> dict[int, float]:
        """See `Texts.interaction`."""
        np, count = self._np, len(self._place)
        # What stands before and after each memory is a block.
        context = np.maximum(self._rows[-1 - 2 * count : -1 - count], self._rows[-1 - count : -1])
        return self._best(weights, np.maximum(self._windows, context[self._of_block]))

    def alone(self, weights: Mapping[int, float], ids: Sequence[int]) -> dict[int, float]:
        """See `Texts.alone`."""
        found = self._best(weights, self._windows)
        return {id: found[id] for id in ids}

    def _best(self, weights: Mapping[int, float], windows: NDArray[Any]) -> dict[int, float]:
        """Return what the best window of each memory says."""
        np = self._np
        shares = np.array([weights[token] for token in self._asked])
        if not self._place or not shares.sum() > 0:
            return dict.fromkeys(self._place, 0.0)
        said = windows @ (shares / shares.sum())
        # The last block of several is the second of the window before, and not one by itself.
        said[self._second] = 0
        best = np.maximum.reduceat(said, self._firsts[: len(self._place)])
        return dict(zip(self._place, best.tolist(), strict=True))

    def _compare(self, cosines: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        """Keep the cosines of the tokens near to any that is asked for, and return these tokens."""
        np = self._np
        present = np.zeros(_TOKENS, bool)
        present[self._joined] = True
        distinct = np.flatnonzero(present)
        near = cosines(distinct)
        near *= near >= NEAR
        some = near @ np.ones(len(self._asked), near.dtype) > 0  # a sixth of the time of `any`
        telling: NDArray[Any] = distinct[some]
        # Of each token its row of cosines, the first for all that are near to nothing.
        self._number = np.zeros(_TOKENS, np.int32)
        self._number[telling] = np.arange(1, telling.size + 1)
        self._gains = np.zeros((telling.size + 1, len(self._asked)), np.float32)
        self._gains[1:] = near[some]
        return telling

    def _join_windows(self) -> None:
        """Keep the best cosines of each window: of a block with the next of the same memory."""
        np, memories = self._np, len(self._place)
        counts = self._counts[:memories]
        self._of_block = np.repeat(np.arange(memories), counts)
        size = self._of_block.size
        self._windows = np.maximum(self._rows[:size], self._rows[1 : size + 1])
        ends = self._firsts[:memories] + counts - 1
        self._windows[ends] = self._rows[ends]
        self._second = ends[counts > 1]

    def _where(self, tokens: NDArray[Any] | list[int]) -> NDArray[Any]:
        """Return where among all joined some tokens are."""
        wanted = self._np.zeros(_TOKENS, bool)
        wanted[tokens] = True
        places: NDArray[Any] = self._np.flatnonzero(wanted.take(self._joined))
        return places

    def _blocks(self, telling: NDArray[Any]) -> NDArray[Any]:
        """Return the best cosine of each block to each query token, (blocks, query tokens).

        `telling` are the tokens that have any. The last block is that of none, and zero.
        """
        np = self._np
        rows: NDArray[Any] = np.zeros((int(self._counts.sum()), len(self._asked)))
        at = self._where(telling)
        if at.size:
            memory = self._owner[at]
            block = self._firsts[memory] + (at - self._starts[memory]) // BLOCK
            begins = np.flatnonzero(np.diff(block, prepend=-1))
            gains = self._gains.take(self._number[self._joined[at]], 0)
            rows[block[begins]] = np.maximum.reduceat(gains, begins, axis=0)
        return rows
