"""Where texts and uids come from: the line, standard input, a file, an editor, a prompt."""

import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memai.cli import asking
from memai.errors import UsageError


def content(memai, uid):
    """Return the text of a memory."""
    return memai("show", uid, "--json").json["memory"]["content"]


@pytest.mark.parametrize(
    "text",
    ["plain", "final line feed\n", "\n\ttabs and \r\n line ends\r\n\r", " edges ", "\ufeffbom"],
)
def test_standard_input_is_kept_unchanged(memai, text, tmp_path):
    """`-` and --file keep every byte of the text, the final line feed included."""
    file = tmp_path / "text"
    file.write_bytes(text.encode())
    first = memai("note", "-", "-d", "a", input=text)
    second = memai("note", "--file", file, "-d", "b")
    third = memai("note", "--file", "-", "-d", "c", input=text)
    assert [content(memai, run.out.strip()) for run in (first, second, third)] == [text] * 3


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"hi \xff\xfe bye", "byte 0xff at offset 3"),
        (b"\xff\xfeh\x00i\x00", "UTF-16"),
        (b"\xe2\x28\xa1", "offset 0"),
        (b"\xed\xa0\x80", "offset 0"),
    ],
)
def test_bytes_that_are_no_utf8_are_refused(memai, tmp_path, data, told):
    """Bytes that are no UTF-8 are refused with their place, from anywhere, and nothing is kept."""
    file = tmp_path / "text"
    file.write_bytes(data)
    for run in (
        memai("note", "-", input=data),
        memai("note", "--file", file),
        memai("search", "-", input=data),
    ):
        assert (run.code, run.out) == (2, "")
        assert told in run.err
    assert memai("list", "-q").out == ""


def test_argument_bytes_that_are_no_utf8_are_refused(memai, process):
    """Broken bytes as an argument are refused with exit code 2 and nothing is kept."""
    for data in (b"\xe2\x28\xa1", b"\xf5\x80\x80\x80"):
        for line in ([b"note", data], [b"search", data], [b"list", b"-d", data], [b"show", data]):
            run = process(*line)
            assert run.code in (2, 3)
            assert run.out == ""
            assert "Traceback" not in run.err
    assert memai("list", "-q").out == ""


def test_arguments_are_utf8_whatever_the_locale(memai, process):
    """In the C locale, too, the text of the line is read as UTF-8."""
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    uid = process("note", "naïve 字", env=environment).out.strip()
    assert content(memai, uid) == "naïve 字"


@pytest.mark.parametrize("file", ["/nowhere/at-all", "/", "\0"])
def test_a_file_that_cannot_be_read_is_refused(memai, file):
    """A missing file or a folder is refused by its name."""
    run = memai("note", "--file", file)
    assert (run.code, run.out) == (2, "")
    assert "cannot be read" in run.err


def test_a_text_has_one_source(memai, tmp_path):
    """A text on the line and --file together are refused."""
    file = tmp_path / "text"
    file.write_text("x")
    assert memai("note", "text", "--file", file).code == 2
    assert memai("list", "-q").out == ""


def test_a_query_needs_no_quotes_but_a_text_does(memai):
    """The words of a query are joined; the left-over words of a text are refused."""
    uid = memai("note", "The seed file is loaded.").out.strip()
    assert memai("search", "seed", "file", "-q").lines == [uid]
    run = memai("note", "two", "words")
    assert run.code == 2
    assert "quotes" in run.err


@pytest.mark.parametrize("command", ["note", "reasoning", "handoff", "checkpoint", "anti_pattern"])
def test_a_missing_text_is_a_hint_where_nobody_can_be_asked(memai, command):
    """Without a terminal no editor opens: the exit code is 2 and the message says what to give."""
    run = memai(command, "-d", "shop")
    assert (run.code, run.out) == (2, "")
    assert "--file" in run.err or "--intent" in run.err or "--pattern" in run.err
    assert memai("list", "-q").out == ""


def test_standard_input_is_never_read_unasked(memai):
    """What waits on standard input is not taken for a text that was not asked from it."""
    assert memai("note", input="not asked for").code == 2


