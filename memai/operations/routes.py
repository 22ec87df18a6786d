"""The routes of a search: who finds candidates, what every route says of them, in which order."""

from __future__ import annotations

import re
import sys
from array import array
from typing import TYPE_CHECKING, NamedTuple

from memai import queries, ranking
from memai.embedding import NoModel, similar
from memai.operations import embedding_policy
from memai.operations.embedding_policy import readable
from memai.queries import Clause
from memai.ranking import Neighbours, Ranked
from memai.records import Glance, Scored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from memai.embedding import Embedder
    from memai.queries import WordQuery
    from memai.records import Where
    from memai.store import Store

DEPTH = 100
"""Candidates of each route. What fuses them looks at no more, so pages of an answer join."""

_LATE = 100  # candidates that are read token by token
_TOKENS = 32  # tokens of a query that are compared, those that say most
_REACH = 2  # neighbours on each side
_NEWER = 10  # hits among which the newer may pass
_LEAST_MISTYPED = 5  # letters of a word that is taken for mistyped
_MISTYPED = 2  # such words of a query that are looked into: 5 ms each
_MEANINGS = 3  # other words for each of them
_WIDEST = 4  # times a route is asked for more because filters on words left too little


class Asked(NamedTuple):
    """A question as the routes take it."""

    words: WordQuery
    where: Where
    excluded: tuple[Clause, ...] = ()
    newer: bool = True


class Answer(NamedTuple):
    """What the routes found: the order, what found each memory, and what each route says of it."""

    ranked: list[Ranked]
    found: dict[str, dict[int, Scored]]
    scores: dict[str, dict[int, float]]
    passages: dict[int, Scored]
    words: WordQuery
    close: bool
    notes: list[str]


def ask(store: Store, asked: Asked, wanted: int) -> Answer:
    """Collect candidates by every route, score them by every route, and order them.

    At least the first `wanted` are in order if there are so many.
    """
    notes: list[str] = []
    model = _model(store, notes)
    asked = _respelled(store, model, _satisfiable(store, asked, notes), notes)
    vector = None if isinstance(model, NoModel) else model.embed(readable(asked.words.text))
    found = _candidates(store, asked, vector, DEPTH)
    ids = set().union(*found.values())
    passages = dict(found["meaning"])
    if vector is not None:
        passages |= store.closest(vector, sorted(ids - passages.keys()))
    scores: dict[str, dict[int, float]] = {
        "words": {id: s.score for id, s in found["words"].items()},
        "meaning": {id: s.score for id, s in passages.items()},
    }
    lifts = {id: ranking.EXACT * s.score for id, s in found["substring"].items()}
    glances = store.glances(sorted(ids))
    if not isinstance(model, NoModel) and vector is not None:
        first = [one.id for one in ranking.fuse(scores, lifts)[:_LATE]]
        scores |= _late(store, model, asked.words, first, glances)
    ranked = ranking.fuse(scores, lifts)
    scores["substring"] = {id: s.score for id, s in found["substring"].items()}
    if asked.newer:
        ranked = _newer(store, ranked, glances)
    contradicted = _contradicted(glances)
    sunk = [one for one in ranked if one.id in contradicted]
    ranked = [one for one in ranked if one.id not in contradicted]
    if wanted > len(ranked):
        more = _candidates(store, asked, vector, wanted + DEPTH)
        ranked, sunk = _continued(store, ranked, sunk, more, wanted + DEPTH)
        found = more
        passages = more["meaning"] | passages
        for name, route in more.items():
            scores[name] = {id: s.score for id, s in route.items()} | scores[name]
    return Answer(
        ranking.sink(ranked, sunk), found, scores, passages, asked.words, bool(ranked), notes
    )


