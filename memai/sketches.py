"""Likely pairs among very many texts, found without comparing each with each (MinHash).

Every text is kept as 63 numbers. The share of numbers that two texts have in common estimates the
Jaccard index of their shingles (Broder, "On the resemblance and containment of documents", 1997);
texts that agree in all three numbers of one of 21 bands are candidates. A pair with a Jaccard index
of 0.6 is found with a chance of 99.4 %, of 0.5 with 94 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memai import numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROWS = 3
_BANDS = 21
_HASHES = _ROWS * _BANDS
_WINDOW = 16  # neighbours looked at in a band: crowds of alike texts must not cost the square
# Shares of the Jaccard index asked for. The estimate errs by 0.06, and those who ask may weigh
# shingles in another way: a pair is looked at from the one, and missed from the other.
_POSSIBLE = 0.5
_LIKELY = 0.8
_SLICE = 20_000  # pairs whose signatures are compared at a time: 10 MB


class Candidates(NamedTuple):
    """Pairs of numbers of texts, the lower first, in their order.

    `complete` is false where there were more likely pairs than were asked for or looked at.
    """

    pairs: list[tuple[int, int]]
    complete: bool


class Sketches:
    """Signatures of texts, 252 bytes each; a text's number is its place in the order of adding."""

    def __init__(self) -> None:
        numeric.prepare()
        import numpy as np

        # Odd multipliers from the golden ratio (Weyl's sequence), mixed as in SplitMix64, so that
        # the same store gives the same answer everywhere.
        seeds = np.arange(1, 2 * _HASHES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        seeds = (seeds ^ (seeds >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        seeds = (seeds ^ (seeds >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        self._factors = seeds[:_HASHES] | np.uint64(1)
        self._offsets = seeds[_HASHES:]
        self._parts: list[NDArray[np.uint32]] = []

    def add(self, texts: Sequence[Sequence[str]]) -> None:
        """Take in some texts, each as its units."""
        import numpy as np

        if not texts:
            return
        # Each text begins with a sign of its end, which makes its first and last pair.
        sizes = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        marked = chain.from_iterable(("", *units) for units in texts)
        codes = np.fromiter(
            (crc32(unit.encode(errors="surrogatepass")) for unit in marked),
            np.uint64,
            int(sizes.sum()),
        )
        ends = np.cumsum(sizes)
        starts = ends - sizes
        following = np.roll(codes, -1)
        following[ends - 1] = codes[starts]
        # A pair is told from its units by the mixing, and from the pair the other way round.
        pairs = (codes * np.uint64(0x9E3779B1) ^ following) & np.uint64(0xFFFFFFFF)
        codes[starts] = pairs[starts]  # the sign of the end is no unit
        shingles = np.stack((codes, pairs), axis=1).reshape(-1)
        signature = np.empty((len(texts), _HASHES), np.uint32)
        for place in range(_HASHES):
            # Multiply-shift: the upper half of a product with an odd number (Dietzfelbinger 1997).
            hashed = (shingles * self._factors[place] + self._offsets[place]) >> np.uint64(32)
            signature[:, place] = np.minimum.reduceat(hashed, 2 * starts)
        self._parts.append(signature)

    def candidates(self, groups: Sequence[int], dice: float, most: int) -> Candidates:
        """Return at most `most` pairs whose shingles may have a Dice coefficient of `dice` or more.

        `groups` gives a number for each text; texts of one group from 0 up are no pair. Where
        there are too many pairs, the likeliest are kept.
        """
        import numpy as np

        signatures = np.concatenate(self._parts) if self._parts else np.empty((0, _HASHES), "u4")
        group = np.asarray(groups, np.int64)
        pairs = np.empty(0, np.int64)
        missed = [pairs]  # in one band; another may have them
        complete = True
        estimates = np.empty(0, np.float32)
        jaccard = dice / (2 - dice)
        for band in range(_BANDS):
            columns = [(band * _ROWS + row) % _HASHES for row in range(_ROWS + 2)]
            # The two numbers after those of the band put the likeliest pairs of a crowd together.
            order = np.lexsort([signatures[:, column] for column in reversed(columns)])
            keys = signatures[order[:, None], columns[:_ROWS]]
            found = [(pairs, estimates)]
            for step in range(1, min(_WINDOW + 1, len(order) - 1) + 1):
                same = np.flatnonzero((keys[step:] == keys[:-step]).all(axis=1))
                one, other = order[same], order[same + step]
                if not len(same):
                    break
                apart = (group[one] != group[other]) | (group[one] < 0)
                one, other = one[apart], other[apart]
                if step <= _WINDOW:
                    found.append(_likely(signatures, one, other, jaccard * _POSSIBLE))
                else:
                    missed.append(_likely(signatures, one, other, jaccard * _LIKELY)[0])
            pairs, places = np.unique(np.concatenate([p for p, _ in found]), return_index=True)
            estimates = np.concatenate([e for _, e in found])[places]
            if len(pairs) > most:
                ranked = np.argsort(-estimates, kind="stable")
                complete = complete and bool(estimates[ranked[most]] < jaccard * _LIKELY)
                best = np.sort(ranked[:most])
                pairs, estimates = pairs[best], estimates[best]
        first, second = np.divmod(pairs, max(len(signatures), 1))
        complete = complete and bool(np.isin(np.concatenate(missed), pairs).all())
        return Candidates(list(zip(first.tolist(), second.tolist(), strict=True)), complete)


def _likely(
    signatures: NDArray[np.uint32], one: NDArray[np.int64], other: NDArray[np.int64], least: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the pairs that are likely enough as one number each, and how likely they are."""
    import numpy as np

    estimates = np.empty(len(one), np.float32)
    for start in range(0, len(one), _SLICE):
        part = slice(start, start + _SLICE)
        estimates[part] = (signatures[one[part]] == signatures[other[part]]).mean(axis=1)
    kept = estimates >= least
    one, other = one[kept], other[kept]
    return np.minimum(one, other) * len(signatures) + np.maximum(one, other), estimates[kept]
