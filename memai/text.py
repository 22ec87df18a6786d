"""Pure functions on text: words for the index, queries, passages, snippets, likeness.

Both ends of a word search go through this room, so that what is indexed and what is asked are cut
the same way. The words made here are meant for SQLite's FTS5 with the tokenizer
``porter unicode61 remove_diacritics 2``: punctuation, stems and Latin diacritics are its work;
scripts, camelCase, emoji and names such as C++ are done here. Nothing here knows FTS5 syntax.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NORMALISATION = 1
"""Version of the recipe of `index_words`; a store remembers which one filled its index."""

PASSAGES = 1
"""Version of the recipe of `passages`; part of the name of an embedding space."""

MAX_QUERY_BYTES = 4096
"""Longest query that is looked at, in bytes of UTF-8; the rest is left out."""

MAX_CLAUSES = 32
"""Most clauses of one query: 20,000 terms took FTS5 77 s on 100,000 memories."""

STOP_WORDS = frozenset(
    """a about above after again against all am an and any are as at be because been before being
    below between both but by can could did do does doing don down during each few for from further
    had has have having he her here hers herself him himself his how i if in into is it its itself
    just me more most my myself no nor not now of off on once only or other our ours ourselves out
    over own s same she should so some such t than that the their theirs them themselves then there
    these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your yours yourself yourselves""".split(),
)
"""English function words: left out of a query that has other words, never out of the index."""

_NEGATIONS = frozenset("no not never none neither nor without cannot".split())

_LONGEST_WORD = 200  # characters; longer ones are blobs, cut alike at both ends
_LONGEST_NAME = 64  # characters; a longer mixed-case word is base64, not a camelCase name
_LONGEST_PREFIX_FREE = 3  # characters a last word needs to be continued: two cost 166 ms at 100k

_CJK = (
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_UNSPACED = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
_LATIN = "A-Za-z0-9\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u036f\u1e00-\u1eff"
# Vowel points, which writers may leave out, and the Arabic stretching stroke.
_POINTS = "\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
# Blocks whose combining signs are letters in all but name; FTS5 would break the word at each.
_INDIC = "\u0900-\u0963\u0966-\u0dff\u0f71-\u0fbc"
_SYMBOLS = (
    "\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
_SEGMENT = re.compile(
    r"(?P<named>(?<![A-Za-z0-9])(?:[A-Za-z]{1,12}\+\+|[A-Za-z]\#(?![\w#]))"
    r"|\.NET(?![A-Za-z0-9])|(?<!\S)\.net(?!\w))"
    f"|(?P<latin>[{_LATIN}]+)"
    f"|(?P<cjk>[{_CJK}]+)"
    f"|(?P<hangul>[{_HANGUL}]+)"
    f"|(?P<unspaced>[{_UNSPACED}]+)"
    f"|(?P<symbol>[{_SYMBOLS}])"
    f"|(?P<other>(?:[^\\W_{_LATIN}{_CJK}{_HANGUL}{_UNSPACED}]|[{_POINTS}{_INDIC}])+)",
)
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_NAMED = re.compile(r"\+\+|#|\.net", re.IGNORECASE)
_CAMEL_PART = re.compile(
    "[A-Z]{2,}s(?![a-z0-9])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z][a-z0-9]*|[A-Z0-9]+",
)
# Invisible inside words: soft hyphen, joiners, directions, variation selectors, BOM, NUL.
_INVISIBLE = re.compile(
    "[\x00\u00ad\u034f\u061c\u200c-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]+",
)
_SURROGATES = re.compile("[\x00\ud800-\udfff]+")
_MARK_RUN = re.compile(r"[^\w\s!-~]{64,}")
_LATIN_MARKS = re.compile("[\u0300-\u036f]+")
_DROPPED_POINTS = re.compile(f"[{_POINTS}]+")
_SIGN = re.compile("[\u0900-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0fbc\u102b-\u109f\u17b4-\u17d3]")
_CLUSTER = re.compile("[^\ue000-\uf8ff][\ue000-\uf8ff]*|[\ue000-\uf8ff]+")
_ARABIC_ARTICLE = re.compile("^(?:[وفبك]?ال|لل)(?=.{3})")
_ARABIC_FORMS = str.maketrans("أإآٱىةیک", "اااايهيك")
_QUOTED = re.compile(r"(?<![^\W_])[\"“]([^\"“”]+)[\"”](?![^\W_])")
_CLITIC = re.compile(r"^(.*[^\W_])['’ʼ](s|t|re|ve|ll|d|m)(\W*)$", re.IGNORECASE | re.DOTALL)
_PUNCTUATED = re.compile(r"[^\w\s'’ʼ]|_")


class Clause(NamedTuple):
    """One thing to match: words that follow each other; with `prefix` the last may go on."""

    tokens: tuple[str, ...]
    prefix: bool = False


class WordQuery(NamedTuple):
    """A query taken apart for the word routes.

    `clauses` are alternatives, best first; `phrases` are those that must occur (what stood in
    double quotes), and are among the clauses too, so that ``phrases AND (clauses OR-ed)`` leaves
    the other words optional. `substrings` are folded pieces of three characters or more whose
    punctuation matters. `text` is the cleaned query, for embedding.
    """

    clauses: tuple[Clause, ...]
    phrases: tuple[Clause, ...]
    substrings: tuple[str, ...]
    text: str


# -- one normal form for both ends ------------------------------------------------------------


def _compose(text: str) -> str:
    """Return `text` in NFKC, in linear time.

    Sorting a run of combining marks is quadratic, so marks are dropped from runs that no
    language writes.
    """
    if text.isascii():
        return text

    def thin(run: re.Match[str]) -> str:
        return "".join(c for c in run[0] if not unicodedata.combining(c))

    return unicodedata.normalize("NFKC", _MARK_RUN.sub(thin, text))


def fold(text: str) -> str:
    """Return `text` in NFKC and without case: equal for what a reader would call the same."""
    if text.isascii():
        return text.lower()
    return _compose(_compose(text).casefold())


def _prepare(text: str) -> str:
    return text.replace("\x00", "") if text.isascii() else _compose(_INVISIBLE.sub("", text))


def _latin(word: str) -> list[str]:
    """Return a Latin word folded, and after it the parts of a camelCase name."""
    if word.islower() and word.isascii():
        return [word[:_LONGEST_WORD]]
    word = word[:_LONGEST_WORD]
    folded = [word.lower() if word.isascii() else _LATIN_MARKS.sub("", fold(word))]
    if not folded[0]:
        return []
    if len(word) <= _LONGEST_NAME and not word.isupper() and not word[1:].islower():
        parts = _CAMEL_PART.findall(word) if word.isascii() else []
        if len(parts) > 1:
            folded += [part.lower() for part in parts]
    return folded


def _other(word: str) -> list[str]:
    """Return a word of another spaced script as FTS5 can keep it whole."""
    word = _DROPPED_POINTS.sub("", fold(word[:_LONGEST_WORD]))
    if "\u0600" <= word[:1] <= "\u06ff":
        word = _ARABIC_ARTICLE.sub("", word.translate(_ARABIC_FORMS))
    word = _signs_kept(_LATIN_MARKS.sub("", word))
    return [word] if word else []


def _signs_kept(word: str) -> str:
    """Return `word` with its combining signs moved to the private use area.

    unicode61 takes category M for a separator and Co for a letter.
    """
    return _SIGN.sub(
        lambda sign: chr(0xE000 + ord(sign[0]) - 0x900)
        if unicodedata.category(sign[0])[0] == "M"
        else sign[0],
        word,
    )


def _named(word: str) -> list[str]:
    name = word.strip("+#.").lower()
    if word.startswith("."):
        return [name, "dotnet"]
    return [name, name + ("sharp" if word.endswith("#") else "plusplus")]


def _pairs(kind: str, run: str) -> list[str]:
    """Return the overlapping pairs of a run written without blanks; one character is itself."""
    units: Sequence[str] = run
    if kind == "unspaced":
        units = _CLUSTER.findall(_signs_kept(run))
    if len(units) == 1:
        return list(units)
    return [a + b for a, b in zip(units, units[1:], strict=False)]


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
    return _pairs(kind, segment)


def _segments(text: str) -> Iterator[tuple[str, str]]:
    for segment in _SEGMENT.finditer(text):
        yield segment.lastgroup or "", segment[0]


def index_words(text: str) -> str:
    """Return the words of `text` in the form that is indexed, separated by blanks.

    Words come in their order, so phrases can be asked for. After them come, once each, what only
    helps single words: whole Hangul words and the last characters of runs without blanks.
    """
    text = _prepare(text)
    words: list[str] = []
    if text.isascii() and not _NAMED.search(text):
        for word in _ASCII_WORD.findall(text):
            words += _latin(word)
        return " ".join(words)
    extra: dict[str, None] = {}
    for kind, segment in _segments(text):
        words += _tokens(kind, segment)
        if kind in ("cjk", "hangul") and len(segment) > 1:
            extra[segment[-1]] = None
            if kind == "hangul" and len(segment) > 2:
                extra[segment[:_LONGEST_WORD]] = None
    return " ".join([*words, *extra])


# -- queries ----------------------------------------------------------------------------------


def _cleaned(query: str) -> str:
    query = _SURROGATES.sub("", query[:MAX_QUERY_BYTES])
    return query.encode()[:MAX_QUERY_BYTES].decode(errors="ignore")


def _phrase(text: str) -> Clause | None:
    """Return `text` as words that follow each other; None if it has no words."""
    tokens: list[str] = []
    alone = False
    for kind, segment in _segments(text):
        tokens += _tokens(kind, segment)
        alone = kind in ("cjk", "hangul") and len(segment) == 1
    starred = text.rstrip().endswith("*") and bool(tokens) and len(tokens[-1]) > 1
    return Clause(tuple(tokens), alone or starred) if tokens else None


def excluded(words: Sequence[str]) -> tuple[Clause, ...]:
    """Return a clause for each word or phrase that must not occur."""
    found = (_phrase(_prepare(_cleaned(word))) for word in words)
    return tuple(dict.fromkeys(clause for clause in found if clause))


def _continued(tokens: tuple[str, ...]) -> Clause:
    # The stemmer turns deploy into deploi, which does not begin deployment.
    last = tokens[-1][:-1] if tokens[-1].endswith("y") and len(tokens[-1]) > 3 else tokens[-1]
    return Clause((*tokens[:-1], last), prefix=True)


def _single(kind: str, words: list[str], *, prefix: bool, keep: bool) -> Iterator[Clause]:
    if not words or (words[0] in STOP_WORDS and not keep):
        return
    if kind == "named":
        yield Clause((words[1],))
    yield Clause((words[0],))
    if kind == "latin" and len(words) > 1:
        yield Clause(tuple(words[1:]))
    if prefix:
        yield _continued((words[0],))


def _compound(pieces: list[list[str]], *, prefix: bool) -> Iterator[Clause]:
    """Give the clauses of words glued by punctuation: the phrase, then what widens it.

    One word and numbers are a name (a ticket, a version, an address) and stay together; several
    words may also be met apart.
    """
    tokens = tuple(word for words in pieces for word in words)
    yield Clause(tokens)
    if prefix:
        yield _continued(tokens)
    firsts = [words[0] for words in pieces]
    if len(firsts) == 2 and all(word.isalpha() for word in firsts):
        yield Clause(("".join(firsts),))
    apart = [w for w in firsts if len(w) > 2 and w.isalpha() and w not in STOP_WORDS]
    if len(apart) > 1 or all(word.isalpha() for word in firsts):
        for word in dict.fromkeys(apart):
            yield Clause((word,))


def _chunk(chunk: str, *, last: bool, keep: bool) -> Iterator[Clause]:
    """Give the clauses of one stretch of a query between blanks."""
    clitic = _CLITIC.match(chunk)
    if clitic:
        if clitic[2].lower() == "t" and not keep:
            return
        chunk = clitic[1] + clitic[3]
    run: list[tuple[str, list[str]]] = []
    segments = list(_segments(chunk))
    starred = chunk.rstrip(")]}.,;").endswith("*") and not chunk.startswith("*")
    open_ended = last and chunk[-1:].isalnum()

    def flush(*, final: bool) -> Iterator[Clause]:
        if not run:
            return
        word = run[-1][1][0]
        size = len("".join(w[0] for _, w in run))
        prefix = final and not word.isdigit() and (
            (open_ended and size >= _LONGEST_PREFIX_FREE) or (starred and size > 1)
        )
        if len(run) == 1:
            yield from _single(*run[0], prefix=prefix, keep=keep)
        else:
            yield from _compound([words for _, words in run], prefix=prefix)
        run.clear()

    for number, (kind, segment) in enumerate(segments, 1):
        tokens = _tokens(kind, segment)
        if kind in ("latin", "other", "named"):
            if tokens:
                run.append((kind, tokens))
            if number == len(segments):
                yield from flush(final=True)
            continue
        yield from flush(final=False)
        if kind == "hangul" and len(segment) > 2:
            yield Clause((segment[:_LONGEST_WORD],))
        for token in tokens:
            yield Clause((token,), prefix=kind in ("cjk", "hangul") and len(segment) == 1)


def _trimmed(chunk: str) -> str:
    """Return a stretch of a query without the punctuation of the sentence around it."""
    chunk = chunk.rstrip(".,;:!?'\"’”*`").lstrip("'\"‘“*`,;")
    for left, right in ("()", "[]", "{}"):
        if chunk.startswith(left) and (right not in chunk or chunk.endswith(right)):
            chunk = chunk[1:]
        if chunk.endswith(right) and left not in chunk:
            chunk = chunk[:-1]
    return chunk.rstrip(".,;:!?'\"’”*`")


def _substrings(chunks: Iterable[str]) -> Iterator[str]:
    for chunk in chunks:
        piece = fold(_trimmed(chunk))
        mixed = any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece)
        if len(piece) >= 3 and _SEGMENT.search(piece) and (mixed or _PUNCTUATED.search(piece)):
            yield piece


def word_query(query: str) -> WordQuery:
    """Take a query apart into what the word routes look for; never fails."""
    text = _cleaned(query)
    plain = _prepare(text)
    phrases = [clause for clause in map(_phrase, _QUOTED.findall(plain)) if clause]
    chunks = _QUOTED.sub(" ", plain).split()
    found: list[Clause] = []
    for keep in (False, True):
        found = [*phrases]
        for number, chunk in enumerate(chunks, 1):
            found += _chunk(chunk, last=number == len(chunks), keep=keep)
        if found:
            break
    return WordQuery(
        tuple(dict.fromkeys(found))[:MAX_CLAUSES],
        tuple(dict.fromkeys(phrases))[:MAX_CLAUSES],
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
    re.compile(r"\n[^\S\n]*(?=\n)|\n(?=#{1,6}\s)"),
    re.compile(r"\n|\r"),
    re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]"),
    re.compile(r"\s"),
)
_NOT_BLANK = re.compile(r"\S")


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
    while start := _NOT_BLANK.search(text, end):
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
        for place in cut.finditer(text, begin + _PASSAGE_LEAST, begin + _PASSAGE_MOST):
            if best and place.end() - begin > _PASSAGE_TARGET:
                break
            best = place.end()
        if best:
            return best
    return begin + _PASSAGE_TARGET


def outline(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """Return each span with its first line that is not blank, cut to 80 characters."""
    heads = []
    for start, end in spans:
        first = _NOT_BLANK.search(text, start, end)
        line = text[first.start() : min(end, first.start() + 320)] if first else ""
        heads.append((start, end, " ".join(line.splitlines()[0].split())[:80] if line else ""))
    return heads


# -- snippets ---------------------------------------------------------------------------------

_ENDINGS = re.compile("(?:ations?|ments?|ings?|ed|es|s|ly)$")
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s+|[。！？]\s*|\n\s*)(?=\S)")


def _stem(word: str) -> str:
    """Return a word without the commonest English endings: close to what the index matches."""
    if len(word) < 4 or not word.isascii():
        return word
    short = _ENDINGS.sub("", word)
    short = (short if len(short) > 2 else word).rstrip("eyi")
    return short or word


def _wanted(query: WordQuery) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the stems and the beginnings of words that a query marks."""
    stems = {
        _stem(token)
        for clause in query.clauses
        for token in clause.tokens
        if len(clause.tokens) == 1 or token not in STOP_WORDS
    }
    return frozenset(stems), tuple(c.tokens[-1] for c in query.clauses if c.prefix)


