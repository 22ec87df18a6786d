"""How likely the best hit is an answer, from how it stands out and what it covers."""

from __future__ import annotations

from math import exp, log, log1p

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memai.ranking import Ranked

CLOSE = 0.5
"""Likelihood from which the best hit is called close."""

FEW = 20
"""Candidates below which there is little to stand out from."""

# Logistic regression on 5,288 searches of the seven sets, each question once with its answers in
# the store and once without (tests/bench/closeness.py). Area under the ROC curve: 0.716, 0.715 with
# folds left out, 0.710 with sets left out; 61 % and 29 % are called close. A hundred and fifty
# features more (exact words, idf, proximity, agreement of routes, kinds of questions) bring 0.723,
# boosted trees over them 0.733: where the answer is not the first hit, in four of ten questions,
# nothing tells the two searches apart.
_WEIGHTS = (2.47, 0.7, 0.138, -0.104, -0.511, -0.088, 0.064)
_BIAS = -0.65
# The same on 909 searches of one session.
_FEW_WEIGHT, _FEW_BIAS = 2.33, -0.98


class Evidence(NamedTuple):
    """What speaks for and against the best hit of a search."""

    covered: float
    """Share of the question that the best window of any hit covers, 0 to 1."""
    gap: float = 0.0
    """By how much the best fused score leads the 20th."""
    words5: float = 0.0
    """By how much its BM25 leads the fifth best BM25."""
    words10: float = 0.0
    """The same for the tenth."""
    spread: float = 0.0
    """Entropy of the fused scores: low where few hits stand out."""
    head: float = 0.0
    """Logarithm of how many heads say more of the question than its own."""
    tokens: int = 0
    """Tokens of the question."""
    hits: int = 0
    """Candidates there were."""


def evidence(
    ranked: Sequence[Ranked],
    scores: Mapping[str, Mapping[int, float]],
    covered: float,
    tokens: int,
) -> Evidence:
    """Return what speaks for the first of what `fuse` returned, given the raw scores of the routes.

    `covered` is the best `late_interaction` of the first hits when its weights are the lengths of
    the query's token vectors alone.
    """
    if not ranked:
        return Evidence(0.0)
    best = ranked[0]
    words = sorted(scores.get("words", {}).values(), reverse=True)
    heads = scores.get("head", {})
    own = scores.get("words", {}).get(best.id, 0.0)
    chances = [exp(8 * (one.score - best.score)) for one in ranked]
    total = sum(chances)
    return Evidence(
        covered,
        best.score - ranked[min(FEW, len(ranked)) - 1].score,
        own - _at(words, 4),
        own - _at(words, 9),
        -sum(x / total * log(x / total) for x in chances if x > 0),
        log1p(sum(value > heads.get(best.id, 0.0) for value in heads.values())),
        tokens,
        len(ranked),
    )


def _at(values: Sequence[float], place: int) -> float:
    return values[place] if place < len(values) else 0.0


def closeness(evidence: Evidence) -> float:
    """Return the likelihood, 0 to 1, that the best hit is an answer.

    With fewer than 20 candidates there is little to stand out from, and what is covered decides.
    """
    if not evidence.hits:
        return 0.0
    if evidence.hits < FEW:
        return _likelihood(_FEW_BIAS + _FEW_WEIGHT * evidence.covered)
    return _likelihood(_BIAS + sum(w * x for w, x in zip(_WEIGHTS, evidence[:7], strict=True)))


def _likelihood(logit: float) -> float:
    return 1 / (1 + exp(-logit))
