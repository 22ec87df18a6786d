"""What every engine promises of memories, transactions and relations.

Written against `memai.store.Store` alone: a behaviour that is not here is one in which engines may
differ.
"""

from collections.abc import Callable

import pytest
from support import embedded, memory

from memai.errors import AmbiguousUid, Busy, MemaiError, NoSuchMemory
from memai.queries import word_query
from memai.records import Edit, Embedded, Memory, Origin, Passage, Relation, Where
from memai.store import Store

EVERYTHING = Where(current=False)
LATER = "2027-01-01T00:00:00.000000Z"


def add(store: Store, *memories: Memory) -> None:
    """Store memories in one transaction."""
    with store.writing():
        for one in memories:
            store.insert(one, embedded(one.content))


def relate(store: Store, one: Memory, type: str, other: Memory, **fields: str) -> bool:
    """Relate two memories in a transaction of its own."""
    made = Relation(one.uid, type, other.uid, fields.get("note"), "tester", one.created_at)
    with store.writing():
        return store.relate(made)


def found_by_words(store: Store, query: str, where: Where = EVERYTHING) -> list[str]:
    """Return the uids that the words of a query find."""
    scored = store.by_words(word_query(query), where, 100)
    known = store.memories([s.id for s in scored])
    return [known[s.id].uid for s in scored]


# --- a store that is not there ------------------------------------------------------------------


def test_a_missing_store_reads_as_empty(store: Store) -> None:
    """Every read of a store that was never written answers, and makes no store."""
    assert store.page(EVERYTHING, 10) == []
    assert store.count(EVERYTHING) == 0
    assert store.domains() == []
    assert store.counts().memories == 0
    assert list(store.export(EVERYTHING)) == []
    assert store.by_words(word_query("anything"), EVERYTHING, 5) == []
    assert store.by_substring(["anything"], EVERYTHING, 5) == []
    assert list(store.vectors(EVERYTHING)) == []
    assert list(store.contents(EVERYTHING)) == []
    assert store.with_key("k") is None
    assert store.known([memory(origin=Origin("s", "k"))]).origins == {}
    assert store.same(memory()) is None
    assert store.space() is None
    assert store.check(deep=True) == []
    assert store.meta("last_backup") is None
    assert not store.buried("0123456789")
    with pytest.raises(NoSuchMemory):
        store.resolve("0123456789")
    assert not store.exists()
    assert store.schema_version() == 0


def test_a_write_makes_the_store(store: Store) -> None:
    """The first transaction creates the store with its schema."""
    add(store, memory())
    assert store.exists()
    assert store.schema_version() >= 1


def test_a_store_that_appears_is_seen(engine: Callable[..., Store]) -> None:
    """A reader that met no store reads the one another process has made since."""
    reader, writer = engine(), engine()
    assert reader.count(EVERYTHING) == 0
    add(writer, memory())
    assert reader.count(EVERYTHING) == 1


# --- transactions -------------------------------------------------------------------------------


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    """Whatever a block did is undone when it raises, and its own error comes out."""
    kept = memory("kept words", tags=("one",))
    lost = memory("lost words")
    add(store, kept)
    with pytest.raises(ZeroDivisionError), store.writing():
        store.insert(lost, embedded(lost.content))
        store.relate(Relation(lost.uid, "supersedes", kept.uid, None, "t", lost.created_at))
        store.change(
            kept._replace(content="changed words", version=2),
            Edit(1, kept.created_at, "t", None, {"content": "kept words"}),
            embedded("changed words"),
        )
        store.set_meta("remark", "x")
        raise ZeroDivisionError
    assert store.page(EVERYTHING, 10) == [kept]
    assert store.history(kept.uid) == []
    assert store.relations(kept.uid) == []
    assert store.meta("remark") is None
    assert found_by_words(store, "lost") == found_by_words(store, "changed") == []
    assert found_by_words(store, "kept") == [kept.uid]
    assert store.check(deep=True) == []


def test_the_transaction_after_a_failed_one_works(store: Store) -> None:
    """A failure does not leave the store locked."""
    with pytest.raises(ZeroDivisionError), store.writing():
        raise ZeroDivisionError
    add(store, memory())
    assert store.count(EVERYTHING) == 1


def test_a_transaction_sees_its_own_writes(store: Store) -> None:
    """Reads inside a block see what the block has done."""
    one = memory("seen inside")
    with store.writing():
        store.insert(one, embedded(one.content))
        assert store.get(one.uid) == one
        assert found_by_words(store, "seen") == [one.uid]


