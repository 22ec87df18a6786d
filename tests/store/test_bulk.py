"""Many memories at once: what makes them quick is over with them."""

from support import memory

from memai.records import Edit, Embedded, Memory, Passage
from memai.store import Store, schema

INDEXES = schema.WORD_INDEXES


def some(text: str) -> tuple[Memory, tuple[Edit, ...], Embedded]:
    """Return a memory of one passage without a vector."""
    return memory(text), (), Embedded(None, (Passage(0, len(text)),))


def adopt(store: Store, number: int, count: int = 100) -> None:
    """Keep many memories in one transaction."""
    with store.writing():
        store.adopt([some(f"Text {number} {place}") for place in range(count)])


def segments(store: Store) -> list[int]:
    """Return of how many segments each word index consists."""
    sql = "SELECT count(DISTINCT segid) FROM {}_idx"
    return [store.one(sql.format(index)) for index in INDEXES]  # type: ignore[attr-defined]


def pragma(store: Store, name: str) -> int:
    """Return a setting of the connection."""
    return int(store.one(f"PRAGMA {name}"))  # type: ignore[attr-defined]


def test_words_are_merged_by_eights(store: Store) -> None:
    """Seven writes leave seven segments, and many leave few."""
    for number in range(7):
        adopt(store, number)
    assert segments(store) == [7, 7]
    for number in range(100):
        adopt(store, number, 1)
    assert all(count < 25 for count in segments(store))
    assert "damage" not in {finding.level for finding in store.check(deep=True)}


def test_the_room_of_a_bulk_is_given_back(store: Store) -> None:
    """The log of a bulk grows larger, until it is folded in."""
    adopt(store, 1, 1)
    usual = [pragma(store, name) for name in ("wal_autocheckpoint", "journal_size_limit")]
    adopt(store, 2)
    assert pragma(store, "wal_autocheckpoint") == 32 * usual[0]
    store.settle()
    assert [pragma(store, name) for name in ("wal_autocheckpoint", "journal_size_limit")] == usual
