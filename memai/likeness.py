"""Pure functions that say how alike two texts are, and in what they differ.

A text is compared by its units: what stands between blanks, folded and without the punctuation of
the sentence around it. Writing without blanks counts by pairs of characters.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memai.text import fold, index_words, prepare, segments, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    Item = TypeVar("Item")

_OPENING = "'\"([{<*`\u2018“«¿¡"
_CLOSING = "'\")]}>*`\u2019”».,;:!?…"
_POSSESSIVES = ("'s", "\u2019s")
_UNSPACED = frozenset(("cjk", "unspaced"))

_SMALL_WORDS = """
a an the this that these those there it its we our is are was were be been being as at by for in of
per to s
"""
# Sentences that differ in these only say the same. Persons (I, you), tenses (will, did) and what
# turns a sentence round (from, before, with, on, up) are not among them: with those left out too,
# six pairs of eval/duplicates/banking77 instead of one counted as the same.
_SMALL = frozenset(_SMALL_WORDS.split())

_NEGATING_WORDS = """
no not never none neither nor without cannot nothing nicht kein keine keinen keiner nie niemals ohne
nunca jamás sin tampoco não nem sem ne pas jamais sans aucun aucune не нет никогда без لا لم لن ليس
بدون
"""
_NEGATIONS = frozenset(_NEGATING_WORDS.split())
_NEGATING_ENDINGS = ("n't", "n\u2019t", "ない", "せん", "않", "없")
_NEGATING_SIGNS = frozenset("不没沒未无無非别勿")

_FEW = 8  # units in a difference small enough for a negation to decide what it means
_LONGEST_SWAP = 12  # units among which two names may have changed places
_ORDER = 0.25
_SHORT = 4
_SHOWN = 6  # units of a difference that are shown
_LONGEST_SHOWN = 24  # characters of each


class Reading(NamedTuple):
    """A text as it is compared: its units in order, and how often each unit and pair occurs."""

    units: tuple[str, ...]
    words: Counter[str]
    pairs: Counter[tuple[str, str]]


def normal(text: str) -> str:
    """Return `text` without what a reader does not see: equal for what looks the same."""
    return " ".join(fold(prepare(text)).split())


def units(text: str) -> list[str]:
    """Return the units of a text in their order; punctuation that stands alone is one."""
    found: list[str] = []
    for chunk in normal(text).split():
        apart = [] if chunk.isascii() else _unspaced(chunk)
        if apart:
            found += apart
            continue
        unit = chunk.lstrip(_OPENING).rstrip(_CLOSING)
        if unit.endswith(_POSSESSIVES):
            unit = unit[:-2]
        found.append(unit or chunk)
    return found


def _unspaced(chunk: str) -> list[str]:
    """Return the words and pairs of a chunk written without blanks, nothing for any other."""
    pieces = list(segments(chunk))
    if not any(piece.kind in _UNSPACED for piece in pieces):
        return []
    return [token for piece in pieces for token in piece.tokens]


def read(text: str) -> Reading:
    """Return a text as it is compared."""
    found = tuple(units(text))
    return Reading(found, Counter(found), Counter(pairwise(("", *found, ""))))


def gist(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, without small ones and endings.

    Equal for "Cache TTL: 5 minutes" and "The cache TTL is 5 minutes".
    """
    return tuple(stem(word) for word in index_words(fold(text)).split() if word not in _SMALL)


def likeness(a: Reading, b: Reading) -> float:
    """Return how alike two texts are, from 0 to 1.

    Three parts the share of units they have in common, and one part the share of neighbouring
    pairs, so that order counts; both are Dice's coefficient over multisets. In a short text a word
    says more: what is not shared weighs ``1 + 4 / units of both``. The constants lie in the middle
    of a flat top: with a quarter to a half for order and 2 to 6 for the length, the best F1 on
    eval/duplicates differs by 0.006.
    """
    size = len(a.units) + len(b.units)
    if not size:
        return 1.0
    apart = (1 - _ORDER) * (1 - shared(a, b)) + _ORDER * (1 - _dice(a.pairs, b.pairs, size + 2))
    return max(0.0, 1 - apart * (1 + _SHORT / size))


def shared(a: Reading, b: Reading) -> float:
    """Return which share of the units of two texts is in both, from 0 to 1."""
    return _dice(a.words, b.words, len(a.units) + len(b.units))


def _dice(a: Counter[Item], b: Counter[Item], size: int) -> float:
    if not size:
        return 1.0
    if len(a) > len(b):
        a, b = b, a
    return 2 * sum(min(times, b[item]) for item, times in a.items() if item in b) / size


def opposite(a: Reading, b: Reading) -> bool:
    """Whether a small difference turns the sense of one text round.

    A negation in one of them only ("We do use Redis", "We do not use Redis"), or two names that
    have changed places ("Alice reviews Bob's code", "Bob reviews Alice's code").
    """
    mine, theirs = a.words - b.words, b.words - a.words
    if not mine and not theirs:
        return _swapped(a.units, b.units)
    return mine.total() + theirs.total() <= _FEW and _negations(mine) != _negations(theirs)


def renumbered(a: Reading, b: Reading) -> bool:
    """Whether two texts differ, and in nothing but numbers and names with digits in them."""
    mine, theirs = a.words - b.words, b.words - a.words
    return bool(mine and theirs) and all(any(map(str.isdigit, unit)) for unit in (*mine, *theirs))


def _negations(words: Counter[str]) -> int:
    return sum(
        times
        for word, times in words.items()
        if word in _NEGATIONS
        or word.endswith(_NEGATING_ENDINGS)
        or not _NEGATING_SIGNS.isdisjoint(word)
    )


def _swapped(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether the same units differ in order by more than a stretch that moved."""
    start, end = 0, len(a)
    while start < end and a[start] == b[start]:
        start += 1
    while end > start and a[end - 1] == b[end - 1]:
        end -= 1
    if not 2 < end - start <= _LONGEST_SWAP:
        return False
    mine, theirs = a[start:end], b[start:end]
    return not any(mine[cut:] + mine[:cut] == theirs for cut in range(len(mine)))


def difference(a: Reading, b: Reading) -> tuple[str, str]:
    """Return what only the one and what only the other of two texts has, cut for a person."""
    return _shown(a.units, a.words - b.words), _shown(b.units, b.words - a.words)


def _shown(units: Sequence[str], only: Counter[str]) -> str:
    """Return the first of some units in the order of their text."""
    found: list[str] = []
    left = only.copy()
    for unit in units:
        if left[unit] > 0:
            left[unit] -= 1
            if len(found) == _SHOWN:
                found.append("…")
                break
            found.append(unit if len(unit) <= _LONGEST_SHOWN else unit[: _LONGEST_SHOWN - 1] + "…")
    return " ".join(found)
