"""Many texts at once, by numpy and tokenizers: the same tokens and vectors, ten times faster."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memai import numeric
from memai.embedding.table import Table
from memai.embedding.wordpiece import MAX_TOKENS

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_BATCH = 1024
_SURROGATE = re.compile("[\ud800-\udfff]")
_DTYPES = {"b": "i1", "e": "<f2", "f": "<f4"}


class Bulk:
    """A model's tokeniser and table as tokenizers and numpy hold them."""

    def __init__(self, folder: str, table: Table) -> None:
        numeric.prepare()
        import numpy as np
        from tokenizers import Tokenizer

        self._np = np
        self._tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[PAD]" in somebody's text is text
        model = json.loads(self._tokenizer.to_str())["model"]
        self._unknown = self._tokenizer.token_to_id(model["unk_token"])
        self._rows, self._scales = rows_and_scales(table)

    def read(self, texts: Sequence[str]) -> Iterator[tuple[list[int], bool]]:
        """Yield for each text the ids of its known tokens and whether it has no unknown ones."""
        for start in range(0, len(texts), _BATCH):
            batch = [without_surrogates(text) for text in texts[start : start + _BATCH]]
            for encoding in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                ids = [token for token in encoding.ids if token != self._unknown]
                yield ids[:MAX_TOKENS], len(ids) == len(encoding.ids)

    def vector(self, ids: Sequence[int]) -> bytes | None:
        """Return the unit vector of some tokens, None if they have no direction."""
        total = self._scales[ids] @ self._rows[ids].astype(self._np.float32)
        length = float(self._np.linalg.norm(total))
        if not 0 < length < math.inf:
            return None
        packed: bytes = (total / length).astype("<f4").tobytes()
        return packed


def cosines(
    table: Table, tokens: Sequence[int], among: Collection[int], at_least: float
) -> list[dict[int, float]]:
    """Return for each of some tokens its cosine with others, 0 for one below 0."""
    numeric.prepare()
    import numpy as np

    rows, _ = rows_and_scales(table)
    inverse = _inverse_lengths(table)
    ids = np.fromiter(among, np.int64, len(among))
    asked = np.fromiter(tokens, np.int64, len(tokens))
    units = rows[asked].astype(np.float32) * inverse[asked, None]
    products = units @ rows[ids].astype(np.float32).T
    found = []
    for row in np.clip(products * inverse[ids], 0, 1):
        kept = row >= at_least  # one in twenty: making the others Python's would cost more
        found.append(dict(zip(ids[kept].tolist(), row[kept].tolist(), strict=True)))
    return found


@lru_cache(maxsize=2)
def _inverse_lengths(table: Table) -> NDArray[float32]:
    """Return 1 / length of each row of a table, 0 for one of zeros; 20 ms, once a process."""
    import numpy as np

    rows, _ = rows_and_scales(table)
    inverse = np.zeros(len(rows), np.float32)
    for start in range(0, len(rows), _BATCH):
        lengths = np.linalg.norm(rows[start : start + _BATCH].astype(np.float32), axis=1)
        np.divide(1, lengths, out=inverse[start : start + _BATCH], where=lengths > 0)
    return inverse


def rows_and_scales(table: Table) -> tuple[NDArray[Any], NDArray[float32]]:
    """Return a table's rows (tokens, dim), as stored, and its scales (tokens,), without copying."""
    import numpy as np

    rows = np.frombuffer(table.data, _DTYPES[table.format], table.rows * table.dim, table.offset)
    scales = (
        np.ones(table.rows, np.float32)
        if table.scales_offset is None
        else np.frombuffer(table.data, "<f4", table.rows, table.scales_offset)
    )
    return rows.reshape(table.rows, table.dim), scales


def without_surrogates(text: str) -> str:
    """Return the text without lone surrogates, which no library written in Rust accepts."""
    return text if text.isascii() else _SURROGATE.sub("", text)