def test_others_see_a_transaction_whole_or_not_at_all(engine: Callable[..., Store]) -> None:
    """A reader neither waits for a writer nor sees its unfinished work."""
    writer, reader = engine(), engine(busy_seconds=0.0)
    first = memory("the first")
    second = memory("the second")
    add(writer, first)
    with writer.writing():
        writer.insert(second, embedded(second.content))
        assert reader.page(EVERYTHING, 10) == [first]
        assert found_by_words(reader, "second") == []
    assert reader.page(EVERYTHING, 10) == [second, first]


def test_a_second_writer_is_told_that_the_store_is_busy(engine: Callable[..., Store]) -> None:
    """A writer that has waited as long as it may raises Busy and has changed nothing."""
    holder, late = engine(), engine(busy_seconds=0.05)
    add(holder, memory("the first"))
    late.page(EVERYTHING, 1)
    with holder.writing(), pytest.raises(Busy), late.writing():
        pytest.fail("two writers at once")
    add(late, memory("now it works"))
    assert holder.count(EVERYTHING) == 2


# --- memories -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "  kept as it is, blanks and all \n",
        "CR\r\nLF\rtabs\tbell\a",
        "'; DROP TABLE memories; -- \" % _ \\",
        "🚀 👨‍👩‍👧‍👦 é e\u0301 \ufeff \u2028 中文 \U0010ffff",
        "x" * 200_000,
    ],
    ids=["plain", "blanks", "controls", "quotes", "characters", "long"],
)
def test_every_field_comes_back_as_it_was(store: Store, content: str) -> None:
    """A memory is read as it was written, whatever its text holds."""
    one = memory(
        content,
        type="reasoning",
        domain="Shop/Täglich",
        session="s 1",
        tags=("Zeta", "alpha", "Zwei Worte"),
        status="archived",
        confidence="confirmed",
        agent="someone",
        source="a 'source'",
        key="k-1",
        origin=Origin("elsewhere", "17"),
        created_at="2024-02-29T23:59:59.999999Z",
        updated_at="2026-03-01T00:00:00.000001Z",
        version=3,
        extra={"list": [1, None, {"deep": "wert ä"}], "z": 1.5},
    )
    add(store, one)
    assert store.get(one.uid) == one
    assert store.page(EVERYTHING, 5) == [one]
    assert [m for m, _, _ in store.export(EVERYTHING)] == [one]


def test_a_unique_beginning_names_a_memory(store: Store) -> None:
    """Four characters or more of a uid are enough, in either case, where they fit one memory."""
    add(store, memory(uid="abcd000000"), memory(uid="abce000000"))
    for wanted in ("abcd", "ABCD0", " abcd000000 "):
        assert store.resolve(wanted) == "abcd000000"


def test_an_ambiguous_beginning_names_its_candidates(store: Store) -> None:
    """A beginning that fits several memories is refused with those it fits."""
    add(store, memory(uid="abcd000000"), memory(uid="abcd000001"))
    with pytest.raises(AmbiguousUid, match="abcd000000, abcd000001"):
        store.resolve("abcd")


@pytest.mark.parametrize(
    "wanted",
    ["", "abc", "abcz", "abcd0000000", "abc%", "____", "-1", "0", "ilou", "a b c", "１２３４"],
)
def test_what_is_no_uid_is_no_such_memory(store: Store, wanted: str) -> None:
    """Too short, too long, unknown and impossible uids are all "no such memory"."""
    add(store, memory(uid="abcd000000"))
    with pytest.raises(NoSuchMemory):
        store.resolve(wanted)


def test_get_wants_the_whole_uid(store: Store) -> None:
    """Only `resolve` abbreviates."""
    add(store, memory(uid="abcd000000"))
    with pytest.raises(NoSuchMemory):
        store.get("abcd")


@pytest.mark.parametrize("field", [{"key": "once"}, {"origin": Origin("system", "1")}])
def test_keys_and_origins_are_unique(store: Store, field: dict[str, object]) -> None:
    """A second memory with the same key or origin is not kept."""
    one, other = memory("one", **field), memory("other", **field)
    add(store, one)
    with pytest.raises(Exception):  # noqa: B017, PT011 - operations look first; this is the net
        add(store, other)
    assert store.page(EVERYTHING, 10) == [one]
    assert store.with_key("once") == (one if one.key else None)
    found = store.known([memory(origin=Origin("system", "1"))]).origins
    assert found == ({one.origin: one} if one.origin else {})


