"""How a command line ends: exit codes, one sentence, nothing on standard output after a failure."""

import json
import os
import signal
import subprocess
import sys
import time

import apsw
import pytest

from memai import errors
from memai.cli import leaving


@pytest.fixture
def uid(memai):
    """Keep a memory and return its uid."""
    return memai("note", "A fact.", "-d", "shop").out.strip()


def of_code(code, memai, uid, home, monkeypatch):
    """Return a command line that ends with this exit code."""
    if code == "usage":
        return ("list", "--no-such-option")
    if code == "no-such-memory":
        return ("show", "zzzz")
    if code == "refused":
        return ("edit", uid, "Other.", "--if-version", "7")
    if code == "confirmation-needed":
        return ("purge", uid)
    if code == "foreign-file":
        foreign = home / "foreign.db"
        foreign.write_text("no database " * 200)
        return ("list", "--db", str(foreign))
    if code == "newer-store":
        newer = home / "newer.db"
        memai("note", "A fact.", "--db", str(newer))
        connection = apsw.Connection(str(newer))
        connection.execute("PRAGMA user_version = 999")
        connection.close()
        return ("list", "--db", str(newer))
    if code == "model-missing":
        return ("reembed", "--model", "/nowhere/at-all")
    if code == "busy":
        monkeypatch.setenv("MEMAI_BUSY_SECONDS", "0")
        return ("note", "Another.")
    raise AssertionError(code)


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("usage", 2),
        ("no-such-memory", 3),
        ("refused", 4),
        ("confirmation-needed", 4),
        ("busy", 5),
        ("foreign-file", 6),
        ("newer-store", 6),
        ("model-missing", 7),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_each_failure_has_its_exit_code_and_one_sentence(
    memai, uid, home, monkeypatch, code, exit_code, as_json
):
    """A failure exits with its code, says one sentence or object, and answers nothing."""
    line = of_code(code, memai, uid, home, monkeypatch)
    lock = None
    if code == "busy":
        lock = apsw.Connection(str(home / "memai" / "memai.db"))
        lock.execute("BEGIN IMMEDIATE")
    try:
        run = memai(*line, *(["--json"] if as_json else []))
    finally:
        if lock is not None:
            lock.close()
    assert run.code == exit_code
    assert run.out == ""
    assert run.err.count("\n") == 1
    if as_json:
        error = json.loads(run.err)["error"]
        assert set(error) == {"code", "message", "exit_code"}
        assert error["exit_code"] == exit_code
        assert error["code"] == {"refused": "version-conflict"}.get(code, code)
        assert "Traceback" not in error["message"]
    else:
        assert run.err.startswith("memai: ")


def test_every_error_class_has_a_code_of_the_documented_ones():
    """Each exit code an error can have is explained, and none is explained in vain."""
    known = {code for code, _ in errors.EXIT_CODES}

    def below(kind):
        return {kind, *(c for child in kind.__subclasses__() for c in below(child))}

    used = {kind.exit_code for kind in below(errors.MemaiError)}
    assert used <= known
    assert known - used == {0, 8, 130}


def kinds(kind=errors.MemaiError):
    """Return an error class and all that derive from it."""
    return [kind, *(found for child in kind.__subclasses__() for found in kinds(child))]


class Anything(dict):
    """Values for every field of a message, some of them hostile."""

    def __missing__(self, name):
        return 7.0 if name == "seconds" else "\x1b[31m\n\u202e"


@pytest.mark.parametrize("kind", [k for k in kinds() if k.__module__ == "memai.errors"])
def test_every_error_ends_with_its_own_code(memai, monkeypatch, kind):
    """Whatever an operation raises is told in one safe line, with the exit code of its class."""

    def fail(*_arguments, **_named):
        error = kind.__new__(kind)
        message = " ".join((kind.__doc__ or "").split()).format_map(Anything())
        Exception.__init__(error, message)
        error.fields = {}
        raise error

    monkeypatch.setattr("memai.cli.output.emit", fail)
    plain, as_json = memai("list"), memai("list", "--json")
    assert plain.code == as_json.code == kind.exit_code
    assert plain.out == as_json.out == ""
    assert plain.err.count("\n") == as_json.err.count("\n") == 1
    assert not set(plain.err + as_json.err) & set("\x1b\u202e")
    error = json.loads(as_json.err)["error"]
    assert (error["code"], error["exit_code"]) == (kind.code, kind.exit_code)


def test_what_needs_a_person_exits_with_8_and_answers(memai, uid, home):
    """A finding that needs a person is exit code 8, with the findings on standard output."""
    connection = apsw.Connection(str(home / "memai" / "memai.db"))
    connection.execute("PRAGMA foreign_keys = OFF; DELETE FROM passages")
    connection.close()
    run = memai("doctor", "--json")
    assert run.code == 8
    assert run.json["ok"] is False
    assert run.json["findings"]
    assert memai("doctor").out != ""


