"""How alike texts are."""

import pytest
from hypothesis import given
from texts import TEXTS

from memai.likeness import similarity


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Alice reviews Bob's code", "Bob reviews Alice's code"),
        ("We do use Redis", "We do not use Redis"),
        ("We use Redis here", "We don't use Redis here"),
        ("Deploy on Monday", "The cat sat on a mat"),
        ("", "something"),
    ],
)
def test_texts_that_say_something_else_are_less_alike(a: str, b: str) -> None:
    """Order and negation tell texts of the same words apart."""
    assert similarity(a, b) < 0.6


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The café opens at nine", "The cafe\u0301 opens at NINE!"),
        (
            "Deploy window is Monday at nine in the morning, UTC",
            "Deploy window is Monday at nine in the morning (UTC).",
        ),
        (
            "The staging database is restored from the nightly backup of production every day",
            "The staging database is restored from the nightly backups of production every day",
        ),
    ],
)
def test_repeats_are_alike(a: str, b: str) -> None:
    """Spelling forms, punctuation and one changed word leave texts alike."""
    assert similarity(a, b) > 0.7


@given(TEXTS, TEXTS)
def test_likeness_is_a_measure(a: str, b: str) -> None:
    """Likeness is symmetric, between 0 and 1, and 1 for a text and itself."""
    assert similarity(a, a) == 1
    assert 0 <= similarity(a, b) == similarity(b, a) <= 1
