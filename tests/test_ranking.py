"""The order of hits: what must hold for any scores, and what each adjustment is for."""

from array import array
from itertools import pairwise

import numpy as np
import pytest
from bench.fusion import reciprocal_rank_fusion
from hypothesis import given
from hypothesis import strategies as st

from memai import ranking
from memai.ranking import Ranked, late
from memai.ranking.arrays import ArrayTexts
from memai.ranking.closeness import CLOSE, Evidence, closeness, evidence
from memai.ranking.holding import holding
from memai.ranking.late import Neighbours

ids = st.integers(1, 30)
scores = st.dictionaries(ids, st.floats(-50, 50, allow_nan=False), max_size=20)
routes = st.dictionaries(st.sampled_from(sorted(ranking.WEIGHTS)), scores)
tokens = st.integers(0, 12)
texts = st.lists(tokens, max_size=150)
weights = st.dictionaries(tokens, st.floats(0.01, 5), min_size=1, max_size=5)
cosines = st.dictionaries(tokens, st.dictionaries(tokens, st.floats(0, 1, width=32)))


def _joined(text):
    """Return tokens as stored."""
    return array("H", text).tobytes()


@given(routes)
def test_fusion_orders_every_candidate_once(routes):
    """Every candidate of any route is there once, best first, ties by id, from 0 to 1."""
    ranked = ranking.fuse(routes)
    assert {one.id for one in ranked} == set().union(*routes.values())
    assert len({one.id for one in ranked}) == len(ranked)
    assert ranked == sorted(ranked, key=lambda one: (-round(one.score, 6), one.id))
    assert all(-1e-9 <= one.score <= 1 + 1e-9 for one in ranked)


@given(st.dictionaries(ids, st.floats(0, 1) | st.sampled_from([0.5, 0.5000003, 0.5000008])))
def test_scores_that_are_equal_but_for_rounding_are_in_the_order_of_ids(lift):
    """So that how sums were added up decides nothing."""
    ranked = ranking.fuse({}, {"lift": lift})
    assert ranked == sorted(ranked, key=lambda one: (-round(one.score, 6), one.id))


@given(routes, routes)
def test_the_order_alone_is_that_of_fusion(routes, lifts):
    """Whoever asks for nothing but the order gets the same."""
    lifts = {f"lifted {name}": some for name, some in lifts.items()}
    assert ranking.order(routes, lifts) == [one.id for one in ranking.fuse(routes, lifts)]


@given(routes)
def test_parts_add_up(routes):
    """What the routes gave to a memory adds up to its score."""
    for one in ranking.fuse(routes):
        assert abs(sum(one.parts.values()) - one.score) < 1e-9


@given(routes)
def test_fusion_does_not_depend_on_the_order_of_routes(routes):
    """The same candidates come out whatever order the routes answered in."""
    turned = dict(reversed(routes.items()))
    assert ranking.fuse(routes) == ranking.fuse(turned)


@given(scores)
def test_one_route_alone_keeps_its_order(scores):
    """With the other routes missing, a route's own order is the answer."""
    ranked = [one.id for one in ranking.fuse({"words": scores, "meaning": {}})]
    values = [scores[id] for id in ranked]
    assert all(a >= b or abs(a - b) < 1e-3 for a, b in pairwise(values))


@given(scores)
def test_the_scores_of_a_route_reach_from_0_to_1(scores):
    """Scaled scores lie between 0 and 1, and the highest is 1."""
    ranked = ranking.fuse({"words": scores})
    assert all(0 <= one.score <= 1 for one in ranked)
    assert not ranked or max(one.score for one in ranked) == 1


def test_a_lift_is_added_and_shown():
    """An exact hit passes a near-equal one, and its parts say why."""
    first = ranking.fuse({"words": {1: 2.0, 2: 1.99, 3: 1.0}}, {"exact": {2: 0.1}})[0]
    assert first.id == 2
    assert first.parts["exact"] == 0.1


@given(weights, cosines, st.dictionaries(ids, texts, max_size=6))
def test_late_interaction_is_a_share(weights, near, memories):
    """Late interaction scores every memory from 0 to 1."""
    found = late.late_interaction(weights, near, memories)
    assert found.keys() == memories.keys()
    assert all(0 <= score <= 1 + 1e-9 for score in found.values())


@given(weights, cosines, texts, texts, texts)
def test_late_interaction_is_the_best_window(weights, near, tokens, before, after):
    """It equals the plain definition: the best of all windows of two blocks of 32 tokens.

    What stands beside the memory counts as if it stood in each of them.
    """
    blocks = [tokens[start : start + 32] for start in range(0, len(tokens), 32)] or [[]]
    beside = before[-24:] + after[:24]
    windows = [a + b + beside for a, b in pairwise(blocks)] or [tokens + beside]

    def best(token, window):
        return max((c for t in window if (c := near.get(token, {}).get(t, 0)) >= 0.25), default=0)

    expected = max(
        sum(weight * best(token, window) for token, weight in weights.items()) for window in windows
    ) / sum(weights.values())
    sides = late.neighbours(_joined(before), _joined(after))
    found = late.late_interaction(weights, near, {1: tokens}, {1: sides})[1]
    assert abs(found - expected) < 1e-9