def _continued(
    store: Store,
    ranked: list[Ranked],
    sunk: list[Ranked],
    found: Mapping[str, Mapping[int, Scored]],
    depth: int,
) -> tuple[list[Ranked], list[Ranked]]:
    """Go on behind the candidates that were fused, by the best place in any route.

    Such a place is the same however deep the routes were asked, so pages join. What was
    contradicted comes when nothing else is left.
    """
    known = {one.id for one in (*ranked, *sunk)}
    places: dict[int, int] = {}
    for route in found.values():
        for place, id in enumerate(route, 1):
            if id not in known:
                places[id] = min(place, places.get(id, place))
    rest = sorted(places, key=lambda one: (places[one], one))
    contradicted = _contradicted(store.glances(rest))
    least = ranked[-1].score if ranked else 0.0
    behind = [Ranked(id, s := least * DEPTH / (DEPTH + places[id]), {"depth": s}) for id in rest]
    ranked = ranked + [one for one in behind if one.id not in contradicted]
    if any(len(route) >= depth for route in found.values()):
        return ranked, []
    return ranked, sunk + [one for one in behind if one.id in contradicted]


def _contradicted(glances: Mapping[int, Glance]) -> set[int]:
    return {id for id, glance in glances.items() if glance.confidence == "contradicted"}


def _model(store: Store, notes: list[str]) -> Embedder | NoModel:
    """Return the model of the store; say it loudly if there is none."""
    if not store.exists():
        return NoModel("", "there is no store")
    model = embedding_policy.embedder(store)
    if isinstance(model, NoModel):
        notes.append(f"Words only: the model '{model.name}' cannot be used: {model.reason}.")
    return model


def _respelled(store: Store, model: Embedder | NoModel, asked: Asked, notes: list[str]) -> Asked:
    """Return the question with what its mistyped words may mean.

    A word counts as mistyped if no memory holds it and the model does not know it whole. It stays
    among the words; for the meaning, what it may mean takes its place.
    """
    words = asked.words
    known = [] if isinstance(model, NoModel) else [model]
    single = {c.tokens[0]: c for c in words.clauses if len(c.tokens) == 1}  # begun ones come later
    text, clauses, pieces = words.text, list(words.clauses), list(words.substrings)
    for clause in store.missing([*single.values()])[:_MISTYPED]:
        word = clause.tokens[0]
        # Of several words with one stem the model knows the one that is a word.
        meant = [
            min(group, key=lambda one: [len(two.tokens(one)) for two in known])
            for group in (store.spellings(word) if _mistyped(word, known) else ())
        ][:_MEANINGS]
        if meant:
            clauses += [Clause((one,)) for one in meant]
            text = re.sub(rf"(?i)\b{word}\b", " ".join(meant), text)
            notes.append(f"Nothing holds '{word}'; looked for {' and '.join(meant)} too.")
        else:
            pieces.append(word)  # it may be part of a longer one
    return asked._replace(
        words=words._replace(clauses=tuple(clauses), substrings=tuple(pieces), text=text)
    )


def _mistyped(word: str, known: Sequence[Embedder]) -> bool:
    """Whether a word that no memory holds may be a slip: a model does not know it whole."""
    plain = len(word) >= _LEAST_MISTYPED and word.isascii() and word.isalpha()
    return plain and not any(len(model.tokens(word)) == 1 for model in known)


def _satisfiable(store: Store, asked: Asked, notes: list[str]) -> Asked:
    """Return the question without its quoted phrases if no memory in its scope holds them."""
    words = asked.words
    if not words.phrases:
        return asked
    required = words._replace(clauses=())
    if store.by_words(required, asked.where, 1, asked.excluded):
        return asked
    notes.append("Nothing holds what is in quotes as it is written: its words were looked for.")
    return asked._replace(words=words._replace(phrases=()))


def _candidates(
    store: Store, asked: Asked, vector: bytes | None, depth: int
) -> dict[str, dict[int, Scored]]:
    """Return what each route finds by itself, best first."""
    words, where = asked.words, asked.where
    found = {
        "words": store.by_words(words, where, depth, asked.excluded),
        "meaning": [] if vector is None else store.by_meaning(vector, where, depth),
        "substring": store.by_substring(words.substrings, where, depth),
    }
    if words.phrases or asked.excluded:
        found["substring"] = _allowed(store, asked, found["substring"])
        width = depth
        reached = found["meaning"]
        found["meaning"] = _allowed(store, asked, reached)[:depth]
        for _ in range(_WIDEST):
            if vector is None or len(found["meaning"]) == depth or len(reached) < width:
                break
            width *= 4
            reached = store.by_meaning(vector, where, width)
            found["meaning"] = _allowed(store, asked, reached)[:depth]
    return {name: {one.id: one for one in route} for name, route in found.items()}


