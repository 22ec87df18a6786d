"""Queries and the words they find, alone and against a real FTS5."""

import json
import re

import apsw
import pytest
from hypothesis import example, given, settings
from support import SHARED
from texts import ANYTHING, TEXTS

from memai.queries import MAX_CLAUSES, MAX_QUERY_BYTES, Clause, WordQuery, excluded, word_query
from memai.text import fold, index_words


def quoted(clause: Clause) -> str:
    """Return a clause in FTS5's syntax."""
    words = " + ".join(f'"{token}"' for token in clause.tokens)
    return words + " *" if clause.prefix else words


def expression(query: WordQuery) -> str:
    """Return a query in FTS5's syntax."""
    either = " OR ".join(map(quoted, query.clauses))
    return " AND ".join([*map(quoted, query.phrases), f"({either})"])


class Index:
    """A word index as the store keeps it."""

    def __init__(self, *texts: str) -> None:
        self.db = apsw.Connection(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE f USING fts5(t, tokenize='porter unicode61 remove_diacritics 2')",
        )
        for number, text in enumerate(texts):
            self.db.execute("INSERT INTO f(rowid, t) VALUES (?, ?)", (number, index_words(text)))

    def search(self, query: str, *without: str) -> list[int]:
        """Return the numbers of the texts found, best first."""
        asked = word_query(query)
        if not asked.clauses:
            return []
        match = f"({expression(asked)})"
        for clause in excluded(without):
            match += f" NOT ({quoted(clause)})"
        rows = self.db.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank, rowid", (match,))
        return [number for (number,) in rows]


# -- what is found ----------------------------------------------------------------------------

FOUND = [
    ("Run the pre-edit hook before touching files", "pre-edit"),
    ("The pre edit hook", "pre-edit"),
    ("The preedit hook", "pre-edit"),
    ("session-recalling in CLAUDE.md", "session-recall"),
    ("session-recalling in CLAUDE.md", "CLAUDE.md"),
    ("File-back ingest lint", "File-back ingest lint"),
    ("ask-codex notes", "ask-codex"),
    ("database schema migration plan", "migration database"),
    ("Ticket PROJ-1042 is done", "proj-1042"),
    ("The host is 10.0.0.1, port 80", "10.0.0.1"),
    ("Use std::vector<int> here", "std::vector<int>"),
    ("parse bug in src/utils/parse_date.ts line 40", "src/utils/parse_date.ts"),
    ("parse bug in src/utils/parse_date.ts line 40", "parse_date"),
    ("getUserById returns null", "getUserById"),
    ("getUserById returns null", "user by id"),
    ("the function get_user_by_id", "getUserById"),
    ("HTTPServer and parseIDs", "http server"),
    ("an ActiveRecord attribute", "active record"),
    ("pass --dry-run to see", "--dry-run"),
    ("Written in C++ and C#", "C++"),
    ("Written in C++ and C#", "c#"),
    ("Runs on .NET 8", ".NET"),
    ("Runs on .NET 8", "dotnet"),
    ("ASP.NET Core", "asp.net"),
    ("重跑gen-itgc后清零", "itgc"),
    ("用户身份验证说明", "身份"),
    ("用户身份验证说明", "验证"),
    ("用户身份验证说明", "户"),
    ("用户身份验证说明", "明"),
    ("飞书插件已经配置好", "飞书插件配置"),
    ("データベースを消す", "データベース"),
    ("ﾃﾞｰﾀﾍﾞｰｽを消す", "データベース"),
    ("데이터베이스는 백업 후에 삭제한다", "데이터베이스를"),
    ("데이터베이스는 백업 후에 삭제한다", "백업"),
    ("우리 집에서", "집"),
    ("นัดประชุมทีมวันพุธ", "ประชุม"),
    ("हिन्दी में लिखा", "हिन्दी"),
    ("موعد الاجتماع يوم الثلاثاء", "اجتماع"),
    ("مَوعِد الاجتماع", "موعد"),
    ("שָׁלוֹם לכם", "שלום"),
    ("ПРИВЕТ из Казани", "Привет"),
    ("за\u0301мок на горе", "замок"),
    ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
    ("The file is missing", "ﬁle"),
    ("ＡＰＩ ｋｅｙ", "api key"),
    ("café au lait", "cafe"),
    ("cafe\u0301 au lait", "café"),
    ("STRASSE", "straße"),
    ("İstanbul", "istanbul"),
    ("party 🎉", "🎉"),
    ("party 😀", "😀😀"),
    ("approved 👍🏽", "👍"),
    ("I ❤️ this", "❤"),
    ("soft\u00adhyphen and zero\u200dwidth", "softhyphen zerowidth"),
    ("it\u2019s a test account", "it's a test"),
    ("Alice's review", "Alice"),
    ("Review by Alice", "alice’s"),
    ("l'avion est parti", "avion"),
    ("deployment at noon", "deploy"),
    ("Wildcards are not supported", "wild*"),
    ("Boolean operators AND OR NOT", "AND OR NOT"),
    ("NOT NULL constraints", "NOT"),
    ("The tier1-test of unicode", "tier1-test AND unicode"),
    ("a\x00b", "ab"),
]


