"""Ranking by words in memory says what FTS5's bm25() says, to the last bit."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import embedded, memory

from memai import queries
from memai.queries import Clause, WordQuery
from memai.records import Edit, Memory, Scored, Where
from memai.store import Store, bm25, postings, words

VOCABULARY = (
    "deploy deployed deploying fails queue queues café 重跑 gen-itgc foo_bar v1.2.3".split()
)
FILTERS = [Where(), Where(current=False), Where(type="note"), Where(domain="few")]
QUERIES = [
    "deploy",
    "deploy fails queue",
    '"deploy fails" queue',
    '"deploy" "queue"',
    "café 重跑",
    "重",
    "dep",
    "fails que",
    "foo_bar gen-itgc",
    "v1.2.3",
    "unheard",
    "unheard deploy",
]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Scored], list[Scored]]]:
    """Ask a store in both ways, by FTS5 and by postings."""

    def ask(store: Store, *arguments: object) -> tuple[list[Scored], list[Scored]]:
        found = []
        for limit in (10**12, -1):
            monkeypatch.setattr(words, "_PLAIN", limit)
            monkeypatch.setattr(words, "_PLAIN_WARM", limit)
            found.append(store.by_words(*arguments))
        return found[0], found[1]

    return ask


def a_memory(chance: random.Random) -> Memory:
    """Return a memory of words of the vocabulary, in its content, its tags and its domain."""
    some = [*VOCABULARY, *(f"word{number}" for number in range(40))]
    return memory(
        " ".join(chance.choices(some, k=chance.choice([1, 3, 8, 30, 200]))),
        type=chance.choice(["note", "handoff"]),
        domain=chance.choice([None, "many/deploy", "few", "many"]),
        tags=tuple(chance.sample(VOCABULARY[:5], chance.randrange(3))),
        status=chance.choice(["active", "active", "archived"]),
    )


def keep(store: Store, memories: list[Memory]) -> None:
    """Store memories in one transaction."""
    with store.writing():
        for one in memories:
            store.insert(one, embedded(one.content))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_are_those_of_fts5(
    store: Store,
    both: Callable[..., tuple[list[Scored], list[Scored]]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Every score and place is the same, in every filter, after writes and removals too."""
    chance = random.Random(seed)
    monkeypatch.setattr(postings, "MANY", chance.choice([0, 30_000]))
    monkeypatch.setattr(postings, "_INSIDE", 3)
    monkeypatch.setattr(postings, "_FEW", chance.choice([0, 1000]))
    monkeypatch.setattr(postings, "_WALKS", chance.choice([0, 3]))
    monkeypatch.setattr(postings, "_FORWARD", chance.choice([0, 10, 5000]))
    made = [a_memory(chance) for _ in range(chance.choice([2, 30, 60]))]
    keep(store, made)
    for turn in range(4):
        for text in QUERIES:
            query = queries.word_query(text)
            without = queries.excluded(chance.choice([(), (), ("queue",), ("deploy fails",)]))
            for where in FILTERS:
                limit = chance.choice([1, 5, 1000])
                plain, quick = both(store, query, where, limit, without)
                assert quick == plain, (text, where, limit, without)
        if turn == 0:
            keep(store, [a_memory(chance) for _ in range(3)])
        elif turn == 1:
            with store.writing():
                store.remove(made[0].uid, made[0].created_at)
            keep(store, [a_memory(chance) for _ in range(3)])
        else:
            one = made[-1]._replace(content=a_memory(chance).content, version=2, tags=("deploy",))
            with store.writing():
                store.change(one, Edit(1, one.created_at, "t", None, {}), None)


def test_a_search_inside_a_write_sees_what_was_written(
    store: Store, both: Callable[..., tuple[list[Scored], list[Scored]]]
) -> None:
    """What is not kept yet is found meanwhile, and never remembered."""
    keep(store, [memory("an apple"), memory("a pear")])
    query = queries.word_query("apple")
    assert [len(found) for found in both(store, query, Where(), 9)] == [1, 1]

    def in_vain() -> None:
        with store.writing():
            one = memory("apple pie")
            store.insert(one, embedded(one.content))
            assert [len(found) for found in both(store, query, Where(), 9)] == [2, 2]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_vain()
    assert [len(found) for found in both(store, query, Where(), 9)] == [1, 1]


@pytest.mark.parametrize(("plain", "most"), [(2_000, 1_000_000), (-1, 1_000_000), (2_000, 0)])
def test_words_that_no_memory_holds_are_named(
    store: Store, monkeypatch: pytest.MonkeyPatch, plain: int, most: int
) -> None:
    """Whether each is looked for, its postings are read, or how common it is, as memories go."""
    monkeypatch.setattr(words, "_PLAIN_WARM", plain)
    monkeypatch.setattr(words, "_MOST", most)
    made = [memory("an apple"), memory("pears are deploying")]
    keep(store, made)
    asked = [queries.Clause((word,)) for word in ("apples", "plum", "deployed", "...", "pear")]
    assert store.missing(asked) == [asked[1], asked[3]]
    with store.writing():
        store.remove(made[0].uid, made[0].created_at)
    assert store.missing(asked) == [asked[0], asked[1], asked[3]]


