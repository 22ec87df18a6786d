"""Help: every command in its group, its options and examples, and what is meant by a slip."""

import re
import shlex

import pytest

from memai.cli import manual, usage
from memai.cli.program import Program
from memai.operations import OPERATIONS

NAMES = [op.name for op in OPERATIONS]


def test_memai_alone_shows_every_command_in_its_group(memai):
    """`memai`, `memai -h`, `memai --help` and `memai help` are the same, and exit 0."""
    alone = memai()
    assert alone.code == 0
    for line in (["-h"], ["--help"], ["help"]):
        assert memai(*line).out == alone.out
    found = re.findall(r"^  ([a-z][\w-]*)  ", alone.out, re.MULTILINE)
    assert sorted(name for name in NAMES if " " not in name) == sorted(
        name for name in found if name not in ("serve-mcp", "setup", "help")
    )
    for heading in ("Write:", "Read:", "Curate:", "Look after:", "Serve:"):
        assert heading in alone.out
    assert "serve-mcp" in alone.out
    for topic in manual.TOPICS:
        assert f"memai help {topic}" in alone.out


@pytest.mark.parametrize("name", [*NAMES, "serve-mcp", "setup", "help"])
def test_each_command_explains_itself(memai, name):
    """-h after a command and `help` before it are the same: what, how, examples, codes."""
    words = name.split()
    run = memai(*words, "-h")
    assert run.code == 0
    assert memai("help", *words).out == run.out
    assert memai("help", *words, "--json").json == {"text": run.out}
    assert run.err == ""
    assert f"memai {name}" in run.out
    for part in ("Usage:", "Options of every command:", "Exit codes:", "Environment:"):
        assert part in run.out
    assert max(len(line) for line in run.lines) <= 100
    for op in OPERATIONS:
        if op.name == name:
            for example in op.examples:
                assert manual.example_of(example) in run.out


@pytest.mark.parametrize("name", sorted(manual.TOPICS))
def test_pages_that_belong_to_no_command(memai, name):
    """Exit codes, environment and output have pages of their own."""
    run = memai("help", name)
    assert run.code == 0
    assert len(run.lines) > 5


def test_a_default_is_told(memai):
    """The help of an option says its default."""
    assert re.search(r"--limit N .*Default: 20", memai("list", "-h").out, re.DOTALL)


def test_help_goes_through_the_pager_on_a_small_terminal(terminal):
    """`memai help` longer than the screen is paged, -h is printed as it is."""
    first = "Long-term memory for AI agents and the people who work with them.\n"
    assert terminal("help", lines=10, env={"PAGER": "head -n 1"}).out == first
    assert terminal("-h", lines=10, env={"PAGER": "head -n 1"}).out != first


def test_the_version_is_told(memai):
    """--version is one line on standard output."""
    run = memai("--version")
    assert run.code == 0
    assert re.fullmatch(r"memai \S.*\n", run.out)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lsit", "list"),
        ("serach", "search"),
        ("add", "note"),
        ("get", "show"),
        ("rm", "forget"),
        ("delete", "forget"),
        ("find", "search"),
        ("query", "search"),
        ("ls", "list"),
        ("LIST", "list"),
        ("serve", "serve-mcp"),
        ("serve_mcp", "serve-mcp"),
        ("antipattern", "anti_pattern"),
        ("check-point", "checkpoint"),
    ],
)
def test_a_wrong_command_is_answered_with_the_right_one(memai, typed, meant):
    """A slip or another program's word is exit code 2 and names the command that is meant."""
    run = memai(typed, "x")
    assert (run.code, run.out) == (2, "")
    assert f"Did you mean 'memai {meant}'?" in run.err


def test_a_hyphen_stands_for_an_underscore(memai):
    """`memai anti-pattern` is `memai anti_pattern`, also as a type."""
    uid = memai("anti-pattern", "--pattern", "Retry without a limit").out.strip()
    assert memai("list", "-q", "--type", "anti-pattern").lines == [uid]


def test_a_word_like_no_command_names_none(memai):
    """Where nothing is near, nothing is suggested."""
    run = memai("xyzzy")
    assert run.code == 2
    assert "Did you mean" not in run.err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (["list", "--lmit", "3"], "--limit"),
        (["list", "--project", "x"], "--domain"),
        (["list", "--tags", "x"], "--tag"),
        (["purge", "x", "--force"], "--confirm"),
        (["--jsn", "list"], "--json"),
        (["note", "x", "--from-file", "y"], "--file"),
    ],
)
def test_a_wrong_option_is_answered_with_the_right_one(memai, line, meant):
    """A slip in an option, or another program's name for it, names the option that is meant."""
    run = memai(*line)
    assert (run.code, run.out) == (2, "")
    assert f"Did you mean '{meant}'?" in run.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["list", "-n", "0"], "--limit: '0' is no whole number from 1 to 1000"),
        (["list", "-n", "1_0"], "--limit"),
        (["list", "-n", "1" * 5000], "--limit"),
        (["list", "--type", "novel"], "'note', 'checkpoint'"),
        (["show"], "UID is missing"),
        (["link", "x", "supersedes"], "OTHER is missing"),
        (["search"], "memai search QUERY"),
        (["forget"], "'-' to read uids from standard input"),
        (["search", "-v"], "memai search QUERY"),
        (["note", "-5 degrees"], "goes after '--'"),
        (["list", "--json=yes"], "does not take a value"),
        (["list", "-d"], "requires an argument"),
    ],
)
def test_a_wrong_value_is_answered_with_what_is_accepted(memai, line, told):
    """A sentence says which argument is wrong and what would be right."""
    run = memai(*line)
    assert (run.code, run.out) == (2, "")
    assert told in run.err
    assert run.err.count("\n") == 1


def test_what_is_suggested_exists():
    """Each word of other programs means a command that there is."""
    assert set(usage._COMMANDS) <= set(Program().list_commands(None))


def test_examples_are_command_lines(memai):
    """Every example of the table is a command line that a shell can split."""
    for op in OPERATIONS:
        for example in op.examples:
            assert shlex.split(manual.example_of(example))
