"""Text to tokens: BERT's lower-casing normaliser and pre-tokeniser, then WordPiece.

The same tokens as the package `tokenizers` gives, by the standard library alone: importing and
setting up that package costs more than a short text does here. Where the two differ: the names of
special tokens ("[PAD]") are text here, and a character that a newer Unicode table than the one of
`tokenizers` knows is treated as what it is.
"""

from __future__ import annotations

import json
import os
import re
import struct
import unicodedata
from bisect import bisect_left

from memai.embedding.files import UnknownKindError, UnusableError, map_file
from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Vocabulary(Protocol):
        """Words and pieces of words, and their token ids."""

        def get(self, word: str, /) -> int | None:
            """Return the id of a word, None if it is not in the vocabulary."""

        def lengths(self) -> Iterator[int]:
            """Yield for each word a length that it does not exceed."""


MAX_TOKENS = 512
"""Tokens of a text that count, as in model2vec; a passage has far fewer."""

MAX_WORD = 100
"""Characters of a word beyond which BERT's WordPiece calls it unknown."""

_SHORT = 24  # characters of a word that is not worth asking how long pieces can be
_MEMO_WORDS = 50_000  # a server's memory stays bounded: about 10 MB

# BERT's whitespace: the White_Space characters of Unicode without the controls, which it removes.
_CHUNK = re.compile("[^\t\n\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")  # in lower case, without controls
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_REMOVED = frozenset({"Cc", "Cf", "Co", "Cs"})


class Reading(NamedTuple):
    """A text as a model sees it: ids of its known tokens, and whether most letters are theirs."""

    ids: list[int]
    legible: bool


class WordPiece:
    """A tokeniser over a vocabulary; safe to use from several threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._longest = 0
        self._memo: dict[str, tuple[list[int], int]] = {}

    def read(self, text: str) -> Reading:
        """Return the known tokens of a text, at most `MAX_TOKENS`, and whether they tell its sense.

        A text is legible unless more than half of its letters belong to unknown words. A word of
        more than `MAX_WORD` characters is not counted: it is a key or a blob, not a language.
        """
        ids: list[int] = []
        known = unknown = 0
        memo = self._memo
        for word in words(text):
            pieces, letters = memo.get(word) or self._word(word)
            ids += pieces
            if pieces:
                known += letters
            elif len(word) <= MAX_WORD:
                unknown += letters
            if len(ids) >= MAX_TOKENS:
                break
        return Reading(ids[:MAX_TOKENS], known >= unknown)

    def _word(self, word: str) -> tuple[list[int], int]:
        """Return the tokens of a word that was not met before, and how many letters it has."""
        # Composed, or a Korean syllable would count as up to three letters.
        letters = sum(map(str.isalpha, unicodedata.normalize("NFC", word)))
        found = self._pieces(word), letters
        if len(self._memo) >= _MEMO_WORDS:
            self._memo.clear()
        self._memo[word] = found
        return found

    def _pieces(self, word: str) -> list[int]:
        """Split a word into the longest known pieces, left to right; none if one is unknown."""
        if len(word) > MAX_WORD:
            return []
        # No piece is longer than the longest word there is: 80 KB of base64 took 2.9 s without.
        most = len(word) if len(word) <= _SHORT else self._most()
        pieces: list[int] = []
        start, end = 0, min(len(word), most)
        while start < len(word):
            token = self._vocabulary.get("##" + word[start:end] if start else word[:end])
            if token is not None:
                pieces.append(token)
                start, end = end, min(len(word), end + most)
            elif end - start > 1:
                end -= 1
            else:
                return []
        return pieces

    def _most(self) -> int:
        """Return the length of the longest word of the vocabulary, counted on first need."""
        if not self._longest:
            self._longest = max(self._vocabulary.lengths(), default=MAX_WORD)
        return self._longest


def words(text: str) -> Iterator[str]:
    """Yield BERT's words of a text: lower case, no accents, punctuation and ideographs alone."""
    if text.isascii():
        yield from ascii_words(text)
        return
    for match in _CHUNK.finditer(text):
        chunk = match[0]
        yield from ascii_words(chunk) if chunk.isascii() else _unicode_words(chunk)


def ascii_words(text: str) -> list[str]:
    """Return BERT's words of an ASCII text."""
    if _ASCII_CONTROL.search(text):
        text = _ASCII_CONTROL.sub("", text)
    return _ASCII_WORD.findall(text.lower())


