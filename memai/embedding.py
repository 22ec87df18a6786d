"""Text to vector: the model read once, on first use; "no model" is a value, not a crash.

A model is static: a vector and a weight for each entry of a WordPiece vocabulary. A text is split
into tokens, their weighted vectors are added up and the sum is scaled to unit length (the
model2vec format: https://github.com/MinishLab/model2vec).

Single texts need the standard library alone: rows are read from the memory-mapped file, words are
looked up by bisection in a sorted, memory-mapped list. A bulk of texts uses numpy and tokenizers.
"""

import json
import math
import mmap
import os
import re
import struct
import threading
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

DEFAULT = "memai-static-1"
"""Name of the model in the package."""

MAX_TOKENS = 512
"""Tokens of a text that count, as in model2vec; a passage has far fewer."""

MAX_WORD = 100
"""Characters of a word beyond which BERT's WordPiece calls it unknown."""

BULK_CHARACTERS = 40_000
"""Size of a bulk from which numpy and tokenizers are worth their 150 ms of imports and set-up:
pure Python needs about 4 microseconds a character."""

_FOLDER = os.path.join(os.path.dirname(__file__), "model")
_DEFINING = ("config.json", "model.safetensors", "tokenizer.json")
_MEMO_WORDS = 50_000
_FORMATS = {"I8": "b", "F16": "e", "F32": "f"}
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)

# BERT's whitespace: the White_Space characters of Unicode without the controls, which it removes.
_CHUNK = re.compile("[^\t\n\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9]")
_ASCII_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NoModel(NamedTuple):
    """A model that cannot be used, and why, in words for a person."""

    name: str
    reason: str


