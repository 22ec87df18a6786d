"""The nearest, exactly: a product with vectors in memory names them, their rows decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from memai.store import matrix
from memai.store.columns import CURRENT_SPACE
from memai.store.matrix import OUT_OF_REACH
from memai.store.nearest import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memai.records import Scored, Where
    from memai.store.matrix import Products
    from memai.store.nearest import Nearest

_WIDEST = 65_536  # candidates beyond which reading all of a filter is quicker


class Seen(Protocol):
    """The vectors of a store or a filter as one of its states sees them, and that of a query."""

    vector: bytes
    """That of the query: unit length, little-endian float32."""

    def products(self) -> Products:
        """Return the products of all vectors with that of the query."""

    def forget(self, ids: Sequence[int]) -> bool:
        """Take out what this state of the store does not have; false if that cannot be."""

    def holds(self) -> bool:
        """Whether it is still the same state."""


def nearest(store: Nearest, seen: Seen, where: Where, limit: int) -> list[Scored] | None:
    """Return memories by the cosine of their best passage; None where only a scan can tell."""
    width = limit + limit // 4  # where one in five is archived, one look will do
    products = seen.products()
    while width <= _WIDEST:
        reach = matrix.nearest(products, width)
        # The rows of the likely first say how far is far enough: that halves what is in reach.
        first, rest, horizon = reach.ids[:width], reach.ids[width:], reach.horizon
        compared = _compared(store, seen.vector, first)
        if len(compared) == width:
            horizon = max(horizon, min(score for score, _ in compared))
            rest = rest[reach.highs[width:] >= horizon]
        if rest.size:
            compared += _compared(store, seen.vector, rest)
        gone = {*first.tolist(), *rest.tolist()} - {id for _, id in compared}
        if gone:
            if not seen.forget(sorted(gone)):
                return None
            continue
        # What is at the horizon or nearer is all there; of what is behind it some is not.
        near = [(score, id) for score, id in compared if score >= horizon]
        found = store.joined(near, where)
        if len(found) >= limit or reach.horizon == OUT_OF_REACH:
            return found[:limit] if seen.holds() else None
        # So many more as would do if what is inside lay evenly.
        width = max(4 * width, int(1.3 * width * limit / max(1, len(found))))
    return None


def _compared(store: Nearest, vector: bytes, ids: Any) -> list[tuple[float, int]]:
    """Return (cosine, passage) of those passages that there are."""
    source = (
        "carray(:ids) c CROSS JOIN vectors v"
        f" ON v.passage_id = c.value AND v.space_id = {CURRENT_SPACE}"
    )
    found = store.measured("v.passage_id", source, {"ids": numbers(ids.tolist())}, vector)
    return [(cosine, row[1]) for cosine, row in found]
