"""The normal form of texts, and the words for the index."""

import re
import unicodedata

import apsw
from hypothesis import example, given
from hypothesis import strategies as st
from texts import ANYTHING, TEXTS

from memai.likeness import likeness, read
from memai.queries import MAX_CLAUSES, word_query
from memai.text import fold, index_words, segments, words_beside


@given(TEXTS)
def test_words_are_clean_and_stable(text: str) -> None:
    """Indexed words are folded, hold no punctuation and do not depend on the Unicode form."""
    words = index_words(text)
    assert "\x00" not in words
    assert words == " ".join(words.split())
    assert words == words.casefold() or "ς" in words
    if not re.search("[A-Z]", text):
        assert set(index_words(unicodedata.normalize("NFC", text)).split()) == set(words.split())


@given(st.text("abcXYZ019 _-.#+!N", max_size=60))
def test_the_fast_path_agrees_with_the_general_one(text: str) -> None:
    """ASCII text gives the same words whether or not a foreign character follows it."""
    assert index_words(text + " é") == (index_words(text) + " é").strip()


@given(st.lists(st.sampled_from(["C++", "c#", "#", ".NET", ".net", ".Net", "x", "9", " "])))
def test_names_of_languages_are_cut_alike_by_every_pattern(pieces: list[str]) -> None:
    """Texts that may name one are cut as those are that have other letters too."""
    text = "".join(pieces)
    assert [*segments(text), *segments(" é")] == list(segments(text + " é"))


def tokens(texts: list[str]) -> list[list[tuple[int, str]]]:
    """Return what the word index of a store holds of each text: (place, term)."""
    db = apsw.Connection(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61 remove_diacritics 2');"
        "CREATE VIRTUAL TABLE v USING fts5vocab(f, 'instance')"
    )
    db.executemany("INSERT INTO f(rowid, t) VALUES(?, ?)", enumerate(texts))
    found: list[list[tuple[int, str]]] = [[] for _ in texts]
    for number, place, term in db.execute("SELECT doc, offset, term FROM v ORDER BY doc, offset"):
        found[number].append((place, term))
    return found


@given(
    st.text("abcXYZ019 _-.#+'N\n\x00\x7f/", max_size=60)
    | st.text(st.characters(max_codepoint=127))
    | ANYTHING
)
@example("x" * 201)
def test_words_are_left_out_only_where_the_text_gives_the_same(text: str) -> None:
    """FTS5 cuts a text without words beside it into the words that would stand there."""
    beside = words_beside(text)
    if beside is None:
        kept, words = tokens([text, index_words(text)])
        assert kept == words
    else:
        assert beside == index_words(text)


def test_prose_needs_no_words_beside_it() -> None:
    """Sentences, paths and identifiers in lower or upper case stand for themselves."""
    assert (
        words_beside("The deploy of PROJ-1042 failed: see `logs/foo_bar.txt`, don't retry.") is None
    )
    assert words_beside("openStore failed") == "openstore open store failed"
    assert words_beside("naïve") == "naïve"


def test_hostile_sizes_are_no_trouble() -> None:
    """Megabytes of one letter, sign, mark or mixed case are indexed with short words."""
    for text in (
        "a" * 10**6,
        "aB" * 10**5,
        "(" * 50_000,
        "a" + "\u0301\u0323" * 10**5,
        "x\n" * 10**5,
    ):
        assert max(map(len, index_words(text).split()), default=0) <= 200
        assert likeness(read(text), read(text)) == 1
        assert len(word_query(text).clauses) <= MAX_CLAUSES


@given(ANYTHING)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    """Folded text is its own folded form, and the Unicode form it came in does not matter."""
    assert fold(fold(text)) == fold(text)
    assert fold("Ａ\u030a PROJ-1042") == fold("å proj-1042")
