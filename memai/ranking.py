"""Pure functions on ranks, scores and token ids: how the routes of a search become one order.

A search collects candidates by words (BM25) and by meaning (cosine of the best passage), scores the
union of them by every route, and fuses the scores. Two more routes exist on that union only:

- `late`: late interaction (Khattab and Zaharia 2020, "ColBERT") over static token vectors;
- `head`: the same with nothing but a memory's head, where titles, headings and speakers stand.

Constants were chosen on seven development sets (2,657 questions to chats, notes, code and
paragraphs). The figures beside them are the mean nDCG@10 x 100 of the sets, each line measured
while the rest stood as it was then: compare within a line. BM25 without stop words reaches 60.6,
what stands here 67.3.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

WEIGHTS: Mapping[str, float] = {"late": 0.5, "meaning": 0.28, "words": 0.12, "head": 0.1}
"""Share of each route. The optimum is flat, and it is nearly the same with any set left out."""

NEAR = 0.25
"""Cosine from which two tokens have something in common.

66.7 for 0, 0.15 and 0.25; 66.5 for 0.3; 66.0 for 0.4; fewer look-ups the higher it is.
"""

EXACT = 0.15
"""What an exact substring adds where all that was asked for is held."""

_BLOCK = 32  # tokens; a window is two. Windows of 64: 66.9; of 48 or 32: 66.6; none: 66.3.
_BESIDE = 0.8  # of what a neighbour says. 0: 66.7; 0.5: 67.2; 0.7: 67.4; 0.8: 67.5; 0.9: 67.6.
# A newer hit passes an older one it resembles (cosine) that leads by less than _NEWER, unless their
# heads name different things. Of 28 facts that changed, the newer version came first in 79 % (57 %
# without); all seven sets together lose 0.1, and 0.7 to 1.0 where heads are not looked at. Alike
# from 0.6: 86 %, loses 0.6. A bonus by rank in time for every hit loses 0.7 to 1.0 for 71 %.
_NEWER = 0.15
_ALIKE = 0.7
# Logistic regression on 5,314 searches, with the answer in the store and without: area under the
# ROC curve 0.70, and so with each set left out in turn. At 0, 64 % and 34 % are called close; by
# what is covered alone (0.65) 71 % and 51 %.
_CLOSE_RANK = 20
_CLOSE_MARGIN, _CLOSE_COVERED, _CLOSE_BIAS = 4.0, 2.1, -3.24
_COVERED = 0.65
_MEANING = frozenset({"meaning", "late", "head"})


class Neighbours(NamedTuple):
    """The ids of what was stored in the same session before and after a memory, nearest first."""

    before: Sequence[int] = ()
    after: Sequence[int] = ()


class Ranked(NamedTuple):
    """A memory's place in the order: its id, its final score and what each route gave to it."""

    id: int
    score: float
    parts: dict[str, float]


def head(text: str) -> str:
    """Return the head of a text: its first line, up to a colon, of at most 80 characters.

    Empty for a text without such a head.
    """
    line = text[:81].split("\n", 1)[0].split(":", 1)[0]
    return line if len(line) <= 80 and len(line) < len(text) else ""


def versions(one: str, other: str) -> bool:
    """Whether two heads may stand on two versions of one thing: equal but for numbers, or none."""
    names = [" ".join(re.findall(r"[^\W\d_]+", head.casefold())) for head in (one, other)]
    return names[0] == names[1] or "" in names


def token_weights(
    query: Mapping[int, float], candidates: Iterable[Collection[int]]
) -> dict[int, float]:
    """Return what each token of a query counts among the tokens of the candidates.

    `query` has the length of each token's vector in the model: how much it says at all. The rest is
    the inverse document frequency of BM25 among the candidates, which needs nothing of the store
    and tells them apart better than the frequency in the whole store does (66.9 against 66.5).
    """
    frequency = dict.fromkeys(query, 0)
    count = 0
    for tokens in candidates:
        count += 1
        for token in frequency.keys() & tokens:
            frequency[token] += 1
    return {
        token: length * log(1 + (count - frequency[token] + 0.5) / (frequency[token] + 0.5))
        for token, length in query.items()
    }


def late_interaction(
    weights: Mapping[int, float],
    near: Mapping[int, Mapping[int, float]],
    memories: Mapping[int, Sequence[int]],
    beside: Mapping[int, Neighbours] | None = None,
) -> dict[int, float]:
    """Score memories by the window that holds something near to most of what is asked, 0 to 1.

    `weights` has the query's tokens, `near` for each of them the tokens near it with their cosines,
    `memories` the tokens of each memory in order. For each query token counts the best cosine in
    the window, or a little less than the best in the nearest 64 tokens of a neighbour; `beside`
    names the memories to score, their neighbours among `memories`; None scores all, without.
    """
    order = list(weights)
    gains: dict[int, list[tuple[int, float]]] = {}
    for place, token in enumerate(order):
        for other, cosine in near.get(token, {}).items():
            if cosine >= NEAR:
                gains.setdefault(other, []).append((place, cosine))
    total = sum(weights.values())
    if not total > 0:
        return dict.fromkeys(memories if beside is None else beside, 0.0)
    shares = [weights[token] / total for token in order]
    none = [0.0] * len(order)
    rows = {id: _blocks(tokens, gains, none) for id, tokens in memories.items()}
    scores = {}
    for id in memories if beside is None else beside:
        context = _context(beside[id], rows, none) if beside else none
        best = 0.0
        blocks = rows[id]
        for first, second in pairwise(blocks) if len(blocks) > 1 else ((blocks[0], none),):
            best = max(best, sum(map(_product, shares, map(max, first, second, context))))
        scores[id] = best
    return scores


