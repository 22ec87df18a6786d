"""A forward index: which words a few memories hold, kept in memory.

The index of words is read by word: to learn how often each of 500 memories of a million holds a
common one takes a walk over all its postings, 1 ms. Here the same is a look at 25,000 numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memai import numeric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


class Forward:
    """The words of some memories; not safe to use from two threads at a time."""

    def __init__(self) -> None:
        numeric.prepare()
        import numpy as np

        self._np = np
        self._numbers: dict[str, int] = {}
        self._known: set[int] = set()
        self._words: NDArray[Any] = np.empty(0, np.uint32)
        self._owners: NDArray[Any] = np.empty(0, np.int64)

    def __len__(self) -> int:
        """Return how many words it has, each as often as it occurs."""
        return int(self._words.size)

    def unknown(self, ids: Iterable[int]) -> list[int]:
        """Return those of some memories whose words are not known here."""
        return [id for id in ids if id not in self._known]

    def add(self, ids: Sequence[int], words: Sequence[Sequence[str]]) -> None:
        """Add memories with all their words, as often as each holds them."""
        np, numbers = self._np, self._numbers
        new = [(id, some) for id, some in zip(ids, words, strict=True) if id not in self._known]
        ids, words = [id for id, _ in new], [some for _, some in new]  # others came meanwhile
        spelled = [numbers.setdefault(word, len(numbers)) for some in words for word in some]
        owners = np.repeat(np.array(ids, np.int64), [len(some) for some in words])
        self._words = np.append(self._words, np.array(spelled, np.uint32))
        self._owners = np.append(self._owners, owners)
        self._known.update(ids)

    def occurrences(self, word: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the memories that hold a word, ascending, and how often each does."""
        np = self._np
        places = np.flatnonzero(self._words == self._numbers.get(word, len(self._numbers)))
        ids, counts = np.unique(self._owners[places], return_counts=True)
        return ids, counts