@pytest.mark.parametrize(("text", "query"), FOUND)
def test_a_query_finds_the_text_it_means(text: str, query: str) -> None:
    """A text is found by other spellings, forms and parts of what stands in it."""
    assert Index("Nothing to see", text).search(query) == [1]


@pytest.mark.parametrize(
    ("better", "worse", "query"),
    [
        ("notes on C++ style", "notes on C style", "C++"),
        ("notes on C# style", "notes on C style", "C#"),
        ("see PROJ-1042 for it", "see 1042 in PROJ for it", "PROJ-1042"),
        ("the pre-edit hook", "edit it before the pre hook", "pre-edit"),
        ("go to src/memai/text.py", "text of py in memai src", "src/memai/text.py"),
        ("데이터베이스를 지운다", "데이터베이스는 지운다", "데이터베이스를"),
    ],
)
def test_the_exact_form_ranks_first(better: str, worse: str, query: str) -> None:
    """What holds the query as written comes before what holds its parts."""
    assert Index(worse, "something else", "one more", better, "the last").search(query)[0] == 3


def test_a_quoted_phrase_is_required() -> None:
    """What does not hold a quoted phrase is not found, whatever else it holds."""
    texts = ("the database migration at midnight", "a migration of the database at midnight")
    assert Index(*texts).search('"database migration" midnight') == [0]
    assert Index(*texts).search("“database migration” midnight") == [0]
    assert sorted(Index(*texts).search('"database migration midnight')) == [0, 1]
    assert Index("用户身份验证", "身份用户").search('"身份验证"') == [0]


def test_excluded_words_and_phrases() -> None:
    """A text that holds an excluded word or phrase is not found."""
    texts = ("red apple", "green apple", "dark green apple", "用户apple")
    assert sorted(Index(*texts).search("apple", "red")) == [1, 2, 3]
    assert sorted(Index(*texts).search("apple", "dark green", "用户")) == [0, 1]
    assert excluded(["", "...", "\ud800"]) == ()


# -- queries ----------------------------------------------------------------------------------


def words_of(query: str) -> list[str]:
    """Return the clauses of a query as text, a star where the last word may go on."""
    return [" ".join(c.tokens) + "*" * c.prefix for c in word_query(query).clauses]


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("", []),
        ("!!! ??? ...", []),
        ("()*", []),
        ('"', []),
        ("what is the deploy window", ["deploy", "window", "window*"]),
        ("where was the summer theatre located", ["summer", "theatre", "located"]),
        ("summer theatre?", ["summer", "theatre"]),
        ("the of", ["the", "of"]),
        ("don't", ["don"]),
        ("we don't deploy", ["deploy", "deplo*"]),
        ("db", ["db"]),
        ("PROJ-1042", ["proj 1042"]),
        ("v1.2.3-beta?", ["v1 2 3 beta"]),
        ("5-year plan", ["5 year", "year", "plan", "plan*"]),
        ("1990–1999", ["1990", "1999"]),
        ("GitHub issues?", ["github", "issues"]),
        ("getUser id", ["getuser", "get user", "id"]),
        ("C++", ["cplusplus", "c"]),
        ("用户身份", ["用户", "户身", "身份"]),
        ("用", ["用*"]),
        ("same same SAME?", ["same"]),
        ('say "hello world"', ["hello world", "say", "hello", "world"]),
        ("a b* c", ["b", "c"]),
    ],
)
def test_how_a_query_is_taken_apart(query: str, clauses: list[str]) -> None:
    """Stop words go unless alone, names stay together, and only short queries are continued."""
    assert words_of(query) == clauses


