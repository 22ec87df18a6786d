"""BM25 over postings in arrays: what FTS5's `bm25()` says, to the last bit.

Its constants and formula are those of https://sqlite.org/fts5.html#the_bm25_function, with the
same order of additions. `bm25()` takes a microsecond for each posting, a twentieth of it here.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from memai import numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6  # of what more than half of all rows hold
_DENSE = 16  # rows for each posting up to which a sum for every row is quicker than sorting


class Postings(NamedTuple):
    """Rows that hold a phrase, ascending, and how often each does.

    All of them, or those among some rows: `rows` says how many hold it in the whole index.
    """

    ids: NDArray[Any]
    counts: NDArray[Any]
    rows: int
    last: int = 0
    """The highest row there was."""

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return int(self.ids.nbytes + self.counts.nbytes)


class Lengths(NamedTuple):
    """How many tokens each row has, by its id; how many rows there are, and tokens in all."""

    by_id: NDArray[Any]
    rows: int
    tokens: int

    @property
    def last(self) -> int:
        """The highest row there is."""
        return self.by_id.size - 1

    @property
    def average(self) -> float:
        """Tokens in a row."""
        return self.tokens / self.rows


def postings(listed: str, last: int, before: Postings | None = None) -> Postings:
    """Return the postings of a phrase from its rows, one for each time it occurs, by commas.

    `last` is the highest row there was; `before` are those of earlier rows.
    """
    numeric.prepare()
    import numpy as np

    occurrences = np.fromstring(listed, np.int64, sep=",")
    occurrences.sort()
    begins = np.ones(occurrences.size + 1, bool)  # of each row, and the end of the last
    np.not_equal(occurrences[1:], occurrences[:-1], out=begins[1:-1])
    edges = np.flatnonzero(begins)
    firsts, counts = edges[:-1], edges[1:] - edges[:-1]
    ids, counts = _small(occurrences[firsts]), _small(counts)
    if before is not None:
        ids = np.concatenate([before.ids, ids])
        counts = np.concatenate([before.counts, counts])
    return Postings(ids, counts, ids.size, last)


def postings_among(ids: NDArray[Any], counts: NDArray[Any], rows: int) -> Postings:
    """Return the postings of a phrase among some rows: those that hold it, and how often.

    `rows` is how many rows hold it in the whole index.
    """
    return Postings(_small(ids), _small(counts), rows)


def _small(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers, none below 0, in as few bits as the largest needs."""
    import numpy as np

    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def lengths(
    ids: NDArray[Any], sizes: bytes, columns: int, before: Lengths | None = None
) -> Lengths | None:
    """Return the lengths of rows from what FTS5 keeps of them; None where that is not understood.

    `ids` ascend; `sizes` are, row after row, a varint (https://sqlite.org/fileformat.html) for each
    column; `before` are those of earlier rows.
    """
    numeric.prepare()
    import numpy as np

    numbers = _varints(np.frombuffer(sizes, np.uint8))
    if numbers.size != columns * ids.size:
        return None
    if not ids.size:
        return before
    of_rows = numbers.reshape(-1, columns).sum(axis=1)
    by_id = np.zeros(int(ids[-1]) + 1, np.uint32)
    by_id[ids] = of_rows
    if before is None:
        return Lengths(by_id, ids.size, int(of_rows.sum()))
    by_id[: before.by_id.size] = before.by_id
    return Lengths(by_id, before.rows + ids.size, before.tokens + int(of_rows.sum()))


def _varints(octets: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers that are written one after the other, of eight octets at most."""
    import numpy as np

    ends = np.flatnonzero(octets < 0x80)
    sizes = np.diff(ends, prepend=-1)
    numbers = octets[ends].astype(np.int64)
    for place in range(1, int(sizes.max(initial=1))):
        longer = np.flatnonzero(sizes > place)
        part = (octets[ends[longer] - place] & 0x7F).astype(np.int64)
        numbers[longer] += part << (7 * place)
    return numbers


def scores(
    phrases: Sequence[Postings], known: Lengths, among: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows that hold any of the phrases (one at least), ascending, and their scores.

    Scores are float64. With `among`, an ascending array of ids, only those rows.
    """
    import numpy as np

    ids, weights = [], []
    for phrase in phrases:
        held, counts = phrase.ids, phrase.counts
        if among is not None:
            held, counts = _those(phrase, among)
        idf = log((known.rows - phrase.rows + 0.5) / (phrase.rows + 0.5))
        count = counts.astype(np.float64)
        length = _B * known.by_id[held] / known.average
        weight = count * (_K1 + 1) / (count + _K1 * (1 - _B + length))
        ids.append(held)
        weights.append((idf if idf > 0 else _LEAST_IDF) * weight)
    total = sum(part.size for part in ids)
    if total * _DENSE > known.by_id.size:
        sums = np.zeros(known.by_id.size)
        for held, weight in zip(ids, weights, strict=True):
            sums[held] += weight
        found = np.flatnonzero(sums > 0)  # of bool: a third of the time
        return found, sums[found]
    found, places = np.unique(np.concatenate(ids), return_inverse=True)
    return found, np.bincount(places, np.concatenate(weights), found.size)


def _those(phrase: Postings, among: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return which of some rows hold a phrase, and how often."""
    import numpy as np

    places = np.searchsorted(phrase.ids, among)
    places[places == phrase.ids.size] = 0
    held = phrase.ids[places] == among if phrase.ids.size else np.zeros(among.size, bool)
    return among[held], phrase.counts[places[held]]


def best(ids: NDArray[Any], scores: NDArray[Any], count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the best `count` rows, best first, ties by id."""
    import numpy as np

    if ids.size > count:
        least = np.partition(scores, ids.size - count)[ids.size - count]
        kept = np.flatnonzero(scores >= least)
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:count]
    return ids[order], scores[order]
