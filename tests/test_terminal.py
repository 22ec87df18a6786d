"""Stored text on a terminal: nothing it would obey, nothing unseen, and in its width."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memai.terminal import cut, one_line, safe, width

HAZARDS = {
    "clipboard": "\x1b]52;c;aGVsbG8=\x07",
    "link": "\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x1b\\",
    "title": "\x1b]0;title\x07",
    "colour": "\x1b[31mred\x1b[0m",
    "clear": "\x1b[2J\x1b[H",
    "8-bit CSI": "\x9b31m",
    "8-bit OSC": "\x9d0;title\x9c",
    "carriage return": "good\rbad",
    "backspace": "bad\b\b\bgood",
    "bell": "\x07",
    "null": "a\x00b",
    "delete": "\x7f",
    "override": "\u202etxt.exe",
    "isolate": "\u2066hidden\u2069",
    "marks of direction": "a\u200eb\u200fc\u061cd",
    "tags": "hi\U000e0041\U000e0042",
    "surrogate": "\ud83d",
    "separators": "a\u2028b\u2029c",
    "zero width": "pass\u200bword\u2060\ufeff",
    "joiner in ASCII": "pass\u200dword\u200c",
    "joiners in a row": "é\u200d\u200d\u200dé",
    "selectors in a row": "❤\ufe0f\ufe0f\ufe0f",
    "selector behind a letter": "a\U000e0101",
    "annotation": "\ufff9a\ufffab\ufffb",
    "soft hyphen": "exam\u00adple",
    "filler": "\u3164",
    "vertical": "a\x0bb\x0cc",
}
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
ANYTHING = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x1b\r\n\t\u200c\u200d\ufe0f\u202e\u00ad❤👩🏽مa1 用é\U000e0041\U000e0100\ud800"
        ),
    ),
)


@pytest.mark.parametrize("text", HAZARDS.values(), ids=HAZARDS.keys())
def test_a_hazard_is_shown_and_not_obeyed(text: str) -> None:
    """Every known trick comes out as printable characters, escapes in its place."""
    shown = safe(text)
    assert "\\" in shown
    assert all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} for c in shown)
    assert not UNSEEN.search(shown)
    shown.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\rb", "a\\rb"),
        ("\u202eexe", "\\u202eexe"),
        ("\U000e0041", "\\U000e0041"),
        ("\x85", "\\x85"),
    ],
)
def test_how_escapes_look(text: str, shown: str) -> None:
    """An escape is the one that Python and C readers know."""
    assert safe(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain text, with\nlines and\ttabs",
        "👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 👍🏽 1\ufe0f\u20e3 ❤\ufe0f 🇺🇸",
        "می\u200cخواهم",
        "क्\u200dष",
        "葛\U000e0100飾区",
        "Z͑ͫ̓̓A̴̵̜",
        "用户 データ 데이터 שלום Привет",
        "",
    ],
)
def test_honest_text_is_left_alone(text: str) -> None:
    """What languages and emoji need stays as it is."""
    assert safe(text) == text


def test_lines_and_tabs_stay_only_if_wanted() -> None:
    """Line feeds and tabs are escaped where a line must stay one line."""
    assert safe("a\nb\tc") == "a\nb\tc"
    assert safe("a\nb\tc", newlines=False) == "a\\nb\tc"
    assert safe("a\nb\tc", tabs=False) == "a\nb\\tc"


@given(ANYTHING, st.booleans(), st.booleans())
@example("\u200d", True, True)
@example("❤\ufe0f\u200d", True, True)
@example("é\u200d\u00adé", True, True)
def test_safe_text_is_safe_and_stays_so(text: str, newlines: bool, tabs: bool) -> None:
    """Nothing hazardous is left, and making it safe again changes nothing."""
    shown = safe(text, newlines=newlines, tabs=tabs)
    assert not UNSEEN.search(shown)
    assert newlines or "\n" not in shown
    assert tabs or "\t" not in shown
    assert safe(shown, newlines=newlines, tabs=tabs) == shown
    shown.encode()


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("abc", 3),
        ("café", 4),
        ("cafe\u0301", 4),
        ("用户", 4),
        ("ｆｕｌｌ", 8),
        ("데이터", 6),
        ("\u1112\u1161\u11ab", 2),
        ("🎉", 2),
        ("👍🏽", 2),
        ("🏽", 2),
        ("a🏽", 3),
        ("❤\ufe0f", 2),
        ("👨\u200d👩\u200d👧", 2),
        ("🇺🇸", 2),
        ("Z͑ͫ̓̓", 1),
        ("می\u200cخواهم", 7),
    ],
)
def test_columns_on_a_terminal(text: str, columns: int) -> None:
    """Wide characters take two columns, what sits on another takes none."""
    assert width(text) == columns


@given(ANYTHING.map(lambda text: safe(text, newlines=False, tabs=False)), st.integers(-1, 30))
def test_a_cut_line_fits(text: str, columns: int) -> None:
    """A cut line fits, begins as the text does, and is whole where the text fits."""
    shown = cut(text, columns)
    assert width(shown) <= max(0, columns)
    if width(text) <= columns:
        assert shown == text
    elif columns > 0:
        assert shown.endswith("…")
        assert text.startswith(shown[:-1])


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abc…"),
        ("用户身份", 6, "用户…"),
        ("用户身份", 5, "用户…"),
        ("cafe\u0301s", 4, "caf…"),
        ("cafe\u0301s", 5, "cafe\u0301s"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_where_a_line_is_cut(text: str, columns: int, shown: str) -> None:
    """The ellipsis takes a column, and no character is cut in two."""
    assert cut(text, columns) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("  \n\t\n ", ""),
        ("\n\n  first   line \nsecond", "first line"),
        ("old mac\rline", "old mac"),
        ("one\u2028two", "one"),
        ("a\tb", "a b"),
    ],
)
def test_the_first_line_of_a_text(text: str, line: str) -> None:
    """The first line that is not blank stands for a text, its white space folded."""
    assert one_line(text) == line