def test_the_words_of_a_narrow_filter_are_read_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is searched again; then those of new memories only, until words change."""
    monkeypatch.setattr(postings, "MANY", 0)
    monkeypatch.setattr(postings, "_WALKS", 2)
    monkeypatch.setattr(words, "_PLAIN_WARM", -1)
    read: list[int] = []
    words_of = words.Words._words_of
    monkeypatch.setattr(
        words.Words, "_words_of", lambda self, ids: read.append(len(ids)) or words_of(self, ids)
    )

    def found(text: str) -> int:
        return len(store.by_words(queries.word_query(text), Where(domain="few"), 9))

    made = [memory(f"apple number{n}", domain="few" if n % 2 else "many") for n in range(10)]
    keep(store, made)
    assert [found("apple"), found("number5")] == [5, 1]
    assert read == []
    assert [found("number3"), found("number2")] == [1, 0]
    keep(store, [memory("an apple more", domain="few")])
    assert [found("apple"), found("more")] == [6, 1]
    with store.writing():
        store.remove(made[1].uid, made[1].created_at)
    assert found("number3 number1 number5 number7") == 3
    assert read == [5, 1, 5]


def test_threads_that_read_the_same_memories_count_them_once(
    engine: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two searches at once in a filter that is new to both score as FTS5 does, then and later."""
    monkeypatch.setattr(postings, "MANY", 0)
    monkeypatch.setattr(postings, "_WALKS", 0)
    query, where = queries.word_query("apple pear"), Where(domain="few")
    store = engine()
    keep(store, [memory(f"apple {'pear ' * n}", domain="few") for n in range(9)])
    plain = store.by_words(query, where, 9)
    monkeypatch.setattr(words, "_PLAIN_WARM", -1)
    together = threading.Barrier(2)
    words_of = words.Words._words_of

    def slowly(self: words.Words, ids: list[int]) -> list[list[str]]:
        found = words_of(self, ids)
        together.wait(10)
        return found

    monkeypatch.setattr(words.Words, "_words_of", slowly)
    with ThreadPoolExecutor(2) as threads:
        stores = [engine(), engine()]
        asked = [threads.submit(one.by_words, query, where, 9) for one in stores]
        assert [one.result() for one in asked] == [plain, plain]
    assert store.by_words(query, where, 9) == plain


def test_ranking_goes_on_after_the_index_was_made_again(
    store: Store, both: Callable[..., tuple[list[Scored], list[Scored]]]
) -> None:
    """What shows the words of the index does not hold it."""
    keep(store, [memory("an apple"), memory("a pear")])
    query = queries.word_query("apple")
    for upkeep in (store.rebuild, store.compact, store.rebuild):
        plain, quick = both(store, query, Where(), 9)
        assert plain == quick != []
        upkeep()


def test_too_common_words_are_named_and_the_rarest_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most of what can be afforded is kept, rarest first, and what must occur always."""
    keep(store, [memory("common " + ("rare one" if n == 3 else "usual")) for n in range(20)])
    query = queries.word_query("usual rare common")
    assert store.too_common(query, Where()) == []
    for most, left in ((38, ["common"]), (5, ["usual", "common"]), (0, ["usual", "common"])):
        monkeypatch.setattr(words, "_MOST", most)
        for _ in range(2):
            found = store.too_common(query, Where())
            assert sorted(c.tokens[0] for c in found) == sorted(left), most
        assert store.too_common(query, Where(type="note")) == []  # few: all of them are ranked
    quoted = queries.word_query('"usual" rare')
    assert [c.tokens[0] for c in store.too_common(quoted, Where())] == ["rare"]
    assert store.too_common(WordQuery((Clause(("common",)),), (), (), "common"), Where()) == []


@given(st.lists(st.tuples(*[st.integers(0, 2**40)] * 3), min_size=1, max_size=50))
def test_lengths_are_read_as_fts5_writes_them(rows: list[tuple[int, int, int]]) -> None:
    """Sizes of any number of bytes are read, and half a row is not understood."""
    import numpy as np

    def varint(number: int) -> bytes:
        written = [number & 0x7F]
        while number := number >> 7:
            written.append(number & 0x7F | 0x80)
        return bytes(reversed(written))

    rows = [tuple(size % 2**30 for size in row) for row in rows]
    sizes = b"".join(varint(size) for row in rows for size in row)
    ids = np.arange(1, 2 * len(rows), 2)
    known = bm25.lengths(ids, sizes, 3)
    assert known is not None
    assert known.by_id[ids].tolist() == [sum(row) for row in rows]
    assert bm25.lengths(ids, sizes + b"\1", 3) is None
