"""What a person sees: layout for a width, colour with meaning, safe texts, the pager."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai import records, terminal
from memai.cli import output, style, views

SGR = re.compile(r"\x1b\[[0-9;]*m")
PAINFUL = "evil \x1b]52;c;eA==\x07 \x1b[2J \x9b31m \u202e rtl \r over \x08 \u2066 \ufeff end"


def plain(width=80, **changes):
    """Return a screen without colour."""
    return output.Screen(width, 24, colour=False, verbose=False)._replace(**changes)


def memory(**changes):
    """Return a memory."""
    made = records.Memory(
        uid="7f3kq2zmxa",
        type="note",
        domain="shop",
        session=None,
        tags=("staging",),
        status="active",
        confidence="unverified",
        content="Staging resets every night.",
        agent="cli",
        source=None,
        key=None,
        origin=None,
        created_at="2026-03-01T10:00:00.000000Z",
        updated_at="2026-03-01T10:00:00.000000Z",
        version=1,
        extra={},
    )
    return made._replace(**changes)


def listed(*memories):
    """Return the answer of list."""
    return records.Listed(False, memories, None)


@pytest.fixture
def march(monkeypatch):
    """Stop the clock three hours after the memories were made."""
    monkeypatch.setattr("memai.when.clock", lambda: 1_772_370_000_000_000)


def test_a_list_aligns_uid_type_domain_age_and_text(march):
    """A list has a line for each memory: uid, type, domain, age, first line, tags if they fit."""
    other = memory(uid="k4m8p0tzw2", type="handoff", domain=None, tags=(), content="\n\n Go on.\n")
    assert list(views.lines(listed(memory(), other), plain(100))) == [
        "7f3kq2zmxa  note     shop  3 h ago  Staging resets every night.  #staging",
        "k4m8p0tzw2  handoff  -     3 h ago  Go on.",
    ]


def test_what_is_hidden_or_contradicted_is_said_before_the_text(march):
    """Archived, superseded, contradicted and confirmed memories are marked in a list."""
    found = listed(
        memory(status="archived"),
        memory(superseded_by=("k4m8p0tzw2",)),
        memory(confidence="contradicted"),
        memory(confidence="confirmed"),
    )
    marks = [re.search(r"\[(\w+)\]", line)[1] for line in views.lines(found, plain(120))]
    assert marks == ["archived", "superseded", "contradicted", "confirmed"]


@given(
    st.lists(
        st.tuples(st.text(max_size=300), st.text(max_size=40), st.integers(0, 4)),
        min_size=1,
        max_size=4,
    ),
    st.integers(20, 220),
    st.booleans(),
)
def test_no_line_of_a_list_is_wider_than_the_screen(found, width, colour):
    """Whatever the texts and the width are, no line is wider and nothing in it is obeyed."""
    kinds = ("note", "checkpoint", "anti_pattern", "reasoning", "handoff")
    memories = [
        memory(
            content=content,
            domain=domain or None,
            type=kinds[kind],
            tags=(content[:30] or "x",),
            status="archived" if len(domain) % 2 else "active",
            confidence="contradicted" if len(content) % 2 else "unverified",
        )
        for content, domain, kind in found
    ]
    for line in views.lines(listed(*memories), plain(max(width, 56), colour=colour)):
        bare = SGR.sub("", line)
        assert terminal.width(bare) <= max(width, 56)
        assert terminal.safe(bare, newlines=False) == bare


@given(st.text(max_size=200), st.integers(8, 120), st.booleans())
def test_a_passage_wraps_within_its_columns_and_loses_nothing(text, columns, colour):
    """A wrapped passage keeps every word, within its columns, and nothing in it is obeyed."""
    lines = style.wrapped(text, [], columns, 1_000, colour)
    for line in lines:
        assert terminal.width(line) <= columns
    kept = "".join(lines).replace(" ", "")
    assert kept == terminal.safe(text, newlines=False, tabs=False).replace(" ", "")


def test_matching_words_are_marked():
    """Marked words are coloured, or between asterisks where there is no colour."""
    text, marks = "the seed file is loaded", [(4, 8), (17, 23)]
    assert style.wrapped(text, marks, 80, 3, False) == ["the *seed* file is *loaded*"]
    assert style.wrapped(text, marks, 80, 3, True) == [
        "the \x1b[1;31mseed\x1b[0m file is \x1b[1;31mloaded\x1b[0m"
    ]


def test_a_long_passage_ends_with_an_ellipsis():
    """A passage of more lines than there is room for says that it goes on."""
    lines = style.wrapped("word " * 100, [], 20, 3, False)
    assert len(lines) == 3
    assert lines[-1].endswith("…")


def test_a_hit_shows_where_it_is_from_and_why(memai, march):
    """A hit shows its source in the head line; -v adds routes and scores."""
    hit = records.Hit(
        "7f3kq2zmxa", "note", "shop", ("staging",), "active", "unverified", "cli", None,
        "2026-03-01T10:00:00.000000Z", "2026-03-01T10:00:00.000000Z",
        "the seed file", (0, 13), ((4, 8),), 13, "both", ("words", "meaning"), 0.032787,
        {"words": 1.5, "meaning": 0.7},
    )  # fmt: skip
    found = records.Found(False, True, (hit,), None)
    assert list(views.lines(found, plain())) == [
        "7f3kq2zmxa  note  shop  3 h ago  both  #staging",
        "  the *seed* file",
    ]
    verbose = list(views.lines(found, plain(verbose=True)))
    assert verbose[2] == (
        "  score 0.032787  words 1.5  meaning 0.7  agent cli  characters 0:13 of 13"
    )


@pytest.mark.parametrize(
    "command", ["list", "search", "show", "pulse", "relations", "domains", "history", "export"]
)
def test_stored_text_is_never_obeyed_by_a_terminal(memai, terminal, command):
    """Every field of a memory is escaped in every view."""
    uid = memai(
        "note", "-", "-t", "t\u202eag", "-d", "do\u202emain", "--source", "s\u2066", input=PAINFUL
    ).out.strip()
    other = memai("note", "seed " + PAINFUL.replace("end", "seed"), "-d", "x\u2067").out.strip()
    memai("link", uid, "re\u202elates", other, "--note", "n\u2066 \x1b[1m")
    memai("edit", uid, "--add-tag", "new\u2069", "--reason", "why \x1b[1m\u202e")
    given = {"search": ["evil"], "show": [uid], "relations": [uid], "history": [uid]}
    for options in ([], ["-v"], ["--json"], ["--jsonl"]):
        run = terminal(command, *given.get(command, []), *options, lines=200)
        assert run.code == 0
        bare = SGR.sub("", run.out)
        hidden = set("\x1b\x07\x08\x9b\r\u202e\u2066\u2067\u2069\ufeff")
        assert not set(bare) & hidden
        assert "\\u202e" in bare or command == "domains"


def test_show_on_a_terminal_gives_the_text_with_its_lines(memai, terminal):
    """On a terminal the text keeps its lines and tabs."""
    uid = memai("note", "-", input="one\n\n\ttwo\nthree\n").out.strip()
    assert "\none\n\n        two\nthree\n" in terminal("show", uid).out.expandtabs()


@pytest.mark.parametrize(
    ("environment", "options", "coloured"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, [], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({}, ["--color", "never"], False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, [], True),
    ],
)
def test_colour_is_a_wish_of_the_reader(memai, terminal, environment, options, coloured):
    """NO_COLOR, FORCE_COLOR, TERM and --color decide on colour, the option above all."""
    memai("note", "A fact.")
    run = terminal("list", *options, env=environment)
    assert (SGR.search(run.out) is not None) is coloured


def test_force_color_leaves_rows_for_pipes_as_they_are(memai, monkeypatch):
    """What programs read is never coloured; what people read is, also in a pipe."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    memai("note", "A fact.")
    for form in ([], ["-q"], ["--json"]):
        assert "\x1b" not in memai("list", *form).out
    assert "\x1b[31;1m" in memai("show", "zzzz").err
    assert "\x1b[1m" in memai("-h").out
    assert "\x1b[" in memai("list", "--color", "always").out