def test_tags_are_separated_by_commas_or_options(memai):
    """-t a,b and -t a -t b are the same; an empty tag is refused."""
    first = memai("note", "One.", "-t", "a, b,", "-t", "c").out.strip()
    assert memai("show", first, "--json").json["memory"]["tags"] == ["a", "b", "c"]
    assert memai("note", "Two.", "-t", "").code == 2
    assert memai("list", "-q", "-t", "a,c").lines == [first]


@pytest.mark.parametrize("command", ["note", "list", "search", "export", "pulse"])
def test_an_empty_domain_is_refused(memai, command, monkeypatch):
    """An empty domain, on the line or in the environment, is refused and never means all."""
    text = ["x"] if command in ("note", "search") else []
    for domain in ("", "   "):
        run = memai(command, *text, "-d", domain)
        assert (run.code, run.out) == (2, "")
    monkeypatch.setenv("MEMAI_DOMAIN", "")
    assert memai(command, *text).code == 2


def test_uids_from_a_list_can_be_forgotten_and_restored(memai):
    """`list -q | forget -` works, and so does the whole list: the first field is the uid."""
    for number in range(3):
        memai("note", f"Fact {number}.")
    quiet, rows = memai("list", "-q").out, memai("list").out
    trial = memai("forget", "-", "--dry-run", input=quiet)
    assert (trial.code, sorted(trial.lines)) == (0, sorted(quiet.split()))
    assert "dry run" in trial.err
    assert memai("list", "-q").out == quiet
    assert memai("forget", "-", input=rows).code == 0
    assert memai("list", "-q").out == ""
    back = memai("restore", "-", "--dry-run", input=quiet)
    assert back.code == 0
    assert memai("list", "-q").out == ""
    assert memai("restore", "-", input="\n\n" + quiet + "\n").code == 0
    assert memai("list", "-q").out == quiet


def test_no_uids_on_standard_input_change_nothing(memai):
    """An empty list of uids is no failure: it says that nothing was changed."""
    run = memai("forget", "-", input="\n")
    assert (run.code, run.out) == (0, "")
    assert "nothing was changed" in run.err
    assert memai("forget", "-", "--json", input="").json["uids"] == []


def test_one_wrong_uid_of_many_changes_none(memai):
    """If one uid does not exist, no memory is changed."""
    uid = memai("note", "A fact.").out.strip()
    assert memai("forget", "-", input=f"{uid}\n7f3kq2zmxa\n").code == 3
    assert memai("list", "-q").lines == [uid]


def test_a_dry_run_of_superseding_changes_nothing(memai):
    """Superseding with --dry-run shows what would be, and leaves no relation."""
    old, new = (memai("note", text).out.strip() for text in ("Old.", "New."))
    run = memai("forget", old, "--superseded-by", new, "--dry-run", "--json")
    assert run.json["memories"][0]["superseded_by"] == [new]
    assert memai("relations", new).out == ""


def test_the_file_of_a_backup_is_no_uid(memai, home):
    """A file given to restore is answered with recover."""
    run = memai("restore", str(home / "memai.db"))
    assert run.code == 2
    assert "memai recover" in run.err


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.text(min_size=1).filter(lambda t: t.strip() and "\0" not in t))
def test_any_text_comes_back_as_it_was(memai, text):
    """Whatever is on standard input is what show gives back, or a sentence and nothing kept."""
    run = memai("note", "-", "--json", "--allow-secret", input=text)
    if run.code == 0:
        uid = run.json["uid"]
        assert content(memai, uid) == text
        assert memai("show", uid).out.partition("\n\n")[2] == text
    else:
        assert (run.code, run.out) == (2, "")


def test_bytes_are_decoded_strictly_and_within_bounds():
    """Text is decoded as UTF-8 without replacement."""
    assert asking.decoded("é".encode(), "It") == "é"
    with pytest.raises(UsageError, match="It is not UTF-8"):
        asking.decoded("é".encode("latin-1"), "It")


# --- the editor -----------------------------------------------------------------------------------


