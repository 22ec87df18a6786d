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

NEXT = 24
"""Tokens of a neighbour that are looked at, as if they were the memory's own; at most `BLOCK`.

Where what they say counts 0.9 of what the memory says, 64: 67.84; 48: 67.88; 32: 67.97; 24: 68.01;
16: 68.00; none: 66.7. With 24, 0.8: 67.96; in full: 68.03. The next but one would add nothing.
"""


class Neighbours(NamedTuple):
    """Tokens stored in the same session right before and after a memory, the nearest, as uint16."""

    before: bytes = b""
    after: bytes = b""


def head(text: str) -> str:
    """Return the head of a text: its first line, up to a colon, of at most 80 characters.

    Empty for a text without such a head.
    """
    line = text[:81].split("\n", 1)[0].split(":", 1)[0]
    return line if len(line) <= 80 and len(line) < len(text) else ""


def neighbours(before: bytes, after: bytes) -> Neighbours:
    """Return of the tokens of the memories on either side, uint16, those that are looked at."""
    return Neighbours(before[-2 * NEXT :], after[: 2 * NEXT])


def distinct(memories: Mapping[int, bytes], beside: Mapping[int, Neighbours]) -> list[int]:
    """Return which tokens these memories and their neighbours have, ascending."""
    sides = [tokens for both in beside.values() for tokens in both]
    return sorted(set(array("H", b"".join([*memories.values(), *sides]))))


class Texts:
    """The tokens of memories, uint16, by the engine's ids, with those of their neighbours.

    `near` has for each token of a query those near it with their cosines.
    """

    def __init__(
        self,
        memories: Mapping[int, bytes],
        beside: Mapping[int, Neighbours],
        near: Mapping[int, Mapping[int, float]],
    ) -> None:
        self._tokens = {id: array("H", joined) for id, joined in memories.items()}
        self._beside = beside
        self._near = near

    def __contains__(self, id: int) -> bool:
        """Whether this memory is among them."""
        return id in self._tokens

    def of(self, id: int) -> Sequence[int]:
        """Return the tokens of this memory in order, none if there are none."""
        return self._tokens.get(id, ())

    def near(self, tokens: Collection[int]) -> Mapping[int, Mapping[int, float]]:  # noqa: ARG002
        """Return for each token of the query those near it with their cosines.

        Those of some distinct tokens at least, all of which the memories have.
        """
        return self._near

    def frequencies(self) -> dict[int, int]:
        """Return how many of the memories hold each token of the query."""
        frequency = dict.fromkeys(self._near, 0)
        for tokens in self._tokens.values():
            for token in frequency.keys() & set(tokens):
                frequency[token] += 1
        return frequency

    def interaction(self, weights: Mapping[int, float]) -> dict[int, float]:
        """Return what `late_interaction` says of the memories, with their neighbours."""
        return late_interaction(weights, self._near, self._tokens, self._beside)

    def alone(self, weights: Mapping[int, float], ids: Sequence[int]) -> dict[int, float]:
        """Return what `late_interaction` says of some of the memories without their neighbours."""
        return late_interaction(weights, self._near, {id: self._tokens[id] for id in ids})


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
    the window, or in its neighbours, where `beside` has them.
    """
    order = list(weights)
    gains: dict[int, list[tuple[int, float]]] = {}
    for place, token in enumerate(order):
        for other, cosine in near.get(token, {}).items():
            if cosine >= NEAR:
                gains.setdefault(other, []).append((place, cosine))
    total = sum(weights.values())
    if not total > 0:
        return dict.fromkeys(memories, 0.0)
    shares = [weights[token] / total for token in order]
    none = [0.0] * len(order)
    scores = {}
    for id, tokens in memories.items():
        context = none
        for side in beside.get(id, ()) if beside else ():
            for row in _blocks(array("H", side), gains, none):
                context = [*map(max, context, row)]
        best = 0.0
        blocks = _blocks(tokens, gains, none)
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
