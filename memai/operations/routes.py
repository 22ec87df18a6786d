"""The routes of a search: who finds candidates, what every route says of them, in which order."""

from __future__ import annotations

from memai import ranking, when
from memai.embedding import Embedder, NoModel, dot, floats
from memai.lean import TYPE_CHECKING, NamedTuple
from memai.operations import embedding_policy, judging, tokens
from memai.operations.embedding_policy import readable
from memai.operations.understanding import Asked, affordable, dated, respelled, satisfiable
from memai.ranking import Ranked
from memai.ranking.closeness import CLOSE, Evidence, closeness
from memai.ranking.late import head
from memai.records import Glance, Scored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memai.queries import WordQuery
    from memai.store import Store

DEPTH = 50
"""Candidates of each route, and of all of them those that are read token by token.

With heads of the first 30, nDCG@10 of 100 was 67.83, of 50 67.72 and of 30 67.60; a warm search of
10,000 memories took 8.4, 5.4 and 4.3 ms. What fuses them looks at no more, so pages of an answer
join.
"""

_NEWER = 10  # hits among which the newer may pass
_WIDEST = 4  # times a route is asked for more because filters on words left too little


class Answer(NamedTuple):
    """What the routes found.

    `ranked` is the order, `found` what each route found by itself, `scores` what each says of a
    candidate, `passages` the best passage of each; `likelihood`, drawn from `evidence`, says how
    likely the best hit is an answer, and `close` whether that is enough.
    """

    ranked: list[Ranked]
    found: dict[str, dict[int, Scored]]
    scores: dict[str, dict[int, float]]
    passages: dict[int, Scored]
    words: WordQuery
    evidence: Evidence
    likelihood: float
    close: bool
    notes: list[str]


def ask(store: Store, asked: Asked, wanted: int) -> Answer:
    """Collect candidates by every route, score them by every route, and order them.

    At least the first `wanted` are in order if there are so many.
    """
    notes: list[str] = []
    model = _model(store, notes)
    asked = respelled(store, model, satisfiable(store, asked, notes), notes)
    asked = dated(affordable(store, asked, notes))
    vector = None if isinstance(model, NoModel) else model.embed(readable(asked.words.text))
    found = _candidates(store, asked, vector, DEPTH)
    ids = set().union(*found.values())
    passages = dict(found["meaning"])
    if vector is not None:
        passages |= store.closest(vector, sorted(ids - passages.keys()))
    scores = {
        "words": {id: one.score for id, one in found["words"].items()},
        "meaning": {id: one.score for id, one in passages.items()},
    }
    glances = store.glances(sorted(ids))
    lifts = _lifts(asked, found, glances)
    reading = None
    if not isinstance(model, NoModel) and vector is not None:
        likely = ranking.order(scores, lifts)[:DEPTH]
        read = tokens.read(store, model, asked.words, likely)
        scores["late"] = read.scores()
        scores["head"] = read.heads(model, glances, ranking.order(scores, lifts))
        reading = (read, model)
    ranked = ranking.fuse(scores, lifts)
    if asked.newer:
        ranked = _newer(store, ranked, glances)
    contradicted = _contradicted(glances)
    sunk = [one for one in ranked if one.id in contradicted]
    ranked = [one for one in ranked if one.id not in contradicted]
    known = judging.judged(store, asked.words, ranked, scores, reading)
    scores["substring"] = {id: one.score for id, one in found["substring"].items()}
    likelihood = closeness(known)
    close = likelihood >= CLOSE and bool(ranked)
    if wanted > len(ranked):
        more = _candidates(store, asked, vector, wanted + DEPTH)
        ranked, sunk = _continued(store, ranked, sunk, more, wanted + DEPTH)
        found = more
        passages = more["meaning"] | passages
        for name, route in more.items():
            scores[name] = {id: one.score for id, one in route.items()} | scores[name]
    ranked = ranking.sink(ranked, sunk)
    return Answer(ranked, found, scores, passages, asked.words, known, likelihood, close, notes)


def _lifts(
    asked: Asked, found: Mapping[str, Mapping[int, Scored]], glances: Mapping[int, Glance]
) -> dict[str, dict[int, float]]:
    """Return what speaks for some candidates besides the routes."""
    said = set(ranking.names(asked.words.text))
    heads = {id: head(glance.beginning) for id, glance in glances.items()}
    shares = {id: ranking.named(one, said) for id, one in heads.items() if one}
    lifts = {
        "exact": {id: ranking.EXACT * one.score for id, one in found["substring"].items()},
        "named": {id: ranking.NAMED * share for id, share in shares.items() if share},
    }
    day = asked.day
    if day and day.since and day.until:
        first, last = when.to_micros(day.since), when.to_micros(day.until)
        on_it = [id for id, glance in glances.items() if first <= glance.created <= last]
        lifts["dated"] = dict.fromkeys(on_it, ranking.DATED)
    return lifts


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


def _candidates(
    store: Store, asked: Asked, vector: bytes | None, depth: int
) -> dict[str, dict[int, Scored]]:
    """Return what each route finds by itself, best first; then what it finds on a day named."""
    found = _found(store, asked, vector, depth)
    if asked.day:
        # As many whatever is wanted, so pages join.
        for name, route in _found(store, asked._replace(where=asked.day), vector, DEPTH).items():
            found[name].update((id, one) for id, one in route.items() if id not in found[name])
    return found


def _found(
    store: Store, asked: Asked, vector: bytes | None, depth: int
) -> dict[str, dict[int, Scored]]:
    words, where = asked.words, asked.where
    rarer = tuple(clause for clause in words.clauses if clause not in asked.common)
    ranked_by = words._replace(clauses=rarer)
    by_words, by_meaning = store.by_both(ranked_by, vector, where, depth, asked.excluded)
    found = {
        "words": by_words,
        "meaning": by_meaning,
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


def _newer(store: Store, ranked: list[Ranked], glances: Mapping[int, Glance]) -> list[Ranked]:
    """Let the newer of the first hits pass the older they resemble."""
    first = [one for one in ranked[:_NEWER] if one.id in glances]
    times = {one.id: glances[one.id].created for one in first}
    found = store.first_vectors([one.id for one in first])
    vectors = {id: floats(vector) for id, vector in found.items()}
    heads = {id: head(glances[id].beginning) for id in vectors}

    def alike(a: int, b: int) -> float:
        if a in vectors and b in vectors and ranking.versions(heads[a], heads[b]):
            return dot(vectors[a], vectors[b])
        return 0.0

    return ranking.prefer_newer(first, times, alike) + ranked[len(first) :]
