"""What people reported of other memory tools: the same must not happen here.

Each test names the threads it answers.
"""

import time
from collections.abc import Callable, Iterator

import pytest

from memai import embedding, operations
from memai.errors import MemaiError
from memai.store import Store

Opener = Callable[..., Store]


@pytest.fixture
def real(opener: Opener) -> Store:
    """Open a store with the packaged model."""
    return opener(model=embedding.DEFAULT)


def found(store: Store, query: str, **fields: object) -> list[str]:
    """Return the uids of the hits of a search."""
    return [hit.uid for hit in operations.search(store, query, **fields).hits]


def note(store: Store, text: str, **fields: object) -> str:
    """Keep a note and return its uid."""
    return operations.note(store, text, **fields).uid


OPERATORS = [
    ("The path is a/b on the share.", "a/b"),
    ("Notes of the ask-codex run.", "ask-codex"),
    ("File-back ingest lint", "File-back ingest lint"),
    ("We do NOT deploy at night.", "do NOT deploy"),
    ("The word AND joins two parts.", "AND"),
    ("tier1-test and unicode are fine", "tier1-test AND unicode"),
    ("The chat -100821 is the loud one.", "-100821"),
]


@pytest.mark.parametrize(("text", "query"), OPERATORS, ids=[query for _, query in OPERATORS])
def test_a_query_is_text_and_not_syntax(real: Store, text: str, query: str) -> None:
    """Slashes, hyphens and upper-case operators are words like others (35, 36, 37, 40)."""
    note(real, "Something else about another matter.")
    uid = note(real, text)
    hit = operations.search(real, query).hits[0]
    assert (hit.uid, hit.match_source) == (uid, "both")


def test_nothing_of_a_number_that_is_not_there(real: Store) -> None:
    """A number with a hyphen in front is no error where nothing holds it (36)."""
    note(real, "Nothing of it.")
    assert operations.search(real, "-100821").hits[0].match_source == "vec"


@pytest.mark.parametrize("query", ["session-recall", "CLAUDE.m", "session-recalling", "CLAUDE.md"])
def test_hyphens_and_dots_keep_prefixes(real: Store, query: str) -> None:
    """What is glued by punctuation may be begun as any word (38)."""
    note(real, "A session without any of that.")
    uid = note(real, "session-recalling in CLAUDE.md")
    hit = operations.search(real, query).hits[0]
    assert (hit.uid, hit.match_source) == (uid, "both")


@pytest.mark.parametrize("query", ["()*", '"', "+++"])
def test_special_characters_alone_find_no_words(store: Store, query: str) -> None:
    """They give an empty answer and no error (39)."""
    note(store, "A plain note.")
    assert all(hit.match_source == "vec" for hit in operations.search(store, query).hits)


@pytest.mark.parametrize("query", ["", "a\0b"])
def test_what_is_no_query_is_refused_cleanly(store: Store, query: str) -> None:
    """An empty query and a NUL are named as what they are (39)."""
    with pytest.raises(MemaiError, match="query"):
        operations.search(store, query)


def test_several_words_are_no_phrase(real: Store) -> None:
    """Words are found in any order (41)."""
    uid = note(real, "database schema migration plan")
    assert operations.search(real, "migration database").hits[0].uid == uid
    assert operations.search(real, "migration database").hits[0].match_source == "both"


@pytest.mark.parametrize("query", ["身份", "用户", "验证", "用户身份", "说明", "证"])
def test_chinese_is_found_by_any_part(real: Store, query: str) -> None:
    """A run without blanks is found by substrings of any length (43)."""
    note(real, "插件已经配置好")
    uid = note(real, "用户身份验证说明")
    assert found(real, query)[0] == uid


def test_two_letters_are_a_word_in_every_script(real: Store) -> None:
    """Short words are found beside long ones (44)."""
    one, other = note(real, "The db is small."), note(real, "用户很多")
    assert found(real, "db")[0] == one
    assert found(real, "用户")[0] == other


def test_a_long_run_is_not_one_phrase(real: Store) -> None:
    """A longer piece of Chinese than is written anywhere still finds what shares its parts (45)."""
    uid = note(real, "飞书插件已经配置好")
    note(real, "重跑以后清零")
    hit = operations.search(real, "飞书插件配置").hits[0]
    assert hit.uid == uid
    assert "words" in hit.routes


def test_a_change_of_script_is_a_break(real: Store) -> None:
    """Latin letters glued to Chinese are words (46)."""
    note(real, "清零以后再说")
    uid = note(real, "重跑gen-itgc后清零")
    assert found(real, "itgc")[0] == uid


def test_emoji_are_words(real: Store) -> None:
    """They are found where they are, and harmless where they are not (48)."""
    note(real, "A quiet evening.")
    uid = note(real, "party 🎉")
    assert operations.search(real, "🎉").hits[0].uid == uid
    assert "words" in operations.search(real, "🎉").hits[0].routes
    assert all("words" not in hit.routes for hit in operations.search(real, "😀😀").hits)


