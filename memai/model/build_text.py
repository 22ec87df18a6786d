"""The text side of building a model: texts, pairs of texts that belong together, vocabulary."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PLAIN_SUFFIXES = {".md", ".rst", ".txt"}

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_BLANK_LINES = re.compile(r"\n\s*\n")
_MARKDOWN_HEADING = re.compile(r"#{1,6}\s+(.*?)[\s#]*")
_RULE = re.compile(r"""([=\-~^"'*+#`:.])\1{2,}\s*""")
_ROLE_OR_MARK = re.compile(r":[\w:+-]+:(?=`)|[`*|]")

# A time of day or an ISO date near the start, as in "Ann (1:56 pm on 8 May): ...".
_STAMP = re.compile(r".{0,40}?\b(?:\d{1,2}:\d\d|(?:19|20)\d\d-\d\d)\b")

_WORD = re.compile(r"[a-z][a-z0-9]{2,24}")
_DROPPED = re.compile(r"\[(?:unused\d+|CLS|SEP|MASK)\]")
_SPECIAL = ("[PAD]", "[UNK]")


class Pair(NamedTuple):
    """Two texts that belong together, such as a heading or question and what is below it."""

    a: str
    b: str


class Corpus(NamedTuple):
    """What is read from some sources.

    `texts` are without repetitions and hold the sides of every pair, but for words and names;
    `pairs` has a list for each source that has any: pairs of one source are hard to tell apart.
    """

    texts: list[str]
    pairs: list[list[Pair]]


def read(sources: Iterable[Path]) -> Corpus:
    """Return the texts and pairs of some files, or of all below some folders.

    A line of a .jsonl file is an object with `text`, or with `a` and `b`: a pair. In files .txt,
    .md and .rst each paragraph of prose is a text, and the first below a heading a pair with it.
    """
    texts: dict[str, None] = {}
    pairs = []
    for source in sources:
        mined: dict[str, Pair] = {}
        given: dict[Pair, None] = {}
        for file in _files(source):
            content = file.read_text(encoding="utf-8", errors="replace")
            if file.suffix == ".jsonl":
                for record in map(json.loads, filter(str.strip, content.splitlines())):
                    if "text" in record:
                        texts[record["text"]] = None
                    else:
                        given[Pair(record["a"], record["b"])] = None
            else:
                for heading, paragraph in paragraphs(content):
                    texts[paragraph] = None
                    # A heading that many documents have ("Examples") says nothing after the first.
                    if heading:
                        mined.setdefault(heading.casefold(), Pair(heading, paragraph))
        found = [*given, *mined.values()]
        texts.update((side, None) for pair in found for side in pair if side.count(" ") >= 3)
        if found:
            pairs.append(found)
    return Corpus(list(texts), pairs)


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
    for file in sorted(source.rglob("*")):
        if file.suffix in {*PLAIN_SUFFIXES, ".jsonl"} and file.is_file():
            yield file


def paragraphs(document: str) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of prose of a Markdown, reStructuredText or plain document.

    Each comes with the heading just above it, which is empty for all but the first below one.
    """
    heading = ""
    for block in _BLANK_LINES.split(_FENCED.sub("", document)):
        lines = block.strip("\n").splitlines()
        found, lines = _take_heading(lines)
        heading = found or heading
        paragraph = _plain(" ".join(lines))
        if lines and not lines[0].lstrip().startswith("..") and is_prose(paragraph):
            yield heading, paragraph
            heading = ""


def _take_heading(lines: list[str]) -> tuple[str, list[str]]:
    if lines and (match := _MARKDOWN_HEADING.fullmatch(lines[0])):
        return _plain(match[1]), lines[1:]
    if len(lines) > 2 and _RULE.fullmatch(lines[0]) and _RULE.fullmatch(lines[2]):
        return _plain(lines[1]), lines[3:]
    if len(lines) > 1 and _RULE.fullmatch(lines[1]):
        return _plain(lines[0]), lines[2:]
    return "", lines


def _plain(text: str) -> str:
    return " ".join(_ROLE_OR_MARK.sub("", text).split())


def is_prose(text: str) -> bool:
    """Tell whether a text is sentences rather than code, a table or a list of names."""
    letters = sum(c.isalpha() or c == " " for c in text)
    return text.count(" ") >= 4 and letters >= 0.8 * len(text)


def is_stamped(text: str) -> bool:
    """Tell whether a text begins with a date stamp: the teacher's vector would speak of that."""
    return _STAMP.match(text) is not None


def is_kept(token: str) -> bool:
    """Tell whether an entry of the teacher's vocabulary goes into the model's.

    Those are entries in Latin letters, digits and punctuation, and single Chinese characters and
    kana. Letters of other scripts, which the teacher knows one by one, would make nonsense of their
    languages.
    """
    if _DROPPED.fullmatch(token):
        return False
    letters = token.removeprefix("##")
    if len(letters) == 1 and ("\u4e00" <= letters <= "\u9fff" or "\u3041" <= letters <= "\u30ff"):
        return True
    return all(c < "\u0250" or "\u2010" <= c <= "\u2200" for c in letters)


def frequent_words(texts: Iterable[str], are_split: Callable[[str], bool], most: int) -> list[str]:
    """Return the most frequent words of some texts that the teacher's tokeniser splits."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_WORD.findall(text.lower()))
    words: list[str] = []
    for word, _ in counts.most_common():
        if len(words) == most:
            break
        if are_split(word):
            words.append(word)
    return words


def make_tokenizer(teacher: str, words: Sequence[str]) -> str:
    """Return the model's tokenizer.json: the teacher's with what is kept of it, and more words."""
    tokenizer: dict[str, Any] = json.loads(teacher)
    of_teacher = tokenizer["model"]["vocab"]
    entries = [*filter(is_kept, sorted(of_teacher, key=of_teacher.__getitem__)), *words]
    ids = {entry: id for id, entry in enumerate(entries)}
    tokenizer["model"]["vocab"] = ids
    tokenizer["added_tokens"] = [
        token | {"id": ids[token["content"]]}
        for token in tokenizer["added_tokens"]
        if token["content"] in _SPECIAL
    ]
    tokenizer.update(post_processor=None, padding=None, truncation=None)
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