@given(texts, texts)
def test_of_a_neighbour_the_nearest_tokens_count(before, after):
    """Of what came before its last 24 tokens, of what comes after its first."""
    sides = late.neighbours(_joined(before), _joined(after))
    assert [list(array("H", side)) for side in sides] == [before[-24:], after[:24]]


def test_an_answer_is_found_through_its_question():
    """A turn that answers the turn before it beats the same words after something else."""
    weights, near = {1: 1.0, 2: 1.0}, {1: {1: 1.0}, 2: {2: 1.0}}
    beside = {11: Neighbours(before=_joined([1])), 13: Neighbours(before=_joined([9]))}
    found = late.late_interaction(weights, near, {11: [2], 13: [2]}, beside)
    assert found[11] > found[13]


def test_rare_tokens_weigh_more():
    """A token that few candidates hold counts more than one that most of them hold."""
    found = late.token_weights({1: 1.0, 2: 1.0}, {1: 4, 2: 1}, 4)
    assert found[2] > found[1] > 0


@given(
    weights,
    cosines,
    st.lists(texts, min_size=1, max_size=6),
    st.lists(texts, max_size=12),
)
def test_arrays_say_what_the_plain_way_says(weights, near, memories, sides):
    """Late interaction, frequencies and tokens are the same in arrays as without numpy."""
    joined = {10 + place: _joined(text) for place, text in enumerate(memories)}
    beside = {
        id: late.neighbours(_joined(before), _joined(after))
        for id, before, after in zip(joined, sides[::2], sides[1::2], strict=False)
    }
    near = {
        token: {other: cosine for other, cosine in near.get(token, {}).items() if cosine >= 0.25}
        for token in weights
    }
    plain = late.Texts(joined, beside, near)
    arrays = ArrayTexts(
        joined,
        beside,
        list(weights),
        lambda others: np.array(
            [[near[token].get(other, 0.0) for token in weights] for other in others.tolist()]
        ).reshape(others.size, len(weights)),
    )
    assert [list(plain.of(id)) for id in range(20)] == [list(arrays.of(id)) for id in range(20)]
    assert [id in plain for id in range(20)] == [id in arrays for id in range(20)]
    assert plain.frequencies() == arrays.frequencies()
    assert arrays.interaction(weights) == pytest.approx(plain.interaction(weights))
    for some in ([*joined], [*joined][1::2], []):
        assert arrays.alone(weights, some) == pytest.approx(plain.alone(weights, some))
    for text in memories:
        expected = holding(weights, plain.near(set(text)), text)
        assert holding(weights, arrays.near(set(text)), text) == pytest.approx(expected)


def test_head():
    """The head is a title, heading or speaker; a text without one has none."""
    assert late.head("Ann (8 May): I went home") == "Ann (8 May)"
    assert late.head("# Release\nTag it first") == "# Release"
    assert late.head("no head here") == ""
    assert late.head("x" * 200 + ": y") == ""


ranked_lists = st.lists(st.floats(0, 1), min_size=1, max_size=10).map(
    lambda values: [Ranked(i, v, {}) for i, v in enumerate(sorted(values, reverse=True), 1)]
)


@given(ranked_lists, st.randoms(use_true_random=False))
def test_preference_for_newer_is_bounded(ranked, random):
    """No memory gains 0.1 or more by being newer, none loses, and the gain is shown."""
    times = {one.id: random.randint(1, 28) for one in ranked}
    before = {one.id: one.score for one in ranked}
    found = ranking.prefer_newer(ranked, times, lambda _a, _b: random.random())
    assert {one.id for one in found} == before.keys()
    for one in found:
        gain = one.score - before[one.id]
        assert 0 <= gain <= 0.1 + 1e-5
        assert abs(one.parts.get("newer", 0.0) - gain) < 1e-9


def test_the_newer_of_two_versions_comes_first():
    """A newer memory passes an alike older one just above, but not a different one."""
    ranked = [Ranked(1, 0.9, {}), Ranked(2, 0.85, {})]
    times = {1: 1, 2: 2}
    passed = ranking.prefer_newer(ranked, times, lambda _a, _b: 0.8)
    assert [one.id for one in passed] == [2, 1]
    assert ranking.prefer_newer(ranked, times, lambda _a, _b: 0.0) == ranked


def test_only_versions_of_one_thing_are_older_and_newer():
    """Heads that name different things are no versions; numbers and dates do not matter."""
    assert ranking.versions("Port of staging (3 May)", "port of staging (9 May)")
    assert ranking.versions("", "Update")
    assert not ranking.versions("Ann", "Bob")


@given(st.text(max_size=20), st.sets(st.sampled_from(["ann", "the", "port"])))
def test_the_named_share_of_a_head_is_a_share(head, words):
    """It lies between 0 and 1 for any head and words."""
    assert 0 <= ranking.named(head, words) <= 1