def test_an_unexpected_error_is_one_sentence_without_a_traceback(memai, monkeypatch):
    """What nobody foresaw is exit code 1 and a sentence; MEMAI_DEBUG=1 adds the traceback."""

    def broken(*_arguments, **_named):
        raise RuntimeError("wheels\ncame off \x1b[31m")

    monkeypatch.setattr("memai.cli.output.emit", broken)
    run = memai("list")
    assert (run.code, run.out) == (1, "")
    assert run.err.count("\n") == 1
    assert "RuntimeError" in run.err
    assert "\x1b" not in run.err
    monkeypatch.setenv("MEMAI_DEBUG", "1")
    assert "Traceback" in memai("list").err
    monkeypatch.setenv("MEMAI_DEBUG", "0")
    assert json.loads(memai("list", "--json").err)["error"]["code"] == "unexpected"


def test_json_is_asked_for_before_the_double_dash():
    """Whether a failure is told as JSON is seen in the arguments, up to '--'."""
    assert leaving.wants_json(["note", "--json", "x"])
    assert leaving.wants_json(["--jsonl", "list"])
    assert not leaving.wants_json(["note", "--", "--json"])


def test_a_reader_that_leaves_early_is_no_failure(memai, process, uid):
    """A closed pipe ends a command with 0 and silence."""
    for command in (["list"], ["export"], ["-h"], ["list", "--json"]):
        read, write = os.pipe()
        os.close(read)
        run = process(*command, stdout=write)
        os.close(write)
        assert (run.code, run.err) == (0, "")


def test_a_pipeline_whose_reader_takes_one_line(memai, process, uid):
    """`memai export | head -1` of much more than a pipe holds ends well."""
    for number in range(30):
        memai("note", f"{number} " + "word " * 2_000)
    line = f"'{sys.executable}' -m memai export | head -c 100 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_an_answer_that_cannot_be_written_is_a_failure(memai, process, uid):
    """A full disk behind standard output is exit code 9; what was done stays done."""
    with open("/dev/full", "wb") as full:
        run = process("note", "Kept all the same.", stdout=full)
    assert run.code == 9
    assert "stays done" in run.err
    assert "Kept all the same." in memai("list").out


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_streams_are_no_reason_to_crash(memai, uid, closed):
    """With standard streams closed a command still ends with a code of its own."""
    line = f"'{sys.executable}' -m memai list {closed}; echo $? >&9"
    read, write = os.pipe()
    done = subprocess.run(
        ["bash", "-c", f"exec 9>&{write}; {line}"],
        pass_fds=[write],
        capture_output=True,
        check=True,
    )
    os.close(write)
    code = int(os.read(read, 10))
    os.close(read)
    assert code == (9 if ">&-" in closed.split() else 0)
    assert b"Traceback" not in done.stderr


def test_an_interrupt_is_130_and_leaves_nothing_half_done(memai, uid, home):
    """Ctrl-C while waiting for a lock ends at once with 130 and changes nothing."""
    lock = apsw.Connection(str(home / "memai" / "memai.db"))
    lock.execute("BEGIN IMMEDIATE")
    waiting = subprocess.Popen(
        [sys.executable, "-m", "memai", "note", "Never kept."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "MEMAI_BUSY_SECONDS": "60"},
    )
    time.sleep(1.0)
    began = time.monotonic()
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=30)
    lock.close()
    assert waiting.returncode == 130
    assert (out, err) == (b"", b"memai: Interrupted.\n")
    assert time.monotonic() - began < 20
    assert "Never kept." not in memai("list").out


def test_reading_makes_no_file(memai, home):
    """On a missing store every reader answers, and makes neither folder nor file."""
    for line in (["list"], ["search", "x"], ["pulse"], ["domains"], ["stats"], ["export"]):
        assert memai(*line).code == 0
    assert memai("show", "7f3kq2zmxa").code == 3
    assert memai("forget", "7f3kq2zmxa").code == 3
    assert list(home.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_9_for_writers_and_nothing_for_readers(memai, uid, home):
    """In a folder that cannot be written, reading works and writing is refused with 9."""
    folder = home / "memai"
    folder.chmod(0o500)
    try:
        assert memai("list", "-q").out.strip() == uid
        run = memai("note", "Another.")
    finally:
        folder.chmod(0o700)
    assert (run.code, run.out) == (9, "")


@pytest.mark.parametrize(
    "name", ["name with spaces, 'quotes', #, ?, % and é.db", "-.db", "a\tb.db"]
)
def test_a_store_may_have_any_name(memai, home, name):
    """--db takes any path, also one with what URIs and shells treat specially."""
    path = str(home / name)
    uid = memai("note", "A fact.", "--db", path).out.strip()
    assert memai("list", "-q", f"--db={path}").out.strip() == uid
    assert (home / name).is_file()


def test_an_empty_file_is_a_new_store(memai, home):
    """An empty file reads as an empty store and becomes one when something is written."""
    path = home / "empty.db"
    path.touch()
    assert memai("list", "--db", str(path)).code == 0
    assert path.stat().st_size == 0
    assert memai("note", "A fact.", "--db", str(path)).code == 0
    assert len(memai("list", "-q", "--db", str(path)).lines) == 1


@pytest.mark.parametrize("path", ["", "  ", "/dev/null/x.db", "/"])
def test_a_path_that_cannot_be_is_refused(memai, path):
    """A store that cannot be there is a sentence and an exit code, also for readers."""
    run = memai("note", "A fact.", "--db", path)
    assert run.code in (2, 9)
    assert run.err.startswith("memai: ")
