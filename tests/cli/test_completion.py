"""What the Tab key is offered, asked as the shells ask; and that it is silent otherwise."""

import os
import shlex
import subprocess
import sys

import apsw
import pytest

_TOLD_BY_ZSH = 3  # lines a candidate: kind, value, description


@pytest.fixture
def tab(monkeypatch):
    """Ask for completions as zsh does; return (value, description) of each candidate."""

    def ask(line, *, shell="zsh", env=None):
        words = shlex.split(line)
        if line.endswith(" "):
            words.append("")
        done = subprocess.run(
            [sys.executable, "-m", "memai"],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "_MEMAI_COMPLETE": f"{shell}_complete",
                "COMP_WORDS": line,
                "COMP_CWORD": str(len(words) - 1),
                **(env or {}),
            },
        )
        assert done.stderr == ""
        said = done.stdout.splitlines()
        if shell == "bash":
            return [tuple(line.split(",", 1)) for line in said if line]
        kinds, values, helps = said[::3], said[1::3], said[2::3]
        if "file" in kinds:
            return [("file", "")]
        return [(v.replace("\\:", ":"), h) for v, h in zip(values, helps, strict=False)]

    return ask


def values(found):
    """Return the values of candidates."""
    return [value for value, _ in found]


def test_commands_come_with_their_summaries(tab):
    """Tab after memai offers every command with its summary, foreign names none."""
    found = dict(tab("memai "))
    assert {"note", "search", "list", "serve-mcp", "help"} <= set(found)
    assert found["list"].startswith("List memories")
    assert values(tab("memai anti")) == ["anti_pattern"]
    assert values(tab("memai sea")) == ["search"]


def test_uids_come_with_their_first_words(memai, tab):
    """A uid is offered with type and first words, the newest first, escaped."""
    first = memai("note", "\n\nThe seed file \x1b[31m is loaded.").out.strip()
    second = memai("handoff", "Go on with login.").out.strip()
    assert tab("memai show ") == [
        (second, "handoff: Go on with login."),
        (first, r"The seed file \x1b[31m is loaded."),
    ]
    assert values(tab(f"memai show {first[:3].upper()}")) == [first]
    assert values(tab(f"memai edit {second[:9]}")) == [second]
    assert tab("memai show ~") == []


def test_what_is_offered_fits_the_command(memai, tab):
    """Hidden memories are offered to restore, to forget current ones, to purge both; none twice."""
    kept, hidden, newer = (memai("note", text).out.strip() for text in ("One.", "Two.", "Three."))
    memai("forget", hidden)
    memai("link", newer, "supersedes", kept)
    assert values(tab("memai forget ")) == [newer]
    assert sorted(values(tab("memai restore "))) == sorted([kept, hidden])
    assert sorted(values(tab("memai purge "))) == sorted([kept, hidden, newer])
    assert values(tab(f"memai restore {kept} ")) == [hidden]
    assert values(tab("memai forget x --superseded-by ")) == [newer]


def test_domains_tags_types_and_relations(memai, tab):
    """Options offer the values that are known."""
    memai("note", "One.", "-d", "shop/PROJ:1", "-t", "alpha,beta")
    memai("note", "Two.", "-d", "other", "-t", "alpha")
    assert tab("memai list -d sh") == [("shop/PROJ:1", "1 memory")]
    assert set(values(tab("memai list --domain "))) == {"shop/PROJ:1", "other"}
    assert tab("memai list --domain=ot") == [("other", "1 memory")]
    assert tab("memai list -t ") == [("alpha", "2 memories"), ("beta", "1 memory")]
    assert values(tab("memai note x -t alpha,b")) == ["alpha,beta"]
    assert values(tab("memai list --type an")) == ["anti_pattern"]
    assert values(tab("memai confidence x con")) == ["confirmed", "contradicted"]
    assert values(tab("memai link x sup")) == ["supersedes"]
    assert values(tab("memai help sea")) == ["search"]
    assert tab("memai backup ") == [("file", "")]
    assert tab("memai --db ") == [("file", "")]


def test_options_are_offered_everywhere(tab):
    """A command offers its own options and those of every command."""
    assert {"--limit", "--json", "--db", "--help"} <= set(values(tab("memai list --")))


def test_the_store_named_on_the_line_is_asked(memai, tab, home):
    """--db before or after the command says whose uids are offered."""
    path = str(home / "other.db")
    uid = memai("note", "Elsewhere.", "--db", path).out.strip()
    assert values(tab(f"memai --db {path} show ")) == [uid]
    assert values(tab(f"memai show --db {path} ")) == [uid]
    assert tab("memai show ", env={"MEMAI_DB": path}) == [(uid, "Elsewhere.")]


def test_bash_is_given_nothing_it_would_run(memai, tab):
    """Bash inserts what it is given: stored names are quoted where it would split or run them."""
    for domain in ("two words", "$(touch owned)", "a;b", "plain/one", "q'uote"):
        memai("note", "A fact.", "-d", domain)
    offered = {value for _, value in tab("memai list -d ", shell="bash")}
    assert offered == {"'two words'", "'$(touch owned)'", "'a;b'", "plain/one", "'q'\"'\"'uote'"}


@pytest.mark.parametrize(
    "line", ["memai show ", "memai list -d ", "memai list -t ", "memai nope x"]
)
def test_silence_where_there_is_nothing_to_offer(tab, home, line):
    """A missing store is silence, and completing makes no file."""
    assert tab(line) == []
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("line", ["memai show ", "memai list -d ", "memai list -t "])
def test_silence_on_a_broken_or_foreign_store(tab, home, line):
    """A store that cannot be read is silence."""
    path = home / "broken.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    for name in (path, home, "", "/nowhere/x.db"):
        assert tab(line, env={"MEMAI_DB": str(name)}) == []
    assert tab(line, env={"MEMAI_DOMAIN": ""}) == []


def test_a_locked_store_does_not_hold_the_tab_key(memai, tab, home):
    """While another process writes, the candidates come at once or not at all."""
    uid = memai("note", "A fact.").out.strip()
    lock = apsw.Connection(str(home / "memai" / "memai.db"))
    lock.execute("BEGIN EXCLUSIVE")
    try:
        assert values(tab("memai show ")) in ([uid], [])
    finally:
        lock.close()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_told_its_script(process, shell):
    """Click's own script of each shell can be asked for."""
    run = process(env={"_MEMAI_COMPLETE": f"{shell}_source"})
    assert run.code == 0
    assert "_MEMAI_COMPLETE" in run.out


def test_an_unknown_question_is_answered_with_silence(process):
    """A shell that is not known is no reason for a message."""
    run = process(env={"_MEMAI_COMPLETE": "csh_complete"})
    assert (run.code, run.out, run.err) == (1, "", "")
