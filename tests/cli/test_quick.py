"""Plain command lines are taken apart without Click, and exactly as Click does it."""

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memai import cli, signatures
from memai.cli import program, quick, running, starting
from memai.cli.choices import EVERYWHERE, Choices
from memai.operations import OPERATIONS

NAMES = [op.name for op in OPERATIONS]
# What can stand anywhere on a line and mean something, or be a mistake.
ODDITIES = [
    *("-", "--", "", " ", "-x", "-n", "-n5", "-qv", "-q", "-v", "-h", "--help", "--version", "-i"),
    *("--no-such", "--limit", "--limit=", "--limit=7", "--json=1", "--db", "--color=never", "-d="),
    *("5", "0", "-5", "1.5", "1_0", " 7", "٧", "1e3", "inf", "9" * 20, "a b", "é", "\udcff", "x,y"),
    *("note", "list", "anti-pattern", "ANTI_PATTERN", "active", "rename", "help", "serve-mcp"),
    *("--newer", "--no-newer", "--file", "--type", "--tag=a", "-t", "-d", "always", "confirmed"),
]


def options_of(name):
    """Return the options of a command, with values that may be meant."""
    made = []
    for p in quick.signature(name).options():
        values = {"integer": ["1", "20"], "number": ["0.8", "1"], "flag": [None]}.get(
            p.kind, [*p.choices] or ["a", "-", "2026-03-29"]
        )
        for value in values:
            made += [[p.option]] if value is None else [[p.option, value], [f"{p.option}={value}"]]
            if p.param.short and value is not None:
                made.append([f"-{p.param.short}", value])
    return made


def everywhere():
    """Return the options of every command with values that may be meant."""
    values = {"db": "other.db", "color": "never"}
    return [
        [declaration, values[name]] if value else [declaration]
        for name, declarations, value, _ in EVERYWHERE
        for declaration in declarations
    ]


@st.composite
def lines(draw):
    """Make command lines: most of them plain, some of them odd."""
    name = draw(st.sampled_from(NAMES))
    shared = st.sampled_from(everywhere())
    odd = st.sampled_from(ODDITIES).map(lambda token: [token])
    words = st.sampled_from([["a"], ["abcd"], ["two words"], ["-"], ["confirmed"]])
    own = st.sampled_from(options_of(name)) if options_of(name) else shared
    kinds = [words, words, own, own, shared, odd] if draw(st.booleans()) else [words, own, shared]
    before = draw(st.lists(shared, max_size=2))
    after = draw(st.lists(st.one_of(kinds), max_size=6))
    return [token for part in [*before, name.split(), *after] for token in part]


def performed(call, line, monkeypatch):
    """Return what a way of taking lines apart would run, None if it runs nothing."""
    found = []

    def perform(choices, given, operation, signature):
        found.append((vars(choices), given, operation.name, signature._replace(returns=None)))
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(running, "perform", perform)
        code = call(line)
    return (code, *found)


@pytest.mark.parametrize("name", NAMES)
def test_signatures_read_ahead_are_those_of_the_operations(name):
    """What was read ahead is what reading the operation gives now."""
    function = next(op.function for op in OPERATIONS if op.name == name)
    assert quick.signature(name) == signatures.read(function)._replace(returns=None)


@given(line=lines())
@example(line=["domains", "rename", "a", "b"])
@example(line=["--json", "domains", "--here"])
@example(line=["search", "a", "--no-newer", "b", "-d", "-"])
def test_what_is_plain_click_takes_apart_alike(line):
    """A line that is taken apart without Click runs the same operation with the same values."""
    with pytest.MonkeyPatch.context() as patch:
        quickly = performed(quick.call, line, patch)
        if quickly != (None,):
            assert quickly == performed(program.call, line, patch)


def served(call, line, monkeypatch):
    """Return what a way of taking lines apart would serve, None if it serves nothing."""
    found = []

    def serve(choices, **options):
        found.append((vars(choices), options))
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(starting, "serve", serve)
        code = call(line)
    return (code, *found)


