"""Passages, outlines and snippets."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ANYTHING, TEXTS

from memai.passages import outline, passages, snippet
from memai.queries import word_query

# -- passages ---------------------------------------------------------------------------------

LONG = st.lists(
    st.sampled_from(
        ["word ", "Sentence ends. ", "\n", "\n\n", "\n# Head\n", "。", "x" * 700, " " * 90]
    ),
    max_size=200,
).map("".join)


def test_a_short_memory_is_one_passage() -> None:
    """Up to 1,000 characters stay together, and so does a text of blanks."""
    for text in ("", "short", "x" * 1000, "  edges  ", " " * 5000, "\n" * 2000):
        assert passages(text) == [(0, len(text))]


@given(st.one_of(LONG, TEXTS.map(lambda text: text * 20)))
def test_passages_cover_the_text_in_order(text: str) -> None:
    """Passages do not overlap, stay small and leave out nothing but blanks."""
    spans = passages(text)
    end = 0
    for start, stop in spans:
        assert end <= start < stop or text.strip() == ""
        assert text[end:start].strip() == ""
        assert stop - start <= 1200
        end = stop
    assert text[end:].strip() == ""
    assert len(spans) <= len(text) / 300 + 1


@pytest.mark.parametrize(
    ("between", "closing"),
    [
        ("\n\n", "paragraph"),
        ("\n## Next\n", "heading"),
        ("\n", "line"),
        (". ", "sentence"),
        ("。", "句"),
    ],
)
def test_passages_end_where_a_reader_would_stop(between: str, closing: str) -> None:
    """Each passage ends at the best break there is."""
    text = between.join(f"{'word ' * 40}{number} {closing}" for number in range(20))
    spans = passages(text)
    assert len(spans) > 4
    for start, end in spans:
        assert text[start:end].rstrip(".。").endswith(closing)


def test_a_megabyte_has_at_most_four_thousand_passages() -> None:
    """The number of passages is bounded whatever the text looks like."""
    for text in (
        "x\n" * 500_000,
        "a" * 10**6,
        "one two. " * 111_111,
        ("y" * 10 + " " * 300) * 3000,
    ):
        assert len(passages(text)) <= 4000


def test_the_outline_shows_the_first_line_of_each_passage() -> None:
    """A head is the first line that is not blank, cut to 80 characters."""
    text = "\n\n  # Title  here\nbody\n" + "z" * 200
    assert outline(text, [(0, 22), (22, len(text)), (0, 2)]) == [
        (0, 22, "# Title here"),
        (22, len(text), "z" * 80),
        (0, 2, ""),
    ]


# -- snippets ---------------------------------------------------------------------------------


@given(ANYTHING, TEXTS, st.integers(0, 50), st.integers(0, 400), st.integers(10, 100))
def test_a_snippet_is_a_stretch_of_its_span(
    text: str, query: str, start: int, size: int, width: int
) -> None:
    """The offsets give the snippet back, inside the span, and marks lie in order within it."""
    span = (min(start, len(text)), min(start + size, len(text)))
    shown, begin, end, marks = snippet(text, span, word_query(query), width)
    assert span[0] <= begin <= end <= span[1]
    assert end - begin <= width
    assert " ".join(text[begin:end].split()) == shown
    last = -1
    for left, right in marks:
        assert last < left < right <= len(shown)
        last = right


WORDS = st.sampled_from(
    [
        "deploy",
        "Deployed",
        "redeploy",
        "deploys",
        "API",
        "v2",
        "2v",
        "company",
        "ice-cream",
        "a",
        "x.",
    ]
)


@given(
    st.lists(WORDS, max_size=30).map(" ".join),
    st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    st.integers(0, 20),
    st.integers(0, 200),
)
def test_prose_is_marked_as_any_text_is(text: str, query: str, start: int, size: int) -> None:
    """What is quick where each word is its own token marks the same words."""
    span = (min(start, len(text)), min(start + size, len(text)))
    quick = snippet(text, span, word_query(query))
    with mock.patch("memai.passages.is_prose", return_value=False):
        assert snippet(text, span, word_query(query)) == quick


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("We deployed it", "deploy", ["deployed"]),
        ("The migrations ran", "migration", ["migrations"]),
        ("Café crème", "cafe", ["Café"]),
        ("cafe\u0301 here", "CAFÉ", ["cafe\u0301"]),
        ("call getUserById now", "user", ["getUserById"]),
        ("用户身份验证说明", "身份验证", ["身份验证"]),
        ("ＡＰＩ key", "api", ["ＡＰＩ"]),
        ("party 🎉 time", "🎉", ["🎉"]),
        ("데이터베이스는", "데이터", ["데이터"]),
        ("see src/a.ts or src/b.ts", "src/a.ts", ["src", "ts", "src", "ts"]),
        ("nothing here", "absent", []),
        ("written in C++ here", "C++", ["C++"]),
        ("हिन्दी में", "हिन्दी", ["हिन्दी"]),
        ("deployments", "depl", ["deployments"]),
    ],
)
def test_marks_show_the_matching_words(text: str, query: str, marked: list[str]) -> None:
    """Marks follow case, accents, word forms and parts like the index does."""
    shown, _, _, marks = snippet(text, (0, len(text)), word_query(query))
    assert [shown[a:b] for a, b in marks] == marked


def test_a_snippet_is_taken_where_most_words_match() -> None:
    """The densest place wins over an earlier single match."""
    text = (
        "A deploy. " + "filler words here. " * 60 + "The deploy window is Monday. " + "more. " * 99
    )
    shown, start, _, marks = snippet(text, (0, len(text)), word_query("deploy window Monday"), 120)
    assert "The deploy window is Monday." in shown
    assert start > 1000
    assert len(shown) <= 120
    assert {shown[a:b] for a, b in marks} == {"deploy", "window", "Monday"}


def test_a_snippet_begins_with_a_word() -> None:
    """A cut does not begin or end in the middle of a word."""
    text = "alphabet " * 100 + "needle " + "alphabet " * 100
    shown, _, _, _ = snippet(text, (0, len(text)), word_query("needle"))
    assert set(shown.split()) == {"alphabet", "needle"}
