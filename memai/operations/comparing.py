"""Which memories likely say the same."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice
from typing import Literal, NamedTuple

from memai import embedding, likeness
from memai.embedding import Embedder, NoModel
from memai.errors import UsageError
from memai.likeness import Reading
from memai.operations import checking, embedding_policy
from memai.operations.budget import first_line, fitting
from memai.records import Duplicates, Memory, Pair, Where
from memai.sketches import Sketches
from memai.store import Store
from memai.vocabulary import ANSWER_BYTES, Domain, Here, Limit, MaxBytes, Threshold, Type

LIKELY = 0.89
"""The likeness from which two memories count as duplicates.

Chosen on the development split of eval/duplicates: 157 pairs that are duplicates, 129 edits that
changed more than a tenth of the words, 2,156 pairs of questions with the same intent. F1 there is
0.91 (0.90 at 0.88 and at 0.90, 0.88 at 0.91), and 0.92 by words alone; 0.85 to 0.95 when the
repositories are drawn anew. Choosing without one repository after the other gives 0.885 to 0.895.
Three pairs of questions are reported. If pairs without a label, mostly versions further apart,
count as wrong, F1 is 0.88.
"""

_SMALL_STORE = 64  # memories of which all pairs are compared: sooner done than numpy is loaded
_MOST_PAIRS = 100_000  # that are read and compared: about 30 s
_THOROUGH = 0.7  # below this threshold pairs are missed even in a quiet store
_STATEMENT = 40  # units; the vector of a longer text tells its subject, not what it says of it
_CLIQUE = 8  # statements with the same gist of which all pairs are compared
_READ_AT_ONCE = 64  # pairs
_KEPT_CHARACTERS = 4_000_000  # of the texts that are kept to be compared again


class _Candidates(NamedTuple):
    """Pairs of engine ids worth comparing, in their order.

    `same_gist` are those of short statements whose words of weight are the same: only they are
    compared by meaning. The cosine alone would not do: a static model finds 0.94 between "increase
    the timeout to 30 seconds" and "decrease the timeout to 30 seconds". `complete` is false where
    likely pairs are missing.
    """

    pairs: list[tuple[int, int]]
    same_gist: set[tuple[int, int]]
    complete: bool


class _Likely(NamedTuple):
    """Two memories that are alike, by engine id."""

    score: float
    first: int
    second: int


class _Read(NamedTuple):
    """A memory as it is compared."""

    memory: Memory
    reading: Reading


def duplicates(
    store: Store,
    *,
    domain: Domain | None = None,
    here: Here = False,
    type: Type | None = None,
    threshold: Threshold = LIKELY,
    limit: Limit = 50,
    max_bytes: MaxBytes = ANSWER_BYTES,
) -> Duplicates:
    """List pairs of memories that likely say the same, likeliest first.

    By words and their order; where there are vectors, short statements also by meaning. Each pair
    names its method, its score, and what differs. A text that negates the other or swaps its names
    is no duplicate, nor is a line with other numbers, nor are checkpoints of one domain: they are a
    timeline. A pair is left out if both are more like a third memory.
    """
    if not 0 < threshold <= 1:
        raise UsageError(reason="The threshold must be above 0 and at most 1.")
    where = checking.where(store.caller, domain=domain, here=here, type=type)
    model = embedding_policy.embedder(store)
    notes = [f"By words only: {model.reason}."] if isinstance(model, NoModel) else []
    near = _candidates(store, where, threshold)
    if not near.complete:
        notes.append("Pairs may be missing: many memories are too much alike to compare them all.")
    if threshold < _THOROUGH:
        notes.append(f"Pairs may be missing: below {_THOROUGH} not all are looked for.")
    reader = _Reader(store)
    found = sorted(
        _nearest(list(_compared(reader, model, near, threshold))),
        key=lambda likely: (-likely.score, likely.first, likely.second),
    )
    answer = Duplicates(truncated=False, pairs=(), notes=tuple(notes))
    kept = fitting(_pairs(reader, found[:limit]), max_bytes, answer)
    return answer._replace(truncated=len(kept) < len(found), pairs=tuple(kept))


def _candidates(store: Store, where: Where, threshold: float) -> _Candidates:
    """Find the pairs worth comparing in one pass over the texts."""
    ids: list[int] = []
    timelines: list[int] = []
    domains: dict[str | None, int] = {}
    gists: dict[int, list[int]] = {}
    waiting: list[list[str]] = []
    sketches: Sketches | None = None
    for id, kind, domain, content in store.contents(where):
        units = likeness.units(content)
        if _is_statement(content, units):
            gist = likeness.gist(content)
            if gist:
                gists.setdefault(hash(gist), []).append(len(ids))
        ids.append(id)
        is_checkpoint = kind == "checkpoint"
        timelines.append(domains.setdefault(domain, len(domains)) if is_checkpoint else -1)
        waiting.append(units)
        if len(waiting) > _SMALL_STORE:
            sketches = sketches or Sketches()
            sketches.add(waiting)
            waiting.clear()
    near: Iterable[tuple[int, int]] = combinations(range(len(ids)), 2)
    complete = True
    if sketches is not None:
        sketches.add(waiting)
        near, complete = sketches.candidates(timelines, threshold, _MOST_PAIRS)

    def apart(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        for one, other in pairs:
            if timelines[one] < 0 or timelines[one] != timelines[other]:
                yield ids[one], ids[other]

    same_gist = set(apart(chain.from_iterable(map(_among, gists.values()))))
    return _Candidates(sorted(same_gist.union(apart(near))), same_gist, complete)


def _is_statement(content: str, units: Sequence[str]) -> bool:
    """Whether a text is short enough to say one thing."""
    return len(units) <= _STATEMENT and "\n" not in content.strip()


def _among(members: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a few members; of many, those with the first."""
    yield from combinations(members[:_CLIQUE], 2)
    for member in members[_CLIQUE:]:
        yield members[0], member


