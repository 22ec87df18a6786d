"""Queries that break tools: identifiers, scripts, slips of the finger, and what is no query."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support import SHARED

from memai import embedding, operations
from memai.errors import MemaiError
from memai.store import Store

OTHERS = (
    "Lunch of the whole team is on Thursdays now.",
    "The photo archive is copied every Sunday night.",
    "Notes for a release are written before it is tagged.",
    "The blue bicycle has a flat tyre.",
    "Bills are sent on the last working day.",
    "The microphone in room four is the better one.",
)


@pytest.fixture
def filled(opener: Callable[..., Store]) -> Store:
    """Open a store with the packaged model and six memories that have nothing to do with it."""
    store = opener(model=embedding.DEFAULT)
    for text in OTHERS:
        operations.note(store, text)
    return store


def first(store: Store, query: str) -> tuple[str, str]:
    """Return the uid of the first hit and which side found it."""
    hit = operations.search(store, query).hits[0]
    return hit.uid, hit.match_source


IDENTIFIERS = [
    ("The helper fetchRowsByOwner gives an empty list for guests.", "fetchRowsByOwner"),
    ("The helper fetchRowsByOwner gives an empty list for guests.", "rows by owner"),
    ("The helper fetchRowsByOwner gives an empty list for guests.", "fetchrowsbyowner"),
    ("Call load_user_prefs before the first render.", "load_user_prefs"),
    ("Call load_user_prefs before the first render.", "user prefs"),
    ("Call load_user_prefs before the first render.", "load_user_pr"),
    ("XMLHttpRequest is deprecated in the worker.", "xml http request"),
    ("Replace boost::optional<double> by the standard one.", "boost::optional<double>"),
    ("The bug is in lib/net/retry_policy.rs near the end.", "lib/net/retry_policy.rs"),
    ("The bug is in lib/net/retry_policy.rs near the end.", "retry_policy"),
    ("The compiler says E0277 for a missing trait.", "E0277"),
    ("The header begins with 0xCAFEBABE always.", "0xCAFEBABE"),
    ("Export NO_PROXY=10.0.0.0/8 on the runners.", "NO_PROXY=10.0.0.0/8"),
    ("Session 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is the slow one.", "3f2504e0-4f89-11d3"),
    ("The printer listens on 10.1.2.3:9100 only.", "10.1.2.3:9100"),
    (r"Logs go to D:\srv\app\logs on that machine.", r"D:\srv\app\logs"),
    ("Ticket PROJ-1042 waits for legal.", "PROJ-1042"),
    ("Ticket PROJ-1042 waits for legal.", "proj 1042"),
    ("Run it with --dry-run the first time.", "--dry-run"),
    ("Pinned to v2.15.0-rc.1 until the fix is out.", "2.15.0-rc.1"),
    ("The part is written in .NET and nobody knows why.", ".NET"),
    ("Ask ops@example.org for the key.", "ops@example.org"),
    ("See https://example.org/a/b?c=1#d for the table.", "example.org/a/b"),
    ("Node's package @scope/tool-kit broke the build.", "@scope/tool-kit"),
    ("f'{x!r:>10}' was wrong in the log line.", "f'{x!r:>10}'"),
]


@pytest.mark.parametrize(("text", "query"), IDENTIFIERS, ids=[q for _, q in IDENTIFIERS])
def test_identifiers_are_found_by_their_words(filled: Store, text: str, query: str) -> None:
    """Names, paths, numbers and versions come first, found by words and not by luck."""
    uid = operations.note(filled, text).uid
    assert first(filled, query)[0] == uid
    assert first(filled, query)[1] in ("fts", "both")


def test_what_is_written_exactly_comes_first(filled: Store) -> None:
    """C++ is not C, and 1.2.3 is not 1.2.30: the exact substring decides."""
    for near, exact, query in (
        ("The parser is written in C and small.", "The lexer is written in C++ and large.", "C++"),
        ("We run on Java and like it.", "We run on JavaScript and like it.", "JavaScript"),
        ("Bump the tool to 1.2.30 soon.", "Bump the tool to 1.2.3 soon.", "tool 1.2.3"),
        ("The flag is --dry, and run is a word.", "The flag is --dry-run for now.", "--dry-run"),
    ):
        operations.note(filled, near)
        uid = operations.note(filled, exact).uid
        assert first(filled, query)[0] == uid, query
        assert operations.search(filled, query).hits[0].content_chars == len(exact)


SCRIPTS = [
    ("서버는 자정에 다시 시작한다", "서버를"),
    ("המפתח נמצא מתחת לשטיח", "מפתח"),
    ("موعد التسليم يوم الخميس", "تسليم"),
    ("ห้องประชุมอยู่ชั้นสาม", "ประชุม"),
    ("ОТЧЁТ для Казани готов", "отчёт"),
    ("Η ΑΝΑΦΟΡΑ είναι έτοιμη", "αναφορά"),
    ("STRASSE gesperrt bis Montag", "Straße"),
    ("The ﬁnal ﬂow is ready.", "final flow"),
    ("Ｆｕｌｌ ｗｉｄｔｈ letters", "full width"),
    ("Crème brûlée on the menu", "creme brulee"),
    ("Cafe\u0301 at noon", "Café"),
    ("重跑gen-itgc后清零", "itgc"),
    ("用户身份验证说明", "身份"),
    ("用户身份验证说明", "验证"),
    ("飞书插件已经配置好", "飞书插件配置"),
    ("梅雨は六月に始まる", "梅雨"),
    ("データベースの移行は夜に行う", "データベース"),
    ("deploy 🚀 on Fridays", "🚀"),
    ("party 🎉 at nine", "🎉"),
    ("नमस्ते दुनिया", "नमस्ते"),
]


@pytest.mark.parametrize(("text", "query"), SCRIPTS, ids=[q for _, q in SCRIPTS])
def test_every_script_is_found_by_its_words(filled: Store, text: str, query: str) -> None:
    """Whatever the script, its forms and its blanks, words find it."""
    uid = operations.note(filled, text).uid
    assert first(filled, query)[0] == uid
    assert first(filled, query)[1] in ("fts", "both")


SLIPS = [
    ("The walrus keeper has a spare key.", "walrsu", "walrus"),
    ("The gyroscope drifts in the cold.", "gyroscpe", "gyroscope"),
    ("Kubernetes restarts the pod twice.", "kubernettes", "kubernetes"),
    (
        "The archipelago export needs a licence.",
        "who licences the archipelogo export",
        "archipelago",
    ),
    ("Zephyrine signs the contracts.", "Zephyrene", "zephyrine"),
]


@pytest.mark.parametrize(("text", "query", "meant"), SLIPS, ids=[q for _, q, _ in SLIPS])
def test_one_wrong_letter_in_a_rare_word_still_finds_it(
    filled: Store, text: str, query: str, meant: str
) -> None:
    """A missing, extra, wrong or swapped letter is seen through, and the answer says so."""
    uid = operations.note(filled, text).uid
    answer = operations.search(filled, query)
    assert answer.hits[0].uid == uid
    assert answer.hits[0].match_source in ("fts", "both")
    assert any(meant in note for note in answer.notes)


@pytest.mark.parametrize("query", ["bicycle", "bicycl", "release", "xyzzyq", "the", "Sunda"])
def test_what_is_held_or_begins_a_word_is_no_slip(filled: Store, query: str) -> None:
    """A word that some memory holds or continues, or that is like none, is left alone."""
    assert operations.search(filled, query).notes == ()


def test_several_phrasings_in_one_query_help(filled: Store) -> None:
    """An agent that says a thing twice finds it by either."""
    uid = operations.note(filled, "Mail bounces when the envelope sender is empty.").uid
    operations.note(filled, "Mail is read in the morning.")
    for query in (
        "returned e-mail without a return path OR bounces when sender empty",
        "why does mail bounce; undeliverable message; empty sender",
    ):
        assert first(filled, query)[0] == uid


NOTHING = [
    "()*",
    '"',
    '""',
    "+++",
    "!!! ??? ...",
    "-100821",
    "a/b",
    "AND",
    "do NOT deploy",
    "NEAR(",
]


@pytest.mark.parametrize("query", NOTHING)
def test_no_query_is_syntax(filled: Store, query: str) -> None:
    """Operators, quotes and punctuation are text, and never an error."""
    answer = operations.search(filled, query)
    assert len(answer.hits) <= len(OTHERS)


def shared_cases() -> Iterator[Any]:
    """Yield the searches among the awkward cases beside the checkout, if they are there."""
    path = SHARED / "eval" / "awkward" / "awkward.jsonl"
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").split("\n"):
        case = json.loads(line) if line.strip() else {"do": {"op": None}}
        if case["do"]["op"] == "search" and isinstance(case["do"]["query"], str):
            yield pytest.param(case, id=case["id"])


@pytest.mark.parametrize("case", [*shared_cases()] or [None])
def test_awkward_cases_beside_the_checkout(filled: Store, case: dict[str, Any] | None) -> None:
    """What should be found is among the first five; what may fail fails cleanly."""
    if case is None:
        pytest.skip("there is no folder 'shared' with the awkward cases beside the checkout")
    uids = {note["key"]: operations.note(filled, note["text"]).uid for note in case["setup"]}
    limit = case["do"].get("limit")
    options = {"limit": limit} if isinstance(limit, int) and limit < 1000 else {}
    try:
        hits = operations.search(filled, case["do"]["query"], **options).hits
    except MemaiError:
        assert case["expect"]["outcome"] != "ok"
        return
    found = [hit.uid for hit in hits[:5]]
    wanted = case["expect"].get("includes", []) + case["expect"].get("wish", [])
    assert {uids[key] for key in wanted} <= set(found)
