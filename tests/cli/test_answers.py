"""The forms of an answer: rows for pipes, JSON for programs, uids alone, remarks beside it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai.cli import output, rows
from memai.cli.choices import Choices
from memai.records import Found, Listed


@pytest.fixture
def kept(memai):
    """Keep two memories; return their uids, the older first."""
    first = memai("note", "Staging resets\tevery night.\n", "-d", "shop", "-t", "a,b")
    second = memai("handoff", "E-mail templates are next.")
    assert (first.code, second.code) == (0, 0)
    return first.out.strip(), second.out.strip()


def test_a_writer_answers_a_pipe_with_the_uid(memai):
    """The answer of a writer in a pipe is the uid and nothing else."""
    run = memai("note", "A fact.")
    assert run.code == 0
    assert len(run.lines) == 1
    assert len(run.lines[0]) == 10
    assert run.err == ""


def test_a_list_in_a_pipe_is_one_row_a_memory(memai, kept):
    """Rows are separated by tabs, whole, with times in UTC, and without a header."""
    older, newer = kept
    first, second = (line.split("\t") for line in memai("list").lines)
    assert first[:3] == [newer, "handoff", "-"]
    assert second[:3] == [older, "note", "shop"]
    assert second[3].endswith("Z")
    assert second[4:] == ["active", "a,b", r"Staging resets\tevery night.\n"]


def test_quiet_gives_uids_only(memai, kept):
    """-q gives the uids, one a line, and no remark."""
    run = memai("list", "-q")
    assert run.lines == [kept[1], kept[0]]
    assert run.err == ""


@pytest.mark.parametrize("where", ["before", "after"])
def test_options_of_every_command_work_before_and_after_it(memai, kept, where, tmp_path):
    """--json and --db mean the same before the command and after it."""
    options = ("--json", "--db", str(tmp_path / "other.db"))
    run = memai(*options, "list") if where == "before" else memai("list", *options)
    assert run.json == {
        "truncated": False,
        "memories": [],
        "next": None,
        "notes": [],
    }


def test_json_is_one_object_with_its_remarks_inside(memai, kept):
    """With --json remarks are in the object, and standard error is empty."""
    run = memai("list", "-d", "nowhere", "--json")
    assert run.json["memories"] == []
    assert run.json["notes"]
    assert run.err == ""
    assert len(run.lines) == 1


def test_remarks_go_to_standard_error(memai, kept):
    """Without --json a remark is said on standard error, after the program's name."""
    run = memai("list", "-d", "nowhere")
    assert run.out == ""
    assert run.err.startswith("memai: ")


def test_nothing_found_is_said_and_is_no_failure(memai):
    """An empty answer leaves standard output empty, says so, and exits 0."""
    run = memai("search", "anything")
    assert (run.code, run.out) == (0, "")
    assert run.err == "memai: Nothing was found.\n"


def test_jsonl_gives_an_object_a_line(memai, kept):
    """--jsonl gives each memory or hit on a line of its own."""
    uids = [json.loads(line)["uid"] for line in memai("list", "--jsonl").lines]
    assert uids == [kept[1], kept[0]]
    hits = [json.loads(line) for line in memai("search", "staging", "--jsonl").lines]
    assert hits[0]["uid"] == kept[0]
    assert "match_source" in hits[0]


def test_a_cut_list_says_how_to_go_on(memai):
    """A list that stopped at its default limit says so; one the caller counted does not."""
    for number in range(21):
        memai("note", f"Fact {number}.")
    run = memai("list", "-q")
    assert len(run.lines) == 20
    assert f"--after {run.lines[-1]}" in run.err
    assert memai("list", "-q", "-n", "5").err == ""
    rest = memai("list", "-q", "--after", run.lines[-1])
    assert len(rest.lines) == 1


def test_lists_for_pipes_are_not_cut_to_bytes(memai):
    """Rows are whole however long they are; the same list as JSON keeps to its bytes."""
    for number in range(3):
        memai("note", f"{number} " + "word " * 2_500)
    assert len(memai("list").lines) == 3
    assert memai("list", "--json").json["truncated"]
    asked = memai("list", "--max-bytes", "400")
    assert len(asked.lines) == 1
    assert "--max-bytes" in asked.err


def test_show_gives_back_the_text_unchanged(memai):
    """In a pipe the text of show stands after the first empty line, unchanged."""
    text = "\n first\r\nline\t\x1b[31m\x07 \u2028 \u202e end \n\n"
    uid = memai("note", "-", input=text).out.strip()
    head, _, body = memai("show", uid).out.partition("\n\n")
    assert body == text
    assert ["uid", uid] in [line.split("\t") for line in head.split("\n")]
    assert memai("show", uid, "--json").json["memory"]["content"] == text


def test_show_tells_relations_and_history_in_its_head(memai, kept):
    """The head of show has a row for every relation and every edit."""
    memai("link", *kept[:1], "relates_to", kept[1])
    memai("edit", kept[0], "--add-tag", "c", "--reason", "more")
    head = memai("show", kept[0]).out.partition("\n\n")[0].split("\n")
    assert f"relation\tto\trelates_to\t{kept[1]}\tE-mail templates are next." in head
    assert any(row.startswith("edit\t1\t") and row.endswith("\tcli\tmore\ttags") for row in head)


