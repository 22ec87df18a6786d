"""Which memories are reported as duplicates, which are not, and why."""

import json
import math
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from pairs import f1, labelled, questions, reported
from support import SHARED

from memai import embedding, open_store, operations
from memai.errors import UsageError
from memai.likeness import likeness, opposite, read
from memai.operations import comparing
from memai.records import Duplicates, Pair
from memai.store import Store

NOTE = (
    "The staging database of the billing service is restored from the nightly backup of production "
    "every day at six, before the first of the two scheduled test runs begins to read from it."
)
EDITED = NOTE.replace("nightly", "weekly")


@pytest.fixture
def packaged(opener: Callable[..., Store]) -> Store:
    """Open a store with the model of the package."""
    return opener("packaged.db", model=embedding.DEFAULT)


def only(found: Duplicates) -> Pair:
    """Return the only pair of an answer."""
    (pair,) = found.pairs
    return pair


def crowded(store: Store) -> None:
    """Add more memories than are all compared with each other."""
    for number in range(comparing._SMALL_STORE + 6):
        operations.note(store, " ".join(f"word{number * 31 + place}" for place in range(12)))


# --- methods ------------------------------------------------------------------------------------


def test_the_same_text_in_two_places_is_identical(store: Store) -> None:
    """What was saved twice in different domains is a pair, whatever its type."""
    one = operations.note(store, NOTE, domain="a").uid
    other = operations.reasoning(store, NOTE, domain="b").uid
    pair = only(operations.duplicates(store))
    assert (pair.uid, pair.other, pair.score) == (one, other, 1.0)
    assert (pair.method, pair.why) == ("identical", "the same text")


def test_what_looks_the_same_is_identical(store: Store) -> None:
    """Case, spacing and the form of Unicode make no other text."""
    operations.note(store, "Café au lait\nis served")
    operations.note(store, "cafe\u0301 AU  lait is served")
    pair = only(operations.duplicates(store))
    assert pair.method == "identical"
    assert pair.why == "the same text but for case, spacing or Unicode form"


def test_an_edited_note_tells_what_differs(store: Store) -> None:
    """A pair by words tells the share of words in both, and what only one of them has."""
    operations.note(store, NOTE)
    operations.note(store, EDITED)
    pair = only(operations.duplicates(store))
    assert pair.method == "words"
    assert pair.why == "96% of the words are shared; differs in: nightly / weekly"
    assert comparing.LIKELY <= pair.score < 1
    assert pair.first_line.startswith("The staging database")


def test_an_addition_is_told_with_its_side(store: Store) -> None:
    """Where one text has all of the other, the answer says which one has more."""
    operations.note(store, NOTE)
    operations.note(store, NOTE + " Ask Dana.")
    assert only(operations.duplicates(store)).why.endswith("; only the newer has: ask dana")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (NOTE.replace(",", ";").replace(".", "!"), "the same words but for punctuation"),
        (NOTE.removeprefix("The ") + " The", "the same words in another order"),
    ],
)
def test_the_same_words_are_told_apart(store: Store, text: str, why: str) -> None:
    """Punctuation and order are named when nothing else differs."""
    operations.note(store, NOTE)
    operations.note(store, text)
    pair = only(operations.duplicates(store))
    assert (pair.method, pair.why) == ("words", why)


def test_short_statements_are_the_same_by_meaning(packaged: Store) -> None:
    """Statements that differ in small words and endings are a pair if their vectors agree."""
    operations.note(packaged, "The cache TTL is 5 minutes", domain="a", tags=("cache",))
    operations.note(packaged, "Cache TTL: 5 minutes", domain="b")
    pair = only(operations.duplicates(packaged))
    assert pair.method == "meaning"
    assert pair.why.startswith("the same but for small words and endings, cosine 0.9")
    assert pair.score >= comparing.LIKELY


def test_a_meaning_that_the_words_do_not_bear_out_is_none(packaged: Store) -> None:
    """A high cosine is not enough: opposites and other numbers have one too."""
    for text in (
        "Increase the timeout to 30 seconds",
        "Decrease the timeout to 30 seconds",
        "Backups run daily at 02:00",
        "Backups run daily at 03:00",
        "Migrate from Postgres to MySQL",
        "Migrate from MySQL to Postgres",
        "Deploy before the freeze",
        "Deploy after the freeze",
    ):
        operations.note(packaged, text)
    assert operations.duplicates(packaged).pairs == ()


