"""Words, queries, passages, snippets and likeness of texts, alone and against a real FTS5."""

import json
import re
import unicodedata
from pathlib import Path

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memai import text as room
from memai.text import Clause, WordQuery, fold, index_words, passages, snippet, word_query

SHARED = Path(__file__).resolve().parents[2] / "shared"

SCRIPTS = (
    "abcdeXYZ0129",
    " \n\t",
    "-_./:'\"()*+#,;!?<>@=\\",
    "éßİﬁÅøЖйАλς",
    "用户身份验证重跑々",
    "データベースのとはがﾃﾞ",
    "데이터베이스를는집",
    "นัดประชุมเ้",
    "हिन्दीमेंক্ষ",
    "الاجتماعوَشלוםָ",
    "🎉👍🏽👨\u200d👩❤\ufe0f✓°→€½",
    "\u0301\u0323\u200b\u00ad\ufeff\u2019\u201c\u201d",
)
TEXTS = st.lists(
    st.sampled_from(SCRIPTS).flatmap(lambda script: st.text(script, min_size=1, max_size=8)),
    max_size=40,
).map("".join)
ANYTHING = st.one_of(TEXTS, st.text(st.characters(), max_size=200))


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
        for clause in room.excluded(without):
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
    assert room.excluded(["", "...", "\ud800"]) == ()


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
        assert len(asked.text.encode()) <= room.MAX_QUERY_BYTES
        assert query.startswith(asked.text)
    assert len(word_query("é" * 5000).text) == room.MAX_QUERY_BYTES // 2


def test_a_long_query_without_blanks_is_thinned_to_its_end() -> None:
    """Where there are too many pairs every other one is asked for, so the end still counts."""
    run = "".join(chr(0x4E00 + number) for number in range(60))
    clauses = word_query(run).clauses
    assert len(clauses) <= room.MAX_CLAUSES
    assert clauses[-1].tokens == (run[58:],)


@given(ANYTHING)
@example("\ud800\x00")
@example("'" * 100 + "s")
@example("a'" * 2000)
def test_any_query_is_bounded_and_understood(query: str) -> None:
    """Whatever is asked, the parts are bounded, clean and accepted by FTS5."""
    asked = word_query(query)
    assert len(asked.clauses) <= room.MAX_CLAUSES
    assert len(asked.substrings) <= room.MAX_CLAUSES
    assert len(set(asked.clauses)) == len(asked.clauses)
    assert all(piece == fold(piece) and len(piece) > 2 for piece in asked.substrings)
    asked.text.encode()
    for clause in (*asked.clauses, *asked.phrases, *room.excluded([query])):
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
def test_every_stretch_of_a_text_finds_it(text: str) -> None:
    """Each piece of a text between blanks that has words finds the text."""
    index = Index(text)
    for chunk in text.split():
        if word_query(chunk).clauses and len(chunk) <= 60:
            assert index.search(chunk) == [0], chunk


@given(TEXTS)
def test_words_are_clean_and_stable(text: str) -> None:
    """Indexed words are folded, hold no punctuation and do not depend on the Unicode form."""
    words = index_words(text)
    assert "\x00" not in words
    assert words == " ".join(words.split())
    assert words == words.casefold() or "ς" in words
    if not re.search("[A-Z]", text):
        assert set(index_words(unicodedata.normalize("NFC", text)).split()) == set(words.split())


@given(st.text("abcXYZ019 _-.#+!N", max_size=60))
def test_the_fast_path_agrees_with_the_general_one(text: str) -> None:
    """ASCII text gives the same words whether or not a foreign character follows it."""
    assert index_words(text + " é") == (index_words(text) + " é").strip()


def test_hostile_sizes_are_no_trouble() -> None:
    """Megabytes of one letter, sign, mark or mixed case are indexed with short words."""
    for text in (
        "a" * 10**6,
        "aB" * 10**5,
        "(" * 50_000,
        "a" + "\u0301\u0323" * 10**5,
        "x\n" * 10**5,
    ):
        assert max(map(len, index_words(text).split()), default=0) <= 200
        assert room.similarity(text, text) == 1
        assert len(word_query(text).clauses) <= room.MAX_CLAUSES


# -- passages ---------------------------------------------------------------------------------

LONG = st.lists(
    st.sampled_from(
        ["word ", "Sentence ends. ", "\n", "\n\n", "\n# Head\n", "。", "x" * 700, " " * 90]
    ),
    max_size=200,
).map("".join)


def test_a_short_memory_is_one_passage() -> None:
    """Up to 1,000 characters stay together, and so does a text of blanks."""
    for text in ("", "short", "x" * 1000, "  edges  ", " " * 5000, "\n" * 2000):
        assert passages(text) == [(0, len(text))]


@given(st.one_of(LONG, TEXTS.map(lambda text: text * 20)))
def test_passages_cover_the_text_in_order(text: str) -> None:
    """Passages do not overlap, stay small and leave out nothing but blanks."""
    spans = passages(text)
    end = 0
    for start, stop in spans:
        assert end <= start < stop or text.strip() == ""
        assert text[end:start].strip() == ""
        assert stop - start <= 1200
        end = stop
    assert text[end:].strip() == ""
    assert len(spans) <= len(text) / 300 + 1


