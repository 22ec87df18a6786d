"""Text to vector: the model read once, on first use; "no model" is a value, not a crash.

A model is static: a vector and a scale for each entry of a vocabulary. A text is split into tokens,
their scaled vectors are added up, and the sum is brought to unit length (the model2vec format,
https://github.com/MinishLab/model2vec). Single texts need the standard library alone; a bulk of
texts uses numpy and tokenizers.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from array import array

DEFAULT = "memai-static-1"
"""Name of the model in the package."""

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "model")
"""Where the model in the package is."""

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


class NoModel(NamedTuple):
    """A model that cannot be used, and why, in words for a person."""

    name: str
    reason: str


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

    def nearest(self, tokens: Sequence[int], among: Collection[int]) -> list[dict[int, float]]:
        """Return for each of some tokens the ids of tokens near it and their cosines (0 to 1).

        The packaged model keeps 16 neighbours of each token, itself besides, and does not look at
        `among`; of a model without such a table it is `cosines`.
        """

    def cosines(
        self, tokens: Sequence[int], among: Collection[int], at_least: float = 0.0
    ) -> list[dict[int, float]]:
        """Return for each of some tokens its cosine (0 if negative) with tokens of `among`.

        Those below `at_least` are left out. Exact, and needs numpy. Empty for a model whose tokens
        are not offered.
        """

    def rows(self, tokens: Collection[int]) -> tuple[bytes, ...] | None:
        """Return the vectors of some tokens as int8, not at unit length; None if it has no such.

        They are for an engine that can compare vectors where numpy is not worth its import.
        """

    def weight(self, token: int) -> float:
        """Return the length of what a token adds to a text's sum: how much it says."""


def load(name: str = DEFAULT) -> Embedder | NoModel:
    """Return the model of that name, or why there is none; read once a process, never raises.

    `name` is `DEFAULT`, a folder in model2vec's layout (`~` is expanded), or the name of a model on
    the Hugging Face hub: only the last may use the network, and model2vec does it.
    """
    with _lock:
        if name not in _loaded:
            _loaded[name] = _load(name)
        return _loaded[name]


def similar(a: bytes, b: bytes) -> float:
    """Return the cosine of two vectors as `Embedder.embed` gives them."""
    import math
    import struct

    form = f"<{len(a) // 4}f"
    return math.fsum(map(float.__mul__, struct.unpack(form, a), struct.unpack(form, b)))


_lock = threading.Lock()
_loaded: dict[str, Embedder | NoModel] = {}


def _load(name: str) -> Embedder | NoModel:
    from memai.embedding.files import UnusableError
    from memai.embedding.static import packaged

    try:
        if name == DEFAULT:
            return packaged(name, FOLDER)
        folder = os.path.expanduser(name)
        if os.path.isdir(folder):
            return _local(name, folder)
    except UnusableError as unusable:
        return NoModel(name, str(unusable))
    except OSError as error:
        return NoModel(name, f"the model's files cannot be read: {error.strerror}")
    if not _HUB_NAME.fullmatch(name):
        return NoModel(name, "the model is not to be found: there is no such folder")
    return _foreign(
        name, name, "the model is not to be found: there is no such folder, and the hub gave none"
    )


def _local(name: str, folder: str) -> Embedder | NoModel:
    from memai.embedding.files import UnknownKindError
    from memai.embedding.static import local

    try:
        return local(name, folder)
    except UnknownKindError as unknown:
        return _foreign(name, folder, f"{unknown}, and model2vec cannot read it either")


def _foreign(name: str, source: str, failure: str) -> Embedder | NoModel:
    try:
        from memai.embedding.foreign import Foreign

        return Foreign(name, source)
    except Exception as error:  # noqa: BLE001 - whatever a foreign loader or the network raises
        # Its message stays out: it can hold an address with a token in it.
        return NoModel(name, f"{failure} ({type(error).__name__})")