class Embedder(Protocol):
    """What a loaded model offers; safe to use from several threads."""

    @property
    def name(self) -> str:
        """Return the name the model was loaded by."""

    @property
    def sha256(self) -> str:
        """Return the SHA-256 over the files that decide what the vectors are."""

    @property
    def dim(self) -> int:
        """Return the number of components of a vector."""

    def embed(self, text: str) -> bytes | None:
        """Return the unit vector of a text as little-endian float32, 4 * dim bytes.

        None when the model knows nothing in the text, or when most of its letters belong to words
        that are unknown to the model: such a vector would speak of the rest only.
        """

    def embed_many(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return `embed` of each text, to float32 accuracy, faster for a large bulk."""

    def tokens(self, text: str) -> "array[int]":
        """Return the ids (uint16, typecode "H") of a text's known tokens in order, at most 512.

        Empty for a model whose tokens cannot be compared one by one.
        """

    def tokens_many(self, texts: Sequence[str]) -> "list[array[int]]":
        """Return `tokens` of each text, faster for a large bulk."""

    def unit(self, token: int) -> bytes:
        """Return a token's own vector at unit length as little-endian float32, 4 * dim bytes."""

    def weight(self, token: int) -> float:
        """Return the length of what a token adds to a text's sum: how much it says."""


class _UnusableError(Exception):
    """The model's files are missing, damaged or of a kind this room does not read itself."""


def load(name: str = DEFAULT) -> Embedder | NoModel:
    """Return the model of that name, or why there is none; read once a process, never raises.

    `name` is `DEFAULT`, a folder in model2vec's layout (`~` is expanded), or the name of a model on
    the Hugging Face hub; only the last may use the network, and model2vec does it.
    """
    with _lock:
        if name not in _loaded:
            _loaded[name] = _load(name)
        return _loaded[name]


def similar(a: bytes, b: bytes) -> float:
    """Return the cosine of two unit vectors as `Embedder.embed` gives them."""
    form = f"<{len(a) // 4}f"
    return sum(map(float.__mul__, struct.unpack(form, a), struct.unpack(form, b)))


_lock = threading.Lock()
_loaded: dict[str, Embedder | NoModel] = {}


def _load(name: str) -> Embedder | NoModel:
    try:
        if name == DEFAULT:
            return _packaged()
        folder = os.path.expanduser(name)
        if os.path.isdir(folder):
            try:
                return _Static(name, folder, _vocabulary(folder))
            except _UnusableError as unusable:
                return _foreign(name, folder, f"{unusable}; model2vec cannot read it either")
        if not _HUB_NAME.fullmatch(name):
            return NoModel(name, "there is no such folder")
        return _foreign(name, name, "there is no such folder, and the hub gives no such model")
    except _UnusableError as unusable:
        return NoModel(name, str(unusable))
    except OSError as error:
        return NoModel(name, f"its files cannot be read: {error.strerror or type(error).__name__}")


def _packaged() -> Embedder:
    with open(os.path.join(_FOLDER, "space.json"), encoding="utf-8") as file:
        sha256 = str(json.load(file)["sha256"])
    index = os.path.join(_FOLDER, "vocab.idx")
    words = _SortedWords(index) if os.path.exists(index) else _vocabulary(_FOLDER)
    return _Static(DEFAULT, _FOLDER, words, sha256)


def _foreign(name: str, source: str, failure: str) -> Embedder | NoModel:
    try:
        from model2vec import StaticModel
    except ImportError:
        return NoModel(name, "the package model2vec, which reads such a model, is not installed")
    try:
        # A copy in the hub's cache is as good as a download, and needs no network.
        return _Foreign(name, StaticModel.from_pretrained(source, force_download=False))
    except Exception as error:  # whatever a foreign loader or the network raises
        # Not its message: that can hold an address with a token in it.
        return NoModel(name, f"{failure} ({type(error).__name__})")


# Tokens: BERT's lower-casing normaliser and pre-tokeniser, then WordPiece.


def _words(text: str) -> Iterator[str]:
    """Yield BERT's words of a text: lower case, no accents, punctuation and ideographs alone."""
    for chunk in _CHUNK.findall(text):
        if chunk.isascii():
            yield from _ASCII_WORD.findall(_ASCII_CONTROL.sub("", chunk).lower())
        else:
            yield from _unicode_words(chunk)


def _unicode_words(chunk: str) -> Iterator[str]:
    spaced = "".join(
        f" {c} " if _is_ideograph(c) else c
        for c in chunk
        if c != "\ufffd" and unicodedata.category(c)[0] != "C"
    )
    word = ""
    for c in unicodedata.normalize("NFD", spaced):
        category = unicodedata.category(c)
        if category == "Mn":
            continue
        if c == " " or category[0] == "P" or (c.isascii() and not c.isalnum()):
            if word:
                yield word
                word = ""
            if c != " ":
                yield c
        else:
            word += c.lower()
    if word:
        yield word


def _is_ideograph(c: str) -> bool:
    o = ord(c)
    return o >= 0x3400 and (
        0x4E00 <= o <= 0x9FFF or o <= 0x4DBF or 0xF900 <= o <= 0xFAFF or 0x20000 <= o <= 0x2FA1F
    )


def _letters(word: str) -> int:
    # Composed, or a Korean syllable would count as three letters.
    return sum(map(str.isalpha, unicodedata.normalize("NFC", word)))


class _SortedWords(Mapping[str, int]):
    """A vocabulary in a memory-mapped file, looked up by bisection.

    Layout, little-endian uint32: n; n + 1 offsets of the words in byte order; their n ids; then the
    bytes of the words in UTF-8.
    """

    def __init__(self, path: str) -> None:
        data = _map(path)
        size = struct.unpack_from("<I", data)[0] if len(data) >= 4 else 0
        start = 8 + 8 * size
        if not size or len(data) < start:
            raise _UnusableError("vocab.idx is damaged")
        self._data, self._size, self._start = data, size, start

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, word: str) -> int:
        key = word.encode()
        at = bisect_left(range(self._size), key, key=self._word)
        if at == self._size or self._word(at) != key:
            raise KeyError(word)
        return int(struct.unpack_from("<I", self._data, 8 + 4 * self._size + 4 * at)[0])

    def __iter__(self) -> Iterator[str]:
        return (self._word(at).decode() for at in range(self._size))

    def _word(self, at: int) -> bytes:
        start, end = struct.unpack_from("<II", self._data, 4 + 4 * at)
        return self._data[self._start + start : self._start + end]