@pytest.mark.parametrize(
    ("between", "closing"),
    [
        ("\n\n", "paragraph"),
        ("\n## Next\n", "heading"),
        ("\n", "line"),
        (". ", "sentence"),
        ("。", "句"),
    ],
)
def test_passages_end_where_a_reader_would_stop(between: str, closing: str) -> None:
    """Each passage ends at the best break there is."""
    text = between.join(f"{'word ' * 40}{number} {closing}" for number in range(20))
    spans = passages(text)
    assert len(spans) > 4
    for start, end in spans:
        assert text[start:end].rstrip(".。").endswith(closing)


def test_a_megabyte_has_at_most_four_thousand_passages() -> None:
    """The number of passages is bounded whatever the text looks like."""
    for text in (
        "x\n" * 500_000,
        "a" * 10**6,
        "one two. " * 111_111,
        ("y" * 10 + " " * 300) * 3000,
    ):
        assert len(passages(text)) <= 4000


def test_the_outline_shows_the_first_line_of_each_passage() -> None:
    """A head is the first line that is not blank, cut to 80 characters."""
    text = "\n\n  # Title  here\nbody\n" + "z" * 200
    assert room.outline(text, [(0, 22), (22, len(text)), (0, 2)]) == [
        (0, 22, "# Title here"),
        (22, len(text), "z" * 80),
        (0, 2, ""),
    ]


# -- snippets ---------------------------------------------------------------------------------


@given(ANYTHING, TEXTS, st.integers(0, 50), st.integers(0, 400), st.integers(10, 100))
def test_a_snippet_is_a_stretch_of_its_span(
    text: str, query: str, start: int, size: int, width: int
) -> None:
    """The offsets give the snippet back, inside the span, and marks lie in order within it."""
    span = (min(start, len(text)), min(start + size, len(text)))
    shown, begin, end, marks = snippet(text, span, word_query(query), width)
    assert span[0] <= begin <= end <= span[1]
    assert end - begin <= width
    assert " ".join(text[begin:end].split()) == shown
    last = -1
    for left, right in marks:
        assert last < left < right <= len(shown)
        last = right


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("We deployed it", "deploy", ["deployed"]),
        ("The migrations ran", "migration", ["migrations"]),
        ("Café crème", "cafe", ["Café"]),
        ("cafe\u0301 here", "CAFÉ", ["cafe\u0301"]),
        ("call getUserById now", "user", ["getUserById"]),
        ("用户身份验证说明", "身份验证", ["身份验证"]),
        ("ＡＰＩ key", "api", ["ＡＰＩ"]),
        ("party 🎉 time", "🎉", ["🎉"]),
        ("데이터베이스는", "데이터", ["데이터"]),
        ("see src/a.ts or src/b.ts", "src/a.ts", ["src", "ts", "src", "ts"]),
        ("nothing here", "absent", []),
        ("written in C++ here", "C++", ["C++"]),
        ("हिन्दी में", "हिन्दी", ["हिन्दी"]),
        ("deployments", "depl", ["deployments"]),
    ],
)
def test_marks_show_the_matching_words(text: str, query: str, marked: list[str]) -> None:
    """Marks follow case, accents, word forms and parts like the index does."""
    shown, _, _, marks = snippet(text, (0, len(text)), word_query(query))
    assert [shown[a:b] for a, b in marks] == marked


def test_a_snippet_is_taken_where_most_words_match() -> None:
    """The densest place wins over an earlier single match."""
    text = (
        "A deploy. " + "filler words here. " * 60 + "The deploy window is Monday. " + "more. " * 99
    )
    shown, start, _, marks = snippet(text, (0, len(text)), word_query("deploy window Monday"), 120)
    assert "The deploy window is Monday." in shown
    assert start > 1000
    assert len(shown) <= 120
    assert {shown[a:b] for a, b in marks} == {"deploy", "window", "Monday"}


def test_a_snippet_begins_with_a_word() -> None:
    """A cut does not begin or end in the middle of a word."""
    text = "alphabet " * 100 + "needle " + "alphabet " * 100
    shown, _, _, _ = snippet(text, (0, len(text)), word_query("needle"))
    assert set(shown.split()) == {"alphabet", "needle"}


# -- likeness ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Alice reviews Bob's code", "Bob reviews Alice's code"),
        ("We do use Redis", "We do not use Redis"),
        ("We use Redis here", "We don't use Redis here"),
        ("Deploy on Monday", "The cat sat on a mat"),
        ("", "something"),
    ],
)
def test_texts_that_say_something_else_are_less_alike(a: str, b: str) -> None:
    """Order and negation tell texts of the same words apart."""
    assert room.similarity(a, b) < 0.6


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The café opens at nine", "The cafe\u0301 opens at NINE!"),
        (
            "Deploy window is Monday at nine in the morning, UTC",
            "Deploy window is Monday at nine in the morning (UTC).",
        ),
        (
            "The staging database is restored from the nightly backup of production every day",
            "The staging database is restored from the nightly backups of production every day",
        ),
    ],
)
def test_repeats_are_alike(a: str, b: str) -> None:
    """Spelling forms, punctuation and one changed word leave texts alike."""
    assert room.similarity(a, b) > 0.7


@given(TEXTS, TEXTS)
def test_likeness_is_a_measure(a: str, b: str) -> None:
    """Likeness is symmetric, between 0 and 1, and 1 for a text and itself."""
    assert room.similarity(a, a) == 1
    assert 0 <= room.similarity(a, b) == room.similarity(b, a) <= 1


@given(ANYTHING)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    """Folded text is its own folded form, and the Unicode form it came in does not matter."""
    assert fold(fold(text)) == fold(text)
    assert fold("Ａ\u030a PROJ-1042") == fold("å proj-1042")


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
