"""Search: what is found, in which scope, how it is explained, and how an answer goes on."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memai import embedding, operations
from memai.errors import UsageError
from memai.operations import routes
from memai.operations.budget import size
from memai.store import Store, words

Opener = Callable[..., Store]


def found(store: Store, query: str, **fields: object) -> list[str]:
    """Return the uids of the hits of a search."""
    return [hit.uid for hit in operations.search(store, query, **fields).hits]


@pytest.fixture
def notes(store: Store) -> Store:
    """Fill a store with notes of two domains."""
    for number in range(8):
        operations.note(
            store,
            f"The walrus number {number} polishes its tusks.",
            domain="zoo" if number % 2 else "zoo/pool",
            tags=("even",) if number % 2 == 0 else (),
        )
    operations.handoff(store, "Feed the walrus.", domain="office")
    return store


def test_a_hit_explains_itself(store: Store) -> None:
    """Both sides, their scores, the passage and its marks are told with each hit."""
    uid = operations.note(store, "Tokens expire after nine hours.", domain="d", tags=("t",)).uid
    answer = operations.search(store, "tokens expire")
    (hit,) = answer.hits
    kept = store.get(uid)
    assert (hit.uid, hit.match_source) == (uid, "both")
    assert hit.routes == ("words", "meaning")
    assert set(hit.scores) == {"words", "meaning", "late", "head"}
    assert hit.snippet == kept.content
    assert hit.span == (0, len(kept.content))
    assert [hit.snippet[a:b] for a, b in hit.marks] == ["Tokens", "expire"] or hit.marks
    assert hit.content_chars == len(kept.content)
    for field in ("type", "domain", "tags", "status", "confidence", "agent", "source"):
        assert getattr(hit, field) == getattr(kept, field)
    assert (hit.created_at, hit.updated_at) == (kept.created_at, kept.updated_at)
    assert (answer.truncated, answer.next, answer.notes) == (False, None, ())


def test_the_best_passage_of_a_long_memory_is_shown(opener: Opener) -> None:
    """The snippet comes from where the query is answered, and its span says where that is."""
    store = opener(model=embedding.DEFAULT)
    filler = "Meeting minutes about nothing in particular were written down here. " * 14
    text = f"{filler}\n\nThe login token expires after nine hours.\n\n{filler}"
    operations.note(store, text)
    (hit,) = operations.search(store, "when does the login token expire").hits
    assert "nine hours" in hit.snippet
    start, end = hit.span
    assert "nine hours" in text[start:end]
    assert hit.content_chars == len(text)


def test_filters_hold_on_both_sides(notes: Store) -> None:
    """Words and meaning look only at what the filters let through, all of it."""
    assert len(found(notes, "walrus", domain="ZOO", limit=20)) == 8
    assert len(found(notes, "walrus", domain="zoo/pool")) == 4
    assert len(found(notes, "walrus", tags=("EVEN",))) == 4
    assert len(found(notes, "walrus", type="handoff")) == 1
    assert len(found(notes, "walrus", domain="zoo", type="handoff")) == 0
    assert len(operations.recall(notes, "walrus", limit=20).hits) == 8
    assert len(operations.recall(notes, "walrus", domain="office").hits) == 0


def test_a_crowd_in_one_domain_hides_nothing_in_another(store: Store) -> None:
    """However many better matches lie outside a filter, those inside are all found."""
    for number in range(400):
        operations.note(store, f"needle needle {number}", domain="crowd")
    for number in range(5):
        operations.note(store, f"A longer text with one needle, {number}.", domain="quiet")
    assert len(found(store, "needle", domain="quiet")) == 5


def test_here_is_the_domain_at_hand(opener: Opener) -> None:
    """A search covers every domain unless it is told to stay here."""
    operations.note(opener(), "walrus one", domain="mine")
    operations.note(opener(), "walrus two", domain="other")
    store = opener(domain="mine")
    assert len(found(store, "walrus")) == 2
    assert len(found(store, "walrus", here=True)) == 1
    assert len(operations.recall(store, "walrus", here=True).hits) == 1
    with pytest.raises(UsageError, match="at hand"):
        operations.search(opener(), "walrus", here=True)


def test_only_current_memories_are_searched_unless_asked(store: Store) -> None:
    """Archived and superseded ones are found with `all` or by their status."""
    old, newer, gone = (operations.note(store, f"walrus {n}").uid for n in range(3))
    operations.forget(store, (old,), superseded_by=newer)
    operations.forget(store, (gone,))
    assert found(store, "walrus") == [newer]
    assert set(found(store, "walrus", all_=True)) == {old, newer, gone}
    assert found(store, "walrus", status="archived") == [gone]


def test_a_day_that_is_named_is_looked_at(store: Store, ticking: list[int]) -> None:
    """What was written on the day a question names comes first, however much else there is."""
    named = operations.note(store, "The walrus was fed for the last time.").uid
    ticking[0] += 86_400 * 3
    for number in range(routes.DEPTH + 1):
        operations.note(store, f"The walrus was fed for the {number + 100}th time.")
    for day in ("1 March 2026", "2026-03-01"):
        best = operations.search(store, f"what of the walrus on {day}", explain=True).hits[0]
        assert best.uid == named
        assert best.scores["from_dated"] > 0
    assert operations.search(store, "what of the walrus", limit=5).hits[0].uid != named
    narrowed = operations.search(store, "walrus on 1 March 2026", since="2026-03-02").hits
    assert named not in {hit.uid for hit in narrowed}


def test_pages_of_a_question_that_names_a_day_join(store: Store, ticking: list[int]) -> None:
    """Each memory comes once, whatever the pages are."""
    for number in range(routes.DEPTH + 30):
        operations.note(store, f"The walrus was fed {number}.")
        ticking[0] += 3600
    seen: list[str] = []
    after: str | None = None
    while True:
        page = operations.search(store, "walrus on 2 March 2026", limit=40, after=after)
        seen += [hit.uid for hit in page.hits]
        after = page.next
        if after is None:
            break
    assert len(seen) == len(set(seen)) == routes.DEPTH + 30


def test_time_narrows_a_search(store: Store, ticking: list[int]) -> None:
    """Since and until are inclusive and count the time of writing."""
    first = operations.note(store, "walrus one").uid
    ticking[0] += 86_400 * 3
    second = operations.note(store, "walrus two").uid
    assert found(store, "walrus", until="2026-03-02") == [first]
    assert found(store, "walrus", since="2026-03-03") == [second]


def test_a_quoted_phrase_must_occur(store: Store) -> None:
    """Only memories that hold the words in that order are hits, on both sides."""
    one = operations.note(store, "database migration at midnight").uid
    operations.note(store, "migration of the database")
    assert found(store, '"database migration"') == [one]
    assert found(store, '"migration of the database"') != [one]
    answer = operations.search(store, '"midnight database"')
    assert len(answer.hits) == 2
    assert "in quotes" in answer.notes[0]


def test_without_leaves_out_what_holds_a_word(store: Store) -> None:
    """An excluded word or phrase is excluded on both sides."""
    one = operations.note(store, "walrus in the pool").uid
    operations.note(store, "walrus in the office building")
    assert found(store, "walrus", without=("office building",)) == [one]


@pytest.mark.parametrize("query", ["", "  \n", "\u200b", "a\0b", "half \ud83d"])
def test_what_cannot_be_looked_for_is_refused(store: Store, query: str) -> None:
    """An empty or broken query is an error that says what is missing."""
    for act in (operations.search, operations.recall):
        with pytest.raises(UsageError, match="query"):
            act(store, query)


@pytest.mark.parametrize(
    "query", ["!!! ???", "NOT", "a OR " * 3000, '"' * 5001, "NEAR(" * 500, "x" * 100_000, "*", "-v"]
)
def test_no_query_breaks_the_search(notes: Store, query: str) -> None:
    """Whatever is asked, there is an answer, quickly."""
    operations.search(notes, query)


def test_a_search_in_nothing_finds_nothing(store: Store) -> None:
    """A missing store answers with no hits, is not close, and is not made."""
    answer = operations.search(store, "anything")
    assert (answer.hits, answer.close, answer.truncated, answer.next) == ((), False, False, None)
    assert not store.exists()


def test_an_empty_scope_names_its_neighbours(notes: Store) -> None:
    """Where a domain is mistyped the answer names those that are like it."""
    (said,) = operations.search(notes, "walrus", domain="zoos").notes
    assert "zoo" in said


@pytest.mark.parametrize(
    "query", ["9999-12-31", "0001-01-01", "1 January 0001", "December 9999", "31 June 2024"]
)
def test_no_date_in_a_query_is_an_error(notes: Store, query: str) -> None:
    """The ends of the calendar, and days it has not, are words like any other."""
    assert operations.search(notes, f"walrus {query}").hits


def test_words_too_common_to_rank_by_are_named(
    notes: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a budget cuts in, the answer says so, and what holds the rarer words comes first."""
    rare = operations.note(notes, "A heron watches the walrus.").uid
    expected = operations.search(notes, "walrus heron")
    assert expected.notes == ()
    monkeypatch.setattr(words, "_MOST", 5)
    answer = operations.search(notes, "walrus heron")
    (said,) = answer.notes
    assert "'walrus'" in said
    assert "heron" not in said
    assert answer.hits[0].uid == expected.hits[0].uid == rare
    assert answer.hits[0].marks == expected.hits[0].marks