def _product(a: float, b: float) -> float:
    return a * b


def _blocks(
    tokens: Sequence[int], gains: Mapping[int, Sequence[tuple[int, float]]], none: list[float]
) -> list[list[float]]:
    """Return for each block of tokens the best cosine to each query token; at least one block."""
    known = gains.keys()
    rows = []
    for start in range(0, len(tokens), _BLOCK):
        row = none
        for token in known & set(tokens[start : start + _BLOCK]):
            if row is none:
                row = none.copy()
            for place, cosine in gains[token]:
                row[place] = max(row[place], cosine)
        rows.append(row)
    return rows or [none]


def _context(
    neighbours: Neighbours, rows: Mapping[int, list[list[float]]], none: list[float]
) -> list[float]:
    """Return what the neighbours of a memory add to it for each query token."""
    context = none
    for side, near_end in ((neighbours.before, slice(-2, None)), (neighbours.after, slice(2))):
        share = 1.0
        for id in side:
            share *= _BESIDE
            for row in rows[id][near_end]:
                if row is not none:
                    context = [max(a, share * b) for a, b in zip(context, row, strict=True)]
    return context


def scale(scores: Mapping[int, float]) -> dict[int, float]:
    """Bring scores to 0 (the lowest) to 1 (the highest); all 1 when they are equal.

    Reciprocal ranks lose 3 against this, z-scores gain nothing.
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if not high > low:
        return dict.fromkeys(scores, 1.0)
    return {id: (score - low) / (high - low) for id, score in scores.items()}


def fuse(
    routes: Mapping[str, Mapping[int, float]], lifts: Mapping[int, float] | None = None
) -> list[Ranked]:
    """Merge the raw scores of the routes into one order, best first, ties by id.

    The scores of a route are scaled and weighted by `WEIGHTS`; one a route has not counts as its
    lowest. Routes without any scores leave their share to the others, so scores run from 0 to 1,
    to which `lifts` are added.
    """
    # One order of adding, so that the same scores give the same sums to the last bit.
    used = {name: routes[name] for name in WEIGHTS if routes.get(name)}
    total = sum(WEIGHTS[name] for name in used)
    parts: dict[int, dict[str, float]] = {}
    for name, scores in used.items():
        share = WEIGHTS[name] / total
        for id, value in scale(scores).items():
            parts.setdefault(id, {})[name] = share * value
    for id, lift in (lifts or {}).items():
        parts.setdefault(id, {})["exact"] = lift
    return _ordered(Ranked(id, sum(given.values()), given) for id, given in parts.items())


def _ordered(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Sort by score, those that differ by less than rounding by id."""
    return sorted(ranked, key=lambda one: (-round(one.score, 6), one.id))


def sink(ranked: Sequence[Ranked], contradicted: Sequence[Ranked]) -> list[Ranked]:
    """Put what was contradicted behind all others, in its own order; its parts say so."""
    lowest = min((one.score for one in ranked), default=0.0)
    fall = 1.0 + max((one.score - lowest for one in contradicted), default=0.0)
    return [
        *ranked,
        *(
            Ranked(one.id, one.score - fall, {**one.parts, "contradicted": -fall})
            for one in contradicted
        ),
    ]


def prefer_newer(
    ranked: Sequence[Ranked],
    times: Mapping[int, str],
    alike: Mapping[tuple[int, int], float],
) -> list[Ranked]:
    """Let newer memories pass older ones they resemble and that lead by little.

    `ranked` is best first, `times` are ISO 8601 in one zone, `alike` has cosines of pairs (a, b)
    with a < b; pairs not in it are not alike. Give the first ten; what is gained is below 0.15 and
    stands among the parts as `newer`.
    """
    lifted = []
    for low in ranked:
        gain = 0.0
        for high in ranked:
            lead = high.score - low.score
            if (
                high.id != low.id
                and 0 <= lead < _NEWER
                and times[low.id] > times[high.id]
                and alike.get((min(low.id, high.id), max(low.id, high.id)), 0.0) >= _ALIKE
            ):
                gain = max(gain, lead + 1e-6)
        parts = {**low.parts, "newer": gain} if gain else low.parts
        lifted.append(Ranked(low.id, low.score + gain, parts))
    return _ordered(lifted)


def closeness(ranked: Sequence[Ranked], covered: float) -> float:
    """Say how likely the best hit is an answer: 0 or more is close.

    `ranked` is what `fuse` returned, `covered` the best `late_interaction` of any candidate when
    its weights are the lengths of the query's token vectors alone. With fewer than 20 candidates
    there is nothing to stand out from, and `covered` decides.
    """
    if not ranked:
        return _CLOSE_BIAS
    if len(ranked) < _CLOSE_RANK:
        return covered - _COVERED
    margin = ranked[0].score - ranked[_CLOSE_RANK - 1].score
    return _CLOSE_MARGIN * margin + _CLOSE_COVERED * covered + _CLOSE_BIAS


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[int]], k: int = 60
) -> list[tuple[int, float]]:
    """Merge rankings by the sum of 1 / (k + rank), best first, ties by id.

    Cormack, Clarke and Buettcher 2009, whose constant k = 60 is kept.
    """
    scores: dict[int, float] = {}
    for ranking in rankings.values():
        for rank, id in enumerate(ranking, start=1):
            scores[id] = scores.get(id, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def match_source(routes: Collection[str]) -> Literal["fts", "vec", "both"]:
    """Say which side found a memory: words, meaning, or both."""
    meaning = any(route in _MEANING for route in routes)
    words = any(route not in _MEANING for route in routes)
    return "both" if meaning and words else "vec" if meaning else "fts"