def test_the_last_line_of_a_long_text_is_found_by_a_paraphrase(real: Store) -> None:
    """Nothing past some window is dropped: passages are embedded one by one (49)."""
    line = "Minutes of a meeting in which nothing in particular was said about any subject. "
    uid = note(real, line * 370 + "\n\nThe cellar key hangs behind the green cupboard.")
    for number in range(30):
        note(real, f"Minutes of meeting {number}: nothing in particular was said about it.")
    hit = operations.search(real, "where do I find the key to the basement").hits[0]
    assert hit.uid == uid
    assert "green cupboard" in hit.snippet
    assert hit.span[1] == hit.content_chars


def test_a_huge_query_is_clamped(real: Store) -> None:
    """A query of any size is answered soon or refused clearly (50)."""
    uid = note(real, "alpha beta")
    began = time.process_time()
    assert found(real, "alpha beta " * 90_000)[0] == uid
    with pytest.raises(MemaiError, match="query"):
        operations.search(real, "alpha beta " * 200_000)
    assert time.process_time() - began < 20


def test_no_filter_starves_a_search(store: Store) -> None:
    """Few matches inside a scope are found whatever lies outside (52)."""
    for number in range(300):
        note(store, f"needle needle needle {number}", domain="a")
    inside = [
        note(store, f"one needle in a longer text, {number}", domain="b") for number in "12345"
    ]
    assert sorted(found(store, "needle", domain="b")) == sorted(inside)
    for uid in inside[:3]:
        operations.forget(store, (uid,))
    assert sorted(found(store, "needle", domain="b")) == sorted(inside[3:])
    assert sorted(found(store, "needle", status="archived")) == sorted(inside[:3])
    quoted = [note(store, f"needle '{number}' of pure gold", domain="a") for number in "12345"]
    assert sorted(found(store, 'needle "pure gold"')) == sorted(quoted)
    barred = found(store, "needle in the hay", without=("needle needle needle",), limit=50)
    assert set(inside[3:]) | set(quoted) == set(barred)


def test_a_correction_replaces_what_it_corrects(real: Store) -> None:
    """What was superseded is left out, and marked where it is asked for (53)."""
    old = note(real, "The ssh port of the gate is 22.")
    new = note(real, "Since May the gate listens for ssh on 49222.")
    operations.link(real, new, "supersedes", old)
    assert found(real, "ssh port") == [new]
    assert found(real, "ssh port", all_=True)[0] in (old, new)
    assert operations.show(real, old).memory.superseded_by == (new,)


def test_what_was_contradicted_comes_last_and_says_so(real: Store) -> None:
    """It is not hidden, but nothing stands behind it (53)."""
    wrong = note(real, "The ssh port of the gate is 22.")
    operations.confidence(real, wrong, "contradicted")
    others = [
        note(real, text) for text in ("The gate is painted.", "Ask Ann for ssh keys.", "Tea.")
    ]
    hits = operations.search(real, "ssh port of the gate").hits
    assert [hit.uid for hit in hits][-1] == wrong
    assert {hit.uid for hit in hits} == {wrong, *others}
    assert hits[-1].confidence == "contradicted"
    assert hits[-1].scores["contradicted"] < 0


def test_weak_hits_are_shown_as_what_they_are(real: Store) -> None:
    """No threshold empties an answer; it says that nothing is close (57)."""
    for text in ("The bicycle is blue.", "Lunch is at noon.", "The printer is on floor two."):
        note(real, text)
    answer = operations.search(real, "quantum chromodynamics lattice simulation")
    assert len(answer.hits) == 3
    assert not answer.close
    assert operations.search(real, "what colour is the bicycle").close


def test_a_name_that_nothing_holds_lowers_the_likelihood(real: Store) -> None:
    """What Bob said is no likely answer to what Ann said, however well the rest fits."""
    for number in range(30):
        note(real, f"Minutes of meeting {number + 100}: budget, staff and holidays.")
    note(real, "Bob said that the ferry to the island leaves at nine.")
    of_bob = operations.search(real, "When did Bob say that the ferry leaves?")
    of_ann = operations.search(real, "When did Ann say that the ferry leaves?")
    assert of_bob.hits[0].uid == of_ann.hits[0].uid
    assert of_bob.close
    assert of_bob.hits[0].score > of_ann.hits[0].score


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch, ticking: list[int]) -> Iterator[list[int]]:
    """Live in Tokyo, on 2026-03-29 at 23:30."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    ticking[0] = 1_774_794_600
    yield ticking
    monkeypatch.undo()
    time.tzset()


def test_days_are_those_of_the_caller(store: Store, in_tokyo: list[int]) -> None:
    """Half past eleven at night is today there, whatever day it is in UTC (58, 60)."""
    late = note(store, "walrus late")
    assert found(store, "walrus", since="today") == [late]
    assert found(store, "walrus", since="2026-03-29", until="2026-03-29") == [late]
    in_tokyo[0] += 3600
    early = note(store, "walrus early")
    assert found(store, "walrus", since="today") == [early]
    assert found(store, "walrus", since="yesterday", until="yesterday") == [late]


def test_answers_tell_times_in_utc(store: Store, in_tokyo: list[int]) -> None:
    """Stored and told is UTC, wherever the caller lives (59)."""
    note(store, "walrus")
    (hit,) = operations.search(store, "walrus").hits
    assert hit.created_at.startswith("2026-03-29T14:30:")
    assert hit.created_at.endswith("Z")
