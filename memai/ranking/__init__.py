"""Pure functions on ranks, scores and token ids: how the routes of a search become one order.

A search collects candidates by words (BM25) and by meaning (cosine of the best passage), scores the
union of them by every route, and fuses the scores. Two more routes exist on that union only, in
`memai.ranking.late`:

- `late`: late interaction (Khattab and Zaharia 2020, "ColBERT") over static token vectors;
- `head`: the same with nothing but a memory's head, where titles, headings and speakers stand.

Constants were chosen on seven development sets (2,657 questions to chats, notes, code and
paragraphs). The figures beside them are the mean nDCG@10 x 100 of the sets, each line measured
while the rest stood as it was then: compare within a line. BM25 without stop words reaches 60.6,
the program 68.03 (tests/bench/retrieval.py).
"""

from __future__ import annotations

import re
from itertools import pairwise

from memai.lean import TYPE_CHECKING, NamedTuple
from memai.queries import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Literal

WEIGHTS: Mapping[str, float] = {"late": 0.5, "meaning": 0.28, "words": 0.12, "head": 0.1}
"""Share of each route. The optimum is flat, and it is nearly the same with any set left out."""

EXACT = 0.15
"""What an exact substring adds where all that was asked for is held."""

NAMED = 0.15
"""What a head adds all of whose words are in the question: 67.6, 66.9 without; 0.1 and 0.2: 67.5.
The route `head` looks the other way: how much of the question a head says."""

DATED = 0.3
"""What a memory gains that was written on the day, or in the month, that the question names: 67.8,
67.6 without; in conversations of many days (LoCoMo) 63.0, 61.2 without. 0.2 and 0.5: the same."""

# A newer hit passes an older one it resembles (cosine) that leads by less than _NEWER, unless their
# heads name different things. Of 28 facts that changed, the newer version came first in 79 % (57 %
# without); the seven sets lose 0.2, and 0.9 where heads are not looked at. Alike from 0.7: 79 %,
# loses 0.1; a lead of 0.2: 82 %, loses 0.6. A bonus by rank in time for every hit, alike or not,
# loses 0.7 to 1.0 for 71 %.
_NEWER = 0.1
_ALIKE = 0.65
_DIGITS = 6  # of the scores that order; where these are equal ids decide
_MEANING = frozenset({"meaning", "late", "head"})


class Ranked(NamedTuple):
    """A memory's place in the order: its id, its final score and what each route gave to it."""

    id: int
    score: float
    parts: dict[str, float]


def versions(one: str, other: str) -> bool:
    """Whether two heads may stand on two versions of one thing: equal but for numbers, or none."""
    if one == other:
        return True
    said = [names(head) for head in (one, other)]
    return said[0] == said[1] or [] in said


def named(head: str, words: Collection[str]) -> float:
    """Return the share of the words of a head that are among these words (folded), 0 to 1.

    Numbers and function words do not count.
    """
    telling = [word for word in names(head) if word not in STOP_WORDS]
    return sum(word in words for word in telling) / len(telling) if telling else 0.0


def names(text: str) -> list[str]:
    """Return the folded words of a text, without numbers."""
    return re.findall(r"[^\W\d_]+", text.casefold())


def fuse(
    routes: Mapping[str, Mapping[int, float]],
    lifts: Mapping[str, Mapping[int, float]] | None = None,
) -> list[Ranked]:
    """Merge the raw scores of the routes into one order, best first, ties by id.

    The scores of a route are scaled to 0 (the lowest) to 1 (the highest, and all where they are
    equal) and weighted by `WEIGHTS`; one a route has not counts as its lowest. Reciprocal ranks
    lose 3 against this, z-scores gain nothing. Routes without any scores leave their share to the
    others, so scores run from 0 to 1, to which `lifts` are added, by the name of each.
    """
    parts: dict[int, dict[str, float]] = {}
    for name, given in _given(routes, lifts or {}):
        for id, value in given:
            parts.setdefault(id, {})[name] = value
    totals = {id: sum(given.values()) for id, given in parts.items()}
    return [Ranked(id, totals[id], parts[id]) for id in _best_first(totals)]


def order(
    routes: Mapping[str, Mapping[int, float]],
    lifts: Mapping[str, Mapping[int, float]] | None = None,
) -> list[int]:
    """Return the ids alone as `fuse` orders them, in half the time."""
    totals: dict[int, float] = {}
    for _, given in _given(routes, lifts or {}):
        for id, value in given:
            totals[id] = totals.get(id, 0) + value
    return _best_first(totals)


def _given(
    routes: Mapping[str, Mapping[int, float]], lifts: Mapping[str, Mapping[int, float]]
) -> Iterator[tuple[str, Iterable[tuple[int, float]]]]:
    """Yield what each route and each lift gives to memories.

    In one order of adding, so that the same scores give the same sums to the last bit.
    """
    used = [name for name in WEIGHTS if routes.get(name)]
    total = sum(WEIGHTS[name] for name in used)
    for name in used:
        share, scores = WEIGHTS[name] / total, routes[name]
        low, high = min(scores.values()), max(scores.values())
        if high > low:
            width = high - low
            yield name, [(id, share * ((one - low) / width)) for id, one in scores.items()]
        else:
            yield name, [(id, share) for id in scores]
    for name, lifted in lifts.items():
        yield name, lifted.items()


def _best_first(scores: Mapping[int, float]) -> list[int]:
    """Sort ids by their scores, those that differ by less than rounding by themselves."""
    ids = sorted(scores, key=scores.__getitem__, reverse=True)
    # Most often none are so near: to round them all takes three times as long as to look.
    if any(scores[high] - scores[low] < 2 * 10**-_DIGITS for high, low in pairwise(ids)):
        ids.sort(key=lambda one: (-round(scores[one], _DIGITS), one))
    return ids


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
    times: Mapping[int, int],
    alike: Callable[[int, int], float],
) -> list[Ranked]:
    """Let newer memories pass older ones they resemble and that lead by little.

    `ranked` is best first, `times` grow, `alike` gives the cosine of two ids. Give the first ten;
    what is gained is below 0.1 and stands among the parts as `newer`.
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
                and alike(low.id, high.id) >= _ALIKE
            ):
                gain = max(gain, lead + 1e-6)
        parts = {**low.parts, "newer": gain} if gain else low.parts
        lifted.append(Ranked(low.id, low.score + gain, parts))
    return sorted(lifted, key=lambda one: (-round(one.score, _DIGITS), one.id))


def match_source(routes: Collection[str]) -> Literal["fts", "vec", "both"]:
    """Say which side found a memory: words, meaning, or both."""
    meaning = any(route in _MEANING for route in routes)
    words = any(route not in _MEANING for route in routes)
    return "both" if meaning and words else "vec" if meaning else "fts"
