"""Pure functions that cut texts: passages to embed, outlines and snippets to read."""

from __future__ import annotations

import re
from functools import lru_cache

from memai.lean import TYPE_CHECKING, NamedTuple
from memai.queries import STOP_WORDS
from memai.text import RUN_KINDS, bare, compose, is_prose, segmenter, stem, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memai.queries import WordQuery

PASSAGES = 1
"""Version of the recipe of `passages`; part of the name of an embedding space."""

_ONE_PASSAGE = 1000  # characters of a memory that is not cut
_PASSAGE_LEAST = 300
_PASSAGE_TARGET = 800
_PASSAGE_MOST = 1200
# Where to cut, best first; each pattern matches what stays with the earlier passage.
_CUTS = (
    r"\n[^\S\n]*(?=\n)|\n(?=#{1,6}\s)",
    r"\n|\r",
    r"[.!?…][\"')\]]*(?=\s)|[。\uff01\uff1f]",
    r"\s",
)
_NOT_BLANK = r"\S"


def passages(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets in characters of stretches small enough to embed well.

    Up to 1,000 characters are one passage. Longer text is cut at blank lines and headings, else
    line ends, else sentence ends, else blanks, into 300 to 1,200 characters. The passages are in
    order, do not overlap and leave out nothing but blanks between them.
    """
    if len(text) <= _ONE_PASSAGE or text.isspace():
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    end = 0
    visible = re.compile(_NOT_BLANK)
    while start := visible.search(text, end):
        begin = start.start()
        end = _cut(text, begin)
        trimmed = begin + len(text[begin:end].rstrip())
        if spans and trimmed - begin < _PASSAGE_LEAST and trimmed - spans[-1][0] <= _PASSAGE_MOST:
            spans[-1] = (spans[-1][0], trimmed)
        else:
            spans.append((begin, trimmed))
    return spans


def _cut(text: str, begin: int) -> int:
    """Return where the passage that starts at `begin` ends."""
    if len(text) - begin <= _ONE_PASSAGE:
        return len(text)
    for cut in _CUTS:
        best = 0
        for place in re.compile(cut).finditer(text, begin + _PASSAGE_LEAST, begin + _PASSAGE_MOST):
            if best and place.end() - begin > _PASSAGE_TARGET:
                break
            best = place.end()
        if best:
            return best
    return begin + _PASSAGE_TARGET


def outline(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """Return each span with its first line that is not blank, cut to 80 characters."""
    visible = re.compile(_NOT_BLANK)
    heads = []
    for start, end in spans:
        first = visible.search(text, start, end)
        line = text[first.start() : min(end, first.start() + 320)] if first else ""
        heads.append((start, end, " ".join(line.splitlines()[0].split())[:80] if line else ""))
    return heads


# -- snippets ---------------------------------------------------------------------------------

_SENTENCE_START = r"(?:^|[.!?]\s+|[。\uff01\uff1f]\s*|\n\s*)(?=\S)"


class _Wanted(NamedTuple):
    """The stems and the beginnings of words that a query marks; `both` in one."""

    stems: frozenset[str]
    beginnings: tuple[str, ...]
    both: tuple[str, ...]


@lru_cache(maxsize=16)  # asked for by every hit of an answer
def _wanted(query: WordQuery) -> _Wanted:
    """Return what a query marks."""
    stems = {
        stem(bare(token))
        for clause in query.clauses
        for token in clause.tokens
        if len(clause.tokens) == 1 or token not in STOP_WORDS
    }
    beginnings = tuple(bare(c.tokens[-1]) for c in query.clauses if c.prefix)
    return _Wanted(frozenset(stems), beginnings, (*stems, *beginnings))


def _matches(text: str, span: tuple[int, int], query: WordQuery) -> list[tuple[int, int, str]]:
    """Return (start, end, key) of each word of the span that the query asks for."""
    stems, beginnings, both = _wanted(query)
    if not stems:
        return []
    if is_prose(text[slice(*span)]):
        return _prose_matches(text, span, query)
    found: list[tuple[int, int, str]] = []
    # Nothing but Latin words can hold what is asked in ASCII.
    for segment in segmenter(text, latin=query.text.isascii()).finditer(text, *span):
        word = segment[0]
        if not word.lower().startswith(both) and _is_plain(word):
            continue  # a stem is how its word begins: that is all to be known of most words
        kind, (start, end) = segment.lastgroup or "", segment.span()
        composed = compose(word)
        tokens = tokens_of(kind, composed)
        paired = kind in RUN_KINDS and len(composed) == end - start
        for number, token in enumerate(map(bare, tokens)):
            key = stem(token)
            if key in stems or token.startswith(beginnings):
                if paired:
                    found.append((start + number, min(start + number + 2, end), key))
                else:
                    found.append((start, end, key))
                    break
    return found


def _is_plain(word: str) -> bool:
    """Whether a word is its own only token, but for a capital at its beginning."""
    return word.isascii() and word.isalpha() and (word.islower() or word.istitle())


def _prose_matches(
    text: str, span: tuple[int, int], query: WordQuery
) -> list[tuple[int, int, str]]:
    """Return what `_matches` does where each word is its own token, in a third of the time."""
    stems, beginnings, both = _wanted(query)
    begin = span[0]
    lowered = text[slice(*span)].lower()
    starts: set[int] = set()
    for wanted in both:
        at = lowered.find(wanted)
        while at >= 0:
            if at == 0 or not lowered[at - 1].isalnum():
                starts.add(at)
            at = lowered.find(wanted, at + 1)
    word_at = re.compile("[a-z0-9]+").match
    words = [word_at(lowered, start) for start in sorted(starts)]
    found = [(word.start(), word.end(), word[0], stem(word[0])) for word in words if word]
    return [
        (begin + start, begin + end, key)
        for start, end, word, key in found
        if key in stems or word.startswith(beginnings)
    ]


def _densest(found: list[tuple[int, int, str]], width: int) -> tuple[int, int]:
    """Return the (first, last) of the matches within `width` with the most different words."""
    counts: dict[str, int] = {}
    best, best_pair, first = (0, 0), (0, 0), 0
    for last, (_, end, key) in enumerate(found):
        counts[key] = counts.get(key, 0) + 1
        while first < last and end - found[first][0] > width:
            gone = found[first][2]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            first += 1
        if (len(counts), last - first) > best:
            best, best_pair = (len(counts), last - first), (first, last)
    return best_pair


def snippet(
    text: str, span: tuple[int, int], query: WordQuery, width: int = 240
) -> tuple[str, int, int, list[tuple[int, int]]]:
    """Return the stretch of a span that shows best why it was found.

    Gives (snippet with white space folded to single blanks, start, end, marks): start and end are
    offsets of the stretch in `text`; marks are the (start, end) of matching words in the snippet.
    """
    begin, stop = span
    found = _matches(text, span, query)
    start, end = begin, stop
    if stop - begin > width:
        if found:
            first, last = _densest(found, width)
            slack = max(0, width - (found[last][1] - found[first][0]))
            start = max(begin, min(found[first][0] - slack // 2, stop - width))
        start = _word_start(text, begin, start, found[first][0] if found else start)
        end = min(stop, start + width)
        if end < stop:
            blank = max(text.rfind(" ", start, end + 1), text.rfind("\n", start, end + 1))
            end = blank if blank > start + width // 2 else end
    stretch = text[start:end]
    start += len(stretch) - len(stretch.lstrip())
    end = start + len(stretch.strip())
    return _folded(text, start, end, found)


def _word_start(text: str, begin: int, start: int, limit: int) -> int:
    """Return a start of a sentence, else of a word, at or shortly after `start`."""
    if start <= begin:
        return begin
    ends = re.compile(_SENTENCE_START).finditer(text, start, limit + 1)
    sentences = [sentence.end() for sentence in ends]
    if sentences and sentences[0] <= limit:
        return sentences[0]
    blank = re.compile(_CUTS[-1]).search(text, start - 1, limit)
    return blank.end() if blank else start


def _folded(
    text: str, start: int, end: int, found: list[tuple[int, int, str]]
) -> tuple[str, int, int, list[tuple[int, int]]]:
    """Return the snippet of a stretch and its marks, overlapping ones joined."""
    stretch = text[start:end]
    places: Sequence[int] = range(end - start + 1)
    if " ".join(stretch.split()) != stretch:
        stretch, places = _single_blanks(stretch)
    marks: list[tuple[int, int]] = []
    for left, right, _ in found:
        if left < start or right > end:
            continue
        a, b = places[left - start], places[right - start]
        if marks and a <= marks[-1][1]:
            marks[-1] = (marks[-1][0], max(b, marks[-1][1]))
        else:
            marks.append((a, b))
    return stretch, start, end, marks


def _single_blanks(stretch: str) -> tuple[str, list[int]]:
    """Return a text with its white space folded, and where each of its characters is then."""
    pieces: list[str] = []
    places: list[int] = []
    size = 0
    for number, character in enumerate(stretch):
        places.append(size)
        blank = character.isspace()
        if not blank or not stretch[number - 1].isspace():
            pieces.append(" " if blank else character)
            size += 1
    return "".join(pieces), [*places, size]