@pytest.fixture
def editor(tmp_path):
    """Make an editor of a Python script, whose variable `t` is the text and is saved."""

    def make(script, *, status=0):
        path = tmp_path / "editor"
        seen = tmp_path / "seen"
        path.write_text(
            "#!/usr/bin/env python3\nimport sys\n"
            "f = open(sys.argv[-1], newline='', encoding='utf-8'); t = f.read(); f.close()\n"
            f"open({str(seen)!r}, 'w', newline='').write(t)\n"
            f"{script}\n"
            "f = open(sys.argv[-1], 'w', newline='', encoding='utf-8'); f.write(t); f.close()\n"
            f"sys.exit({status})\n"
        )
        path.chmod(0o755)
        return {"EDITOR": f"{path} --wait", "TMPDIR": str(tmp_path)}, seen

    return make


def leftovers(tmp_path):
    """Return the drafts that were left behind."""
    return [path for path in tmp_path.iterdir() if path.name.startswith("memai-")]


def test_a_note_without_a_text_opens_the_editor(memai, terminal, editor, tmp_path):
    """On a terminal a note is written in $EDITOR; the template shows the fields and is left out."""
    environment, seen = editor("t = '# A heading\\n\\nA fact.\\n' + t")
    run = terminal("note", "-d", "shop", "-t", "a,b", env=environment)
    assert run.code == 0
    template = seen.read_text()
    assert "# domain:   shop" in template
    assert "# tags:     a, b" in template
    assert "# type:     note" in template
    found = memai("list", "--json").json["memories"]
    assert [m["content"] for m in found] == ["# A heading\n\nA fact."]
    assert leftovers(tmp_path) == []


def test_visual_goes_before_editor(memai, terminal, editor):
    """$VISUAL is asked first."""
    environment, _ = editor("t = 'From VISUAL.' + t")
    environment["VISUAL"] = environment["EDITOR"]
    environment["EDITOR"] = "false"
    assert terminal("handoff", env=environment).code == 0
    assert "From VISUAL." in memai("list").out


@pytest.mark.parametrize(
    ("command", "section", "told"),
    [
        ("checkpoint", "pursuing", "Pursuing: Login\n\nand more"),
        ("anti_pattern", "pattern", "Anti-pattern: Login\n\nand more"),
    ],
)
def test_sections_are_written_below_their_headings(memai, terminal, editor, command, section, told):
    """A checkpoint and an anti_pattern have a heading for each of their fields."""
    environment, seen = editor(
        f"import re; t = re.sub('(# == {section} == .*)', r'\\1\\nLogin\\n\\nand more\\n', t)"
    )
    assert terminal(command, env=environment).code == 0
    assert f"# == {section} == " in seen.read_text()
    assert memai("list", "--json").json["memories"][0]["content"] == told


@pytest.mark.parametrize("before", ["One.\n\n# two\n", "no feed at the end", "\n\n edges \n\n"])
def test_editing_starts_from_the_text_and_keeps_its_end(memai, terminal, editor, before):
    """An edit without a text opens it in the editor; only what was typed is changed."""
    uid = memai("note", "-", input=before).out.strip()
    environment, _ = editor("t = 'New first line.\\n' + t")
    run = terminal("edit", uid, "--reason", "better", env=environment)
    assert run.code == 0
    shown = memai("show", uid, "--json").json
    assert shown["memory"]["content"] == "New first line.\n" + before
    assert shown["history"][0]["reason"] == "better"


def test_an_edit_of_a_field_opens_no_editor(memai, terminal):
    """An edit that names a field does not ask for a text."""
    uid = memai("note", "A fact.").out.strip()
    assert terminal("edit", uid, "--add-tag", "x", env={"EDITOR": "false"}).code == 0


@pytest.mark.parametrize("command", ["note", "checkpoint", "edit"])
def test_leaving_the_editor_without_writing_keeps_nothing(
    memai, terminal, editor, command, tmp_path
):
    """An unchanged template is exit code 2, and nothing is kept or left behind."""
    uid = memai("note", "A fact.").out.strip()
    environment, _ = editor("pass")
    run = terminal(command, *([uid] if command == "edit" else []), env=environment)
    assert run.code == 2
    assert "Nothing was written" in run.out
    assert len(memai("list", "-q").lines) == 1
    assert memai("show", uid, "--json").json["history"] == []
    assert leftovers(tmp_path) == []