def test_without_a_model_words_are_compared_and_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is not there leaves the words, loudly."""
    monkeypatch.setenv("MEMAI_EMBED_MODEL", str(tmp_path / "missing"))
    store = open_store(str(tmp_path / "words.db"))
    for text in (NOTE, EDITED, "The cache TTL is 5 minutes", "Cache TTL: 5 minutes"):
        operations.note(store, text)
    found = operations.duplicates(store)
    assert only(found).method == "words"
    assert found.notes[0].startswith("By words only: ")
    store.close()


# --- what is no duplicate -----------------------------------------------------------------------


def test_checkpoints_of_one_domain_are_a_timeline(store: Store) -> None:
    """They are no pair; with one of another domain, or with a note, they are."""
    for domain, text in (("a", "State of work."), ("A", "State of work!"), ("b", "State of work?")):
        operations.checkpoint(store, intent=text, domain=domain)
    pairs = operations.duplicates(store).pairs
    assert len(pairs) == 2
    assert {store.get(pair.other).domain for pair in pairs} == {"b"}
    note = operations.note(store, "Intent: State of work").uid
    assert {note} < {uid for pair in operations.duplicates(store).pairs for uid in pair[:2]}


@pytest.mark.parametrize("crowd", [False, True])
def test_checkpoints_are_no_pair_in_a_large_store(store: Store, crowd: bool) -> None:
    """The timeline of a domain stays out however many memories there are."""
    if crowd:
        crowded(store)
    for number in range(30):
        operations.checkpoint(store, intent=f"{NOTE} Part {number}.", domain="work")
    assert operations.duplicates(store).pairs == ()


def test_a_line_with_another_number_is_another_fact(store: Store) -> None:
    """One line that differs in numbers only is no duplicate; a longer text with a new date is."""
    line = "The nightly build of the service has passed all its checks and is version number {}"
    for number in range(3):
        operations.note(store, line.format(number))
    assert operations.duplicates(store).pairs == ()
    for day in ("2026-03-01", "2026-03-02"):
        operations.note(store, f"# Runbook of {day}\n\n{NOTE}")
    assert "2026-03-01 / 2026-03-02" in only(operations.duplicates(store)).why


def test_what_is_not_current_is_not_compared(store: Store) -> None:
    """Archived and superseded memories are no duplicates of anything."""
    old = operations.note(store, NOTE, domain="a").uid
    gone = operations.note(store, NOTE, domain="b").uid
    new = operations.note(store, EDITED).uid
    operations.link(store, new, "supersedes", old)
    operations.forget(store, (gone,))
    assert operations.duplicates(store).pairs == ()


def test_filters_bound_what_is_compared(store: Store) -> None:
    """Both memories of a pair lie in the domain and are of the type asked for."""
    operations.note(store, NOTE, domain="a/x")
    operations.note(store, EDITED, domain="a/y")
    operations.reasoning(store, NOTE, domain="b")
    assert len(operations.duplicates(store).pairs) == 3
    assert len(operations.duplicates(store, domain="a").pairs) == 1
    assert len(operations.duplicates(store, type="note").pairs) == 1
    assert operations.duplicates(store, domain="b").pairs == ()


def test_of_many_versions_each_is_shown_with_its_nearest(store: Store) -> None:
    """A pair is left out if both are more like a third memory."""
    words = NOTE.split()
    uids = []
    for version in range(4):
        uids.append(operations.note(store, " ".join(words)).uid)
        words[2 * version] = f"changed{version}"
    pairs = {(pair.uid, pair.other) for pair in operations.duplicates(store).pairs}
    assert pairs == set(pairwise(uids))


# --- the answer ---------------------------------------------------------------------------------


def test_the_likeliest_come_first_and_the_rest_is_announced(store: Store) -> None:
    """Pairs go by score; a limit in pairs or bytes is told."""
    operations.note(store, NOTE)
    operations.note(store, EDITED)
    for domain in ("a", "b"):
        operations.note(store, "Something else entirely.", domain=domain)
    whole = operations.duplicates(store)
    assert [pair.method for pair in whole.pairs] == ["identical", "words"]
    assert not whole.truncated
    for cut in (operations.duplicates(store, limit=1), operations.duplicates(store, max_bytes=400)):
        assert cut.truncated
        assert cut.pairs == whole.pairs[:1]


def test_the_older_comes_first(store: Store) -> None:
    """The first of a pair is the one that was there before, whatever the order of the store."""
    newer = operations.note(store, NOTE).memory
    older = newer._replace(uid="0" * 10, created_at="2001-01-01T00:00:00.000000Z", domain="x")
    model = comparing.embedding_policy.embedder(store)
    (embedded,) = comparing.embedding_policy.embed(model, [older])
    with store.writing():
        store.insert(older, embedded)
    pair = only(operations.duplicates(store))
    assert (pair.uid, pair.other) == (older.uid, newer.uid)


def test_a_threshold_lets_more_or_less_through(store: Store) -> None:
    """At 1 only what has the same words is left; low thresholds say what they miss."""
    operations.note(store, NOTE)
    operations.note(store, EDITED)
    operations.note(store, " ".join(NOTE.split()[:16]))
    assert operations.duplicates(store, threshold=1.0).pairs == ()
    low = operations.duplicates(store, threshold=0.5)
    assert len(low.pairs) == 2
    assert any("below 0.7" in note for note in low.notes)
    assert operations.duplicates(store).notes == ()


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, math.nan])
def test_a_threshold_that_means_nothing_is_refused(store: Store, threshold: float) -> None:
    """A threshold is above 0 and at most 1."""
    with pytest.raises(UsageError):
        operations.duplicates(store, threshold=threshold)


def test_an_empty_store_has_no_duplicates(store: Store) -> None:
    """Nothing stored is nothing found, without an error."""
    assert operations.duplicates(store) == Duplicates(False, (), ())


# --- large stores -------------------------------------------------------------------------------


def test_a_large_store_gives_what_comparing_all_would(store: Store) -> None:
    """The sketches lose none of the pairs that all comparisons find."""
    words = NOTE.split()
    for number in range(comparing._SMALL_STORE):
        text = [f"{word}{number}" for word in words]
        operations.note(store, " ".join(text))
        if number % 3 == 0:
            text[number % len(text)] = "other"
            operations.note(store, " ".join(text))
    contents = {id: content for id, _, _, content in store.contents(comparing.Where())}
    uids = {id: memory.uid for id, memory in store.memories(list(contents)).items()}
    expected = {
        frozenset((uids[one], uids[other]))
        for one, other in combinations(contents, 2)
        if likeness(read(contents[one]), read(contents[other])) >= comparing.LIKELY
    }
    found = operations.duplicates(store, limit=1000, max_bytes=10**6)
    assert {frozenset(pair[:2]) for pair in found.pairs} == expected
    assert len(expected) == 22
    assert found.notes == ()


def test_a_crowd_is_told(store: Store) -> None:
    """Where very many memories are alike, the answer says that pairs may be missing."""
    for number in range(100):
        operations.note(store, NOTE, domain=f"d{number}")
    found = operations.duplicates(store, limit=5)
    assert found.truncated
    assert "Pairs may be missing" in found.notes[0]
    assert {pair.score for pair in found.pairs} == {1.0}


def test_memories_that_vanish_meanwhile_are_passed_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process purges between the scan and the comparison is no error."""
    one = operations.note(store, NOTE, domain="a").uid
    operations.note(store, NOTE, domain="b")
    contents = store.contents

    def scanned(where: Any) -> Iterator[tuple[int, str, str | None, str]]:
        yield from contents(where)
        operations.purge(store, one, confirm=f"DELETE {one}")

    monkeypatch.setattr(store, "contents", scanned)
    assert operations.duplicates(store).pairs == ()