def test_a_head_is_named_by_the_words_of_a_question():
    """Case, numbers and function words do not matter; a head without words is not named."""
    words = ranking.names("When was the Deep Blue Sea filmed?")
    assert ranking.named("The Deep Blue Sea (1955)", words) == 1
    assert ranking.named("Deep Purple", words) == 0.5
    assert ranking.named("12:40", words) == 0


@given(weights, cosines, texts)
def test_holding_is_in_bounds(weights, near, text):
    """Shares lie between 0 and 1, and no more tokens are missing than were asked for."""
    found = holding(weights, near, text)
    assert 0 <= found.about <= 1
    assert 0 <= found.unmet <= 1
    assert 0 <= found.missing <= len(weights)


def test_holding_what_is_asked():
    """A token held as it is lacks nothing, one that has something near is missing but met."""
    near = {1: {1: 1.0}, 2: {5: 0.75}}
    assert holding({1: 3.0, 2: 1.0}, near, [1, 9]).missing == 1
    assert holding({1: 3.0, 2: 1.0}, near, [1, 9]).unmet == 0.25
    assert holding({1: 3.0, 2: 1.0}, near, [1, 5]).unmet == 0.0625
    assert holding({1: 3.0, 2: 1.0}, near, [1, 5]).about == 0.875


LIKELY = Evidence(
    covered=0.95,
    hits=100,
    gap=0.8,
    spread=1.5,
    words5=9.0,
    words10=12.0,
    read=True,
    late=0.95,
    meaning=0.7,
    length=4.3,
    about=0.1,
    held=9.0,
    says=2.6,
    clauses=5,
)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("read", [False, True])
def test_a_hit_that_stands_out_and_covers_the_question_is_close(few, read):
    """Nothing found is not close, nor is a hit like all others that covers little."""
    likely = LIKELY._replace(read=read, hits=5 if few else 100)
    flat = {"gap": 0.3, "spread": 4.0, "words5": 1.0, "words10": 2.0, "late": 0.3, "held": 2.0}
    unlikely = likely._replace(**flat, covered=0.3, missing=4, unmet=0.4, meaning=0.3)
    assert closeness(likely) >= CLOSE > closeness(unlikely)
    assert closeness(likely._replace(hits=0)) == 0


def test_a_hit_that_holds_the_whole_question_is_close():
    """Whoever asks with a sentence that is there word for word is told so."""
    flat = LIKELY._replace(gap=0.1, spread=4.0, named=1.0, title=-1.0, missing=0, unmet=0.0)
    assert closeness(flat) < CLOSE <= closeness(flat._replace(verbatim=True))


def test_a_hit_that_lacks_a_name_is_less_likely_an_answer():
    """What is asked about Ann and found with Bob is not what was asked for."""
    lacking = LIKELY._replace(missing=1, unmet=0.25)
    stranger = lacking._replace(strangers=1, unknown=1)
    assert closeness(stranger) < closeness(lacking) < closeness(LIKELY)


def test_evidence_is_how_the_best_hit_stands_out():
    """By how much it leads, how many are near it, and whether its head is in the question."""
    clear = [Ranked(1, 1.0, {"named": ranking.NAMED}), *(Ranked(i, 0.3, {}) for i in range(2, 60))]
    words = {"words": {1: 12.0, **dict.fromkeys(range(2, 60), 2.0)}}
    found = evidence(clear, words, 0.9)
    flat = evidence([one._replace(score=0.5) for one in clear], words, 0.9)
    assert found.gap == pytest.approx(0.7)
    assert (found.hits, found.words5, found.words10) == (59, 10.0, 10.0)
    assert (found.named, found.title, flat.gap) == (1, 1, 0)
    assert found.spread < flat.spread
    assert evidence([], {}, 0.0) == Evidence(0.0)


@given(ranked_lists, routes, st.floats(0, 1))
def test_closeness_is_a_likelihood(ranked, scores, covered):
    """It lies between 0 and 1 whatever was found, and covering more never lowers it."""
    found = evidence(ranked, scores, covered)
    for known in (found, found._replace(read=True)):
        assert 0 <= closeness(known) <= 1
        assert closeness(known._replace(covered=1.0)) >= closeness(known)


@given(st.dictionaries(st.text(max_size=3), st.lists(ids, unique=True)))
def test_reciprocal_rank_fusion_keeps_every_id(rankings):
    """Every id of any ranking comes out once, best first."""
    merged = reciprocal_rank_fusion(rankings)
    assert {id for id, _ in merged} == set().union(*map(set, rankings.values()))
    assert merged == sorted(merged, key=lambda item: (-item[1], item[0]))


def test_match_source():
    """Words, meaning or both, named as the answer names them."""
    assert ranking.match_source(["words"]) == "fts"
    assert ranking.match_source(["meaning", "late"]) == "vec"
    assert ranking.match_source(["words", "meaning"]) == "both"
