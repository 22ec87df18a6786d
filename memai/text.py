"""Pure functions on text: words for the index, queries, passages, snippets, likeness.

Both ends of a word search go through this room, so that what is indexed and what is asked are cut
the same way. The words made here are meant for SQLite's FTS5 with the tokenizer
``porter unicode61 remove_diacritics 2``: punctuation, stems and Latin diacritics are its work;
scripts, camelCase, emoji and names such as C++ are done here. Nothing here knows FTS5 syntax.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NORMALISATION = 1
"""Version of the recipe of `index_words`; a store remembers which one filled its index."""

PASSAGES = 1
"""Version of the recipe of `passages`; part of the name of an embedding space."""

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

_NEGATIONS = frozenset(("no", "not", "never", "none", "neither", "nor", "without", "cannot", "t"))

_LONGEST_WORD = 200  # characters; longer ones are blobs, cut alike at both ends
_LONGEST_NAME = 64  # characters; a longer word in mixed case is base64, not a camelCase name
_LEAST_PREFIX = 3  # characters a last word needs to be continued: two cost 166 ms at 100k
# Continuing the last word of queries of any length cost 6 points of nDCG@10 on cosqa, 2 on notes.
_FEW_WORDS = 2

_CJK = (
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
# Thai, Lao, Myanmar, Khmer.
_UNSPACED = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
_MARKS = "\u0300-\u036f"
_LATIN = "A-Za-z0-9\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff" + _MARKS
# Vowel points, which writers may leave out, and the Arabic stretching stroke.
_POINTS = "\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
# Indic and Tibetan: their combining signs are letters in all but name.
_SIGNED = "\u0900-\u0963\u0966-\u0dff\u0f71-\u0fbc"
_SYMBOLS = "\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_NAMED = (
    r"(?P<named>(?<![A-Za-z0-9])(?:[A-Za-z]{1,12}\+\+|[A-Za-z]\#(?![\w#]))"
    r"|\.NET(?![A-Za-z0-9])|(?<!\S)\.net(?!\w))"
)
_ASCII_SEGMENT = f"{_NAMED}|(?P<latin>[A-Za-z0-9]+)"
_CAMEL_PART = "[A-Z]{2,}s(?![a-z0-9])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z][a-z0-9]*|[A-Z0-9]+"
# Unseen inside words: NUL, soft hyphen, joiners, directions, variation selectors, BOM, tags.
_UNSEEN = (
    "[\x00\u00ad\u034f\u061c\u200c-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]+"
)
_NOT_TEXT = "[\x00\ud800-\udfff]+"
_CLUSTER = "[^\ue000-\uf8ff][\ue000-\uf8ff]*|[\ue000-\uf8ff]+"
_ARABIC_ARTICLE = "^(?:[وفبك]?ال|لل)(?=.{3})"
_ARABIC_FORMS = str.maketrans("أإآٱىةیک", "اااايهيك")
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


class _Piece(NamedTuple):
    kind: str  # named, latin, other: words; cjk, hangul, unspaced: runs of pairs; symbol
    text: str
    tokens: list[str]


_WORD_KINDS = frozenset(("named", "latin", "other"))
_RUN_KINDS = frozenset(("cjk", "hangul"))


# -- one normal form for both ends ------------------------------------------------------------


@cache
def _any_segment() -> re.Pattern[str]:
    """Return the pattern that cuts text of any script; compiled late, for it takes 3 ms."""
    return re.compile(
        f"{_NAMED}"
        f"|(?P<latin>[{_LATIN}]+)"
        f"|(?P<cjk>[{_CJK}]+)"
        f"|(?P<hangul>[{_HANGUL}]+)"
        f"|(?P<unspaced>[{_UNSPACED}]+)"
        f"|(?P<symbol>[{_SYMBOLS}])"
        f"|(?P<other>(?:[^\\W_{_LATIN}{_CJK}{_HANGUL}{_UNSPACED}]|[{_MARKS}{_POINTS}{_SIGNED}])+)",
    )


def _segmenter(text: str) -> re.Pattern[str]:
    return re.compile(_ASCII_SEGMENT) if text.isascii() else _any_segment()


@cache
def _signs() -> dict[int, int]:
    """Return where combining signs go in the private use area.

    FTS5 takes category M for a separator, which would break the word at each, and Co for a letter.
    """
    return {
        sign: 0xE000 + sign - 0x900
        for low, high in ((0x900, 0xFBD), (0x102B, 0x10A0), (0x17B4, 0x17D4))
        for sign in range(low, high)
        if unicodedata.category(chr(sign))[0] == "M"
    }


def _without_accents(run: re.Match[str]) -> str:
    return "".join(c for c in run[0] if not unicodedata.combining(c))


def _compose(text: str) -> str:
    """Return `text` in NFKC, in linear time.

    Sorting a run of combining marks is quadratic, so runs that no language writes lose theirs.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", re.sub(r"[^\w\s!-~]{64,}", _without_accents, text))