def test_pages_of_hits_join(notes: Store) -> None:
    """Following `next` gives every hit once, in the order of the whole answer."""
    whole = found(notes, "walrus tusks", limit=50)
    seen: list[str] = []
    after = None
    while True:
        page = operations.search(notes, "walrus tusks", limit=2, after=after)
        seen += [hit.uid for hit in page.hits]
        after = page.next
        if after is None:
            break
    assert seen == whole
    assert len(seen) == 9


@pytest.mark.parametrize("after", ["", "x", "-1", "1.5", "１", "9" * 30])
def test_a_cursor_that_was_never_given_is_refused(notes: Store, after: str) -> None:
    """Only the `next` of an earlier answer goes on."""
    with pytest.raises(UsageError, match="next"):
        operations.search(notes, "walrus", after=after)


def test_an_answer_keeps_to_its_bytes(notes: Store) -> None:
    """Hits that do not fit are left out visibly, and `next` gives them."""
    answer = operations.search(notes, "walrus", max_bytes=1500)
    assert answer.truncated
    assert sum(map(size, answer.hits)) <= 1500
    rest = operations.search(notes, "walrus", after=answer.next)
    assert len({hit.uid for hit in (*answer.hits, *rest.hits)}) == 9


def test_the_same_question_gets_the_same_answer(notes: Store) -> None:
    """Nothing in the order is left to chance."""
    assert operations.search(notes, "walrus") == operations.search(notes, "walrus")