@given(
    before=st.lists(st.sampled_from(everywhere()), max_size=1),
    after=st.lists(
        st.sampled_from(
            [
                *everywhere(),
                *(
                    ["--tools", "all"],
                    ["--tools=daily"],
                    ["--tools", "some"],
                    ["--prefix", "memai_"],
                ),
                *(["--read-only"], ["--allow-purge"], ["--http"], ["--http", ":1"], ["word"]),
                *(["--allow-host", "a"], ["--prefix"], ["-x"]),
            ]
        ),
        max_size=3,
    ),
)
def test_a_server_is_started_alike(before, after):
    """A line that starts the server without Click gives it the same options."""
    line = [token for part in [*before, ["serve-mcp"], *after] for token in part]
    with pytest.MonkeyPatch.context() as patch:
        quickly = served(quick.call, line, patch)
        if quickly != (None,):
            assert quickly == served(program.call, line, patch)


@pytest.mark.parametrize(
    "line", ["serve-mcp", "serve-mcp --tools all --prefix m_", "--db a serve-mcp --read-only"]
)
def test_a_server_is_started_without_click(line, monkeypatch):
    """What clients are set up with is plain."""
    assert served(quick.call, line.split(), monkeypatch)[0] == 0


def test_the_name_of_the_server_may_be_text(monkeypatch):
    """A text that is a name of a command is text."""
    assert performed(quick.call, ["note", "serve-mcp"], monkeypatch)[0] == 0
    assert served(quick.call, ["nothing", "serve-mcp"], monkeypatch) == (None,)


@pytest.mark.parametrize(
    "line",
    [
        shlex.split(example.rpartition("|")[2].replace("{", "").replace("}", ""))[1:]
        for op in OPERATIONS
        for example in op.examples
    ],
    ids=shlex.join,
)
def test_the_examples_are_plain(line, monkeypatch):
    """Every example of the manual is run without Click."""
    assert performed(quick.call, line, monkeypatch)[0] == 0


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["-h"],
        ["list", "-h"],
        ["list", "--help"],
        ["--version"],
        ["help", "list"],
        ["nothing"],
        ["anti-pattern", "--pattern", "a"],
        ["list", "-n", "0"],
        ["list", "-n", "1001"],
        ["list", "-n", "x"],
        ["list", "-n5"],
        ["list", "-n"],
        ["list", "-i"],
        ["list", "left-over"],
        ["list", "--type", "fact"],
        ["list", "--json", "--json"],
        ["list", "--domain", "--json"],
        ["show"],
        ["show", "a", "b"],
        ["show", "--", "a"],
        ["note", ""],
        ["note", "\udcff"],
        ["domains", "renam", "a", "b"],
    ],
    ids=shlex.join,
)
def test_click_decides_on_what_is_not_plain(line):
    """Help, mistakes and what is rare are left to Click."""
    assert quick.call(line) is None


def test_both_ways_end_alike(memai, monkeypatch):
    """A line does the same to the store and says the same whichever way it went."""
    uid = memai("note", "A fact.", "-d", "shop", "-t", "a,b").out.strip()
    said = ["list", "--json"], ["list", "-d", "shop", "-q"], ["show", uid], ["search", "fact"]
    wrong = (
        ["show", "zzzz"],
        ["list", "--since", "someday"],
        ["edit", uid, "--if-version", "9", "x"],
    )
    quickly = [memai(*line) for line in (*said, *wrong)]
    monkeypatch.setattr(quick, "call", lambda _line: None)
    assert [memai(*line) for line in (*said, *wrong)] == quickly


def test_choices_start_as_they_are_documented():
    """A line without options leaves every choice at its default."""
    assert vars(quick.taken_apart(["list"]).choices) == {} == vars(Choices())


def test_a_line_runs_quickly_through_the_front_door(memai, monkeypatch):
    """A plain line never reaches Click."""
    monkeypatch.setattr(program, "call", None)
    assert memai("list").code == 0
    assert cli.main(["stats"]) == 0
