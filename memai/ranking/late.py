"""Late interaction (Khattab and Zaharia 2020, "ColBERT") over static token vectors."""

from __future__ import annotations

from array import array
from itertools import pairwise
from math import log

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

NEAR = 0.25
"""Cosine from which two tokens have something in common.

66.7 for 0, 0.15 and 0.25; 66.5 for 0.3; 66.0 for 0.4; fewer look-ups the higher it is.
"""

BLOCK = 32
"""Tokens; a window is two blocks. Windows of 64: 66.9; of 48 or 32: 66.6; none: 66.3."""

BESIDE = 0.9
"""Share of what a neighbour says. 0: 66.7; 0.5: 67.2; 0.7: 67.4; 0.8: 67.5; 0.9: 67.6.

The next but one would add nothing: 67.7 with and without.
"""


class Neighbours(NamedTuple):
    """The ids of what was stored in the same session right before and after a memory."""

    before: int | None = None
    after: int | None = None


def head(text: str) -> str:
    """Return the head of a text: its first line, up to a colon, of at most 80 characters.

    Empty for a text without such a head.
    """
    line = text[:81].split("\n", 1)[0].split(":", 1)[0]
    return line if len(line) <= 80 and len(line) < len(text) else ""


def ends(tokens: bytes) -> bytes:
    """Return what memories beside this one look at of its tokens: two blocks at either end."""
    block = 2 * BLOCK  # two bytes a token
    if len(tokens) <= 4 * block:
        return tokens
    last = (len(tokens) - 1) // block * block
    return tokens[: 2 * block] + tokens[last - block :]


def distinct(memories: Mapping[int, bytes]) -> list[int]:
    """Return which tokens these memories have, ascending."""
    return sorted(set(array("H", b"".join(memories.values()))))


class Texts:
    """The tokens of memories, by the engine's ids, and for each token of a query those near it.

    `near` has them with their cosines.
    """

    def __init__(
        self, memories: Mapping[int, bytes], near: Mapping[int, Mapping[int, float]]
    ) -> None:
        self._tokens = {id: array("H", joined) for id, joined in memories.items()}
        self._near = near

    def of(self, id: int) -> Sequence[int]:
        """Return the tokens of this memory in order, none if there are none."""
        return self._tokens.get(id, ())

    def near(self, tokens: Collection[int]) -> Mapping[int, Mapping[int, float]]:  # noqa: ARG002
        """Return for each token of the query those near it with their cosines.

        Those of some distinct tokens at least, all of which the memories have.
        """
        return self._near

    def frequencies(self, ids: Collection[int]) -> dict[int, int]:
        """Return how many of these memories hold each token of the query."""
        frequency = dict.fromkeys(self._near, 0)
        for id in ids:
            for token in frequency.keys() & set(self._tokens[id]):
                frequency[token] += 1
        return frequency

    def interaction(
        self, weights: Mapping[int, float], beside: Mapping[int, Neighbours]
    ) -> dict[int, float]:
        """Return what `late_interaction` says of the memories in `beside`."""
        needed = {*beside, *(one for both in beside.values() for one in both)}
        memories = {id: self._tokens[id] for id in needed if id is not None}
        return late_interaction(weights, self._near, memories, beside)


def token_weights(
    query: Mapping[int, float], frequency: Mapping[int, int], count: int
) -> dict[int, float]:
    """Return what each token of a query counts, where so many of `count` candidates hold it.

    `query` has the length of each token's vector in the model: how much it says at all. The rest is
    the inverse document frequency of BM25 among the candidates, which needs nothing of the store
    and tells them apart better than the frequency in the whole store does (66.9 against 66.5).
    """
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
    for start in range(0, len(tokens), BLOCK):
        row = none
        for token in known & set(tokens[start : start + BLOCK]):
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
    for id, near_end in ((neighbours.before, slice(-2, None)), (neighbours.after, slice(2))):
        for row in rows[id][near_end] if id is not None else ():
            if row is not none:
                context = [max(a, BESIDE * b) for a, b in zip(context, row, strict=True)]
    return context
