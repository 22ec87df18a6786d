"""Pure functions on ranks and scores: how the routes of a search become one order."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

_MEANING = frozenset({"meaning", "late"})


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