def test_memories_without_key_or_origin_do_not_clash(store: Store) -> None:
    """Having none is not a value."""
    add(store, memory("one"), memory("two"))
    assert store.count(EVERYTHING) == 2


def test_the_same_memory_is_found_again(store: Store) -> None:
    """Same text, type and domain make it the same; domains are compared folded."""
    one = memory("Same text.", domain="Shop")
    add(store, one)
    assert store.same(memory("Same text.", domain="SHOP")) == one
    for other in (
        memory("same text.", domain="Shop"),
        memory("Same text."),
        memory("Same text.", domain="Shop/part"),
        memory("Same text.", domain="Shop", type="reasoning"),
    ):
        assert store.same(other) is None


def test_only_current_memories_are_the_same(store: Store) -> None:
    """What is archived or superseded does not stand for a new memory."""
    archived = memory("archived text", status="archived")
    superseded, newer = memory("superseded text"), memory("newer text")
    add(store, archived, superseded, newer)
    relate(store, newer, "supersedes", superseded)
    assert store.same(memory("archived text")) is None
    assert store.same(memory("superseded text")) is None


def test_a_change_replaces_fields_and_appends_the_edit(store: Store) -> None:
    """The memory is as changed, and its history remembers each version in order."""
    one = memory("first text", tags=("a", "b"), domain="d")
    add(store, one)
    edits = [
        Edit(1, "2026-03-01T00:00:00.000001Z", "agent", "why", {"content": "first text"}),
        Edit(2, "2026-03-01T00:00:00.000002Z", "other", None, {"tags": ("a", "b"), "domain": "d"}),
    ]
    second = one._replace(content="second text", version=2)
    third = second._replace(tags=(), domain=None, version=3)
    for changed, edit in zip((second, third), edits, strict=True):
        with store.writing():
            store.change(changed, edit, embedded(changed.content))
    assert store.get(one.uid) == third
    assert store.history(one.uid) == edits


def test_a_change_is_found_by_its_new_words_only(store: Store) -> None:
    """Words, substrings and vectors follow the text."""
    one = memory("walrus", tags=("whiskers",), domain="arctic")
    add(store, one)
    after = one._replace(content="giraffe", tags=("neck",), domain="savanna", version=2)
    with store.writing():
        store.change(after, Edit(1, one.created_at, "t", None, {}), embedded("giraffe"))
    for word in ("walrus", "whiskers", "arctic"):
        assert found_by_words(store, word) == []
    for word in ("giraffe", "neck", "savanna"):
        assert found_by_words(store, word) == [one.uid]
    assert store.by_substring(["walrus"], EVERYTHING, 5) == []
    assert len(store.by_substring(["giraf"], EVERYTHING, 5)) == 1
    assert [v for _, v in store.vectors(EVERYTHING)] == [embedded("giraffe").passages[0].embedding]


def test_a_change_without_passages_keeps_the_old_ones(store: Store) -> None:
    """What does not touch the text does not need the model."""
    one = memory("unchanged")
    add(store, one)
    before = list(store.vectors(EVERYTHING))
    with store.writing():
        store.change(
            one._replace(confidence="confirmed", version=2),
            Edit(1, one.created_at, "t", None, {"confidence": "unverified"}),
            None,
        )
    assert list(store.vectors(EVERYTHING)) == before


def test_a_memory_of_another_store_is_adopted_with_its_history(store: Store) -> None:
    """`adopt` keeps memory and history as they are elsewhere, new or in place of ours."""
    edits = [Edit(n, LATER, "elsewhere", None, {"content": f"version {n}"}) for n in (1, 2, 3)]
    theirs = memory("version 3", version=3)
    with store.writing():
        store.adopt([(theirs, edits[:2], embedded("version 3"))])
    assert (store.get(theirs.uid), store.history(theirs.uid)) == (theirs, edits[:2])
    newer = theirs._replace(content="version 4", version=4)
    with store.writing():
        store.adopt([(newer, edits, embedded("version 4"))])
    assert (store.get(theirs.uid), store.history(theirs.uid)) == (newer, edits)
    assert found_by_words(store, "4") == [theirs.uid]
    assert found_by_words(store, "3") == []
    assert len(list(store.vectors(EVERYTHING))) == 1
    with store.writing():
        store.adopt([(newer._replace(confidence="confirmed"), edits, None)])
    assert len(list(store.vectors(EVERYTHING))) == 1


