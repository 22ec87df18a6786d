"""Operations that write: each adds one memory."""

from __future__ import annotations

from memai import when
from memai.errors import UsageError
from memai.folding import fold
from memai.lean import TYPE_CHECKING
from memai.limits import NO_DOMAIN
from memai.operations import checking, embedding_policy
from memai.operations.changing import merge_tags, put
from memai.records import Memory, Where, Written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memai.embedding import Embedder, NoModel
    from memai.store import Store
    from memai.vocabulary import (
        AllowSecret,
        Content,
        Domain,
        Established,
        Instead,
        Intent,
        Key,
        OpenQuestions,
        Pattern,
        Pursuing,
        Redact,
        Session,
        Source,
        Tags,
        WhyWrong,
    )


def note(
    store: Store,
    content: Content,
    *,
    domain: Domain | None = None,
    tags: Tags | None = None,
    session: Session | None = None,
    source: Source | None = None,
    key: Key | None = None,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Written:
    """Save a fact, decision or finding worth having in a later session.

    One fact a note, with the words someone will search for. Saving what is already there returns
    the memory that holds it and adds the new tags.
    """
    return _remember(
        store, "note", content, domain, tags, session, source, key, allow_secret, redact
    )


def checkpoint(
    store: Store,
    *,
    intent: Intent | None = None,
    established: Established | None = None,
    pursuing: Pursuing | None = None,
    open_questions: OpenQuestions | None = None,
    domain: Domain | None = None,
    tags: Tags | None = None,
    session: Session | None = None,
    source: Source | None = None,
    key: Key | None = None,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Written:
    """Save where the work stands, to resume from: pulse shows the latest.

    At least one of its four fields is needed.
    """
    content = _sections(
        ("Intent", intent),
        ("Established", established),
        ("Pursuing", pursuing),
        ("Open questions", open_questions),
    )
    return _remember(
        store, "checkpoint", content, domain, tags, session, source, key, allow_secret, redact
    )


def anti_pattern(
    store: Store,
    *,
    pattern: Pattern | None = None,
    why_wrong: WhyWrong | None = None,
    instead: Instead | None = None,
    domain: Domain | None = None,
    tags: Tags | None = None,
    session: Session | None = None,
    source: Source | None = None,
    key: Key | None = None,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Written:
    """Save a mistake not to make again, why it fails, and what to do instead."""
    if not pattern:
        raise UsageError(reason="An anti_pattern needs --pattern: what is done wrong.")
    content = _sections(("Anti-pattern", pattern), ("Why wrong", why_wrong), ("Instead", instead))
    return _remember(
        store, "anti_pattern", content, domain, tags, session, source, key, allow_secret, redact
    )


def reasoning(
    store: Store,
    content: Content,
    *,
    domain: Domain | None = None,
    tags: Tags | None = None,
    session: Session | None = None,
    source: Source | None = None,
    key: Key | None = None,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Written:
    """Save why something was decided: options, argument, conclusion."""
    return _remember(
        store, "reasoning", content, domain, tags, session, source, key, allow_secret, redact
    )


def handoff(
    store: Store,
    content: Content,
    *,
    domain: Domain | None = None,
    tags: Tags | None = None,
    session: Session | None = None,
    source: Source | None = None,
    key: Key | None = None,
    allow_secret: AllowSecret = False,
    redact: Redact = False,
) -> Written:
    """Leave a message for whoever works next; it is open until forgotten."""
    return _remember(
        store, "handoff", content, domain, tags, session, source, key, allow_secret, redact
    )


def _remember(
    store: Store,
    type: str,
    content: str,
    domain: str | None,
    tags: Iterable[str] | None,
    session: str | None,
    source: str | None,
    key: str | None,
    allow_secret: bool,
    redact: bool,
) -> Written:
    """Store one new memory, or return the one that is already there."""
    kept, remarks = checking.without_secrets(
        checking.content(content), "content", allow=allow_secret, redact=redact
    )
    now = when.now()
    fresh = Memory(
        uid=checking.new_uid(),
        type=type,
        domain=checking.domain(domain, store),
        session=checking.name(session if session is not None else store.caller.session, "session"),
        tags=checking.tags(tags),
        status="active",
        confidence="unverified",
        content=kept,
        agent=store.caller.agent,
        source=checking.name(source, "source"),
        key=checking.name(key, "key"),
        origin=None,
        created_at=now,
        updated_at=now,
        version=1,
        extra={},
    )
    checking.beside_content(fresh, allow=allow_secret)

    def act(model: Embedder | NoModel) -> Written:
        (embedded,) = embedding_policy.embed(model, [fresh])
        with store.writing():
            known, why = _already_there(store, fresh)
            if known is None:
                store.insert(fresh, embedded)
                return Written(
                    fresh.uid, True, fresh, (*remarks, *embedding_policy.missing_model_note(model))
                )
            wanted = known._replace(tags=merge_tags(known.tags, fresh.tags))
            if known.content == fresh.content and wanted.tags != known.tags:
                (embedded,) = embedding_policy.embed(model, [wanted])
                known = put(store, known, wanted, "saved again with more tags", embedded)
            return Written(known.uid, False, known, (*remarks, why))

    return embedding_policy.write(store, act)


def _already_there(store: Store, fresh: Memory) -> tuple[Memory | None, str]:
    """Return the memory that this write repeats, and a remark that says so."""
    if fresh.key is not None:
        known = store.with_key(fresh.key)
        if known is not None:
            same = known.content == fresh.content
            differs = "" if same else " The text given now was not stored."
            return known, f"The key was already used for {known.uid}.{differs}"
    if fresh.type in ("checkpoint", "handoff"):
        # A timeline: only the same words twice in a row are a repeat.
        scope = Where(domain=fresh.domain or NO_DOMAIN, type=fresh.type, session=fresh.session)
        latest = next((m for m in store.page(scope, 50) if _place(m) == _place(fresh)), None)
        known = latest if latest is not None and latest.content == fresh.content else None
    else:
        known = store.same(fresh)
    if known is None:
        return None, ""
    given = {"source": fresh.source, "key": fresh.key}
    left = [name for name, new in given.items() if new not in (None, getattr(known, name))]
    told = f" Not stored: the {' and the '.join(left)} given now." if left else ""
    return known, f"Already there as {known.uid}.{told}"


def _place(memory: Memory) -> tuple[str | None, str | None]:
    """Return the timeline a checkpoint or hand-off belongs to: its domain and session."""
    return None if memory.domain is None else fold(memory.domain), memory.session


def _sections(*fields: tuple[str, str | None]) -> str:
    """Return the labelled fields of a checkpoint or anti-pattern as one text."""
    given = [(label, checking.content(value, label.lower())) for label, value in fields if value]
    if not given:
        labels = ", ".join("--" + label.lower().replace(" ", "-") for label, _ in fields)
        raise UsageError(reason=f"Nothing to keep: give at least one of {labels}.")
    return "\n".join(f"{label}: {value}" for label, value in given)
