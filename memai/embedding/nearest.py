"""Token to its nearest tokens: what late interaction looks up instead of comparing vectors."""

import struct

from memai.embedding.files import UnusableError, map_file

NEAREST = 16
"""Neighbours of a token in the table: with 8, 16 or 32, nine to ten of the first ten hits are those
of the exact computation, and 16 fit the space there is for the model."""

LEVELS = 255
"""Steps a cosine from 0 to 1 is kept in; one below 0 counts as 0."""


class NearestTokens:
    """The table `nearest.bin`, memory-mapped.

    Layout, little-endian: uint32 n, uint32 k; n * k uint16, for each token the ids of its k nearest
    other tokens, best first; n * k uint8, their cosines in steps of 1 / `LEVELS`.
    """

    def __init__(self, folder: str, rows: int) -> None:
        data = map_file(folder, "nearest.bin")
        size, k = struct.unpack_from("<II", data) if len(data) >= 8 else (0, 0)
        if size != rows or len(data) != 8 + 3 * size * k:
            raise UnusableError("the model's nearest.bin is damaged or belongs to another model")
        self._data, self._k = data, k
        self._levels = 8 + 2 * size * k
        self._ids = struct.Struct(f"<{k}H")

    def of(self, token: int) -> dict[int, float]:
        """Return a token and the tokens nearest to it with their cosines to it, best first."""
        at = token * self._k
        ids = self._ids.unpack_from(self._data, 8 + 2 * at)
        levels = self._data[self._levels + at : self._levels + at + self._k]
        return {token: 1.0} | dict(zip(ids, [x / LEVELS for x in levels], strict=True))
