"""A model of a layout or tokeniser this package does not read itself, through model2vec."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from memai import numeric
from memai.embedding.bulk import without_surrogates
from memai.embedding.table import pack

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import ArrayLike, NDArray


class Foreign:
    """The implementation of `Embedder` for what model2vec can load.

    Its tokens are not offered, and what it does not know of a text is left to it.
    """

    def __init__(self, name: str, source: str) -> None:
        numeric.prepare()
        from model2vec import StaticModel

        # A copy in the hub's cache is as good as a download, and needs no network.
        model = StaticModel.from_pretrained(source, force_download=False)
        digest = hashlib.sha256(model.tokenizer.to_str().encode())
        for tensor in (model.embedding, model.weights, model.token_mapping):
            digest.update(b"" if tensor is None else tensor.tobytes())
        self.name = name
        self.sha256 = digest.hexdigest()
        self.dim = int(model.dim)
        self._model = model

    def embed(self, text: str) -> bytes | None:
        """See `Embedder.embed`."""
        return self.embed_passages([text])[0][0]

    def embed_passages(self, texts: Sequence[str]) -> list[tuple[bytes | None, array[int]]]:
        """See `Embedder.embed_passages`."""
        if not texts:
            return []
        vectors = self._model.encode([without_surrogates(text) for text in texts])
        return [(pack(vector), array("H")) for vector in vectors.tolist()]

    def tokens(self, text: str) -> array[int]:  # noqa: ARG002 - the protocol's signature
        """See `Embedder.tokens`."""
        return array("H")

    def cosines(self, tokens: ArrayLike, among: ArrayLike) -> NDArray[float32]:
        """See `Embedder.cosines`."""
        import numpy as np

        return np.zeros((np.size(tokens), np.size(among)), np.float32)

    def rows(self, tokens: Collection[int]) -> None:
        """See `Embedder.rows`."""

    def weight(self, token: int) -> float:
        """See `Embedder.weight`."""
        raise LookupError(token)