def test_an_editor_that_fails_keeps_nothing(memai, terminal, editor):
    """A failing or missing editor is a sentence, and nothing is kept."""
    environment, _ = editor("t = 'Something.' + t", status=1)
    assert "failed" in terminal("note", env=environment).out
    missing = terminal("note", env={"EDITOR": "/nowhere/at-all"})
    assert missing.code == 2
    assert "cannot be started" in missing.out
    assert "VISUAL" in terminal("note", env={"PATH": "/nowhere"}).out
    assert memai("list", "-q").out == ""


def test_what_was_written_is_not_lost_when_it_cannot_be_kept(memai, terminal, editor, tmp_path):
    """A text that is refused stays in its file, and the message says where."""
    environment, _ = editor("t = 'A fact worth keeping.' + t")
    run = terminal("note", "-t", "x" * 100, env=environment)
    assert run.code == 2
    (draft,) = leftovers(tmp_path)
    assert draft.read_text().startswith("A fact worth keeping.")
    assert draft.stat().st_mode & 0o077 == 0
    assert draft.name in run.out


def test_someone_who_was_faster_is_not_overwritten(memai, terminal, editor, tmp_path):
    """A memory that was changed while the editor was open is not overwritten."""
    uid = memai("note", "A fact.").out.strip()
    other = tmp_path / "other"
    environment, _ = editor(f"import os; os.system({str(other)!r}); t = 'Mine. ' + t")
    other.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m memai edit {uid} Theirs. >/dev/null\n")
    other.chmod(0o755)
    run = terminal("edit", uid, env=environment)
    assert run.code == 4
    assert content(memai, uid) == "Theirs."
    assert len(leftovers(tmp_path)) == 1


def test_no_input_opens_no_editor_and_asks_nothing(memai, terminal, editor):
    """--no-input never opens an editor and never asks."""
    environment, seen = editor("t = 'x' + t")
    assert terminal("note", "--no-input", env=environment).code == 2
    assert not seen.exists()
    uid = memai("note", "A fact.").out.strip()
    assert terminal("purge", uid, "--no-input").code == 4


# --- the prompt of purge --------------------------------------------------------------------------


def test_purge_asks_for_the_phrase_on_a_terminal(memai, terminal):
    """On a terminal purge shows the memory and wants the phrase typed."""
    uid = memai("note", "A secret \x1b[31m.").out.strip()
    run = terminal("purge", uid, typed=f"DELETE {uid}\n", prompt=f"Type DELETE {uid}")
    assert run.code == 0
    assert "A secret \\x1b[31m." in run.out
    assert memai("show", uid).code == 3


@pytest.mark.parametrize("typed", ["y\n", "DELETE\n", "\n", "delete {uid}\n", "\x04"])
def test_another_phrase_erases_nothing(memai, terminal, typed):
    """Anything but the phrase is refused, also the end of input."""
    uid = memai("note", "A fact.").out.strip()
    run = terminal("purge", uid, typed=typed.format(uid=uid), prompt="Type DELETE")
    assert run.code == 4
    assert memai("list", "-q").lines == [uid]


def test_ctrl_c_at_the_prompt_erases_nothing(memai, terminal):
    """Ctrl-C at the prompt is 130 and erases nothing."""
    uid = memai("note", "A fact.").out.strip()
    run = terminal("purge", uid, typed="\x03", prompt="Type DELETE")
    assert run.code == 130
    assert memai("list", "-q").lines == [uid]


def test_purge_never_takes_an_abbreviation(memai, terminal):
    """An abbreviated uid is refused before anything is asked, and with the phrase too."""
    uid = memai("note", "A fact.").out.strip()
    assert terminal("purge", uid[:6]).code == 4
    run = memai("purge", uid[:6], "--confirm", f"DELETE {uid}")
    assert run.code == 4
    assert memai("purge", uid, "--confirm", f"DELETE {uid}").code == 0
    assert not re.search(uid, memai("list", "--all").out)