def test_what_is_removed_is_gone_with_all_that_hung_on_it(store: Store) -> None:
    """After `remove` no route, list, key, history or relation knows the memory."""
    gone = memory("purged walrus", key="k", origin=Origin("s", "1"), domain="only here")
    kept = memory("kept walrus")
    add(store, gone, kept)
    with store.writing():
        store.change(gone._replace(version=2), Edit(1, gone.created_at, "t", None, {}), None)
    relate(store, gone, "supersedes", kept)
    relate(store, kept, "relates_to", gone)
    with store.writing():
        store.remove(gone.uid, gone.created_at)
    assert store.page(EVERYTHING, 5) == [kept]
    assert store.relations(kept.uid) == []
    assert store.history(gone.uid) == []
    assert store.with_key("k") is None
    assert store.known([memory(origin=Origin("s", "1"))]).origins == {}
    assert found_by_words(store, "walrus") == [kept.uid]
    assert len(list(store.vectors(EVERYTHING))) == 1
    assert [d.domain for d in store.domains()] == [None]
    assert store.buried(gone.uid)
    assert not store.buried(kept.uid)
    assert store.erase_traces()
    assert store.check(deep=True) == []


def test_what_is_not_there_cannot_be_removed(store: Store) -> None:
    """Removing an unknown memory raises and buries nothing."""
    add(store, memory())
    with pytest.raises(NoSuchMemory), store.writing():
        store.remove("0000000000", memory().created_at)
    assert not store.buried("0000000000")


# --- pages --------------------------------------------------------------------------------------


def test_pages_go_from_new_to_old(store: Store) -> None:
    """Lists go by the time of writing; of the same instant the later written comes first."""
    times = ["2026-01-02", "2026-01-01", "2026-01-03", "2026-01-02"]
    made = [memory(str(n), created_at=f"{t}T00:00:00.000000Z") for n, t in enumerate(times)]
    add(store, *made)
    assert [m.content for m in store.page(EVERYTHING, 10)] == ["2", "3", "0", "1"]


def test_beginnings_tell_the_newest_memories_apart(store: Store) -> None:
    """Beginnings go from new to old and hold what a list of many shows; uids choose among them."""
    times = [f"2026-0{month}-01T00:00:00.000000Z" for month in (1, 2, 3, 4)]
    old, hidden, replaced, new = (
        memory(f"{number} {'x' * 500}", uid=f"{number}abc000000", created_at=time, updated_at=time)
        for number, time in enumerate(times)
    )
    add(store, new, old, hidden._replace(status="archived", type="handoff"), replaced)
    relate(store, new, "supersedes", replaced)
    found = store.beginnings(EVERYTHING, "", 9)
    assert [one.uid for one in found] == [new.uid, replaced.uid, hidden.uid, old.uid]
    assert [one.current for one in found] == [True, False, False, True]
    assert (found[2].type, found[2].text) == ("handoff", hidden.content[:400])
    assert [one.uid for one in store.beginnings(Where(), "", 9)] == [new.uid, old.uid]
    assert [one.uid for one in store.beginnings(EVERYTHING, "1a", 9)] == [hidden.uid]
    assert store.beginnings(EVERYTHING, "0a", 3) == []  # it is not among the newest three
    assert store.beginnings(EVERYTHING, "%", 9) == []


def test_pages_join_without_gap_or_repeat_while_others_write(engine: Callable[..., Store]) -> None:
    """Going on after the last uid gives each older memory once, whatever is written meanwhile."""
    store, other = engine(), engine()
    made = [memory(str(n), created_at=f"2026-01-01T00:00:{n // 3:02}.000000Z") for n in range(30)]
    add(store, *made)
    seen: list[str] = []
    after = None
    while page := store.page(EVERYTHING, 7, after):
        seen += [m.content for m in page]
        after = page[-1].uid
        add(other, memory("new", created_at="2026-02-01T00:00:00.000000Z"))
        with other.writing():
            other.remove(page[0].uid, page[0].created_at)
    assert seen == [str(n) for n in reversed(range(30))]


def test_a_page_after_an_unknown_memory_is_refused(store: Store) -> None:
    """A cursor that names nothing is an error, not an empty page."""
    add(store, memory())
    with pytest.raises(NoSuchMemory):
        store.page(EVERYTHING, 5, "0000000000")


