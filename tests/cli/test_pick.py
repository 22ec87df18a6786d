"""Picking with fzf: what it is given, what its keys do, and what happens without it."""

import pytest


@pytest.fixture
def fzf(tmp_path):
    """Make an fzf that keeps what it was given, takes a line, and presses a key."""

    def make(key="", line=1, status=0, pick=True):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "fzf"
        taken = f"echo '{key}'; sed -n {line}p {tmp_path}/given" if pick else ":"
        program.write_text(
            f"#!/bin/sh\ncat > {tmp_path}/given\nprintf '%s\\n' \"$@\" > {tmp_path}/options\n"
            f"printf '%s' \"$MEMAI_DB\" > {tmp_path}/store\n{taken}\nexit {status}\n"
        )
        program.chmod(0o755)
        return {"PATH": f"{folder}:/usr/bin:/bin", "NO_COLOR": "1"}

    return make


@pytest.fixture
def uids(memai):
    """Keep two memories; return their uids as a list shows them."""
    older = memai("note", "One \x1b[31m fact.").out.strip()
    return [memai("note", "Another.").out.strip(), older]


def test_enter_shows_the_memory_that_was_picked(memai, terminal, fzf, uids, tmp_path):
    """The list is handed to fzf, a line each, escaped; enter shows the one that was picked."""
    run = terminal("list", "-i", env=fzf(line=2))
    assert run.code == 0
    assert "One \\x1b[31m fact." in run.out
    given = (tmp_path / "given").read_text().split("\n")
    assert [line.split("\t")[0] for line in given] == uids
    assert "\x1b" not in "".join(given)
    options = (tmp_path / "options").read_text()
    assert "memai show" in options
    assert "One" not in options
    assert (tmp_path / "store").read_text().endswith("/memai/memai.db")


def test_hits_can_be_picked_too(terminal, fzf, uids):
    """A search with -i picks among the hits."""
    run = terminal("search", "fact", "-i", env=fzf())
    assert run.code == 0
    assert uids[1] in run.out


def test_keys_edit_forget_and_print(memai, terminal, fzf, uids):
    """ctrl-e edits, ctrl-f forgets, ctrl-u prints the uid."""
    editor = {"EDITOR": "sed -i 's/Another/Changed/'"}
    assert terminal("list", "-i", env={**fzf("ctrl-e"), **editor}).code == 0
    assert "Changed." in memai("show", uids[0]).out
    assert terminal("list", "-i", env=fzf("ctrl-u")).out == uids[0] + "\n"
    run = terminal("list", "-i", env=fzf("ctrl-f"))
    assert run.code == 0
    assert f"memai restore {uids[0]}" in run.out
    assert memai("list", "-q").lines == uids[1:]


@pytest.mark.parametrize("status", [1, 130])
def test_leaving_fzf_does_nothing(terminal, fzf, uids, status):
    """Escape, or no match, ends with 0 and silence."""
    run = terminal("list", "-i", env=fzf(status=status, pick=False))
    assert (run.code, run.out) == (0, "")


def test_a_failing_fzf_is_told(terminal, fzf, uids):
    """Any other end of fzf is a failure of the command."""
    run = terminal("list", "-i", env=fzf(status=2, pick=False))
    assert run.code == 2
    assert "fzf failed" in run.out


def test_without_fzf_a_sentence_says_how_to_get_it(terminal, uids, tmp_path):
    """Where fzf is missing the message says how to get it."""
    run = terminal("list", "-i", env={"PATH": str(tmp_path)})
    assert run.code == 2
    assert "apt install fzf" in run.out


def test_picking_needs_a_terminal(memai, uids):
    """In a pipe there is nobody to pick."""
    run = memai("list", "-i")
    assert (run.code, run.out) == (2, "")


def test_nothing_to_pick_from_is_said(terminal, fzf):
    """An empty list opens no fzf."""
    run = terminal("list", "-i", env=fzf(status=2, pick=False))
    assert run.code == 0
    assert "Nothing was found." in run.out