@pytest.mark.parametrize(
    ("query", "pieces"),
    [
        ("plain words only", ()),
        ("use foo_bar, --dry-run and (src/a.ts).", ("foo_bar", "--dry-run", "src/a.ts")),
        ("C++ at 10.0.0.1!", ("c++", "10.0.0.1")),
        ("call `foo()` with E0502", ("foo()", "e0502")),
        ("[a-z]+(?=x)", ("[a-z]+(?=x)",)),
        ("Alice's **bold** note", ()),
        ("!!! -- ...", ()),
        ("ＦＯＯ_ＢＡＲ", ("foo_bar",)),
    ],
)
def test_pieces_for_the_substring_route(query: str, pieces: tuple[str, ...]) -> None:
    """What has punctuation inside or mixes digits and letters is also sought as written."""
    assert word_query(query).substrings == pieces


def test_a_long_query_is_clamped_at_a_character() -> None:
    """At most 4 KB of a query are looked at, and no character is cut in two."""
    for query in ("é" * 5000, "alpha beta " * 5000, "用" * 100_000, '"' * 9999, "NEAR(" * 500):
        asked = word_query(query)
        assert len(asked.text.encode()) <= MAX_QUERY_BYTES
        assert query.startswith(asked.text)
    assert len(word_query("é" * 5000).text) == MAX_QUERY_BYTES // 2


def test_a_long_query_without_blanks_is_thinned_to_its_end() -> None:
    """Where there are too many pairs every other one is asked for, so the end still counts."""
    run = "".join(chr(0x4E00 + number) for number in range(60))
    clauses = word_query(run).clauses
    assert len(clauses) <= MAX_CLAUSES
    assert clauses[-1].tokens == (run[58:],)


@given(ANYTHING)
@example("\ud800\x00")
@example("'" * 100 + "s")
@example("a'" * 2000)
def test_any_query_is_bounded_and_understood(query: str) -> None:
    """Whatever is asked, the parts are bounded, clean and accepted by FTS5."""
    asked = word_query(query)
    assert len(asked.clauses) <= MAX_CLAUSES
    assert len(asked.substrings) <= MAX_CLAUSES
    assert len(set(asked.clauses)) == len(asked.clauses)
    assert all(piece == fold(piece) and len(piece) > 2 for piece in asked.substrings)
    asked.text.encode()
    for clause in (*asked.clauses, *asked.phrases, *excluded([query])):
        assert clause.tokens
        for token in clause.tokens:
            assert token
            assert not re.search(r"[\s\"'\x00*]", token)
    Index(query.encode(errors="ignore").decode(), "other").search(query)


@settings(max_examples=150)
@given(TEXTS)
@example("C++b a++")
@example('say"x y"')
@example("x\u0301y")
@example("\uff9e \u3042\uff9f\u3044 a\uff9e")
def test_every_stretch_of_a_text_finds_it(text: str) -> None:
    """Each piece of a text between blanks that has words finds the text."""
    index = Index(text)
    for chunk in text.split():
        if word_query(chunk).clauses and len(chunk) <= 60:
            assert index.search(chunk) == [0], chunk


# -- the awkward cases ------------------------------------------------------------------------


def awkward() -> list[object]:
    """Return the search cases whose texts a word index must find."""
    path = SHARED / "eval" / "awkward" / "awkward.jsonl"
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip("no folder of evaluation data here"))]
    cases = []
    for line in path.read_text("utf-8").split("\n"):
        case = json.loads(line) if line else {}
        if case.get("group") in {"fts-syntax", "identifiers", "scripts"}:
            wanted = case["expect"].get("includes", []) + case["expect"].get("wish", [])
            if case["do"]["op"] == "search" and wanted:
                cases.append(pytest.param(case, id=case["id"]))
    return cases


@pytest.mark.parametrize("case", awkward())
def test_an_awkward_query_finds_its_text(case: dict) -> None:
    """Each awkward query has its text among the first five of the index by words alone."""
    distractors = json.loads((SHARED / "eval" / "awkward" / "distractors.json").read_text("utf-8"))
    texts = [item if isinstance(item, str) else item["text"] for item in distractors]
    notes = {item["key"]: len(texts) + n for n, item in enumerate(case["setup"])}
    found = Index(*texts, *(item["text"] for item in case["setup"])).search(case["do"]["query"])
    for key in case["expect"].get("includes", []) + case["expect"].get("wish", []):
        assert notes[key] in found[:5]
