"""The fusion of the reference recipe, which the program is measured against."""

from collections.abc import Mapping, Sequence


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