def _allowed(store: Store, asked: Asked, route: Sequence[Scored]) -> list[Scored]:
    """Return those that hold all that is required and nothing that is excluded."""
    ids = [one.id for one in route]
    kept = set(ids)
    for phrase in asked.words.phrases:
        kept &= store.matches(ids, (phrase,))
    if asked.excluded:
        kept -= store.matches(ids, asked.excluded)
    return [one for one in route if one.id in kept]


def _late(
    store: Store,
    model: Embedder,
    words: WordQuery,
    ids: Sequence[int],
    glances: Mapping[int, Glance],
) -> dict[str, dict[int, float]]:
    """Return what late interaction says of some memories and of their heads."""
    weights = query_tokens(model, words)
    if not weights:
        return {}
    beside = {id: Neighbours(*sides) for id, sides in store.neighbours(ids, _REACH).items()}
    around = {one for sides in beside.values() for side in sides for one in side}
    passages = store.tokens([*ids, *sorted(around - set(ids))])
    tokens = {id: _joined(part[2] for part in parts) for id, parts in passages.items()}
    known = [id for id in ids if tokens.get(id)]
    heads = {
        id: model.tokens(readable(ranking.head(glances[id].beginning)))
        for id in known
        if id in glances
    }
    distinct = {id: set(tokens[id]) for id in known}
    near = _near(store, model, weights, set().union(*map(set, tokens.values()), *heads.values()))
    weights = ranking.token_weights(weights, distinct.values())
    sides = {id: beside.get(id, Neighbours()) for id in known}
    sides = {
        id: Neighbours(*([one for one in side if tokens.get(one)] for side in both))
        for id, both in sides.items()
    }
    return {
        "late": ranking.late_interaction(weights, near, tokens, sides),
        "head": ranking.late_interaction(weights, near, heads),
    }


def query_tokens(model: Embedder, words: WordQuery) -> dict[int, float]:
    """Return the tokens of a query's content words and how much each of them says."""
    plain = re.findall(r"\w+", readable(words.text))
    telling = [word for word in plain if word.lower() not in queries.STOP_WORDS]
    weights = {t: model.weight(t) for t in dict.fromkeys(model.tokens(" ".join(telling or plain)))}
    first = sorted(weights, key=lambda token: (-weights[token], token))[:_TOKENS]
    return {token: weights[token] for token in first}


def _joined(parts: Iterable[bytes]) -> array[int]:
    joined = array("H")
    for part in parts:
        joined.frombytes(part)
    return joined


def _near(
    store: Store, model: Embedder, tokens: Collection[int], among: Collection[int]
) -> dict[int, dict[int, float]]:
    """Return for each token of a query those near it, exactly.

    A process that has numpy uses it; one that has not lets the engine compare the vectors.
    """
    asked, others = list(tokens), sorted(among)
    if "numpy" not in sys.modules:
        rows, compared = model.rows(asked), model.rows(others)
        pairs = None
        if rows is not None and compared is not None:
            pairs = store.cosines(rows, compared, ranking.NEAR)
        if pairs is not None:
            near: dict[int, dict[int, float]] = {token: {} for token in asked}
            for place, other, cosine in pairs:
                near[asked[place]][others[other]] = cosine
            return near
    return dict(zip(asked, model.cosines(asked, others, ranking.NEAR), strict=True))


def _newer(store: Store, ranked: list[Ranked], glances: Mapping[int, Glance]) -> list[Ranked]:
    """Let the newer of the first hits pass the older they resemble."""
    first = [one for one in ranked[:_NEWER] if one.id in glances]
    times = {one.id: glances[one.id].created_at for one in first}
    vectors = store.first_vectors([one.id for one in first])
    heads = {id: ranking.head(glances[id].beginning) for id in vectors}
    alike = {
        (a, b): similar(vectors[a], vectors[b])
        for a in vectors
        for b in vectors
        if a < b and ranking.versions(heads[a], heads[b])
    }
    return ranking.prefer_newer(first, times, alike) + ranked[len(first) :]