# --- relations ----------------------------------------------------------------------------------


def test_a_relation_is_kept_once(store: Store) -> None:
    """The same (from, type, to) again is no second relation, and the first remark stays."""
    one, other = memory("one"), memory("other")
    add(store, one, other)
    assert relate(store, one, "relates_to", other, note="first")
    assert not relate(store, one, "relates_to", other, note="second")
    assert relate(store, other, "relates_to", one)
    assert relate(store, one, "blocks", other)
    expected = [
        Relation(one.uid, "blocks", other.uid, None, "tester", one.created_at),
        Relation(one.uid, "relates_to", other.uid, "first", "tester", one.created_at),
        Relation(other.uid, "relates_to", one.uid, None, "tester", other.created_at),
    ]
    assert store.relations(one.uid) == store.relations(other.uid) == expected


def test_a_relation_that_was_taken_away_is_remembered(store: Store) -> None:
    """`unrelate` returns what was there, None where nothing was; only `removed` shows it then."""
    one, other = memory("one"), memory("other")
    add(store, one, other)
    relate(store, one, "relates_to", other, note="why")
    with store.writing():
        assert store.unrelate(other.uid, "relates_to", one.uid, LATER) is None
        gone = store.unrelate(one.uid, "relates_to", other.uid, LATER)
        assert store.unrelate(one.uid, "relates_to", other.uid, LATER) is None
    made = Relation(one.uid, "relates_to", other.uid, "why", "tester", one.created_at)
    assert gone == made._replace(removed_at=LATER)
    assert store.relations(one.uid) == store.relations(other.uid) == []
    assert store.relations(other.uid, removed=True) == [gone]
    assert [r for _, _, related in store.export(EVERYTHING) for r in related] == [gone]


def test_a_relation_can_be_made_again(store: Store) -> None:
    """What was taken away is no relation, so relating anew makes one."""
    one, other = memory("one"), memory("other")
    add(store, one, other)
    relate(store, one, "relates_to", other, note="first")
    with store.writing():
        store.unrelate(one.uid, "relates_to", other.uid, LATER)
    assert relate(store, one, "relates_to", other, note="second")
    assert [r.note for r in store.relations(one.uid, removed=True)] == ["second"]


def test_relations_need_both_ends(store: Store) -> None:
    """A relation to a memory that is not there is refused."""
    one = memory()
    add(store, one)
    with pytest.raises(NoSuchMemory), store.writing():
        store.relate(Relation(one.uid, "relates_to", "0000000000", None, "t", one.created_at))


def test_the_relation_supersedes_is_what_hides_a_memory(store: Store) -> None:
    """A superseded memory names its successors and is not current until the relation is gone."""
    old, newer, newest = memory("old"), memory("newer"), memory("newest")
    add(store, old, newer, newest)
    relate(store, newer, "supersedes", old)
    relate(store, newest, "supersedes", old)
    relate(store, old, "relates_to", newest)
    assert store.get(old.uid).superseded_by == tuple(sorted((newer.uid, newest.uid)))
    assert not store.get(old.uid).current
    assert {m.uid for m in store.page(Where(), 9)} == {newer.uid, newest.uid}
    with store.writing():
        store.unrelate(newer.uid, "supersedes", old.uid, LATER)
        store.remove(newest.uid, newest.created_at)
    assert store.get(old.uid).current
    assert {m.uid for m in store.page(Where(), 9)} == {newer.uid, old.uid}


# --- remarks ------------------------------------------------------------------------------------


def test_the_store_keeps_remarks_about_itself(store: Store) -> None:
    """A remark is kept, replaced and taken away."""
    for value in ("one", "two", None):
        with store.writing():
            store.set_meta("remark", value)
        assert store.meta("remark") == value


def test_a_memory_without_vectors_is_kept(store: Store) -> None:
    """Where there is no model, passages come without a space; words still find the text."""
    one = memory("no vectors for this")
    with store.writing():
        store.insert(one, Embedded(None, (Passage(0, len(one.content)),)))
    assert store.space() is None
    assert found_by_words(store, "vectors") == [one.uid]
    assert store.counts().without_vectors == 1


def test_errors_are_ours(store: Store) -> None:
    """What a caller can cause is raised as a memai error, never as an engine's."""
    with pytest.raises(MemaiError), store.writing():
        store.change(memory(), Edit(1, memory().created_at, "t", None, {}), None)
