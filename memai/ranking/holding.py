"""How a memory holds the tokens of a question, one by one."""

from __future__ import annotations

from math import log1p

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Holding(NamedTuple):
    """What one memory holds of a question; see `memai.ranking.closeness.Evidence`."""

    length: float
    about: float
    missing: int
    unmet: float


def holding(
    weights: Mapping[int, float], near: Mapping[int, Mapping[int, float]], tokens: Collection[int]
) -> Holding:
    """Return how a memory with these tokens holds those of a question.

    `weights` says what each token of the question counts, `near` which tokens are near it with
    their cosines.
    """
    distinct = set(tokens)
    total = sum(weights.values())
    cosines = {}
    around = dict.fromkeys(distinct, 0.0)
    for token in weights:
        close = near.get(token, {})
        best = 0.0
        for other in close.keys() & distinct:
            cosine = close[other]
            around[other] = max(around[other], cosine)
            best = max(best, cosine)
        cosines[token] = best
    lacks = (weights[token] * (1 - cosine) for token, cosine in cosines.items())
    return Holding(
        log1p(len(tokens)),
        sum(around.values()) / len(distinct) if distinct else 0.0,
        len(weights.keys() - distinct),
        max(lacks, default=0.0) / total if total > 0 else 0.0,
    )
