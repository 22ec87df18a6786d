"""Keeping vectors packed, once there are so many that looking through their rows takes long."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING
from memai.store.columns import CURRENT_SPACE
from memai.store.transactions import Transactions

if TYPE_CHECKING:
    from typing import Any

LEAST = 250_000
"""Passages from which on a first search is quicker with blocks, in spite of importing numpy."""

_AT_ONCE = 8  # blocks of one transaction: others wait for 40 ms


class Packing(Transactions):
    """What is packed, and whether it is what it should be."""

    def pack_vectors(self) -> None:
        """Pack what is not packed yet."""
        from memai.store.packed import pack

        missing = self._missing_blocks()
        for start in range(0, len(missing), _AT_ONCE):
            with self.writing():
                for space, block, dim in missing[start : start + _AT_ONCE]:
                    if str(space) != self.one(f"SELECT {CURRENT_SPACE}"):
                        return  # another process has embedded all of it anew
                    vectors = self._vectors_of(space, block, dim)
                    if vectors is not None:
                        values = (space, block, pack(vectors, dim))
                        self.run("INSERT OR IGNORE INTO packed VALUES(?, ?, ?)", values)

    def differing_blocks(self) -> int:
        """Return how many blocks are not what the vectors say."""
        from memai.store.packed import alike, pack

        wrong = 0
        for space, block, dim in self.all(
            "SELECT p.space_id, p.block, s.dim FROM packed p LEFT JOIN spaces s ON s.id = space_id"
        ):
            with self.reading():
                kept: Any = self.all(
                    "SELECT rows FROM packed WHERE (space_id, block) = (?, ?)", (space, block)
                )
                vectors = self._vectors_of(space, block, dim) if dim else None
                if kept:  # else another process has dropped it meanwhile
                    wrong += vectors is None or not alike(kept[0][0], pack(vectors, dim), dim)
        return wrong

    def _missing_blocks(self) -> list[tuple[int, int, int]]:
        """Return (space, block, dimension) of what is not packed and is worth it.

        The last passages are not until they fill a block, nor is what edits have left less than
        half full.
        """
        from memai.store.packed import BLOCK

        rows = self.all(
            "SELECT id, dim, (SELECT max(id) FROM passages) FROM spaces"
            f" WHERE id = {CURRENT_SPACE} AND (SELECT max(id) FROM passages) >= ?",
            (LEAST,),
        )
        if not rows:
            return []
        space, dim, last = rows[0]
        known = {
            row[0] for row in self.all("SELECT block FROM packed WHERE space_id = ?", (space,))
        }
        return [
            (space, block, dim)
            for block in range((last + 1) // BLOCK)
            if block not in known
            and self.one(
                "SELECT count(*) FROM vectors WHERE space_id = ?"
                " AND passage_id >= ? AND passage_id < ?",
                (space, block * BLOCK, (block + 1) * BLOCK),
            )
            >= BLOCK // 2
        ]

    def _vectors_of(self, space: int, block: int, dim: int) -> list[tuple[int, bytes]] | None:
        """Return the (passage, vector) of a block, None where a vector has a wrong length."""
        from memai.store.packed import BLOCK

        vectors = self.all(
            "SELECT passage_id, embedding FROM vectors WHERE space_id = ? AND passage_id >= ?"
            " AND passage_id < ? AND embedding IS NOT NULL ORDER BY passage_id",
            (space, block * BLOCK, (block + 1) * BLOCK),
        )
        sound = all(isinstance(v, bytes) and len(v) == 4 * dim for _, v in vectors)
        return vectors if sound else None
