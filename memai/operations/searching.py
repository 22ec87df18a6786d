"""Search: the routes, their fusion, and the answer that explains itself."""

from collections.abc import Iterable

from memai import passages, queries, ranking
from memai.errors import UsageError
from memai.lean import NamedTuple
from memai.operations import checking, routes
from memai.operations.budget import fitting
from memai.operations.reading import scope_notes
from memai.operations.routes import Answer
from memai.operations.understanding import Asked
from memai.ranking import Ranked
from memai.records import Found, Hit, Memory, Where
from memai.store import Store
from memai.vocabulary import (
    ANSWER_BYTES,
    After,
    All,
    Domain,
    Explain,
    Here,
    Limit,
    MaxBytes,
    Newer,
    Query,
    Session,
    Since,
    StatusValue,
    Tags,
    Type,
    Until,
    Without,
)

# Adjustments that are told with every hit they touched.
_ALWAYS = ("newer", "contradicted")
_DIGITS = 4  # of scores: behind them a process that has numpy and one that has not may differ


class Page(NamedTuple):
    """How much of an answer is wanted, and how it is told."""

    limit: int
    max_bytes: int
    after: str | None = None
    newer: bool = True
    explain: bool = False


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
    newer: Newer = True,
    explain: Explain = False,
    limit: Limit = 10,
    after: After | None = None,
    max_bytes: MaxBytes = ANSWER_BYTES,
) -> Found:
    """Find memories by words and by meaning, best first.

    Each hit says which side found it: fts (words), vec (meaning) or both. Words in "double quotes"
    must occur as written, if anything holds them. Only current memories are searched unless asked
    otherwise.
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
    page = Page(limit, max_bytes, after, newer, explain)
    return _search(store, query, where, without or (), page)


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
    return _search(store, query, where, (), Page(limit, max_bytes))


def _search(
    store: Store,
    query: str,
    where: Where,
    without: Iterable[str],
    page: Page,
) -> Found:
    """Ask the routes and describe the best of what they found."""
    text = checking.content(query, "query", "Write what to look for.")
    asked = Asked(
        queries.word_query(text), where, queries.excluded(tuple(without)), newer=page.newer
    )
    first = _offset(page.after)
    with store.reading():
        answer = routes.ask(store, asked, first + page.limit + 1)
        chosen = answer.ranked[first : first + page.limit]
        memories = store.memories([one.id for one in chosen])
        hits = [_hit(memories[one.id], one, answer, explain=page.explain) for one in chosen]
        notes = answer.notes + ([] if hits else list(scope_notes(store, where)))
    if len(text.encode()) > queries.MAX_QUERY_BYTES:
        notes.append(
            f"Only the first {queries.MAX_QUERY_BYTES:,} bytes of the query were looked for."
        )
    found = Found(truncated=False, close=answer.close, hits=(), next=None, notes=tuple(notes))
    kept = fitting(hits, page.max_bytes, found, short=True)
    more = first + len(kept) < len(answer.ranked)
    return found._replace(
        truncated=len(kept) < len(hits),
        hits=tuple(kept),
        next=str(first + len(kept)) if more else None,
    )


def _hit(memory: Memory, ranked: Ranked, answer: Answer, *, explain: bool) -> Hit:
    """Describe one memory that was found."""
    found = [name for name, route in answer.found.items() if ranked.id in route]
    scores = {name: said[ranked.id] for name, said in answer.scores.items() if ranked.id in said}
    scores |= {name: ranked.parts[name] for name in _ALWAYS if name in ranked.parts}
    # What the routes give adds up to the fused score; it is brought to the likelihood of the best.
    best_score = max(answer.ranked[0].score, 1e-6)
    if explain:
        scores |= {f"from_{name}": value for name, value in ranked.parts.items()}
        scores |= {"fused": ranked.score, "likelihood": answer.likelihood}
    text = memory.content
    best = answer.passages.get(ranked.id)
    snippet, start, end, marks = passages.snippet(
        text, (best.start, best.end) if best else (0, len(text)), answer.words
    )
    if best and not marks and "words" in found:  # its words stand elsewhere
        snippet, start, end, marks = passages.snippet(text, (0, len(text)), answer.words)
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
        match_source=ranking.match_source(found),
        routes=tuple(found),
        score=round(ranked.score * answer.likelihood / best_score, _DIGITS),
        scores={name: round(value, _DIGITS) for name, value in scores.items()},
    )


def _offset(after: str | None) -> int:
    """Return how many hits an earlier answer has given."""
    if after is None:
        return 0
    if not after.isascii() or not after.isdigit() or len(after) > 6:
        raise UsageError(reason=f"'{after}' is not the 'next' of an earlier search.")
    return int(after)
