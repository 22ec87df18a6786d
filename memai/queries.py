"""Pure functions that take a query apart into what the word routes look for."""

from __future__ import annotations

import re
from itertools import groupby

from memai.lean import TYPE_CHECKING, NamedTuple
from memai.text import RUN_KINDS, WORD_KINDS, Segment, fold, prepare, segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_QUERY_BYTES = 4096
"""Longest query that is looked at, in bytes of UTF-8; the rest is left out."""

MAX_CLAUSES = 32
"""Most clauses of one query: 20,000 terms took FTS5 77 s on 200 notes."""

_FUNCTION_WORDS = """
a about above after again against all am an and any are as at be because been before being below
between both but by can could did do does doing don down during each few for from further had has
have having he her here hers herself him himself his how i if in into is it its itself just me more
most my myself no nor not now of off on once only or other our ours ourselves out over own s same
she should so some such t than that the their theirs them themselves then there these they this
those through to too under until up very was we were what when where which while who whom why will
with would you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words: left out of a query that has other words, never out of the index."""

_LEAST_PREFIX = 3  # characters a last word needs to be continued: two cost 166 ms at 100k
# Continuing the last word of queries of any length cost 6 points of nDCG@10 on cosqa, 2 on notes.
_FEW_WORDS = 2

_NOT_TEXT = "[\x00\ud800-\udfff]+"
_QUOTED = r"(?<![^\W_])[\"“]([^\"“”]+)[\"”](?![^\W_])"
_CLITIC = r"(?is)(.*[^\W_])['\u2019\u02bc](s|t|re|ve|ll|d|m)(\W*)"
_BETWEEN = r"[\s\u2013\u2014]+"
_OPENING = "'\"\u2018\u201c*`,;"
_CLOSING = "'\"\u2019\u201d*`.,;:!?"
_PUNCTUATED = r"[^\w\s'\u2019\u02bc]|_"


class Clause(NamedTuple):
    """One thing to match: words that follow each other; with `prefix` the last may go on."""

    tokens: tuple[str, ...]
    prefix: bool = False


class WordQuery(NamedTuple):
    """A query taken apart for the word routes.

    `clauses` are alternatives, best first; `phrases` are those that must occur (what stood in
    double quotes), and are among the clauses too, as their words are, so that
    ``phrases AND (clauses OR-ed)`` ranks by all of it. `substrings` are folded pieces of three
    characters or more whose punctuation or digits matter. `text` is the cleaned query, for
    embedding.
    """

    clauses: tuple[Clause, ...]
    phrases: tuple[Clause, ...]
    substrings: tuple[str, ...]
    text: str


def _cleaned(query: str) -> str:
    query = re.sub(_NOT_TEXT, "", query[:MAX_QUERY_BYTES])
    return query.encode()[:MAX_QUERY_BYTES].decode(errors="ignore")


def _phrase(text: str) -> Clause | None:
    """Return `text` as words that follow each other; None if it has no words."""
    pieces = list(segments(text))
    if not pieces:
        return None
    last = pieces[-1]
    begun = last.kind in RUN_KINDS and len(last.text) == 1
    starred = text.rstrip().endswith("*") and len(last.tokens[-1]) > 1
    return Clause(tuple(token for piece in pieces for token in piece.tokens), begun or starred)


def excluded(words: Sequence[str]) -> tuple[Clause, ...]:
    """Return a clause for each word or phrase that must not occur."""
    found = (_phrase(prepare(_cleaned(word))) for word in words)
    return tuple(dict.fromkeys(clause for clause in found if clause))


def _continued(tokens: tuple[str, ...]) -> Clause:
    # The stemmer turns deploy into deploi, which does not begin deployment.
    last = tokens[-1][:-1] if tokens[-1].endswith("y") and len(tokens[-1]) > 3 else tokens[-1]
    return Clause((*tokens[:-1], last), prefix=True)


def _single(piece: Segment, *, goes_on: bool, keep: bool) -> Iterator[Clause]:
    """Give the clauses of a word that stands alone."""
    first, *parts = piece.tokens
    if first in STOP_WORDS and not keep:
        return
    if piece.kind == "named":
        yield Clause((parts[0],))
    yield Clause((first,))
    # GitHub is a name; getUser and MemorySystemAdapter may be met as their words.
    if piece.kind == "latin" and parts and (piece.text[0].islower() or len(parts) > 2):
        yield Clause(tuple(parts))
    if goes_on and first not in STOP_WORDS:
        yield _continued((first,))