def test_a_search_row_says_how_it_was_found(memai, kept):
    """A hit's row ends with match source, score and snippet; -v adds the scores."""
    row = memai("search", "staging").lines[0].split("\t")
    assert row[4] in ("fts", "vec", "both")
    assert float(row[5]) > 0
    assert row[6] == "Staging resets every night."
    verbose = memai("search", "staging", "-v").lines[0].split("\t")
    assert "words=" in verbose[7]


def test_a_pulse_in_a_pipe_ends_with_what_was_left_out(memai):
    """Each part of a pulse is a row; what was left out comes last, with the way to read it."""
    memai("checkpoint", "-d", "shop", "--intent", "Ship", "--pursuing", "Login")
    for number in range(12):
        memai("note", f"Fact {number}.", "-d", "shop")
    rows_ = [line.split("\t") for line in memai("pulse", "-d", "shop").lines]
    assert rows_[0][0] == "checkpoint"
    assert rows_[0][-1] == r"Intent: Ship\nPursuing: Login"
    assert [row[0] for row in rows_[1:11]] == ["note"] * 10
    assert rows_[-1] == ["omitted", "0 handoffs", "0 anti_patterns", "2 notes", rows_[-1][-1]]
    assert "memai list" in rows_[-1][-1]


@pytest.mark.parametrize("budget", [800, 1800, 5000])
def test_a_pulse_keeps_to_its_bytes_in_every_form(memai, terminal, budget):
    """--max-bytes holds for JSON, for rows and for what a terminal shows."""
    memai("checkpoint", "-d", "shop", "--intent", "Ship " * 30)
    for number in range(30):
        memai("note", f"Fact {number}: " + "word " * 30, "-d", "shop")
        memai("handoff", f"Hand-off {number}: " + "字" * 50, "-d", "shop")
    option = ("--max-bytes", str(budget))
    assert len(memai("pulse", *option, "--json").out.encode()) <= budget
    assert len(memai("pulse", *option).out.encode()) <= budget
    assert len(memai("pulse", *option, "--color", "always").out.encode()) <= budget


def test_an_answer_without_a_form_of_its_own_is_names_and_values(memai, kept):
    """Statistics in a pipe is a row for each value, nested names joined by dots."""
    values = dict(line.split("\t", 1) for line in memai("stats").lines)
    assert values["counts.memories"] == "2"
    assert values["counts.by_type.note"] == "1"
    assert values["exists"] == "yes"


def test_a_domain_list_names_its_counts(memai, kept):
    """Each domain comes with its counts; '-' is none."""
    found = {row[0]: row[1:3] for row in (line.split("\t") for line in memai("domains").lines)}
    assert found == {"-": ["1", "1"], "shop": ["1", "1"]}
    assert sorted(memai("domains", "-q").lines) == ["-", "shop"]


def test_an_export_is_json_lines(memai, kept):
    """An export writes a line of JSON for each memory, with and without --json."""
    plain, asked = memai("export"), memai("export", "--json")
    assert plain.out == asked.out
    assert {json.loads(line)["uid"] for line in plain.lines} == set(kept)


def test_json_escapes_what_breaks_lines_or_terminals(memai):
    """C1 controls, DEL and the Unicode line ends are escapes in JSON, and mean the same."""
    text = "a\x9b31m \x7f \u2028 \u2029 字 b"
    uid = memai("note", "-", input=text).out.strip()
    run = memai("show", uid, "--json")
    assert not set(run.out) & set("\x9b\x7f\u2028\u2029")
    assert "字" in run.out
    assert run.json["memory"]["content"] == text


@given(st.text())
def test_a_field_is_one_field_and_can_be_read_back(text):
    """An escaped field has no tab, no line end and no control, and can be undone."""
    field = rows.field(text)
    assert len(field.splitlines()) <= 1
    assert "\t" not in field
    assert "\x1b" not in field
    undone, at = "", 0
    names = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    while at < len(field):
        if field[at] != "\\":
            undone, at = undone + field[at], at + 1
        elif field[at + 1] in names:
            undone, at = undone + names[field[at + 1]], at + 2
        else:
            digits = {"x": 2, "u": 4}[field[at + 1]]
            undone, at = undone + chr(int(field[at + 2 : at + 2 + digits], 16)), at + 2 + digits
    assert undone == text


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5))
def test_json_keeps_every_value(value):
    """What is written as JSON reads back the same, on one line of any reader."""
    for indent in (False, True):
        written = output.as_json(value, indent=indent)
        assert json.loads(written) == value
    assert len(output.as_json(value).splitlines()) == 1


def test_every_form_is_chosen_by_its_option():
    """JSON wins over lines, lines over uids; --color always lays out as on a terminal."""
    choices = Choices()
    assert output.form(choices) == "rows"
    for name, form in (("quiet", "quiet"), ("jsonl", "jsonl"), ("json", "json")):
        setattr(choices, name, True)
        assert output.form(choices) == form
    coloured = Choices()
    coloured.color = "always"
    assert output.form(coloured) == "screen"


def test_lists_without_a_view_of_their_own_still_have_lines():
    """Every answer has lines for a terminal and rows for a pipe, known or not."""
    from memai.cli import views

    screen = output.Screen(80, 24, colour=False, verbose=False)
    for answer in (Listed(False, (), None), Found(False, True, (), None)):
        assert list(views.lines(answer, screen)) == []
        assert list(rows.rows(answer)) == []