def _unicode_words(chunk: str) -> Iterator[str]:
    kept = "".join(
        f" {c} " if c >= "\u3400" and _is_ideograph(c) else c
        for c in chunk
        if c != "\ufffd" and unicodedata.category(c) not in _REMOVED
    )
    word = ""
    for c in unicodedata.normalize("NFD", kept):
        category = unicodedata.category(c)
        if category == "Mn":
            continue
        if c == " " or category[0] == "P" or (c.isascii() and not c.isalnum()):
            if word:
                yield word
            if c != " ":
                yield c
            word = ""
        else:
            word += c.lower()
    if word:
        yield word


def _is_ideograph(c: str) -> bool:
    # BERT's list, which has neither kana nor Hangul; the gaps are those of `tokenizers`. Not a
    # regular expression: compiling this one takes 1.5 ms.
    return (
        "\u4e00" <= c <= "\u9fff"
        or "\u3400" <= c <= "\u4dbf"
        or "\uf900" <= c <= "\ufaff"
        or "\U00020000" <= c <= "\U0002a6df"
        or "\U0002a700" <= c <= "\U0002b81f"
        or "\U0002b920" <= c <= "\U0002ceaf"
        or "\U0002f800" <= c <= "\U0002fa1f"
    )


class SortedWords:
    """A vocabulary in a memory-mapped file `vocab.idx`, looked up by bisection.

    Layout, little-endian uint32: n; n + 1 offsets of the words, in the order of their UTF-8 bytes;
    their n ids; then those bytes. Saves the 15 ms of parsing tokenizer.json.
    """

    def __init__(self, folder: str) -> None:
        data = map_file(folder, "vocab.idx")
        size = struct.unpack_from("<I", data)[0] if len(data) >= 4 else 0
        self._data, self._size = data, size
        self._ids = 8 + 4 * size
        self._bytes = self._ids + 4 * size
        if not size or len(data) < self._bytes or len(data) != self._bytes + self._offset(size):
            raise UnusableError("the model's vocab.idx is damaged")

    def get(self, word: str, /) -> int | None:
        """Return the id of a word, None if it is not in the vocabulary."""
        key = word.encode()
        at = bisect_left(range(self._size), key, key=self._word)
        if at == self._size or self._word(at) != key:
            return None
        return int(struct.unpack_from("<I", self._data, self._ids + 4 * at)[0])

    def lengths(self) -> Iterator[int]:
        """Yield the length of each word in bytes, which is no less than in characters."""
        offsets = struct.unpack_from(f"<{self._size + 1}I", self._data, 4)
        yield from map(int.__sub__, offsets[1:], offsets)

    def _word(self, at: int) -> bytes:
        start, end = struct.unpack_from("<II", self._data, 4 + 4 * at)
        return self._data[self._bytes + start : self._bytes + end]

    def _offset(self, at: int) -> int:
        return int(struct.unpack_from("<I", self._data, 4 + 4 * at)[0])


class Words(dict[str, int]):
    """A vocabulary in memory."""

    def lengths(self) -> Iterator[int]:
        """Yield the length of each word."""
        yield from map(len, self)


def read_vocabulary(folder: str) -> Words:
    """Return the vocabulary of a folder's tokenizer.json, its entry for unknown words left out.

    Raises UnknownKindError when the file is missing, damaged or describes another tokeniser.
    """
    try:
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            tokenizer = json.load(file)
        model, normalizer = tokenizer["model"], tokenizer["normalizer"]
        is_bert = (
            model["type"] == "WordPiece"
            and model["continuing_subword_prefix"] == "##"
            and model["max_input_chars_per_word"] == MAX_WORD
            and normalizer["type"] == "BertNormalizer"
            and normalizer["lowercase"]
            and normalizer["clean_text"]
            and normalizer["handle_chinese_chars"]
            and normalizer["strip_accents"] is not False
            and tokenizer["pre_tokenizer"]["type"] == "BertPreTokenizer"
        )
        vocabulary = Words((word, int(token)) for word, token in model["vocab"].items())
        vocabulary.pop(model["unk_token"], None)
    except FileNotFoundError:
        raise UnknownKindError("the model's folder holds no tokenizer.json") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnknownKindError(
            "the model's tokenizer.json is damaged or of an unknown kind"
        ) from None
    if not is_bert:
        raise UnknownKindError("the model's tokeniser is not a lower-casing BERT WordPiece")
    return vocabulary
