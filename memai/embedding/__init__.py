"""Text to vector: the model read once, on first use; "no model" is a value, not a crash.

A model is static: a vector and a scale for each entry of a vocabulary. A text is split into tokens,
their scaled vectors are added up, and the sum is brought to unit length (the model2vec format,
https://github.com/MinishLab/model2vec). Single texts need the standard library alone; a bulk of
texts uses numpy and tokenizers.
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # what `threading` calls Lock; that takes 0.5 ms to import

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from memai.embedding.protocol import Embedder as Embedder

DEFAULT = "memai-static-1"
"""Name of the model in the package."""

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "model")
"""Where the model in the package is."""

_HUB_NAME = r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?"


class NoModel(NamedTuple):
    """A model that cannot be used, and why, in words for a person."""

    name: str
    reason: str


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
    return dot(floats(a), floats(b))


def floats(vector: bytes) -> Any:
    """Return the numbers of a vector as `dot` takes them."""
    import sys

    if "numpy" in sys.modules:
        import numpy as np

        return np.frombuffer(vector, "<f4").astype(np.float64)
    import struct

    return struct.unpack(f"<{len(vector) // 4}f", vector)


def dot(a: Any, b: Any) -> float:
    """Return the dot product of what `floats` gave: a microsecond with numpy, else 25."""
    if isinstance(a, tuple):
        import math

        return math.fsum(map(float.__mul__, a, b))
    return float(a @ b)


_lock = allocate_lock()
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
    import re

    if not re.fullmatch(_HUB_NAME, name, re.ASCII):
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


def __getattr__(name: str) -> Any:
    """Import the protocol when it is asked for: a command only names it in annotations."""
    if name == "Embedder":
        from memai.embedding.protocol import Embedder

        return Embedder
    raise AttributeError(f"module 'memai.embedding' has no attribute '{name}'")