def fold(text: str) -> str:
    """Return `text` in NFKC and without case: equal for what a reader would call the same."""
    if text.isascii():
        return text.lower()
    return _compose(_compose(text).casefold())


def _prepare(text: str) -> str:
    return text.replace("\x00", "") if text.isascii() else _compose(re.sub(_UNSEEN, "", text))


def _latin(word: str) -> list[str]:
    """Return a Latin word folded, and after it the parts of a camelCase name."""
    word = word[:_LONGEST_WORD]
    if not word.isascii():
        word = re.sub(f"[{_MARKS}]+", "", fold(word))
        return [word] if word else []
    words = [word.lower()]
    if len(word) <= _LONGEST_NAME and not word.isupper() and not word[1:].islower():
        parts = re.findall(_CAMEL_PART, word)
        if len(parts) > 1:
            words += [part.lower() for part in parts]
    return words


def _other(word: str) -> list[str]:
    """Return a word of another spaced script as FTS5 can keep it whole."""
    word = re.sub(f"[{_MARKS}{_POINTS}]+", "", fold(word[:_LONGEST_WORD]))
    if "\u0600" <= word[:1] <= "\u06ff":
        word = re.sub(_ARABIC_ARTICLE, "", word.translate(_ARABIC_FORMS))
    return [word.translate(_signs())] if word else []


def _named(name: str) -> list[str]:
    word = name.strip("+#.").lower()
    if name.startswith("."):
        return [word, "dotnet"]
    return [word, word + ("sharp" if name.endswith("#") else "plusplus")]


def _pairs(units: Sequence[str]) -> list[str]:
    """Return the overlapping pairs of a run written without blanks; one unit is itself.

    Korean has blanks, but particles grow on its words: pairs alone found the like sentence of
    klue-sts with an MRR of 85, pairs and whole words 80, whole words alone 58.
    """
    if len(units) == 1:
        return list(units)
    return [a + b for a, b in pairwise(units)]


def _tokens(kind: str, segment: str) -> list[str]:
    if kind == "latin":
        return _latin(segment)
    if kind == "other":
        return _other(segment)
    if kind == "named":
        return _named(segment)
    if kind == "symbol":
        # The closing x keeps the stemmer from taking "1f4ed" for a past tense.
        return [f"u{ord(segment):x}x"]
    if kind == "unspaced":
        return _pairs(re.findall(_CLUSTER, segment.translate(_signs())))
    return _pairs(segment)


def _pieces(text: str) -> Iterator[_Piece]:
    """Cut prepared text into words, runs and symbols, each with what is indexed of it."""
    for segment in _segmenter(text).finditer(text):
        kind = segment.lastgroup or ""
        tokens = _tokens(kind, segment[0])
        if tokens:
            yield _Piece(kind, segment[0], tokens)


def index_words(text: str) -> str:
    """Return the words of `text` in the form that is indexed, separated by blanks.

    Words come in their order, so phrases can be asked for. After them come, once each, the last
    characters of runs without blanks: with the pairs, every single character begins some word.
    """
    text = _prepare(text)
    words: list[str] = []
    if text.isascii() and "++" not in text and "#" not in text and ".net" not in text.lower():
        for word in re.findall("[A-Za-z0-9]+", text):
            if word.islower() and len(word) <= _LONGEST_WORD:
                words.append(word)
            else:
                words += _latin(word)
        return " ".join(words)
    ends: dict[str, None] = {}
    for kind, segment, tokens in _pieces(text):
        words += tokens
        if kind in _RUN_KINDS and len(segment) > 1:
            ends[segment[-1]] = None
    return " ".join([*words, *ends])


# -- queries ----------------------------------------------------------------------------------


def _cleaned(query: str) -> str:
    query = re.sub(_NOT_TEXT, "", query[:MAX_QUERY_BYTES])
    return query.encode()[:MAX_QUERY_BYTES].decode(errors="ignore")


def _phrase(text: str) -> Clause | None:
    """Return `text` as words that follow each other; None if it has no words."""
    pieces = list(_pieces(text))
    if not pieces:
        return None
    last = pieces[-1]
    begun = last.kind in _RUN_KINDS and len(last.text) == 1
    starred = text.rstrip().endswith("*") and len(last.tokens[-1]) > 1
    return Clause(tuple(token for piece in pieces for token in piece.tokens), begun or starred)


def excluded(words: Sequence[str]) -> tuple[Clause, ...]:
    """Return a clause for each word or phrase that must not occur."""
    found = (_phrase(_prepare(_cleaned(word))) for word in words)
    return tuple(dict.fromkeys(clause for clause in found if clause))