def _glued(pieces: list[Segment], *, hyphen: bool, goes_on: bool) -> Iterator[Clause]:
    """Give the clauses of words glued by punctuation: the phrase, then what widens it.

    One word and numbers are a name (a ticket, a version, an address) and stay together; several
    words, or a number and a word behind it, may also be met apart.
    """
    tokens = tuple(token for piece in pieces for token in piece.tokens)
    yield Clause(tokens)
    if goes_on:
        yield _continued(tokens)
    words = [piece.tokens[0] for piece in pieces]
    alphabetic = sum(word.isalpha() for word in words)
    if hyphen and alphabetic == len(words) == 2:
        yield Clause(("".join(words),))
    measure = alphabetic > 0 and words[0].isdigit()
    if alphabetic > 1 or alphabetic == len(words) or measure:
        for word in words:
            if len(word) > 1 and word not in STOP_WORDS and (measure or word.isalpha()):
                yield Clause((word,))


def _run(piece: Segment, *, sparse: bool) -> Iterator[Clause]:
    """Give the clauses of an emoji or of a run without blanks."""
    alone = piece.kind in RUN_KINDS and len(piece.text) == 1
    for token in piece.tokens[:: 2 if sparse else 1]:
        yield Clause((token,), prefix=alone)


def _chunk(chunk: str, *, last: bool, keep: bool, sparse: bool) -> Iterator[Clause]:
    """Give the clauses of what stands between blanks.

    `last`: its end may be continued; `keep`: stop words too; `sparse`: every other pair of a run.
    """
    clitic = re.fullmatch(_CLITIC, chunk)
    if clitic:
        if clitic[2].lower() == "t" and not keep:
            return
        chunk = clitic[1] + clitic[3]
    pieces = list(segments(chunk))
    starred = chunk.endswith("*") and not chunk.startswith("*")
    for are_words, group in groupby(pieces, lambda piece: piece.kind in WORD_KINDS):
        if not are_words:
            for piece in group:
                yield from _run(piece, sparse=sparse)
            continue
        words = list(group)
        end = words[-1]
        size = sum(len(word.tokens[0]) for word in words)
        goes_on = (
            end is pieces[-1]
            and not end.tokens[0].isdigit()
            and (starred or (last and chunk[-1].isalnum() and size >= _LEAST_PREFIX))
            and size > 1
        )
        if len(words) == 1:
            yield from _single(end, goes_on=goes_on, keep=keep)
        else:
            yield from _glued(words, hyphen="-" in chunk, goes_on=goes_on)


def _clauses(chunks: list[str], *, last: bool, keep: bool, sparse: bool) -> list[Clause]:
    found: list[Clause] = []
    words = 0
    for number, chunk in enumerate(chunks, 1):
        ending = last and number == len(chunks) and words < _FEW_WORDS
        clauses = list(_chunk(chunk, last=ending, keep=keep, sparse=sparse))
        words += bool(clauses)
        found += clauses
    return found


def _trimmed(chunk: str) -> str:
    """Return a stretch of a query without the punctuation of the sentence around it."""
    chunk = chunk.rstrip(_CLOSING).lstrip(_OPENING)
    for left, right in ("()", "[]", "{}"):
        if chunk.startswith(left) and (right not in chunk or chunk.endswith(right)):
            chunk = chunk[1:]
        if chunk.endswith(right) and left not in chunk:
            chunk = chunk[:-1]
    return chunk.rstrip(_CLOSING)


def _substrings(chunks: list[str]) -> Iterator[str]:
    for chunk in chunks:
        piece = fold(_trimmed(chunk))
        mixed = any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece)
        if len(piece) >= 3 and (mixed or re.search(_PUNCTUATED, piece)) and any(segments(piece)):
            yield piece


def word_query(query: str) -> WordQuery:
    """Take a query apart into what the word routes look for; never fails."""
    text = _cleaned(query)
    plain = prepare(text)
    phrases = tuple(
        dict.fromkeys(clause for clause in map(_phrase, re.findall(_QUOTED, plain)) if clause)
    )[:MAX_CLAUSES]
    chunks = [chunk for chunk in re.split(_BETWEEN, re.sub(_QUOTED, r" \1 ", plain)) if chunk]
    found: dict[Clause, None] = {}
    for keep, sparse in ((False, False), (False, True), (True, False), (True, True)):
        clauses = _clauses(chunks, last=not phrases, keep=keep, sparse=sparse)
        found = dict.fromkeys([*phrases, *clauses])
        if found and (len(found) <= MAX_CLAUSES or sparse):
            break
    return WordQuery(
        tuple(found)[:MAX_CLAUSES],
        phrases,
        tuple(dict.fromkeys(_substrings(chunks)))[:MAX_CLAUSES],
        text,
    )