class _Reader:
    """Memories by engine id, read again only when they have not been used for a while."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, _Read] = {}
        self._characters = 0

    def read(self, ids: Iterable[int]) -> dict[int, _Read]:
        """Return the memories with these ids that are still there."""
        wanted = set(ids)
        if self._characters > _KEPT_CHARACTERS:
            self._known = {id: read for id, read in self._known.items() if id in wanted}
            self._characters = sum(len(read.memory.content) for read in self._known.values())
        missing = [id for id in wanted if id not in self._known]
        for id, memory in self._store.memories(missing).items() if missing else ():
            self._known[id] = _Read(memory, likeness.read(memory.content))
            self._characters += len(memory.content)
        return self._known


def _compared(
    reader: _Reader, model: Embedder | NoModel, near: _Candidates, threshold: float
) -> Iterator[_Likely]:
    """Yield the pairs that are alike enough."""
    left = iter(near.pairs)
    while batch := list(islice(left, _READ_AT_ONCE)):
        known = reader.read(chain.from_iterable(batch))
        for first, second in batch:
            if first in known and second in known:
                one, other = known[first], known[second]
                score = likeness.likeness(one.reading, other.reading)
                if score < threshold and (first, second) in near.same_gist:
                    score = _cosine(model, one.memory.content, other.memory.content)
                if score >= threshold and not _disagree(one, other):
                    yield _Likely(score, first, second)


def _disagree(one: _Read, other: _Read) -> bool:
    """Whether two texts that are alike say different things."""
    if likeness.opposite(one.reading, other.reading):
        return True
    statements = all(_is_statement(r.memory.content, r.reading.units) for r in (one, other))
    return statements and likeness.renumbered(one.reading, other.reading)


def _cosine(model: Embedder | NoModel, one: str, other: str) -> float:
    """Return the cosine of two texts; 0 without a model, or if it knows one of them too little.

    The vectors in the store would not do: they speak of domain and tags as well.
    """
    if isinstance(model, NoModel):
        return 0.0
    first, second = model.embed(one), model.embed(other)
    return embedding.similar(first, second) if first and second else 0.0


def _nearest(found: list[_Likely]) -> Iterator[_Likely]:
    """Leave out each pair of which both are more like a third.

    What is left is the relative neighbourhood graph (Toussaint 1980), which still joins all that
    are alike: of many versions of one text each is shown with its nearest.
    """
    around: dict[int, dict[int, float]] = {}
    for score, first, second in found:
        around.setdefault(first, {})[second] = score
        around.setdefault(second, {})[first] = score
    for likely in found:
        fewer, more = sorted((around[likely.first], around[likely.second]), key=len)
        if not any(
            score > likely.score and more.get(third, 0.0) > likely.score
            for third, score in fewer.items()
        ):
            yield likely


def _pairs(reader: _Reader, found: Iterable[_Likely]) -> Iterator[Pair]:
    """Describe pairs, the older memory first."""
    for likely in found:
        known = reader.read((likely.first, likely.second))
        if likely.first in known and likely.second in known:
            one, other = sorted(
                (known[likely.first], known[likely.second]),
                key=lambda read: (read.memory.created_at, read.memory.uid),
            )
            method, why = _reason(one, other, likely.score)
            yield Pair(
                one.memory.uid,
                other.memory.uid,
                round(likely.score, 4),
                method,
                why,
                first_line(one.memory.content),
                first_line(other.memory.content),
            )


def _reason(
    one: _Read, other: _Read, score: float
) -> tuple[Literal["identical", "meaning", "words"], str]:
    """Return the method that found a pair, and why it was reported."""
    first, second = one.memory.content, other.memory.content
    if first == second:
        return "identical", "the same text"
    if likeness.normal(first) == likeness.normal(second):
        return "identical", "the same text but for case, spacing or Unicode form"
    apart = _apart(*likeness.difference(one.reading, other.reading))
    if score > likeness.likeness(one.reading, other.reading):
        return "meaning", f"the same but for small words and endings, cosine {score:.2f}{apart}"
    if apart:
        share = int(100 * likeness.shared(one.reading, other.reading))
        return "words", f"{share}% of the words are shared{apart}"
    if one.reading.units == other.reading.units:
        return "words", "the same words but for punctuation"
    return "words", "the same words in another order"


def _apart(older: str, newer: str) -> str:
    """Return in words what only one of two texts has."""
    if older and newer:
        return f"; differs in: {older} / {newer}"
    if older or newer:
        return f"; only the {'older' if older else 'newer'} has: {older or newer}"
    return ""