def _continued(tokens: tuple[str, ...]) -> Clause:
    # The stemmer turns deploy into deploi, which does not begin deployment.
    last = tokens[-1][:-1] if tokens[-1].endswith("y") and len(tokens[-1]) > 3 else tokens[-1]
    return Clause((*tokens[:-1], last), prefix=True)


def _single(piece: _Piece, *, goes_on: bool, keep: bool) -> Iterator[Clause]:
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


def _glued(pieces: list[_Piece], *, hyphen: bool, goes_on: bool) -> Iterator[Clause]:
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


def _run(piece: _Piece, *, sparse: bool) -> Iterator[Clause]:
    """Give the clauses of an emoji or of a run without blanks."""
    alone = piece.kind in _RUN_KINDS and len(piece.text) == 1
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
    pieces = list(_pieces(chunk))
    starred = chunk.endswith("*") and not chunk.startswith("*")
    for are_words, group in groupby(pieces, lambda piece: piece.kind in _WORD_KINDS):
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
        if len(piece) >= 3 and (mixed or re.search(_PUNCTUATED, piece)) and any(_pieces(piece)):
            yield piece


def word_query(query: str) -> WordQuery:
    """Take a query apart into what the word routes look for; never fails."""
    text = _cleaned(query)
    plain = _prepare(text)
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


# -- passages ---------------------------------------------------------------------------------

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

_ENDINGS = "(?:ations?|ments?|ings?|ed|es|s|ly)$"
_SENTENCE_START = r"(?:^|[.!?]\s+|[。\uff01\uff1f]\s*|\n\s*)(?=\S)"


def _bare(word: str) -> str:
    """Return a word without its accents, as the index sees it."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", re.sub(f"[{_MARKS}]+", "", decomposed))


def _stem(word: str) -> str:
    """Return a bare word without the commonest English endings: near what the index matches."""
    if len(word) < 4 or not word.isascii():
        return word
    short = re.sub(_ENDINGS, "", word)
    short = (short if len(short) > 2 else word).rstrip("eyi")
    return short or word


def _wanted(query: WordQuery) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the stems and the beginnings of words that a query marks."""
    stems = {
        _stem(_bare(token))
        for clause in query.clauses
        for token in clause.tokens
        if len(clause.tokens) == 1 or token not in STOP_WORDS
    }
    return frozenset(stems), tuple(_bare(c.tokens[-1]) for c in query.clauses if c.prefix)


def _matches(text: str, span: tuple[int, int], query: WordQuery) -> list[tuple[int, int, str]]:
    """Return (start, end, key) of each word of the span that the query asks for."""
    stems, beginnings = _wanted(query)
    if not stems:
        return []
    found: list[tuple[int, int, str]] = []
    for segment in _segmenter(text).finditer(text, *span):
        kind, (start, end) = segment.lastgroup or "", segment.span()
        composed = _compose(segment[0])
        tokens = _tokens(kind, composed)
        paired = kind in _RUN_KINDS and len(composed) == end - start
        for number, token in enumerate(map(_bare, tokens)):
            stem = _stem(token)
            if stem in stems or token.startswith(beginnings):
                if paired:
                    found.append((start + number, min(start + number + 2, end), stem))
                else:
                    found.append((start, end, stem))
                    break
    return found


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
    pieces: list[str] = []
    places: list[int] = []
    size = 0
    for number in range(start, end):
        places.append(size)
        blank = text[number].isspace()
        if not blank or not text[number - 1].isspace():
            pieces.append(" " if blank else text[number])
            size += 1
    places.append(size)
    marks: list[tuple[int, int]] = []
    for left, right, _ in found:
        if left < start or right > end:
            continue
        a, b = places[left - start], places[right - start]
        if marks and a <= marks[-1][1]:
            marks[-1] = (marks[-1][0], max(b, marks[-1][1]))
        else:
            marks.append((a, b))
    return "".join(pieces), start, end, marks


# -- likeness ---------------------------------------------------------------------------------


def shingles(text: str) -> frozenset[str]:
    """Return the words of `text` and its pairs of neighbouring words, both ends marked."""
    words = index_words(fold(text)).split()
    if not words:
        return frozenset()
    return frozenset(words) | {
        f"{a} {b}" for a, b in zip(["^", *words], [*words, "$"], strict=True)
    }


def similarity(a: str, b: str) -> float:
    """Return how alike two texts are by words, from 0 to 1.

    Jaccard over `shingles`, so order counts; texts that differ in their negations count for less.
    """
    first, second = shingles(a), shingles(b)
    if not first or not second:
        return float(fold(a).split() == fold(b).split())
    likeness = len(first & second) / len(first | second)
    return likeness if (first ^ second).isdisjoint(_NEGATIONS) else likeness * 0.7