# --- the evaluation data ------------------------------------------------------------------------

AWKWARD = SHARED / "eval" / "awkward"


def awkward() -> list[Any]:
    """Return the cases of the group dedup-form."""
    if not AWKWARD.exists():
        return [pytest.param(None, marks=pytest.mark.skip("no folder of evaluation data here"))]
    lines = (AWKWARD / "awkward.jsonl").read_text("utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    return [pytest.param(c, id=c["id"]) for c in cases if c["do"]["op"] == "dedup_scan"]


@pytest.mark.parametrize("case", awkward())
def test_awkward_pairs_are_reported_or_not(packaged: Store, case: dict[str, Any]) -> None:
    """Forms of Unicode are the same; negations and exchanged names are not."""
    for item in json.loads((AWKWARD / "distractors.json").read_text("utf-8")):
        operations.note(packaged, item if isinstance(item, str) else item["text"])
    uids = {operations.note(packaged, item["text"]).uid for item in case["setup"]}
    pairs = [set(pair[:2]) for pair in operations.duplicates(packaged).pairs]
    assert (uids in pairs) is case["expect"]["pair_reported"]


@pytest.mark.skipif(not SHARED.exists(), reason="no folder of evaluation data here")
@pytest.mark.parametrize("model", [embedding.DEFAULT, "/nowhere"])
def test_quality_on_pairs_of_real_notes(opener: Callable[..., Store], model: str) -> None:
    """F1 is at least 0.85 even if every pair without a label counts as wrong."""
    known = labelled(SHARED / "eval")
    store = opener("quality.db", model=model)
    found = reported(store, (text for pair in sorted(map(sorted, known)) for text in pair))
    assert f1(found, known) >= 0.85
    assert f1(found & known.keys(), known) >= 0.85
    asked = questions(SHARED / "eval").keys()
    assert sum(pair <= asked for pair in found) <= 5
    assert not any(opposite(*map(read, pair)) for pair in found)
