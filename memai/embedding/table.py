"""Token to vector: the tensors of a model, memory-mapped, and what vectors are packed as."""

from __future__ import annotations

import json
import math
import struct
import sys

from memai.embedding.files import UnknownKindError, UnusableError, map_file
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_FORMATS = {"I8": "b", "F16": "e", "F32": "f"}


class Table:
    """A row of numbers and a scale for each token of a model.

    The file is a safetensors file (https://huggingface.co/docs/safetensors: uint64 length of a JSON
    header, header, data) with the tensors `embeddings` and, as model2vec writes them, `weights`.
    Only the rows that are asked for are ever read from the disk.
    """

    def __init__(self, folder: str) -> None:
        data = map_file(folder, "model.safetensors")
        try:
            start = 8 + int(struct.unpack_from("<Q", data)[0])
            tensors: dict[str, Any] = json.loads(data[8:start])
            rows, weights = tensors["embeddings"], tensors.get("weights")
            self.rows, self.dim = map(int, rows["shape"])
            self.format = _FORMATS[rows["dtype"]]
            self.offset = start + int(rows["data_offsets"][0])
            self.scales_offset = start + int(weights["data_offsets"][0]) if weights else None
            scales_known = not weights or (weights["dtype"], weights["shape"]) == (
                "F32",
                [self.rows],
            )
            self._row = struct.Struct(f"<{self.dim}{self.format}")
        except (ValueError, LookupError, TypeError, struct.error):
            raise UnknownKindError(
                "its model.safetensors is damaged or of an unknown kind"
            ) from None
        if "mapping" in tensors or not scales_known:
            raise UnknownKindError("the model's model.safetensors holds tensors of an unknown kind")
        end = max(
            self.offset + self.rows * self._row.size, (self.scales_offset or 0) + 4 * self.rows
        )
        if self.rows < 1 or self.dim < 1 or end > len(data):
            raise UnusableError("the model's model.safetensors is cut short")
        self.data = data

    def row(self, token: int) -> tuple[float, ...]:
        """Return the numbers of a token, without its scale."""
        return self._row.unpack_from(self.data, self.offset + token * self._row.size)

    def int8_rows(self, tokens: Iterable[int]) -> tuple[bytes, ...] | None:
        """Return the rows of some tokens as they are stored, None if that is not int8."""
        if self.format != "b":
            return None
        data, size = self.data, self.dim
        starts = [self.offset + token * size for token in tokens]
        return tuple([data[start : start + size] for start in starts])

    def scale(self, token: int) -> float:
        """Return what the numbers of a token are multiplied with before they are added up."""
        if self.scales_offset is None:
            return 1.0
        return float(struct.unpack_from("<f", self.data, self.scales_offset + 4 * token)[0])

    def total(self, tokens: Sequence[int]) -> list[float]:
        """Return the sum of the scaled rows of some tokens."""
        if "numpy" in sys.modules:  # the same to the last bit: 2 microseconds a token, not 20
            return self._total_by_numpy(tokens)
        total = [0.0] * self.dim
        for token in tokens:
            scale = self.scale(token)
            total = [a + scale * x for a, x in zip(total, self.row(token), strict=True)]
        return total

    def _total_by_numpy(self, tokens: Sequence[int]) -> list[float]:
        import numpy as np

        total = np.zeros(self.dim)
        for token in tokens:
            start = self.offset + token * self._row.size
            row = np.frombuffer(self.data, f"<{self.format}", self.dim, start)
            total += self.scale(token) * row.astype(np.float64)
        found: list[float] = total.tolist()
        return found


def pack(vector: Sequence[float]) -> bytes | None:
    """Return a vector at unit length as little-endian float32, None for one without direction."""
    length = math.sqrt(sum(x * x for x in vector))
    if not 0 < length < math.inf:
        return None
    return struct.pack(f"<{len(vector)}f", *[x / length for x in vector])
