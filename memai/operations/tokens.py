"""Late interaction on the candidates of a search: their tokens, heads and neighbours."""

from __future__ import annotations

import re
import sys

from memai import queries
from memai.embedding import Embedder
from memai.lean import TYPE_CHECKING, NamedTuple
from memai.operations.embedding_policy import readable
from memai.ranking import late
from memai.ranking.late import Neighbours, Texts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from memai.queries import WordQuery
    from memai.records import Glance
    from memai.store import Store

_TOKENS = 32  # tokens of a query that are compared, those that say most
_HEADS = 10  # candidates whose heads are read: 67.85; 67.75 for 15, 67.72 for 30
_COVERING = 30  # candidates among which the one is looked for that covers most of the question


class Reading(NamedTuple):
    """Candidates read token by token.

    `lengths` says how much each token of the question says, `weights` how much it counts among the
    candidates; `texts` has the tokens of these and of what stands beside them.
    """

    lengths: dict[int, float]
    weights: dict[int, float]
    texts: Texts

    def scores(self) -> dict[int, float]:
        """Return what late interaction says of the candidates."""
        return self.texts.interaction(self.weights)

    def heads(
        self, model: Embedder, glances: Mapping[int, Glance], ids: Sequence[int]
    ) -> dict[int, float]:
        """Return what late interaction says of the heads of the first of some memories.

        The tokens of a head are among those of its memory.
        """
        first = [id for id in ids[:_HEADS] if id in self.texts]
        heads = {id: model.tokens(readable(late.head(glances[id].beginning))) for id in first}
        near = self.texts.near(set().union(*heads.values()))
        return late.late_interaction(self.weights, near, heads)

    def covered(self, ids: Sequence[int]) -> float:
        """Return the share of the question that is covered by one of the first of some memories."""
        first = [id for id in ids[:_COVERING] if id in self.texts]
        return max(self.texts.alone(self.lengths, first).values(), default=0.0)


def read(store: Store, model: Embedder, words: WordQuery, ids: Sequence[int]) -> Reading:
    """Read candidates, in this order, and what stands beside them."""
    lengths = query_tokens(model, words)
    if not lengths:
        return Reading({}, {}, Texts({}, {}, {}))
    sides = store.neighbours(ids)
    around = {one for both in sides.values() for one in both if one is not None}
    tokens: dict[int | None, bytes] = dict(store.tokens([*around.union(ids)]).items())
    memories = {id: tokens[id] for id in ids if id in tokens}
    beside = {
        id: late.neighbours(tokens.get(before, b""), tokens.get(after, b""))
        for id, (before, after) in sides.items()
        if id in memories
    }
    texts = _texts(store, model, lengths, memories, beside)
    weights = late.token_weights(lengths, texts.frequencies(), len(memories))
    return Reading(lengths, weights, texts)


def query_tokens(model: Embedder, words: WordQuery) -> dict[int, float]:
    """Return the tokens of a query's content words and how much each of them says."""
    plain = re.findall(r"\w+", readable(words.text))
    telling = [word for word in plain if word.lower() not in queries.STOP_WORDS]
    weights = {t: model.weight(t) for t in dict.fromkeys(model.tokens(" ".join(telling or plain)))}
    first = sorted(weights, key=lambda token: (-weights[token], token))[:_TOKENS]
    return {token: weights[token] for token in first}


def _texts(
    store: Store,
    model: Embedder,
    asked: Collection[int],
    memories: Mapping[int, bytes],
    beside: Mapping[int, Neighbours],
) -> Texts:
    """Return the tokens of memories, compared exactly with those of a query.

    A process that has numpy uses it; one that has not lets the engine compare the vectors.
    """
    if "numpy" not in sys.modules:
        tokens, among = list(asked), late.distinct(memories, beside)
        rows, compared = model.rows(tokens), model.rows(among)
        pairs = None
        if rows is not None and compared is not None:
            pairs = store.cosines(rows, compared, late.NEAR)
        if pairs is not None:
            near: dict[int, dict[int, float]] = {token: {} for token in tokens}
            for place, other, cosine in pairs:
                near[tokens[place]][among[other]] = cosine
            return Texts(memories, beside, near)
    from memai.ranking.arrays import ArrayTexts

    wanted = list(asked)
    return ArrayTexts(memories, beside, wanted, lambda others: model.cosines(others, wanted))
