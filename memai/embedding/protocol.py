"""What a model must do; see `memai.embedding`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Sequence

    from numpy import float32
    from numpy.typing import ArrayLike, NDArray


class Embedder(Protocol):
    """What a loaded model offers; safe to use from several threads."""

    name: str
    """The name the model was loaded by."""

    sha256: str
    """The SHA-256 over the files that decide what the vectors are."""

    dim: int
    """Components of a vector."""

    def embed(self, text: str) -> bytes | None:
        """Return the unit vector of a text as little-endian float32, 4 * dim bytes.

        None when the model knows nothing in the text, or when most of its letters belong to words
        the model does not know: the vector would speak of the rest only.
        """

    def embed_passages(self, texts: Sequence[str]) -> list[tuple[bytes | None, array[int]]]:
        """Return for each text its vector and its tokens, reading it once.

        They are those of `embed`, to float32 accuracy, and `tokens`; a large bulk takes a tenth of
        the time.
        """

    def tokens(self, text: str) -> array[int]:
        """Return the ids of a text's known tokens in order, at most 512, as uint16.

        Empty for a model whose tokens are not offered one by one.
        """

    def cosines(self, tokens: ArrayLike, among: ArrayLike) -> NDArray[float32]:
        """Return the cosines (0 if negative) of some tokens with others, (tokens, among).

        Exact, and needs numpy. All 0 for a model whose tokens are not offered.
        """

    def rows(self, tokens: Collection[int]) -> tuple[bytes, ...] | None:
        """Return the vectors of some tokens as int8, not at unit length; None if it has no such.

        They are for an engine that can compare vectors where numpy is not worth its import.
        """

    def weight(self, token: int) -> float:
        """Return the length of what a token adds to a text's sum: how much it says."""
