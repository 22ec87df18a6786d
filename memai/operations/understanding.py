"""A question made ready for the routes: phrases nobody wrote, words nobody spells so."""

from __future__ import annotations

import re

from memai import dates, when
from memai.embedding import Embedder, NoModel
from memai.errors import UsageError
from memai.lean import TYPE_CHECKING, NamedTuple
from memai.queries import Clause, WordQuery
from memai.records import Where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memai.store import Store

_LEAST_MISTYPED = 5  # letters of a word that is taken for mistyped
_MISTYPED = 2  # words of a query that nothing holds and that are looked into: 5 ms each
_MEANINGS = 3  # other words for each of them


class Asked(NamedTuple):
    """A question as the routes take it."""

    words: WordQuery
    where: Where
    excluded: tuple[Clause, ...] = ()
    newer: bool = True
    common: tuple[Clause, ...] = ()  # not worth the time that ranking by them would take
    day: Where | None = None  # what in this scope was written on the day that is named


def satisfiable(store: Store, asked: Asked, notes: list[str]) -> Asked:
    """Return the question without its quoted phrases if no memory in its scope holds them."""
    words = asked.words
    if not words.phrases:
        return asked
    required = words._replace(clauses=())
    if store.by_words(required, asked.where, 1, asked.excluded):
        return asked
    notes.append("Nothing holds what is in quotes as it is written: its words were looked for.")
    return asked._replace(words=words._replace(phrases=()))


def affordable(store: Store, asked: Asked, notes: list[str]) -> Asked:
    """Return the question with those of its words named that the words are not ranked by."""
    common = store.too_common(asked.words, asked.where)
    if common:
        named = ", ".join(f"'{' '.join(clause.tokens)}'" for clause in common)
        notes.append(f"So many memories hold {named} that the rarer words alone were ranked by.")
    return asked._replace(common=tuple(common))


def dated(asked: Asked) -> Asked:
    """Return the question with its scope narrowed to the day or month it names, if it names one."""
    span = dates.named(asked.words.text)
    if span is None:
        return asked
    try:
        first, last = when.since(span[0]), when.until(span[1])
    except UsageError:  # at an end of the calendar, which not every zone has
        return asked
    where = asked.where
    day = where._replace(
        since=max(first, where.since or first), until=min(last, where.until or last)
    )
    return asked._replace(day=day)


def respelled(store: Store, model: Embedder | NoModel, asked: Asked, notes: list[str]) -> Asked:
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