def _matches(text: str, span: tuple[int, int], query: WordQuery) -> list[tuple[int, int, str]]:
    """Return (start, end, key) of each word of the span that the query asks for."""
    stems, beginnings = _wanted(query)
    if not stems:
        return []
    found: list[tuple[int, int, str]] = []
    for segment in _SEGMENT.finditer(text, *span):
        kind, start = segment.lastgroup or "", segment.start()
        if kind in ("cjk", "hangul"):
            run = segment[0]
            for i in range(max(1, len(run) - 1)):
                pair = fold(run[i : i + 2])
                if pair in stems or pair.startswith(beginnings):
                    found.append((start + i, min(start + i + 2, segment.end()), pair))
            continue
        for token in _tokens(kind, segment[0] if kind == "symbol" else _compose(segment[0])):
            if _stem(token) in stems or (beginnings and token.startswith(beginnings)):
                found.append((start, segment.end(), _stem(token)))
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
    sentences = [m.end() for m in _SENTENCE_START.finditer(text, start, limit + 1)]
    if sentences and sentences[0] <= limit:
        return sentences[0]
    blank = re.compile(r"\s").search(text, start - 1, limit)
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


def _plain_words(text: str) -> list[str]:
    return index_words(fold(text)).split()


def shingles(text: str) -> frozenset[str]:
    """Return the words of `text` and its pairs of neighbouring words, both ends marked."""
    words = _plain_words(text)
    if not words:
        return frozenset()
    return frozenset(words) | {f"{a} {b}" for a, b in zip(["^", *words], [*words, "$"], strict=True)}


def similarity(a: str, b: str) -> float:
    """Return how alike two texts are by words, from 0 to 1.

    Jaccard over `shingles`, so order counts; texts that differ in their negations count for less.
    """
    first, second = shingles(a), shingles(b)
    if not first or not second:
        return float(fold(a).split() == fold(b).split())
    likeness = len(first & second) / len(first | second)
    return likeness if (first ^ second).isdisjoint(_NEGATIONS) else likeness * 0.7
