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
_REACH = 2  # neighbours on each side
# Candidates whose heads are read, and among which the one is looked for that covers most of the
# question. Heads of all of them: the same to 0.05.
_FIRST = 30


class Reading(NamedTuple):
    """Candidates read token by token.

    `lengths` says how much each token of the question says, `weights` how much it counts among the
    candidates, `near` which tokens are near it; `beside` names the candidates, whose tokens and
    those of their neighbours are in `texts`.
    """

    lengths: dict[int, float]
    weights: dict[int, float]
    near: dict[int, dict[int, float]]
    texts: Texts
    beside: dict[int, Neighbours]

    def scores(self) -> dict[int, float]:
        """Return what late interaction says of the candidates."""
        return self.texts.interaction(self.weights, self.near, self.beside)

    def heads(
        self, model: Embedder, glances: Mapping[int, Glance], ids: Sequence[int]
    ) -> dict[int, float]:
        """Return what late interaction says of the heads of the first of some memories.

        The tokens of a head are among those of its memory.
        """
        first = [id for id in ids[:_FIRST] if id in self.beside]
        heads = {id: model.tokens(readable(late.head(glances[id].beginning))) for id in first}
        return late.late_interaction(self.weights, self.near, heads)

    def covered(self, ids: Sequence[int]) -> float:
        """Return the share of the question that is covered by one of the first of some memories."""
        first = {id: Neighbours() for id in ids[:_FIRST] if id in self.beside}
        found = self.texts.interaction(self.lengths, self.near, first)
        return max(found.values(), default=0.0)


def read(
    store: Store,
    model: Embedder,
    words: WordQuery,
    ids: Sequence[int],
    glances: Mapping[int, Glance],
) -> Reading:
    """Read candidates, in this order, and what stands beside them."""
    lengths = query_tokens(model, words)
    if not lengths:
        return Reading({}, {}, {}, Texts({}), {})
    sides = store.neighbours(ids, _REACH)
    around = {one for both in sides.values() for side in both for one in side}
    passages = store.tokens([*ids, *sorted(around - set(ids))])
    joined = {id: b"".join([part[2] for part in parts]) for id, parts in passages.items()}
    if "numpy" in sys.modules:
        from memai.ranking.arrays import ArrayTexts

        texts: Texts = ArrayTexts(joined)
    else:
        texts = Texts(joined)
    nobody: tuple[list[int], list[int]] = ([], [])
    beside = {
        id: Neighbours(
            *([one for one in side if texts.holds(one)] for side in sides.get(id, nobody))
        )
        for id in ids
        if texts.holds(id) and id in glances
    }
    weights = late.token_weights(lengths, texts.frequencies(lengths, beside), len(beside))
    near = _near(store, model, lengths, texts.distinct())
    return Reading(lengths, weights, near, texts, beside)


def query_tokens(model: Embedder, words: WordQuery) -> dict[int, float]:
    """Return the tokens of a query's content words and how much each of them says."""
    plain = re.findall(r"\w+", readable(words.text))
    telling = [word for word in plain if word.lower() not in queries.STOP_WORDS]
    weights = {t: model.weight(t) for t in dict.fromkeys(model.tokens(" ".join(telling or plain)))}
    first = sorted(weights, key=lambda token: (-weights[token], token))[:_TOKENS]
    return {token: weights[token] for token in first}


def _near(
    store: Store, model: Embedder, tokens: Collection[int], among: list[int]
) -> dict[int, dict[int, float]]:
    """Return for each token of a query those near it, exactly.

    A process that has numpy uses it; one that has not lets the engine compare the vectors.
    """
    asked = list(tokens)
    if "numpy" not in sys.modules:
        rows, compared = model.rows(asked), model.rows(among)
        pairs = None
        if rows is not None and compared is not None:
            pairs = store.cosines(rows, compared, late.NEAR)
        if pairs is not None:
            near: dict[int, dict[int, float]] = {token: {} for token in asked}
            for place, other, cosine in pairs:
                near[asked[place]][among[other]] = cosine
            return near
    return dict(zip(asked, model.cosines(asked, among, late.NEAR), strict=True))
