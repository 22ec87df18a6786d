"""Plain questions of the Tab key are answered without Click, and exactly as Click answers them."""

import io
import shlex
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memai import cli, open_store, operations
from memai.cli import program, quick, tab
from memai.cli.candidates import Candidate
from memai.cli.choices import EVERYWHERE
from memai.cli.shells import quoted, written
from memai.operations import OPERATIONS

NAMES = [*(op.name for op in OPERATIONS), "help", "serve-mcp", "setup", "anti-pattern", "nothing"]
SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Make a store whose memories are current, superseded and hidden; return path and uids."""
    path = str(tmp_path_factory.mktemp("tab") / "memai.db")
    store = open_store(path)
    uids = [
        operations.note(store, "A fact: \x1b[31m\tor two.\nMore.", domain="shop/A:1").uid,
        operations.handoff(
            store, "Gehe weiter, äußerst 快.", domain="two words", tags=("a,b",)
        ).uid,
        operations.note(store, "Third.", tags=("a", "b")).uid,
        operations.note(store, "Fourth.", tags=("a",)).uid,
    ]
    operations.forget(store, (uids[0],))
    operations.link(store, uids[3], "supersedes", uids[2])
    store.close()
    return path, uids


def asked(shell, words, incomplete, env, *, click):
    """Return what a shell is answered, by way of Click or as it comes; None for no answer."""
    place = incomplete if shell == "fish" else str(len(words) + 1)
    line = "\n".join(["memai", *words, *([incomplete] if incomplete else [])])
    answer = io.BytesIO()
    out = io.TextIOWrapper(answer, encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        for name, value in {"COMP_WORDS": line, "COMP_CWORD": place, **env}.items():
            patch.setenv(name, value)
        patch.setenv("_MEMAI_COMPLETE", f"{shell}_complete")
        code = program.call([]) if click else tab.answer(f"{shell}_complete")
        out.flush()
    return None if code is None else (code, answer.getvalue().decode())


@st.composite
def lines(draw):
    """Make the words of a line before the one that is completed."""
    name = draw(st.sampled_from(NAMES))
    shared = [[d, "x"] if value else [d] for _, ds, value, _ in EVERYWHERE for d in ds]
    own = [["-x"], ["--no-such"], ["--"], ["--limit=5"]]
    if name in quick.SIGNATURES:
        for p in quick.signature(name).options():
            own += [[p.option], [p.option, "5"], [p.option, *p.choices[:1]]]
    word = st.sampled_from([["a"], ["-"], ["confirmed"], ["é"], ["rename"], ["'a"]])
    part = st.one_of(word, word, st.sampled_from(own), st.sampled_from(shared))
    before = draw(st.lists(st.sampled_from(shared), max_size=1))
    after = draw(st.lists(part, max_size=3)) if draw(st.booleans()) else []
    names = [] if draw(st.integers(0, 9)) == 0 else [name.split()]
    return [token for piece in [*before, *names, *after] for token in piece]


BEGUN = [
    "",
    "a",
    "A",
    "s",
    "sh",
    "re",
    "no",
    "-",
    "--",
    "--li",
    "=",
    "a=",
    "two",
    "'",
    "con",
    "5",
    "b,",
]


@given(
    shell=st.sampled_from(SHELLS),
    words=lines(),
    incomplete=st.sampled_from(BEGUN) | st.integers(0, 3),
    listing=st.booleans(),
)
@example(shell="zsh", words=["restore", "a", "--reason"], incomplete="", listing=False)
@example(shell="zsh", words=["forget", "a", "--superseded-by"], incomplete="", listing=False)
@example(shell="bash", words=["list", "-t"], incomplete="a,", listing=True)
@example(shell="fish", words=["link", "a"], incomplete="", listing=False)
def test_what_is_answered_click_answers_alike(stored, shell, words, incomplete, listing):
    """A question that is answered without Click gets the answer that Click gives."""
    path, uids = stored
    begun = uids[incomplete][:3] if isinstance(incomplete, int) else incomplete
    env = {"MEMAI_DB": path} | ({"COMP_TYPE": "63", "COLUMNS": "60"} if listing else {})
    quickly = asked(shell, words, begun, env, click=False)
    if quickly is not None:
        assert quickly == asked(shell, words, begun, env, click=True)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "show ",
        "show ab",
        "edit ",
        "forget abcd ",
        "restore ",
        "list -d ",
        "list --domain sh",
        "list -t ",
        "list --type ",
        "list --json -n 5 --since ",
        "--db x.db show ",
        "show --db x.db ",
        "--db ",
        "note words --file ",
        "confidence abcd ",
        "link abcd ",
        "link abcd supersedes ",
        "backup ",
        "search --color ",
        "sea",
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_usual_is_answered_without_click(stored, monkeypatch, shell, line):
    """Commands, uids, domains, tags, words and paths are offered without Click."""
    words = shlex.split(line)
    begun = words.pop() if line and not line.endswith(" ") else ""
    assert asked(shell, words, begun, {"MEMAI_DB": stored[0]}, click=False) is not None


@pytest.mark.parametrize(
    ("words", "begun"),
    [
        (["list"], "-"),
        (["list"], "--li"),
        (["list"], "--domain=sh"),
        (["domains"], ""),
        (["domains", "rename"], ""),
        (["help"], ""),
        (["nothing"], ""),
        (["list", "--no-such"], ""),
        (["list", "-n", "many"], ""),
        (["list", "'a"], ""),
        (["list", "--", "a"], ""),
    ],
)
def test_what_is_unusual_is_left_to_click(words, begun):
    """Options, quotes, commands of two words and mistakes are for Click."""
    assert asked("zsh", words, begun, {}, click=False) is None


def test_other_questions_are_left_to_click(monkeypatch):
    """Other shells, scripts and places that are no number are for Click."""
    monkeypatch.setenv("COMP_WORDS", "memai\nshow")
    for question, place in [
        ("powershell_complete", "1"),
        ("zsh_source", "1"),
        ("zsh_complete", ""),
    ]:
        monkeypatch.setenv("COMP_CWORD", place)
        assert tab.answer(question) is None


def test_the_front_door_asks_without_click(stored, monkeypatch):
    """A plain question never reaches Click."""
    monkeypatch.setattr(program, "call", None)
    monkeypatch.setenv("_MEMAI_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "memai\nshow")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert cli.main([]) == 0


@given(value=st.text(max_size=5))
def test_bash_takes_each_value_for_one_word(value):
    """What is written for bash is one word to it: the value."""
    assert shlex.split(quoted(value)) == [value]
    assert written("bash", [Candidate(value, kind="file")]) == f"file,{value}"