def _vocabulary(folder: str) -> Mapping[str, int]:
    """Return the vocabulary of a folder's tokenizer.json if it is the kind `_words` imitates."""
    try:
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            tokenizer = json.load(file)
        model, normalizer = tokenizer["model"], tokenizer["normalizer"]
        known = (
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
        vocabulary: dict[str, int] = model["vocab"]
        unknown = model["unk_token"]
    except FileNotFoundError:
        raise _UnusableError("the folder holds no tokenizer.json") from None
    except (ValueError, LookupError, TypeError):
        raise _UnusableError("its tokenizer.json is damaged or of an unknown kind") from None
    if not known:
        raise _UnusableError("its tokenizer is no lower-casing BERT WordPiece")
    return {word: token for word, token in vocabulary.items() if word != unknown}


# Vectors


class _Table:
    """The tensors of a memory-mapped safetensors file: a row and a weight for each token.

    Format: https://huggingface.co/docs/safetensors (uint64 length of a JSON header, header, data).
    """

    def __init__(self, path: str) -> None:
        data = _map(path)
        try:
            start = 8 + int(struct.unpack_from("<Q", data)[0])
            header = json.loads(data[8:start])
            kind, shape, offsets = _tensor(header["embeddings"])
            self.rows, self.dim = shape
            self.format = _FORMATS[kind]
            self.row = struct.Struct(f"<{self.dim}{self.format}")
            self.base, end = start + offsets[0], start + offsets[1]
            self.weight_base = None
            if "weights" in header:
                kind, shape, offsets = _tensor(header["weights"])
                self.weight_base = start + offsets[0]
                end = max(end, start + offsets[1])
                if (
                    kind != "F32"
                    or shape != [self.rows]
                    or offsets[1] - offsets[0] != 4 * self.rows
                ):
                    raise _UnusableError("its weights are of an unknown kind")
        except (ValueError, LookupError, TypeError, struct.error):
            raise _UnusableError("its model.safetensors is damaged or of an unknown kind") from None
        if "mapping" in header:
            raise _UnusableError("its tokens share rows")
        if end > len(data) or not self.rows * self.row.size:
            raise _UnusableError("its model.safetensors is cut short")
        self.data = data

    def vector(self, token: int) -> tuple[float, ...]:
        return self.row.unpack_from(self.data, self.base + token * self.row.size)

    def scale(self, token: int) -> float:
        if self.weight_base is None:
            return 1.0
        return float(struct.unpack_from("<f", self.data, self.weight_base + 4 * token)[0])


def _tensor(entry: dict[str, Any]) -> tuple[str, list[int], list[int]]:
    return entry["dtype"], entry["shape"], entry["data_offsets"]


def _map(path: str) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise _UnusableError(f"the folder holds no {os.path.basename(path)}") from None
    except ValueError:  # an empty file cannot be mapped
        raise _UnusableError(f"its {os.path.basename(path)} is empty") from None


def _pack(vector: Sequence[float]) -> bytes | None:
    length = math.sqrt(sum(x * x for x in vector))
    if not 0 < length < math.inf:
        return None
    return struct.pack(f"<{len(vector)}f", *[x / length for x in vector])


class _Reading(NamedTuple):
    """A text as the model sees it: ids of the known tokens, and whether most letters are theirs."""

    ids: list[int]
    legible: bool


class _Static:
    """A model in a folder, read by this room."""

    def __init__(
        self, name: str, folder: str, vocabulary: Mapping[str, int], sha256: str | None = None
    ) -> None:
        self.name = name
        self._folder = folder
        self._vocabulary = vocabulary
        self._table = _Table(os.path.join(folder, "model.safetensors"))
        self.dim = self._table.dim
        self._sha256 = sha256
        self._pieces_of: dict[str, list[int]] = {}
        self._bulk: _Bulk | None = None
        self._lock = threading.Lock()
        if len(vocabulary) > self._table.rows:
            raise _UnusableError("its vocabulary does not fit its table")

    @property
    def sha256(self) -> str:
        if self._sha256 is None:
            self._sha256 = fingerprint(self._folder)
        return self._sha256

    def embed(self, text: str) -> bytes | None:
        ids, legible = self._read(text)
        if not ids or not legible:
            return None
        table = self._table
        total = [0.0] * self.dim
        for token in ids:
            scale = table.scale(token)
            total = [a + scale * x for a, x in zip(total, table.vector(token), strict=True)]
        return _pack(total)

    def embed_many(self, texts: Sequence[str]) -> list[bytes | None]:
        bulk = self._for_bulk(texts)
        if bulk is None:
            return [self.embed(text) for text in texts]
        vectors: list[bytes | None] = []
        for text, (ids, complete) in zip(texts, bulk.read(texts), strict=True):
            legible = bool(ids) and (complete or self._read(text).legible)
            vectors.append(bulk.vector(ids) if legible else None)
        return vectors

    def tokens(self, text: str) -> "array[int]":
        return array("H", self._read(text).ids) if self._comparable else array("H")

    def tokens_many(self, texts: Sequence[str]) -> "list[array[int]]":
        bulk = self._for_bulk(texts)
        if bulk is None or not self._comparable:
            return [self.tokens(text) for text in texts]
        return [array("H", ids) for ids, _ in bulk.read(texts)]

    def unit(self, token: int) -> bytes:
        return _pack(self._table.vector(token)) or bytes(4 * self.dim)

    def weight(self, token: int) -> float:
        row = self._table.vector(token)
        return self._table.scale(token) * math.sqrt(sum(x * x for x in row))

    @property
    def _comparable(self) -> bool:
        return self._table.rows <= 1 << 16

    def _read(self, text: str) -> _Reading:
        ids: list[int] = []
        known = unknown = 0
        for word in _words(text):
            pieces = self._pieces(word)
            ids += pieces
            if pieces:
                known += _letters(word)
            elif len(word) <= MAX_WORD:  # a longer one is a key or a blob, not a language
                unknown += _letters(word)
            if len(ids) >= MAX_TOKENS:
                break
        return _Reading(ids[:MAX_TOKENS], known >= unknown)

    def _pieces(self, word: str) -> list[int]:
        """Split a word into the longest pieces of the vocabulary; none if a part is in no piece."""
        pieces = self._pieces_of.get(word)
        if pieces is not None:
            return pieces
        pieces, start, end = [], 0, len(word)
        while start < len(word) <= MAX_WORD:
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            token = self._vocabulary.get(piece)
            if token is not None:
                pieces.append(token)
                start, end = end, len(word)
            elif end - start > 1:
                end -= 1
            else:
                pieces = []
                break
        if len(self._pieces_of) >= _MEMO_WORDS:
            self._pieces_of.clear()
        self._pieces_of[word] = pieces
        return pieces

    def _for_bulk(self, texts: Sequence[str]) -> "_Bulk | None":
        with self._lock:
            if self._bulk is None and sum(map(len, texts)) >= BULK_CHARACTERS:
                self._bulk = _Bulk(self._folder, self._table)
            return self._bulk


class _Bulk:
    """The same by numpy and tokenizers, for many texts at once."""

    def __init__(self, folder: str, table: _Table) -> None:
        import numpy as np
        from tokenizers import Tokenizer

        self._np = np
        self._tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # "[PAD]" in somebody's text is text.
        self._tokenizer.encode_special_tokens = True
        self._unknown = self._tokenizer.token_to_id(
            json.loads(self._tokenizer.to_str())["model"]["unk_token"]
        )
        shape = (table.rows, table.dim)
        self._rows = np.frombuffer(
            table.data,
            f"<{'i1' if table.format == 'b' else 'f' + str(table.row.size // table.dim)}",
            table.rows * table.dim,
            table.base,
        ).reshape(shape)
        self._weights = (
            np.ones(table.rows, np.float32)
            if table.weight_base is None
            else np.frombuffer(table.data, "<f4", table.rows, table.weight_base)
        )

    def read(self, texts: Sequence[str]) -> Iterator[tuple[list[int], bool]]:
        """Yield for each text the ids of its known tokens and whether all its words are known."""
        clean = [text if text.isascii() else _SURROGATE.sub("", text) for text in texts]
        for encoding in self._tokenizer.encode_batch_fast(clean, add_special_tokens=False):
            ids = [token for token in encoding.ids if token != self._unknown]
            yield ids[:MAX_TOKENS], len(ids) == len(encoding.ids)

    def vector(self, ids: list[int]) -> bytes | None:
        total = self._weights[ids] @ self._rows[ids].astype(self._np.float32)
        length = float(self._np.linalg.norm(total))
        if not 0 < length < math.inf:
            return None
        packed: bytes = (total / length).astype("<f4").tobytes()
        return packed


class _Foreign:
    """A model of another layout, read by model2vec; its tokens are not offered one by one."""

    def __init__(self, name: str, model: Any) -> None:
        import hashlib

        self.name = name
        self.dim = int(model.dim)
        self._model = model
        digest = hashlib.sha256(model.tokenizer.to_str().encode())
        for tensor in (model.embedding, model.weights, model.token_mapping):
            digest.update(b"" if tensor is None else tensor.tobytes())
        self.sha256 = digest.hexdigest()

    def embed(self, text: str) -> bytes | None:
        return self.embed_many([text])[0]

    def embed_many(self, texts: Sequence[str]) -> list[bytes | None]:
        clean = [_SURROGATE.sub("", text) for text in texts]
        return [_pack(vector.tolist()) for vector in self._model.encode(clean)] if clean else []

    def tokens(self, text: str) -> "array[int]":
        return array("H")

    def tokens_many(self, texts: Sequence[str]) -> "list[array[int]]":
        return [array("H") for _ in texts]

    def unit(self, token: int) -> bytes:
        raise LookupError(token)

    def weight(self, token: int) -> float:
        raise LookupError(token)


def fingerprint(folder: str) -> str:
    """Return the SHA-256 over the files of a folder that decide what its vectors are.

    It is the digest of what `sha256sum config.json model.safetensors tokenizer.json` prints there.
    """
    import hashlib

    lines = []
    for name in _DEFINING:
        with open(os.path.join(folder, name), "rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
