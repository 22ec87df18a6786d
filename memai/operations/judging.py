"""What a search knows of its best hit: the evidence whether it is an answer."""

from __future__ import annotations

import re
from itertools import pairwise

from memai import dates
from memai.lean import TYPE_CHECKING
from memai.operations.embedding_policy import readable
from memai.ranking.closeness import Evidence, evidence
from memai.ranking.holding import holding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memai.embedding import Embedder
    from memai.operations.tokens import Reading
    from memai.queries import WordQuery
    from memai.ranking import Ranked
    from memai.store import Store

_FIRST = 5  # hits that are looked through for names and rare tokens
_SENTENCE = 8  # tokens; a title of fewer stands in what tells nothing of it
_MOST = 4  # names that are told apart: a heading has many, which all begin with a capital


def judged(
    store: Store,
    words: WordQuery,
    ranked: Sequence[Ranked],
    scores: Mapping[str, Mapping[int, float]],
    reading: tuple[Reading, Embedder] | None,
) -> Evidence:
    """Return what speaks for the best hit; by words alone, how many of them it holds."""
    month, clauses = dates.names_month(words.text), len(words.clauses)
    if reading is None or not reading[0].lengths or not ranked:
        single = [clause for clause in words.clauses if len(clause.tokens) == 1]
        held = sum(bool(store.matches([one.id for one in ranked[:1]], (c,))) for c in single)
        found = evidence(ranked, scores, held / max(1, len(single)))
        return found._replace(month=month, clauses=clauses)
    read, model = reading
    found = evidence(ranked, scores, read.covered([one.id for one in ranked]))
    best, asked = ranked[0].id, model.tokens(readable(words.text))
    texts = [read.texts.of(one.id) for one in ranked[:_FIRST]]
    first = [set(tokens) for tokens in texts]
    whole = holding(read.weights, read.texts.near(first[0]), texts[0])
    # The weights without the lengths are the inverse document frequencies among the candidates.
    rare = {t: weight / read.lengths[t] if weight else 0.0 for t, weight in read.weights.items()}
    named = _names(words.text, model)
    strangers = [min(_MOST, sum(not name <= tokens for name in named)) for tokens in first]
    return found._replace(
        read=True,
        late=scores.get("late", {}).get(best, 0.0),
        meaning=scores.get("meaning", {}).get(best, 0.0),
        length=whole.length,
        about=whole.about,
        missing=whole.missing,
        unmet=whole.unmet,
        strangers=strangers[0],
        unknown=min(strangers),
        held=max(sum(rare[token] for token in rare.keys() & tokens) for tokens in first),
        pairs=_pairs(asked, read, texts),
        says=sum(read.lengths.values()) / 1000,
        clauses=clauses,
        month=month,
        verbatim=_holds(texts[0], asked),
    )


def _holds(tokens: Sequence[int], asked: Sequence[int]) -> bool:
    """Whether some tokens hold those of a question in a row, if these are a sentence."""
    if len(asked) < _SENTENCE:
        return False
    known, wanted = list(tokens), list(asked)
    starts = [at for at, token in enumerate(known) if token == wanted[0]]
    return any(known[at : at + len(wanted)] == wanted for at in starts)


def _names(text: str, model: Embedder) -> list[set[int]]:
    """Return the tokens of each name in a question: words with a capital, but for the first."""
    words = dict.fromkeys(re.findall(r"(?<=\w )[A-Z]\w+", text))
    return [tokens for word in words if (tokens := set(model.tokens(readable(word))))]


def _pairs(asked: Sequence[int], read: Reading, texts: Sequence[Sequence[int]]) -> float:
    """Return the share of neighbours in a question that are neighbours in a memory, on average."""
    pairs = {pair for pair in pairwise(asked) if read.lengths.keys() >= set(pair)}
    if not pairs:
        return 0.0
    return sum(len(pairs & set(pairwise(tokens))) for tokens in texts) / len(pairs) / _FIRST
