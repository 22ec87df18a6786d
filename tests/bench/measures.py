"""Measures of a ranking, and how sure they are."""

import math
import random
from collections.abc import Mapping, Sequence


def ndcg(ranked: Sequence[str], gold: Mapping[str, float], k: int = 10) -> float:
    """Return nDCG with linear gain (Järvelin and Kekäläinen 2002)."""
    gained = sum(gold.get(id, 0.0) / math.log2(n + 1) for n, id in enumerate(ranked[:k], 1))
    best = sorted(gold.values(), reverse=True)[:k]
    return gained / sum(value / math.log2(n + 1) for n, value in enumerate(best, 1))


def recall(ranked: Sequence[str], gold: Mapping[str, float], k: int = 10) -> float:
    """Return the share of the answers that are among the first k."""
    return len(gold.keys() & set(ranked[:k])) / len(gold)


def reciprocal_rank(ranked: Sequence[str], gold: Mapping[str, float], k: int = 10) -> float:
    """Return 1 / place of the first answer, 0 where it is not among the first k."""
    return next((1 / n for n, id in enumerate(ranked[:k], 1) if id in gold), 0.0)


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return math.fsum(values) / len(values)


def interval(sets: Sequence[Sequence[float]], rounds: int = 2000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean of the sets' means.

    Questions are drawn anew within each set (Efron 1979); the sets stay.
    """
    draw = random.Random(1)
    found = sorted(
        mean([mean(draw.choices(values, k=len(values))) for values in sets]) for _ in range(rounds)
    )
    return found[int(0.025 * rounds)], found[int(0.975 * rounds) - 1]


def roc_auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the chance that a positive scores above a negative, ties counting half."""
    ordered = sorted([(value, 1) for value in positive] + [(value, 0) for value in negative])
    ranks = 0.0
    start = 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and ordered[end][0] == ordered[start][0]:
            end += 1
        ranks += (start + 1 + end) / 2 * sum(label for _, label in ordered[start:end])
        start = end
    n = len(positive)
    return (ranks - n * (n + 1) / 2) / (n * len(negative))