def test_without_a_model_words_are_searched_and_the_answer_says_so(opener: Opener) -> None:
    """A store whose model is gone is searched by words, loudly."""
    operations.note(opener(), "walrus")
    store = opener()
    embedding._loaded[store.model()] = embedding.NoModel("hashed-words", "it is gone")
    answer = operations.search(store, "walrus")
    assert [hit.match_source for hit in answer.hits] == ["fts"]
    assert any("Words only" in note and "it is gone" in note for note in answer.notes)


def test_vectors_of_another_version_of_the_model_are_not_used(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the model's files changed, its old vectors are stale: words only, and it is said."""
    store = opener()
    operations.note(store, "walrus")
    monkeypatch.setattr(embedding.load(store.model()), "sha256", "0" * 64)
    answer = operations.search(store, "walrus")
    assert [hit.match_source for hit in answer.hits] == ["fts"]
    assert "reembed" in " ".join(answer.notes)


def test_a_sentence_that_is_there_word_for_word_is_close(store: Store) -> None:
    """Asking with what a memory says finds it and says that it is an answer, in any case."""
    chance = random.Random(1)
    words = Path(__file__).parents[1].joinpath("README.md").read_text().split()
    for _ in range(100):
        operations.note(store, " ".join(chance.choices(words, k=40)))
    said = "The deploy key of the staging cluster lives in the vault under ops/staging"
    operations.note(store, f"On Monday. {said}, Ann says.")
    for query in (said, said.lower()):
        answer = operations.search(store, query)
        assert answer.close
        assert said in answer.hits[0].snippet
    assert not operations.search(store, "The giraffe of the northern zoo sleeps in a shed").close
    operations.confidence(store, answer.hits[0].uid, "contradicted")
    assert not operations.search(store, said).close


TEXTS = st.text(st.sampled_from("ab \"'*()-:é中🚀\n"), min_size=1, max_size=40)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=TEXTS, texts=st.lists(TEXTS, max_size=5))
def test_every_answer_is_well_formed(opener: Opener, query: str, texts: list[str]) -> None:
    """Spans and marks lie inside the text, hits are distinct, sides agree with routes."""
    store = opener(f"{hash((query, *texts))}.db")
    for text in texts:
        if text.strip():
            operations.note(store, text)
    if not query.strip():
        return
    answer = operations.search(store, query, limit=3)
    assert len({hit.uid for hit in answer.hits}) == len(answer.hits) <= 3
    for hit in answer.hits:
        start, end = hit.span
        assert 0 <= start <= end <= hit.content_chars
        assert all(0 <= a < b <= len(hit.snippet) for a, b in hit.marks)
        assert set() != set(hit.routes) <= set(hit.scores)
    assert [h.score for h in answer.hits] == sorted((h.score for h in answer.hits), reverse=True)
    store.close()


def test_a_query_that_is_too_long_is_cut_and_the_answer_says_so(store: Store) -> None:
    """What was not looked for is told; the rest still finds."""
    uid = operations.note(store, "The walrus polishes its tusks.").uid
    answer = operations.search(store, "walrus " * 1000)
    assert [hit.uid for hit in answer.hits] == [uid]
    assert any("4,096 bytes" in note for note in answer.notes)
    assert not operations.search(store, "walrus").notes
