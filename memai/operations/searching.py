"""Search: the routes, their fusion, and the answer that explains itself."""

from collections.abc import Iterable, Mapping

from memai import passages, queries, ranking
from memai.embedding import NoModel
from memai.errors import UsageError
from memai.operations import checking, embedding_policy
from memai.operations.budget import fitting
from memai.operations.reading import scope_notes
from memai.queries import WordQuery
from memai.records import Found, Hit, Memory, Scored, Where
from memai.store import Store
from memai.vocabulary import (
    ANSWER_BYTES,
    After,
    All,
    Domain,
    Here,
    Limit,
    MaxBytes,
    Query,
    Session,
    Since,
    StatusValue,
    Tags,
    Type,
    Until,
    Without,
)

# Candidates of each route.
_DEPTH = 100


def search(
    store: Store,
    query: Query,
    *,
    domain: Domain | None = None,
    here: Here = False,
    type: Type | None = None,
    session: Session | None = None,
    tags: Tags | None = None,
    status: StatusValue | None = None,
    since: Since | None = None,
    until: Until | None = None,
    without: Without | None = None,
    all_: All = False,
    limit: Limit = 10,
    after: After | None = None,
    max_bytes: MaxBytes = ANSWER_BYTES,
) -> Found:
    """Find memories by words and by meaning, best first.

    Each hit says which side found it: fts (words), vec (meaning) or both. Words in "double quotes"
    must occur as written. Only current memories are searched unless asked otherwise.
    """
    where = checking.where(
        store.caller,
        domain=domain,
        here=here,
        type=type,
        session=session,
        tags=tags,
        status=status,
        since=since,
        until=until,
        everything=all_,
    )
    return _search(store, query, where, without or (), limit, after, max_bytes)


def recall(
    store: Store,
    query: Query,
    *,
    domain: Domain | None = None,
    here: Here = False,
    tags: Tags | None = None,
    limit: Limit = 10,
    max_bytes: MaxBytes = ANSWER_BYTES,
) -> Found:
    """Find notes by words and by meaning: search, over notes only."""
    where = checking.where(store.caller, domain=domain, here=here, type="note", tags=tags)
    return _search(store, query, where, (), limit, None, max_bytes)


def _search(
    store: Store,
    query: str,
    where: Where,
    without: Iterable[str],
    limit: int,
    after: str | None,
    max_bytes: int,
) -> Found:
    """Ask the routes, fuse their answers, and describe the best."""
    wanted = queries.word_query(checking.content(query, "query", "Write what to look for."))
    first = _offset(after)
    depth = max(_DEPTH, first + limit + 1)
    notes: list[str] = []
    excluded = queries.excluded(tuple(without))
    routes: dict[str, list[Scored]] = {
        "words": store.by_words(wanted, where, depth, excluded),
        "meaning": _by_meaning(store, wanted, where, depth, notes),
    }
    if excluded:
        barred = store.matches([s.id for s in routes["meaning"]], excluded)
        routes["meaning"] = [s for s in routes["meaning"] if s.id not in barred]
    if wanted.phrases:
        held = store.matches([s.id for s in routes["meaning"]], wanted.phrases)
        routes["meaning"] = [s for s in routes["meaning"] if s.id in held]
    ranked = ranking.reciprocal_rank_fusion(
        {name: [scored.id for scored in found] for name, found in routes.items()}
    )
    chosen = ranked[first : first + limit]
    memories = store.memories([id for id, _ in chosen])
    by_route = {name: {s.id: s for s in found} for name, found in routes.items()}
    hits = [
        _hit(memories[id], score, id, by_route, wanted)
        for id, score in chosen
        if id in memories  # another process may have purged it meanwhile
    ]
    kept = fitting(hits, max_bytes)
    if not hits:
        notes += scope_notes(store, where)
    return Found(
        truncated=len(kept) < len(hits),
        close=bool(hits),
        hits=tuple(kept),
        next=str(first + len(kept)) if first + len(kept) < len(ranked) else None,
        notes=tuple(notes),
    )


def _by_meaning(
    store: Store, wanted: WordQuery, where: Where, depth: int, notes: list[str]
) -> list[Scored]:
    """Ask for the nearest passages; say so loudly where there is no model."""
    if not store.exists():
        return []
    model = embedding_policy.embedder(store)
    if isinstance(model, NoModel):
        notes.append(f"Words only: the model '{model.name}' cannot be used: {model.reason}.")
        return []
    vector = model.embed(wanted.text)
    return [] if vector is None else store.by_meaning(vector, where, depth)


def _hit(
    memory: Memory,
    score: float,
    id: int,
    by_route: Mapping[str, Mapping[int, Scored]],
    wanted: WordQuery,
) -> Hit:
    """Describe one memory that was found."""
    scores = {name: found[id].score for name, found in by_route.items() if id in found}
    meant = by_route["meaning"].get(id)
    span = (meant.start, meant.end) if meant else (0, len(memory.content))
    snippet, start, end, marks = passages.snippet(memory.content, span, wanted)
    return Hit(
        uid=memory.uid,
        type=memory.type,
        domain=memory.domain,
        tags=memory.tags,
        status=memory.status,
        confidence=memory.confidence,
        agent=memory.agent,
        source=memory.source,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        snippet=snippet,
        span=(start, end),
        marks=tuple(marks),
        content_chars=len(memory.content),
        match_source=ranking.match_source(scores),
        routes=tuple(scores),
        score=round(score, 6),
        scores={name: round(value, 4) for name, value in scores.items()},
    )


def _offset(after: str | None) -> int:
    """Return how many hits an earlier answer has given."""
    if after is None:
        return 0
    if not after.isascii() or not after.isdigit() or len(after) > 6:
        raise UsageError(reason=f"'{after}' is not the 'next' of an earlier search.")
    return int(after)
