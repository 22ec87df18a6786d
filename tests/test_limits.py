"""Limits: what may be kept at most, to the byte, and the sentence for what is beyond."""

from collections.abc import Callable

import pytest

from memai import operations
from memai.errors import MemaiError, TooLarge, UsageError
from memai.store import Store

TOO_MUCH: dict[str, Callable[[Store, str], object]] = {
    "a text of a byte more than a megabyte": lambda s, _: operations.note(s, "é" * 500_000 + "x"),
    "an edit to such a text": lambda s, uid: operations.edit(s, uid, "x" * 1_000_001),
    "a checkpoint whose fields are too long together": lambda s, _: operations.checkpoint(
        s, intent="x" * 600_000, pursuing="y" * 600_000
    ),
    "a tag too many": lambda s, _: operations.note(s, "text", tags=[f"t{n}" for n in range(65)]),
    "a tag too many by an edit": lambda s, uid: operations.edit(s, uid, add_tags=("one more",)),
    "a tag of a character too many": lambda s, _: operations.note(s, "text", tags=("x" * 65,)),
    "a long domain": lambda s, _: operations.note(s, "text", domain="d" * 201),
    "a long session": lambda s, _: operations.note(s, "text", session="s" * 201),
    "a long source": lambda s, _: operations.note(s, "text", source="s" * 201),
    "a long key": lambda s, _: operations.note(s, "text", key="k" * 201),
    "a long reason": lambda s, uid: operations.forget(s, (uid,), reason="r" * 2_001),
}

JUST_ENOUGH: dict[str, Callable[[Store, str], object]] = {
    "a text of a megabyte": lambda s, _: operations.note(s, "é" * 500_000),
    "all tags": lambda s, _: operations.note(s, "text", tags=[f"t{n}" for n in range(64)]),
    "the longest tag": lambda s, _: operations.note(s, "text", tags=("x" * 64,)),
    "the longest names": lambda s, _: operations.note(
        s, "text", domain="d" * 200, session="s" * 200, source="s" * 200, key="k" * 200
    ),
    "the longest reason": lambda s, uid: operations.forget(s, (uid,), reason="r" * 2_000),
}


@pytest.fixture
def uid(store: Store) -> str:
    """Write a memory that has all the tags it may have."""
    return operations.note(store, "a text", tags=[f"tag {n}" for n in range(64)]).uid


@pytest.mark.parametrize("what", TOO_MUCH)
def test_what_is_beyond_a_limit_is_refused(store: Store, uid: str, what: str) -> None:
    """With the limit in the sentence, exit code 2, and nothing changed."""
    before = list(operations.export(store))
    with pytest.raises(TooLarge, match=r"at most [\d,]+ are kept") as told:
        TOO_MUCH[what](store, uid)
    assert told.value.exit_code == 2
    assert list(operations.export(store)) == before


@pytest.mark.parametrize("what", JUST_ENOUGH)
def test_what_is_within_a_limit_is_kept(store: Store, uid: str, what: str) -> None:
    """To the byte."""
    JUST_ENOUGH[what](store, uid)
    assert store.check(deep=True) == []


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b", "\udfff"])
@pytest.mark.parametrize(
    "act",
    [
        lambda s, _, bad: operations.note(s, bad),
        lambda s, _, bad: operations.note(s, "text", domain=bad),
        lambda s, _, bad: operations.note(s, "text", tags=(bad,)),
        lambda s, _, bad: operations.note(s, "text", key=bad),
        lambda s, _, bad: operations.note(s, "text", source=bad),
        operations.edit,
        lambda s, uid, bad: operations.forget(s, (uid,), reason=bad),
        lambda s, uid, bad: operations.link(s, uid, bad, uid),
        lambda s, _, bad: operations.search(s, bad),
        lambda s, _, bad: operations.checkpoint(s, intent=bad),
    ],
)
def test_characters_that_no_store_keeps_are_refused(
    store: Store, uid: str, act: Callable[[Store, str, str], object], bad: str
) -> None:
    """NUL and halves of surrogate pairs, wherever they stand; the sentence says where."""
    before = list(operations.export(store))
    with pytest.raises(UsageError, match=r"NUL character at|not valid Unicode"):
        act(store, uid, bad)
    assert list(operations.export(store)) == before


@pytest.mark.parametrize("uid_like", ["a\0b", "\ud800\ud800\ud800\ud800"])
def test_such_characters_are_no_uid(store: Store, uid_like: str) -> None:
    """And no crash."""
    with pytest.raises(MemaiError):
        operations.show(store, uid_like)
