"""A model in a folder, read by this package itself."""

from __future__ import annotations

import json
import math
import os
from _thread import allocate_lock  # what `threading` calls Lock; that takes 0.5 ms to import
from array import array

from memai.embedding.files import UnusableError, fingerprint
from memai.embedding.table import Table, pack
from memai.embedding.wordpiece import SortedWords, WordPiece, read_vocabulary
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy import float32
    from numpy.typing import ArrayLike, NDArray

    from memai.embedding.bulk import Bulk

BULK_CHARACTERS = 60_000
"""Characters a process has embedded, one by one or in a bulk, from which numpy and tokenizers are
worth the 0.2 s of their imports and set-up: pure Python needs about 3 microseconds a character."""

# Texts that are sooner read word by word than by tokenizers: one takes 0.06 ms instead of 0.1.
_FEW = 3


class Static:
    """The implementation of `Embedder` for a table of token vectors."""

    def __init__(
        self,
        name: str,
        folder: str,
        words: WordPiece,
        table: Table,
        sha256: str,
    ) -> None:
        self.name = name
        self.sha256 = sha256
        self.dim = table.dim
        self._folder = folder
        self._words = words
        self._table = table
        self._comparable = table.rows <= 1 << 16
        self._bulk: Bulk | None = None
        self._characters = 0
        self._lock = allocate_lock()

    def embed(self, text: str) -> bytes | None:
        """See `Embedder.embed`."""
        ids, legible = self._words.read(text)
        return pack(self._table.total(ids)) if legible else None

    def embed_passages(self, texts: Sequence[str]) -> list[tuple[bytes | None, array[int]]]:
        """See `Embedder.embed_passages`."""
        bulk = self._bulk_for(texts)
        if bulk is None or len(texts) <= _FEW:
            readings = [self._words.read(text) for text in texts]
            if bulk is None:
                vectors = [pack(self._table.total(ids)) for ids, _ in readings]
            else:
                vectors = bulk.vectors([bulk.tokens(ids) for ids, _ in readings])
            return [
                (vector if legible else None, self._offered(ids))
                for vector, (ids, legible) in zip(vectors, readings, strict=True)
            ]
        read = list(bulk.read(texts))
        vectors = bulk.vectors([ids for ids, _ in read])
        return [
            (
                vector if complete or self._words.read(text).legible else None,
                ids if self._comparable else self._offered(()),
            )
            for text, vector, (ids, complete) in zip(texts, vectors, read, strict=True)
        ]

    def tokens(self, text: str) -> array[int]:
        """See `Embedder.tokens`."""
        return self._offered(self._words.read(text).ids)

    def cosines(self, tokens: ArrayLike, among: ArrayLike) -> NDArray[float32]:
        """See `Embedder.cosines`."""
        from memai.embedding.bulk import cosines

        return cosines(self._table, tokens, among)

    def rows(self, tokens: Collection[int]) -> tuple[bytes, ...] | None:
        """See `Embedder.rows`."""
        return self._table.int8_rows(tokens) if self._comparable else None

    def weight(self, token: int) -> float:
        """See `Embedder.weight`."""
        return math.hypot(*self._table.total([token]))

    def _offered(self, ids: Sequence[int]) -> array[int]:
        return array("H", ids if self._comparable else ())

    def _bulk_for(self, texts: Sequence[str]) -> Bulk | None:
        with self._lock:
            if self._bulk is None:
                self._characters += sum(map(len, texts))
                if self._characters >= BULK_CHARACTERS:
                    from memai.embedding.bulk import Bulk

                    self._bulk = Bulk(self._folder, self._table)
            return self._bulk


def packaged(name: str, folder: str) -> Static:
    """Return the model of the package, with what is kept beside it to be quick.

    That is the digest of its files, and its sorted words, which can be done without.

    Raises UnusableError and OSError when its files are missing or damaged.
    """
    try:
        with open(os.path.join(folder, "space.json"), encoding="utf-8") as file:
            sha256 = str(json.load(file)["sha256"])
    except (ValueError, LookupError, TypeError):
        raise UnusableError("the model's space.json is damaged") from None
    table = Table(folder)
    quick = os.path.exists(os.path.join(folder, "vocab.idx"))
    words = SortedWords(folder) if quick else read_vocabulary(folder)
    return Static(name, folder, WordPiece(words), table, sha256)


def local(name: str, folder: str) -> Static:
    """Return the model in a folder, in model2vec's layout and with a BERT tokeniser.

    Raises UnknownKindError for any other, UnusableError for damage, OSError for an unreadable file.
    """
    table = Table(folder)
    vocabulary = read_vocabulary(folder)
    if not vocabulary or not 0 <= max(vocabulary.values()) < table.rows:
        raise UnusableError("the model's vocabulary does not fit its table")
    return Static(name, folder, WordPiece(vocabulary), table, fingerprint(folder))
