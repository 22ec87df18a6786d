"""What every engine promises of filters and of the routes of search."""

import random
from collections.abc import Callable
from itertools import product

import pytest
from support import MODEL, SPACE, embedded, memory

from memai import embedding, queries
from memai.records import Embedded, Memory, Origin, Passage, Relation, Scored, Where
from memai.store import Store, rows
from memai.text import fold

EVERYTHING = Where(current=False)


def add(store: Store, *memories: Memory) -> None:
    """Store memories in one transaction."""
    with store.writing():
        for one in memories:
            store.insert(one, embedded(one.content))


def uids(store: Store, scored: list[Scored]) -> list[str]:
    """Return the uids of what a route found, in its order."""
    known = store.memories([s.id for s in scored])
    return [known[s.id].uid for s in scored]


def vector(text: str) -> bytes:
    """Return the vector of a text that has words."""
    found = MODEL.embed(text)
    assert found is not None
    return found


# --- filters ------------------------------------------------------------------------------------


def lies_in(one: Memory, where: Where) -> bool:
    """Say what a filter means, without an engine."""
    domain = None if one.domain is None else fold(one.domain)
    wanted = None if where.domain is None else fold(where.domain)
    return (
        (
            wanted is None
            or (wanted == "-" and domain is None)
            or (domain is not None and (domain == wanted or domain.startswith(wanted + "/")))
        )
        and where.type in (None, one.type)
        and where.session in (None, one.session)
        and where.status in (None, one.status)
        and all(fold(tag) in map(fold, one.tags) for tag in where.tags)
        and (where.since is None or one.created_at >= where.since)
        and (where.until is None or one.created_at <= where.until)
        and (not where.current or one.current)
    )


def a_population() -> list[Memory]:
    """Return memories that differ in everything a filter looks at."""
    random.seed(7)
    domains = [None, "shop", "Shop", "shop/checkout", "shop/checkout/ui", "shopping", "Straße"]
    return [
        memory(
            f"Common words and the number {number}.",
            domain=random.choice(domains),
            type=random.choice(["note", "checkpoint", "handoff"]),
            session=random.choice([None, "one", "One"]),
            tags=tuple(random.sample(["Blue", "green", "blue green", "GROSS"], 2)),
            status=random.choice(["active", "active", "archived"]),
            created_at=f"2026-01-{1 + number % 9:02}T00:00:00.{number:06}Z",
        )
        for number in range(120)
    ]


FILTERS = [
    Where(domain=domain, type=type, tags=tags, status=status, current=current)
    for domain, type, tags, status, current in product(
        [None, "-", "SHOP", "shop/checkout", "shop/check", "strasse", "nowhere"],
        [None, "note"],
        [(), ("blue",), ("blue", "green"), ("gross",), ("blu",)],
        [None, "archived"],
        [True, False],
    )
] + [
    Where(session="one", current=False),
    Where(since="2026-01-03T00:00:00.000000Z", current=False),
    Where(until="2026-01-03T00:00:00.000011Z", current=False),
    Where(since="2026-01-05T00:00:00.000004Z", until="2026-01-05T00:00:00.000004Z", current=False),
    Where(since="2027-01-01T00:00:00.000000Z"),
    Where(domain="shop", session="one"),
    Where(domain="shop", since="2026-01-03T00:00:00.000000Z", until="2026-01-06T00:00:00.000000Z"),
]


def test_filters_are_exact_on_every_route(store: Store) -> None:
    """Every route gives what lies in a filter: all of it and nothing else."""
    made = a_population()
    add(store, *made)
    with store.writing():
        for newer, older in zip(made[:20], made[20:40], strict=True):
            store.relate(Relation(newer.uid, "supersedes", older.uid, None, "t", newer.created_at))
    population = [store.get(one.uid) for one in made]
    assert sum(not one.current for one in population) > 30
    by_id = store.memories([s.id for s in store.by_meaning(vector("x"), EVERYTHING, 200)])
    words = queries.word_query("common")
    for where in FILTERS:
        expected = {one.uid for one in population if lies_in(one, where)}
        assert {m.uid for m in store.page(where, 200)} == expected, where
        assert store.count(where) == len(expected), where
        types = ("handoff", "note", "anti_pattern")
        assert store.count_types(where._replace(type=None), types) == [
            sum(lies_in(one, where._replace(type=type)) for one in population) for type in types
        ], where
        assert set(uids(store, store.by_words(words, where, 200))) == expected, where
        assert set(uids(store, store.by_substring(["ommon"], where, 200))) == expected, where
        found = store.by_meaning(vector("common number"), where, 200)
        assert {by_id[s.id].uid for s in found} == expected, where
        both = store.by_both(words, vector("common number"), where, 200)
        assert both == (store.by_words(words, where, 200), found), where
        assert store.by_both(words, None, where, 200) == (both[0], []), where
        assert {by_id[id].uid for id, _ in store.vectors(where)} == expected, where
        assert [m.uid for m, _, _ in store.export(where)] == sorted(expected), where