def test_a_terminal_answer_fits_its_width(memai, terminal):
    """The width of the terminal is respected, and COLUMNS goes before it."""
    memai("note", "word " * 60, "-d", "shop")
    for columns in (60, 80, 120, 200):
        run = terminal("list", columns=columns, env={"NO_COLOR": "1"})
        assert columns - 6 <= max(len(line) for line in run.lines) <= columns
    run = terminal("list", columns=80, env={"NO_COLOR": "1", "COLUMNS": "100"})
    assert len(run.lines[0]) > 80


def test_narrow_screens_give_the_text_a_line_of_its_own(march):
    """Where the columns leave no room for the text it stands on the next line."""
    lines = list(
        views.lines(listed(memory(type="anti_pattern", domain="a-long-domain")), plain(56))
    )
    assert len(lines) == 2
    assert lines[1] == "  Staging resets every night.  #staging"


@pytest.fixture
def pager(tmp_path):
    """Return a program that says it was the pager, with what it was given in LESS."""
    path = tmp_path / "pager"
    path.write_text('#!/bin/sh\necho "paged with $LESS: $(wc -l)"\n')
    path.chmod(0o755)
    return str(path)


def test_only_an_answer_longer_than_the_screen_is_paged(memai, terminal, pager):
    """A short answer is printed, a long one goes through the pager, with LESS=FRX."""
    for number in range(15):
        memai("note", f"Fact {number}.")
    environment = {"MEMAI_PAGER": pager, "PAGER": "false"}
    assert "paged" not in terminal("list", lines=40, env=environment).out
    assert terminal("list", lines=10, env=environment).out == "paged with FRX: 15\n"
    assert terminal("list", lines=10, env={"PAGER": pager, "LESS": "S"}).out.startswith(
        "paged with S: "
    )


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (["--no-pager"], {}),
        ([], {"MEMAI_PAGER": "cat"}),
        ([], {"MEMAI_PAGER": ""}),
        ([], {"TERM": "dumb"}),
        ([], {"MEMAI_PAGER": "/nowhere/at-all"}),
        ([], {"MEMAI_PAGER": "'unbalanced"}),
    ],
)
def test_paging_can_be_declined_and_a_missing_pager_is_no_failure(
    memai, terminal, pager, options, environment
):
    """Without a pager that works, or with one declined, the answer is printed."""
    for number in range(15):
        memai("note", f"Fact {number}.")
    run = terminal("list", *options, lines=10, env={"PAGER": pager, **environment})
    assert run.code == 0
    assert "Fact 0." in run.out


