"""Pure functions that say how alike two texts are."""

from __future__ import annotations

from memai.text import fold, index_words

_NEGATIONS = frozenset(("no", "not", "never", "none", "neither", "nor", "without", "cannot", "t"))


def shingles(text: str) -> frozenset[str]:
    """Return the words of `text` and its pairs of neighbouring words, both ends marked."""
    words = index_words(fold(text)).split()
    if not words:
        return frozenset()
    return frozenset(words) | {
        f"{a} {b}" for a, b in zip(["^", *words], [*words, "$"], strict=True)
    }


def similarity(a: str, b: str) -> float:
    """Return how alike two texts are by words, from 0 to 1.

    Jaccard over `shingles`, so order counts; texts that differ in their negations count for less.
    """
    first, second = shingles(a), shingles(b)
    if not first or not second:
        return float(fold(a).split() == fold(b).split())
    likeness = len(first & second) / len(first | second)
    return likeness if (first ^ second).isdisjoint(_NEGATIONS) else likeness * 0.7