@pytest.mark.parametrize("recent", [2, 30, 1000])
def test_pages_of_a_filter_join(store: Store, recent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of the newest are looked through first, pages go from new to old, all of it."""
    monkeypatch.setattr(rows, "_RECENT", recent)
    population = a_population()
    add(store, *population)
    for where in FILTERS:
        inside = [one for one in population if lies_in(one, where)]
        inside.sort(key=lambda one: one.created_at, reverse=True)
        found: list[str] = []
        while page := store.page(where, 7, found[-1] if found else None):
            found += [one.uid for one in page]
        assert found == [one.uid for one in inside], where


@pytest.fixture
def crowd(store: Store) -> Store:
    """Fill a store with 5,000 memories of one domain, 4,500 of them notes, and 5 of another."""
    alike = embedded("needle in the crowd")
    with store.writing():
        for number in range(5000):
            kind = "note" if number % 10 else "reasoning"
            store.insert(memory("needle in the crowd", domain="crowd", type=kind), alike)
        for number in range(5):
            text = f"A long quiet text that has one needle somewhere, number {number}."
            store.insert(memory(text, domain="quiet"), embedded(text))
    return store


def test_a_crowd_outside_a_filter_hides_nothing_inside(crowd: Store) -> None:
    """5,000 better matches in one domain never hide 5 in another, and 4,500 notes are all found."""
    words, near = queries.word_query("needle crowd"), vector("needle in the crowd")
    quiet = Where(domain="quiet")
    for found in (
        crowd.by_words(words, quiet, 10),
        crowd.by_substring(["needle"], quiet, 10),
        crowd.by_meaning(near, quiet, 10),
    ):
        assert len(found) == 5
        assert {m.domain for m in crowd.memories([s.id for s in found]).values()} == {"quiet"}
    notes = Where(domain="crowd", type="note")
    assert len({s.id for s in crowd.by_words(words, notes, 6000)}) == 4500
    assert len({s.id for s in crowd.by_meaning(near, notes, 6000)}) == 4500
    assert crowd.count(notes) == 4500


def test_contents_are_those_of_the_filter_by_id(store: Store) -> None:
    """Every text of a filter comes once, with type and folded domain, however many there are."""
    made = [
        memory(
            f"text {number}",
            type=("note", "reasoning")[number % 2],
            domain=("Ä/B", None)[number % 3 > 0],
        )
        for number in range(250)
    ]
    add(store, *made)
    found = list(store.contents(EVERYTHING))
    assert [row[1:] for row in found] == [(m.type, m.domain and "ä/b", m.content) for m in made]
    assert [row[0] for row in found] == sorted(store.memories([row[0] for row in found]))
    inside = list(store.contents(Where(domain="ä", type="note")))
    assert [row[3] for row in inside] == [f"text {number}" for number in range(0, 250, 6)]


# --- words --------------------------------------------------------------------------------------


def test_words_rank_by_how_much_they_say(store: Store) -> None:
    """More of the query's words, and rarer ones, come first; higher is better; ties by age."""
    texts = ["apple", "apple pear", "apple", "apple", "pear plum", "cherry"]
    made = [memory(text) for text in texts]
    add(store, *made)
    found = store.by_words(queries.word_query("apple pear"), EVERYTHING, 10)
    order = [made[n].uid for n in (1, 4, 0, 2, 3)]
    assert uids(store, found) == order
    scores = [s.score for s in found]
    assert scores == sorted(scores, reverse=True)
    assert uids(store, store.by_words(queries.word_query("apple pear"), EVERYTHING, 2)) == order[:2]


def test_words_are_found_in_content_tags_and_domain(store: Store) -> None:
    """A word counts wherever it stands."""
    made = [memory("x", tags=("walrus",)), memory("y", domain="zoo/walrus"), memory("walrus")]
    add(store, *made)
    found = store.by_words(queries.word_query("walrus"), EVERYTHING, 9)
    assert set(uids(store, found)) == {m.uid for m in made}


def test_a_phrase_must_occur_and_an_excluded_one_must_not(store: Store) -> None:
    """Quoted words stand in that order; what is excluded is on no route's list."""
    one, two, three = memory("red apple pie"), memory("apple red"), memory("red apple tree")
    add(store, one, two, three)
    phrase = queries.word_query('"red apple"')
    assert set(uids(store, store.by_words(phrase, EVERYTHING, 9))) == {one.uid, three.uid}
    without = queries.excluded(["tree"])
    assert uids(store, store.by_words(phrase, EVERYTHING, 9, without)) == [one.uid]


def test_matches_says_which_memories_hold_a_clause(store: Store) -> None:
    """At least one of the clauses, among the memories asked about."""
    one, two, three = memory("red apple"), memory("green pear"), memory("blue plum")
    add(store, one, two, three)
    ids = {s.id: s for s in store.by_meaning(vector("x"), EVERYTHING, 9)}
    held = store.matches(list(ids), queries.excluded(["red apple", "plum"]))
    assert {store.memories([id])[id].uid for id in held} == {one.uid, three.uid}
    assert store.matches([], queries.excluded(["plum"])) == set()
    assert store.matches(list(ids), []) == set()


@pytest.mark.parametrize(
    "query", ["", "   ", "!!!", "NOT", '"', "NEAR(a b)", "a* OR (", "col:x -y"]
)
def test_no_query_is_a_syntax_error(store: Store, query: str) -> None:
    """Whatever is asked, the word route answers."""
    add(store, memory("something"))
    store.by_words(queries.word_query(query), EVERYTHING, 5)


def test_substrings_are_found_inside_words(store: Store) -> None:
    """Pieces of three characters or more, without case; more of them held is better."""
    made = [memory("src/Utils/parse_date.ts"), memory("parse_date"), memory("nothing of it")]
    add(store, *made)
    found = store.by_substring(["utils/parse", "se_date", "ab"], EVERYTHING, 9)
    assert uids(store, found) == [made[0].uid, made[1].uid]
    assert [s.score for s in found] == [1.0, 0.5]
    assert store.by_substring(["ab", ""], EVERYTHING, 9) == []


# --- meaning ------------------------------------------------------------------------------------


def test_meaning_is_the_cosine_of_the_best_passage(store: Store) -> None:
    """Scores and passages equal those of a brute-force scan, best first."""
    random.seed(11)
    words = [f"word{n}" for n in range(300)]
    expected = []
    with store.writing():
        for _ in range(60):
            parts = [" ".join(random.choices(words, k=3)) for _ in range(random.randint(1, 4))]
            spans, text = [], ""
            for part in parts:
                spans.append((len(text), len(text) + len(part)))
                text += part + "\n"
            one = memory(text)
            store.insert(one, embedded(text, spans))
            scored = [
                (embedding.similar(vector("word1 word2"), vector(part)), span)
                for part, span in zip(parts, spans, strict=True)
            ]
            expected.append((*max(scored), one.uid))
    expected.sort(reverse=True)
    found = store.by_meaning(vector("word1 word2"), EVERYTHING, 25)
    assert uids(store, found) == [uid for *_, uid in expected[:25]]
    assert [s.score for s in found] == pytest.approx([e[0] for e in expected[:25]], abs=1e-5)
    assert [(s.start, s.end) for s in found] == [e[1] for e in expected[:25]]


def test_equal_memories_come_in_the_order_of_their_age(store: Store) -> None:
    """Ties break by id on every route, so an answer is the same every time."""
    made = [memory("the very same", uid=f"{n}000000000") for n in (5, 3, 9, 1)]
    add(store, *made)
    order = [one.uid for one in made]
    assert uids(store, store.by_meaning(vector("very same"), EVERYTHING, 9)) == order
    assert uids(store, store.by_words(queries.word_query("same"), EVERYTHING, 9)) == order
    assert uids(store, store.by_substring(["same"], EVERYTHING, 9)) == order
    assert uids(store, store.by_meaning(vector("very same"), EVERYTHING, 2)) == order[:2]


def test_passages_without_a_vector_are_passed_over(store: Store) -> None:
    """What the model knows nothing of has no meaning to compare; its other passages have."""
    half = memory("unknown known")
    none = memory("unknown")
    with store.writing():
        store.insert(
            half, Embedded(SPACE, (Passage(0, 7), Passage(8, 13, vector("known"), b"\1\0")))
        )
        store.insert(none, Embedded(SPACE, (Passage(0, 7),)))
    found = store.by_meaning(vector("known"), EVERYTHING, 9)
    assert uids(store, found) == [half.uid]
    assert (found[0].start, found[0].end) == (8, 13)
    assert store.counts().without_vectors == 0


def test_tokens_come_back_passage_after_passage(store: Store) -> None:
    """Each memory asked for gives the token ids of its passages, one that has none nothing."""
    one, two, three = memory("red apple\ngreen pear"), memory("blue plum"), memory("an apple")
    with store.writing():
        store.insert(one, embedded(one.content, [(0, 9), (10, 20)]))
        store.insert(two, embedded(two.content))
        store.insert(three, Embedded(None, (Passage(0, 8),)))
    ids = [s.id for s in store.by_words(queries.word_query("apple"), EVERYTHING, 9)]
    assert len(ids) == 2
    assert store.tokens(ids) == {min(ids): MODEL.tokens("red apple green pear").tobytes()}
    assert store.tokens([]) == {}


# --- overview -----------------------------------------------------------------------------------


def test_domains_are_counted_folded_with_their_spellings(store: Store) -> None:
    """One line a domain, latest activity first, the first spelling shown, drift named."""
    dates = [f"2026-01-0{n}T00:00:00.000000Z" for n in range(1, 8)]
    made = [
        memory("1", domain="PROJ-1042", updated_at=dates[0]),
        memory("2", domain="proj-1042", updated_at=dates[3], status="archived"),
        memory("3", domain="other", updated_at=dates[4]),
        memory("4", updated_at=dates[1]),
        memory("5", updated_at=dates[2]),
    ]
    add(store, *made)
    with store.writing():
        store.relate(Relation(made[4].uid, "supersedes", made[3].uid, None, "t", dates[2]))
    assert [(d.domain, d.memories, d.current, d.latest_at) for d in store.domains()] == [
        ("other", 1, 1, dates[4]),
        ("PROJ-1042", 2, 1, dates[3]),
        (None, 2, 1, dates[2]),
    ]
    assert [d.spellings for d in store.domains()] == [(), ("PROJ-1042", "proj-1042"), ()]


def test_counts_add_up(store: Store) -> None:
    """Each breakdown sums to the number of memories."""
    one = memory("1", type="reasoning", status="archived", domain="d")
    two = memory("2", confidence="confirmed")
    bare = memory("3")
    add(store, one, two)
    with store.writing():
        store.insert(bare, Embedded(None, (Passage(0, 1),)))
        store.relate(Relation(two.uid, "supersedes", one.uid, None, "t", one.created_at))
    counts = store.counts()
    assert counts.memories == 3
    assert counts.by_type == {"note": 2, "reasoning": 1}
    assert counts.by_status == {"active": 2, "archived": 1}
    assert counts.by_confidence == {"unverified": 2, "confirmed": 1}
    assert counts.by_domain == {"-": 2, "d": 1}
    assert (counts.superseded, counts.relations, counts.edits) == (1, 1, 0)
    assert (counts.passages, counts.without_vectors) == (3, 1)
    assert counts.bytes > 0


def test_an_export_is_in_the_order_of_uids_with_all_that_belongs(
    engine: Callable[..., Store],
) -> None:
    """Every memory once, with its outgoing relations, also while another process writes."""
    store, other = engine(), engine()
    made = [memory(str(n), origin=Origin("s", str(n))) for n in range(1100)]
    add(store, *made)
    with store.writing():
        store.relate(Relation(made[0].uid, "blocks", made[1].uid, None, "t", made[0].created_at))
    lines = []
    for line in store.export(EVERYTHING):
        if len(lines) % 400 == 0:
            add(other, memory("meanwhile", uid="zzzzzzzzz" + str(len(lines) // 400)))
        lines.append(line)
    exported = [m for m, _, _ in lines if m.content != "meanwhile"]
    assert exported == sorted(made, key=lambda m: m.uid)
    relations = {m.uid: r for m, _, r in lines if r}
    assert list(relations) == [made[0].uid]
    assert [r.to_uid for r in relations[made[0].uid]] == [made[1].uid]
