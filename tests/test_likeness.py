"""How alike texts are, what turns them round, and how their difference is shown."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from texts import ANYTHING, TEXTS

from memai.likeness import (
    Reading,
    difference,
    gist,
    likeness,
    normal,
    opposite,
    read,
    renumbered,
    shared,
    units,
)

WORDS = st.lists(st.sampled_from("alpha beta gamma delta not never 7 用户 Alice's (it)".split()))
DIFFERENT_WORDS = st.lists(st.from_regex("[a-z]{3,6}", fullmatch=True), min_size=2, unique=True)


def alike(a: str, b: str) -> float:
    """Return the likeness of two texts."""
    return likeness(read(a), read(b))


# -- units -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The café opens at NINE!", ["the", "café", "opens", "at", "nine"]),
        ("Cafe\u0301 (au lait)", ["café", "au", "lait"]),
        ("**bold**, `code` and “quoted”.", ["bold", "code", "and", "quoted"]),
        ("- item\n* item", ["-", "item", "*", "item"]),
        ("C++ and C# and --dry-run", ["c++", "and", "c#", "and", "--dry-run"]),
        ("Alice's and Bob\u2019s", ["alice", "and", "bob"]),
        ("zero\u200dwidth soft\u00adhyphen", ["zerowidth", "softhyphen"]),
        ("用户身份 ok", ["用户", "户身", "身份", "ok"]),
        ("重跑gen后", ["重跑", "gen", "后"]),
        ("데이터베이스는 백업", ["데이터베이스는", "백업"]),
        ("", []),
    ],
)
def test_how_a_text_is_cut_into_units(text: str, expected: list[str]) -> None:
    """Units are folded and without the punctuation around them; unspaced writing goes by pairs."""
    assert units(text) == expected


@given(ANYTHING)
@example("İ'S ﬁ ")
def test_what_looks_the_same_is_the_same(text: str) -> None:
    """White space and the form of Unicode do not matter, and a normal text stays as it is."""
    assert normal(normal(text)) == normal(text)
    assert normal("\n " + text.replace(" ", " \t ")) == normal(text)
    assert normal(unicodedata.normalize("NFD", text)) == normal(text)
    assert units(normal(text)) == units(text)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Cache TTL: 5 minutes", "The cache TTL is 5 minutes", True),
        ("Deploy window: Monday", "The deployment window is on Monday", False),
        ("Deploy window: Monday", "The deployment window is Monday", True),
        ("Migrate from A1 to B2", "Migrate from B2 to A1", False),
        ("Deploy before the freeze", "Deploy after the freeze", False),
        ("I must rotate the keys", "You must rotate the keys", False),
        ("Use Redis", "Do not use Redis", False),
    ],
)
def test_the_gist_leaves_out_small_words_and_endings(a: str, b: str, same: bool) -> None:
    """What keeps the sense is left out; what may change it (from, after, you, not) is kept."""
    assert (gist(a) == gist(b)) is same


# -- likeness ----------------------------------------------------------------------------------


@given(TEXTS, TEXTS)
def test_likeness_is_a_measure(a: str, b: str) -> None:
    """Likeness is symmetric, between 0 and 1, and 1 for a text and itself."""
    assert alike(a, a) == 1
    assert 0 <= alike(a, b) == alike(b, a) <= 1
    assert 0 <= shared(read(a), read(b)) == shared(read(b), read(a)) <= 1


@given(TEXTS)
def test_texts_that_look_the_same_are_wholly_alike(text: str) -> None:
    """Likeness is 1 whatever the case, the spacing and the form of Unicode."""
    assert alike(text, normal(text)) == 1
    assert alike(text, unicodedata.normalize("NFD", text)) == 1


@given(WORDS, st.data())
def test_more_changes_leave_less_likeness(words: list[str], data: st.DataObject) -> None:
    """Each word replaced by one that no text has makes a text less alike, until nothing is."""
    changed = list(words)
    last = alike(" ".join(words), " ".join(words))
    for number in data.draw(st.permutations(range(len(words)))):
        changed[number] = f"new{number}"
        now = alike(" ".join(words), " ".join(changed))
        assert now < last or now == last == 0
        last = now
    assert last == (0 if words else 1)


@given(DIFFERENT_WORDS)
def test_order_counts(words: list[str]) -> None:
    """The same words the other way round are less alike than the same text."""
    there, back = " ".join(words), " ".join(reversed(words))
    assert shared(read(there), read(back)) == 1
    assert alike(there, back) < 1


def test_a_word_says_more_in_a_short_text() -> None:
    """One word of ten weighs more in a text of ten words than ten words of a hundred in theirs."""
    ten = [f"word{number}" for number in range(10)]
    hundred = [f"word{number}" for number in range(100)]
    short = alike(" ".join(ten), " ".join([*ten[:9], "other"]))
    long = alike(" ".join(hundred), " ".join([*hundred[:90], *map("other{}".format, range(10))]))
    assert short < long


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The café opens at nine", "The cafe\u0301 opens at NINE!"),
        (
            "Deploy window is Monday at nine in the morning, UTC",
            "Deploy window is Monday at nine in the morning (UTC).",
        ),
        (" ".join(map(str, range(40))), " ".join(map(str, [*range(20), "x", *range(21, 40)]))),
    ],
)
def test_repeats_are_alike(a: str, b: str) -> None:
    """Spelling forms, punctuation and one changed word of many leave texts alike."""
    assert alike(a, b) > 0.9


# -- what turns a text round -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("We do use Redis", "We do not use Redis"),
        ("We use Redis here", "We don't use Redis here"),
        ("It can be undone", "It cannot be undone"),
        ("Always commit to main", "Never commit to main"),
        ("Wir nutzen Redis", "Wir nutzen Redis nicht"),
        ("我们使用这个服务", "我们不使用这个服务"),
        ("バックアップは毎日取ります", "バックアップは毎日取りません"),
        ("Мы используем Redis", "Мы не используем Redis"),
        ("Alice reviews Bob's code", "Bob reviews Alice's code"),
        ("On Friday Alice Smith pays Bob for it", "On Friday Bob pays Alice Smith for it"),
        ("move it from staging to production", "move it from production to staging"),
    ],
)
def test_negations_and_exchanged_names_turn_a_text_round(a: str, b: str) -> None:
    """A small difference that negates, or names that change places, say something else."""
    assert opposite(read(a), read(b))
    assert opposite(read(b), read(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("We use Redis", "We use Redis"),
        ("We must not use it", "We must never use it"),
        ("Deploy on Monday", "Deploy on Tuesday"),
        ("first this. then that.", "then that. first this."),
        (
            "We use Redis",
            "We use Redis for the cache. It is not backed up, so keep nothing there for long.",
        ),
    ],
)
def test_other_differences_do_not_turn_a_text_round(a: str, b: str) -> None:
    """A stretch that moved, a changed word or a longer addition leave open what is meant."""
    assert not opposite(read(a), read(b))


@given(WORDS, WORDS)
def test_to_be_opposite_is_mutual(a: list[str], b: list[str]) -> None:
    """It does not matter which text comes first, and no text is opposite to itself."""
    one, other = read(" ".join(a)), read(" ".join(b))
    assert opposite(one, other) == opposite(other, one)
    assert not opposite(one, one)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Backups run at 02:00", "Backups run at 03:00", True),
        ("PROJ-1 is done in v2", "PROJ-2 is done in v3", True),
        ("Deploy at 9 on Monday", "Deploy at 10 on Tuesday", False),
        ("Deploy at 9", "Deploy", False),
        ("Deploy at 9", "Deploy at 9!", False),
    ],
)
def test_other_numbers_are_told_from_other_words(a: str, b: str, expected: bool) -> None:
    """Texts are renumbered if all that differs has digits, in both."""
    assert renumbered(read(a), read(b)) is renumbered(read(b), read(a)) is expected


# -- what differs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Deploy on Monday", "Deploy on Tuesday, please", ("monday", "tuesday please")),
        ("one two", "two one", ("", "")),
        ("a", "a b", ("", "b")),
        ("a a a", "a", ("a a", "")),
        ("a b c d e f g h", "", ("a b c d e f …", "")),
        ("x" * 99, "", ("x" * 23 + "…", "")),
    ],
)
def test_what_only_one_text_has_is_shown(a: str, b: str, expected: tuple[str, str]) -> None:
    """What differs is shown in its order and cut to a few words."""
    assert difference(read(a), read(b)) == expected


@given(TEXTS, TEXTS)
def test_a_difference_is_short_and_mutual(a: str, b: str) -> None:
    """A difference is shown in at most 200 characters, whichever text comes first."""
    one, other = difference(read(a), read(b))
    assert (other, one) == difference(read(b), read(a))
    assert max(len(one), len(other)) <= 200


def test_texts_without_words_are_alike() -> None:
    """Two texts without anything to compare are the same, and unlike any other."""
    empty = read(" \n")
    assert isinstance(empty, Reading)
    assert likeness(empty, empty) == shared(empty, empty) == 1
    assert likeness(empty, read("something")) == 0
