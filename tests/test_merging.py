"""Merging two histories of one memory."""

from hypothesis import given
from hypothesis import strategies as st

from memai.operations.merging import merge, newest, states
from memai.records import Edit, Memory, Relation

BASE = Memory(
    uid="0123456789", type="note", domain=None, session=None, tags=(), status="active",
    confidence="unverified", content="start", agent="a", source=None, key=None, origin=None,
    created_at="2026-01-01T00:00:00.000000Z", updated_at="2026-01-01T00:00:00.000000Z",
    version=1, extra={},
)  # fmt: skip
Whole = tuple[Memory, tuple[Edit, ...]]


def edited(whole: Whole, second: int, content: str, agent: str) -> Whole:
    """Return the memory after one more edit."""
    memory, history = whole
    at = f"2026-01-02T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000000Z"
    edit = Edit(memory.version, at, agent, None, {"content": memory.content})
    return memory._replace(content=content, version=memory.version + 1, updated_at=at), (
        *history,
        edit,
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Whole]:
    """Draw three histories that share a beginning and go on apart."""
    common: Whole = (BASE, ())
    second = 0
    for content in draw(st.lists(st.sampled_from("pqr"), max_size=2)):
        second += 1
        common = edited(common, second, content, "both")
    found = []
    for _ in range(3):
        own, at = common, second
        for content, step in draw(
            st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 3)), max_size=3)
        ):
            at += step
            own = edited(own, at, content, draw(st.sampled_from(["one", "two"])))
        found.append(own)
    return found


def merged(one: Whole, other: Whole) -> Whole:
    """Merge two, and return only what is kept."""
    done = merge(*one, *other)
    return done.memory, done.history


@given(histories())
def test_merge_is_the_same_whichever_way_round(three: list[Whole]) -> None:
    """Both stores end with the same memory and the same history."""
    one, other, _ = three
    assert merged(one, other) == merged(other, one)


@given(histories())
def test_merge_does_not_depend_on_the_order_of_stores(three: list[Whole]) -> None:
    """Three stores agree whoever meets whom first."""
    one, two, third = three
    assert merged(merged(one, two), third) == merged(one, merged(two, third))


@given(histories())
def test_merge_with_itself_changes_nothing(three: list[Whole]) -> None:
    """A second import of the same file finds everything the same."""
    both = merged(three[0], three[1])
    for part in (*three[:2], both):
        assert not merge(*both, *part).changed


@given(histories())
def test_merge_loses_no_state(three: list[Whole]) -> None:
    """Every text either side ever had is in the merged history."""
    one, other, _ = three
    kept = [state.order() for state in states(*merged(one, other))]
    for whole in (one, other):
        assert {state.order() for state in states(*whole)} <= set(kept)
    assert kept == sorted(kept)


def test_merge_makes_the_newest_current_and_says_that_both_had_news() -> None:
    """An edit on both sides is a conflict; the later text stands, the other is history."""
    ours, theirs = edited((BASE, ()), 5, "ours", "a"), edited((BASE, ()), 9, "theirs", "b")
    done = merge(*ours, *theirs)
    assert done.diverged
    assert done.memory.content == "theirs"
    assert [edit.before["content"] for edit in done.history] == ["start", "ours"]


def test_merge_takes_a_newer_history_as_it_is() -> None:
    """What only the other side went on with is no conflict."""
    theirs = edited((BASE, ()), 9, "theirs", "b")
    done = merge(BASE, (), *theirs)
    assert (done.changed, done.diverged) == (True, False)
    assert (done.memory, done.history) == theirs


def test_a_relation_taken_away_later_stays_away() -> None:
    """The last word on a relation stands, whoever said it."""
    made = Relation("a", "supersedes", "b", None, "x", "2026-01-01T00:00:00.000000Z")
    gone = made._replace(removed_at="2026-01-03T00:00:00.000000Z")
    again = made._replace(created_at="2026-01-04T00:00:00.000000Z")
    assert newest(made, gone) == gone == newest(gone, made)
    assert newest(gone, again) == again == newest(again, gone)
    assert newest(None, gone) == gone
