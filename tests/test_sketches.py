"""Likely pairs among many texts, found without comparing each with each."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from memai.sketches import Candidates, Sketches

WORDS = [f"word{number}" for number in range(5000)]
UNITS = st.lists(st.sampled_from("a b c d e f g".split()), max_size=12)


def candidates(
    texts: Sequence[Sequence[str]],
    dice: float = 0.9,
    most: int = 100_000,
    groups: Sequence[int] | None = None,
    at_once: int = 50,
) -> Candidates:
    """Return the candidates among some texts, added a few at a time."""
    sketches = Sketches()
    for start in range(0, len(texts), at_once):
        sketches.add(texts[start : start + at_once])
    return sketches.candidates([-1] * len(texts) if groups is None else groups, dice, most)


def edited(texts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return each text with one word in twelve replaced."""
    chance = random.Random(2)
    copies = [list(units) for units in texts]
    for copy in copies:
        for place in chance.sample(range(len(copy)), max(1, len(copy) // 12)):
            copy[place] = chance.choice(WORDS)
    return copies


def test_edited_copies_are_found_among_many() -> None:
    """Nearly every copy with one word in twelve replaced is a candidate, and little else is."""
    chance = random.Random(1)
    texts = [chance.choices(WORDS, k=chance.randint(12, 90)) for _ in range(1500)]
    found = candidates([*texts, *edited(texts)])
    copies = {(place, place + len(texts)) for place in range(len(texts))}
    assert len(copies & set(found.pairs)) >= 0.99 * len(copies)
    assert len(set(found.pairs) - copies) <= 0.01 * len(copies)
    assert found.pairs == sorted(set(found.pairs))


@given(st.lists(UNITS, max_size=20), st.integers(1, 20))
def test_equal_texts_are_candidates_however_they_are_added(
    texts: list[list[str]], at_once: int
) -> None:
    """Every two equal texts are a pair, the lower number first, whatever was added with them."""
    found = candidates(texts, at_once=at_once)
    assert found == candidates(texts)
    equal = {
        (one, other)
        for other in range(len(texts))
        for one in range(other)
        if texts[one] == texts[other]
    }
    assert equal <= set(found.pairs) or not found.complete
    assert all(one < other < len(texts) for one, other in found.pairs)


def test_order_makes_another_text() -> None:
    """The same units the other way round share no pairs, so they are less likely."""
    text = WORDS[:40]
    assert candidates([text, text[::-1]], dice=0.99).pairs == []


def test_texts_of_one_group_are_no_pair() -> None:
    """Texts of one group are not paired with each other, but with any other text."""
    texts = [WORDS[:20]] * 4
    assert candidates(texts, groups=[0, 0, 1, -1]).pairs == [
        (0, 2), (0, 3), (1, 2), (1, 3), (2, 3),
    ]  # fmt: skip


def test_a_crowd_costs_little_and_is_told() -> None:
    """Of very many equal texts only some pairs are looked at, and the answer says so."""
    found = candidates([WORDS[:20]] * 400, most=10**6)
    assert not found.complete
    assert len(found.pairs) <= 400 * 16
    assert set(range(400)) == {number for pair in found.pairs for number in pair}


def test_a_crowd_of_one_group_is_nothing_to_tell() -> None:
    """Where all the pairs left out are of one group, nothing is missing."""
    found = candidates([WORDS[:20]] * 400, groups=[7] * 400)
    assert found == Candidates([], complete=True)


def test_the_likeliest_are_kept() -> None:
    """With more pairs than asked for, the likeliest stay and the answer says that some are gone."""
    equal = [WORDS[start : start + 30] for start in range(0, 300, 30)]
    others = [WORDS[start : start + 30] for start in range(600, 1500, 30)]
    found = candidates([*equal, *equal, *others, *edited(others)], most=len(equal))
    assert found.pairs == [(place, place + len(equal)) for place in range(len(equal))]
    assert not found.complete


def test_nothing_gives_nothing() -> None:
    """Without texts, or with one, there are no pairs."""
    assert candidates([]) == candidates([["alone"]]) == Candidates([], complete=True)
    sketches = Sketches()
    sketches.add([])
    assert sketches.candidates([], 0.9, 10) == Candidates([], complete=True)
