"""Pure functions on text: one normal form, and the words for the index.

Both ends of a word search go through this room, so that what is indexed and what is asked are cut
the same way. The words made here are meant for SQLite's FTS5 with the tokenizer
``porter unicode61 remove_diacritics 2``: punctuation, stems and Latin diacritics are its work;
scripts, camelCase, emoji and names such as C++ are done here. Nothing here knows FTS5 syntax.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise

from memai import folding
from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

compose = folding.compose
fold = folding.fold

NORMALISATION = 1
"""Version of the recipe of `index_words`; a store remembers which one filled its index."""

_LONGEST_WORD = 200  # characters; longer ones are blobs, cut alike at both ends
_LONGEST_NAME = 64  # characters; a longer word in mixed case is base64, not a camelCase name

_CJK = (
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
# Thai, Lao, Myanmar, Khmer.
_UNSPACED = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
_MARKS = "\u0300-\u036f"
_FORMS = "\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"  # Latin once composed
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
_ASCII_WORD = "(?P<latin>[A-Za-z0-9]+)"
_CAMEL_PART = "[A-Z]{2,}s(?![a-z0-9])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z][a-z0-9]*|[A-Z0-9]+"
# Unseen inside words: NUL, soft hyphen, joiners, directions, variation selectors, BOM, tags.
_UNSEEN = (
    "[\x00\u00ad\u034f\u061c\u200c-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]+"
)
_CLUSTER = "[^\ue000-\uf8ff][\ue000-\uf8ff]*|[\ue000-\uf8ff]+"
# Letters, capitals and digits each as one byte, and where in a word a camelCase part may begin.
_SORTS = b" " * 48 + b"0" * 10 + b" " * 7 + b"A" * 26 + b" " * 6 + b"a" * 26 + b" " * 133
_HUMPS = (b"aA", b"0A", b"0a", b"AAa")
_TOO_LONG = b"a" * (_LONGEST_WORD + 1)
_ARABIC_ARTICLE = "^(?:[وفبك]?ال|لل)(?=.{3})"
_ENDINGS = "(?:ations?|ments?|ings?|ed|es|s|ly)$"
_ARABIC_FORMS = str.maketrans("أإآٱىةیک", "اااايهيك")


class Segment(NamedTuple):
    """A word, run or symbol as it stands, with what is indexed of it."""

    kind: str  # named, latin, other: words; cjk, hangul, unspaced: runs of pairs; symbol
    text: str
    tokens: list[str]


WORD_KINDS = frozenset(("named", "latin", "other"))
RUN_KINDS = frozenset(("cjk", "hangul"))


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


def segmenter(text: str, *, latin: bool = False) -> re.Pattern[str]:
    """Return the pattern whose groups name the kinds of the segments of `text`.

    With `latin` it passes over other scripts, and takes a tenth of the time to compile.
    """
    if text.isascii():
        # Where nothing can be named: to look for that at every word takes three times as long.
        return re.compile(_ASCII_WORD if _is_unnamed(text) else f"{_NAMED}|{_ASCII_WORD}")
    return re.compile(f"{_NAMED}|(?P<latin>[{_LATIN}{_FORMS}]+)") if latin else _any_segment()


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


def prepare(text: str) -> str:
    """Return `text` composed and without what is unseen inside words."""
    return text.replace("\x00", "") if text.isascii() else compose(re.sub(_UNSEEN, "", text))


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
    if "\u0370" <= word[:1] <= "\u03ff":  # capitals have no accents
        word = bare(word)
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


def tokens_of(kind: str, segment: str) -> list[str]:
    """Return what is indexed of a composed segment of this kind."""
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
    # Sound marks that belong to no character are separators to FTS5.
    return _pairs(segment.replace("\u3099", "").replace("\u309a", ""))


def segments(text: str) -> Iterator[Segment]:
    """Cut prepared text into words, runs and symbols."""
    for segment in segmenter(text).finditer(text):
        kind = segment.lastgroup or ""
        tokens = tokens_of(kind, segment[0])
        if tokens:
            yield Segment(kind, segment[0], tokens)


def index_words(text: str) -> str:
    """Return the words of `text` in the form that is indexed, separated by blanks.

    Words come in their order, so phrases can be asked for. After them come, once each, the last
    characters of runs without blanks: with the pairs, every single character begins some word.
    """
    text = prepare(text)
    return (_ascii_words(text) or (_any_words(text), False))[0]


@lru_cache(maxsize=1000)
def label_words(text: str) -> str:
    """Return `index_words` of a domain or of tags, which many memories share."""
    return index_words(text)


def words_beside(text: str) -> str | None:
    """Return `index_words` of a text, None where FTS5 finds the same words in the text itself.

    That is so of ASCII without camelCase or names such as C++: FTS5 makes it lower case and passes
    over what is neither letter nor digit.
    """
    if is_prose(text):
        return None
    found = None if "\0" in text else _ascii_words(text)
    if found is None:
        return index_words(text)
    words, same = found
    return None if same else words


def is_prose(text: str) -> bool:
    """Whether `text` is ASCII, and each of its words surely is indexed as what it is.

    A glance at bytes in place of a look at each word: 4 microseconds for 300 characters, not 11.
    """
    if not _is_unnamed(text) or "\0" in text:
        return False
    sorts = text.encode().translate(_SORTS)
    if any(hump in sorts for hump in _HUMPS):
        return False
    return _TOO_LONG not in sorts.lower().replace(b"0", b"a")


def _is_unnamed(text: str) -> bool:
    """Whether a text is ASCII without names such as C++."""
    return text.isascii() and "++" not in text and "#" not in text and ".net" not in text.lower()


def _ascii_words(text: str) -> tuple[str, bool] | None:
    """Return the words of a text and whether FTS5 finds them in it; None if not plain ASCII."""
    if not _is_unnamed(text):
        return None
    found = re.findall("[A-Za-z0-9]+", text)
    short = len(max(found, key=len, default="")) <= _LONGEST_WORD
    if short and text.islower():
        return " ".join(found), True  # in the half of the time
    words: list[str] = []
    for word in found:
        if word.islower() and len(word) <= _LONGEST_WORD:
            words.append(word)
        else:
            words += _latin(word)
    return " ".join(words), short and len(words) == len(found)


def _any_words(text: str) -> str:
    """Return the words of prepared text in any script."""
    words: list[str] = []
    ends: dict[str, None] = {}
    for kind, segment, tokens in segments(text):
        words += tokens
        if kind in RUN_KINDS and len(segment) > 1:
            ends[segment[-1]] = None
    return " ".join([*words, *ends])


def bare(word: str) -> str:
    """Return a word without its accents, as the index sees it."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", re.sub(f"[{_MARKS}]+", "", decomposed))


def stem(word: str) -> str:
    """Return a bare word without the commonest English endings: near what the index matches."""
    if len(word) < 4 or not word.isascii():
        return word
    short = re.sub(_ENDINGS, "", word)
    short = (short if len(short) > 2 else word).rstrip("eyi")
    return short or word
