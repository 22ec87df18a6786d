"""What memai is measured against: BM25 as SQLite has it, and the reference recipe."""

import re
from array import array
from collections.abc import Sequence

import apsw
import numpy as np
from fusion import reciprocal_rank_fusion

from memai import embedding

# The stop words of the experiments that the baseline was defined by.
STOP = frozenset(
    """a about above after again against all am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further had
    has have having he her here hers herself him himself his how i if in into is it its itself just
    me more most my myself no nor not now of off on once only or other our ours ourselves out over
    own same she should so some such than that the their theirs them themselves then there these
    they this those through to too under until up very was we were what when where which while who
    whom why will with would you your yours yourself yourselves did does s t don""".split()
)


class Baselines:
    """Both baselines over the same texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = apsw.Connection(":memory:")
        self._words.execute(
            "CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._words.executemany("INSERT INTO f(rowid, t) VALUES(?, ?)", enumerate(texts))
        self._model = embedding.load()
        assert not isinstance(self._model, embedding.NoModel)
        zero = array("f", bytes(4 * self._model.dim)).tobytes()
        vectors = (vector or zero for vector, _ in self._model.embed_passages(texts))
        self._vectors = np.frombuffer(b"".join(vectors), "<f4").reshape(len(texts), -1)

    def bm25(self, question: str, limit: int, *, stop: bool = True) -> list[int]:
        """Return the places of the best texts by FTS5's BM25, words OR-ed."""
        words = [word.lower() for word in re.findall(r"\w+", question)]
        if stop:
            words = [word for word in words if word not in STOP] or words
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        rows = self._words.execute(
            "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f), rowid LIMIT ?", (match, limit)
        )
        return [row[0] for row in rows]

    def reference(self, question: str, limit: int) -> list[int]:
        """Return the places by the reference recipe: all words and vectors, 20 each, RRF k = 60."""
        vector = self._model.embed(question)
        near: list[int] = []
        if vector is not None:
            cosines = self._vectors @ np.frombuffer(vector, "<f4")
            near = np.argsort(-cosines, kind="stable")[:20].tolist()
        words = self.bm25(question, 20, stop=False)
        return [id for id, _ in reciprocal_rank_fusion({"w": words, "v": near})][:limit]