def test_a_pager_that_is_left_early_is_no_failure(memai, terminal, tmp_path):
    """Leaving the pager before the end is no failure and says nothing."""
    for number in range(60):
        memai("note", f"Fact {number}: " + "word " * 400)
    quitter = tmp_path / "quitter"
    quitter.write_text("#!/bin/sh\nread line\nexit 0\n")
    quitter.chmod(0o755)
    uid = memai("list", "-q", "-n", "1").out.strip()
    memai("edit", uid, "-", input="line\n" * 40_000)
    run = terminal("show", uid, lines=10, env={"MEMAI_PAGER": str(quitter)})
    assert (run.code, run.out) == (0, "")


def test_a_json_answer_on_a_terminal_is_laid_out(memai, terminal):
    """JSON on a terminal is indented; in a pipe it is one line."""
    memai("note", "A fact.")
    assert '\n  "memories": [' in terminal("list", "--json").out


def test_counts_are_tables_on_a_terminal(memai, terminal):
    """Both domains and stats lay their counts out as tables."""
    memai("note", "A fact.", "-d", "shop")
    assert "memories" in terminal("domains").lines[0]
    assert re.search(r"memories +type", terminal("stats", env={"NO_COLOR": "1"}).out)


def test_doctor_says_that_all_is_well(memai, terminal):
    """A healthy store is one line; the same on a terminal and with --color always."""
    memai("note", "A fact.")
    assert "All is well" in memai("doctor", "--color", "always").out


@pytest.mark.skipif(sys.platform == "win32", reason="no LC_ALL there")
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
@pytest.mark.parametrize("form", [[], ["-q"], ["--json"], ["--color", "always"]])
def test_a_console_that_lacks_characters_gets_escapes(memai, process, environment, form):
    """What an encoding lacks is written as an escape; JSON stays JSON with the same content."""
    text = "naïve 字 🚀 …"
    memai("note", text, "-d", "été")
    run = process("list", *form, env=environment, raw=True)
    assert run.code == 0
    assert run.err == b""
    if form == ["--json"]:
        import json

        encoding = environment.get("PYTHONIOENCODING", "ascii")
        assert json.loads(run.out.decode(encoding))["memories"][0]["content"] == text
