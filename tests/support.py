"""What several test rooms need: a small embedder, ready-made records, other processes."""

import math
import os
import subprocess
import sys
from array import array
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from memai import text, when
from memai.embedding import Embedder
from memai.operations import checking
from memai.records import Embedded, Memory, Passage, Space

CHECKOUT = Path(__file__).resolve().parent.parent
SHARED = CHECKOUT.parent / "shared"


class HashedWords:
    """An embedder that needs no files: each word has a direction of its own, by its hash.

    A vector is the sum of its words' directions, so texts with the same words are alike and texts
    without a common word are nearly orthogonal.
    """

    def __init__(self, name: str = "hashed-words", dim: int = 16) -> None:
        self.name = name
        self.dim = dim
        self.sha256 = f"{crc32(name.encode()):064x}"

    def embed(self, text: str) -> bytes | None:
        """Return the unit vector of a text, None if it has no words."""
        total = [0.0] * self.dim
        for word in self._words(text):
            for place in range(self.dim):
                total[place] += crc32(f"{word} {place} {self.name}".encode()) / 2**31 - 1
        length = math.hypot(*total)
        return array("f", [part / length for part in total]).tobytes() if length else None

    def embed_passages(self, texts: Sequence[str]) -> "list[tuple[bytes | None, array[int]]]":
        """Return for each text its vector and its tokens."""
        return [(self.embed(text), self.tokens(text)) for text in texts]

    def tokens(self, text: str) -> "array[int]":
        """Return a number for each word."""
        return array("H", [crc32(word.encode()) & 0xFFFF for word in self._words(text)])

    def cosines(self, tokens: Any, among: Any) -> Any:
        """Say the same exactly."""
        import numpy as np

        return np.equal.outer(np.asarray(tokens), np.asarray(among)).astype(np.float32)

    def rows(self, tokens: Collection[int]) -> None:
        """Have no rows."""

    def weight(self, token: int) -> float:
        """Give all words the same weight."""
        return 1.0

    def _words(self, value: str) -> list[str]:
        return text.fold(value.encode(errors="ignore").decode()).split()


MODEL = HashedWords()
SPACE = Space(MODEL.name, MODEL.sha256, MODEL.dim, "whole texts")


def memory(content: str = "A remembered text.", **fields: Any) -> Memory:
    """Return a memory that was never stored, with defaults for what is not said."""
    now = when.now()
    made = Memory(
        uid=checking.new_uid(),
        type="note",
        domain=None,
        session=None,
        tags=(),
        status="active",
        confidence="unverified",
        content=content,
        agent="tester",
        source=None,
        key=None,
        origin=None,
        created_at=now,
        updated_at=now,
        version=1,
        extra={},
    )
    return made._replace(**fields)


def embedded(
    content: str,
    spans: Sequence[tuple[int, int]] | None = None,
    model: Embedder = MODEL,
    space: Space = SPACE,
) -> Embedded:
    """Return the passages of a text with the vectors of the small embedder."""
    cut = [(0, len(content))] if spans is None else spans
    passages = (
        Passage(
            start,
            end,
            model.embed(content[start:end]),
            model.tokens(content[start:end]).tobytes(),
        )
        for start, end in cut
    )
    return Embedded(space, tuple(passages))


def python(*arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    """Start another Python that imports the package of this checkout."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )
