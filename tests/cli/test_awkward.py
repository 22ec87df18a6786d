"""Inputs that broke other tools, through the shell: each works or ends in a clean refusal.

The cases live in a folder beside the checkout and are skipped where it is missing.
"""

import json
import os
import signal
import subprocess
import sys
import time

import apsw
import pytest
from support import SHARED

FILE = SHARED / "eval" / "awkward" / "awkward.jsonl"
GROUPS = {
    "cli-args",
    "empty",
    "characters",
    "surrogates",
    "size",
    "structured",
    "ids",
    "time",
    "process",
    "fts-syntax",
}


def cases():
    """Return the cases of the groups that the shell can run."""
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    return [c for c in found if c["group"] in GROUPS and set(c["via"]) & {"cli", "cli-stdin"}]


CASES = cases()
pytestmark = pytest.mark.skipif(not CASES, reason="the awkward cases are not beside the checkout")


def made(value):
    """Return the text or the bytes that a case describes."""
    if isinstance(value, dict) and "gen" in value:
        return "".join(piece * times for piece, times in value["gen"])
    if isinstance(value, dict):
        return bytes.fromhex(value["bytes_hex"])
    return value


@pytest.fixture
def keep(memai):
    """Keep the memories that a case starts from; return their uids by key."""

    def kept(case):
        uids = {}
        if case["distractors"]:
            for text in json.loads((FILE.parent / "distractors.json").read_text("utf-8")):
                assert memai("note", text).code == 0
        for item in case["setup"]:
            run = memai("note", "-", "--allow-secret", input=made(item["text"]))
            assert run.code == 0
            uids[item["key"]] = run.out.strip()
        return uids

    return kept


def command(do):
    """Return the command line of an action, and what it is given on standard input."""
    if do["op"] == "add":
        if "stdin" in do:
            return ["note", "-"], made(do["stdin"])
        text = made(do["text"])
        return ["note", "--", text], b""
    if do["op"] == "search":
        limit = ["-n", str(do["limit"])] if "limit" in do else []
        return ["search", "--json", *limit, "--", made(do["query"])], b""
    if do["op"] == "list":
        return ["list", *(["--since", do["since"]] if "since" in do else [])], b""
    if do["op"] == "get":
        return ["show", "--", do["ref"]], b""
    raise AssertionError(do["op"])


PLAIN = [c for c in CASES if c["do"]["op"] in ("add", "search", "list", "get")]
PARAMETERS = [pytest.param(c, id=f"{c['id']}-{c['group']}") for c in PLAIN]


@pytest.mark.parametrize("case", PARAMETERS)
def test_an_awkward_input_works_or_is_refused_cleanly(memai, process, home, keep, case):
    """The outcome is the expected one; no traceback, a sound store, and `list` still works."""
    uids = keep(case)
    before = memai("export").out
    line, data = command(case["do"])
    if "cli-stdin" in case["via"] and case["do"]["op"] in ("add", "search"):
        line, data = [*line[:-2], "-"], line[-1].encode()
    began = time.monotonic()
    if "env" in case["do"] or isinstance(line[-1], bytes):
        run = process(*line, input=data, env=case["do"].get("env"))
    else:
        run = memai(*line, input=data)
    assert time.monotonic() - began < case["expect"].get("max_seconds", 30)
    check(memai, run, case["expect"], uids, before, made(case["do"].get("text")))
    assert memai("list").code == 0
    connection = apsw.Connection(str(home / "memai" / "memai.db")) if before else None
    if connection is not None:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()


def check(memai, run, expect, uids, before, text):
    """Compare what a command line did with what its case expects."""
    outcome = expect["outcome"]
    assert "Traceback" not in run.err
    assert run.code in (
        (0,) if outcome == "ok" else (2, 3) if outcome == "clean-error" else range(4)
    )
    if run.code:
        assert run.out == ""
        assert run.err.count("\n") == 1
        assert memai("export").out == before
        assert expect.get("message_names", "") in run.err
        return
    if expect.get("roundtrip") or expect.get("roundtrip_if_ok"):
        shown = memai("show", run.out.strip(), "--json").json["memory"]["content"]
        assert shown == text
    if "includes" in expect or "includes_if_ok" in expect:
        found = [hit["uid"] for hit in run.json["hits"]][:5]
        for key in expect.get("includes", expect.get("includes_if_ok")):
            assert uids[key] in found
    if "count" in expect:
        assert len(run.json["hits"]) == expect["count"]


OPENED = [c for c in CASES if c["do"]["op"] == "open"]


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in OPENED])
def test_an_awkward_store_opens(memai, process, tmp_path, case):
    """A store with an awkward name, or an empty file, is opened and written."""
    zero = case["do"]["db"] == "zero-byte file"
    path = tmp_path / ("zero.db" if zero else case["do"]["db"])
    if zero:
        path.touch()
    for item in case["setup"]:
        assert memai("note", item["text"], "--db", path).code == 0
    assert process("list", "--db", str(path)).code == 0
    assert process("note", "Another.", "--db", str(path)).code == 0
    assert len(process("list", "-q", "--db", str(path)).lines) == len(case["setup"]) + 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_kills_in_the_middle_of_writes_lose_nothing_acknowledged(memai, home):
    """What was acknowledged before a SIGKILL is there, and the store is sound."""
    assert memai("note", "The first.").code == 0
    note = f"'{sys.executable}' -m memai note"
    script = f'i=0; while :; do i=$((i+1)); {note} "Fact $i of $1." || exit; done'
    acknowledged = set()
    for turn in range(4):
        writer = subprocess.Popen(
            ["bash", "-c", script, "bash", str(turn)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(0.6 + 0.07 * turn)
        os.killpg(writer.pid, signal.SIGKILL)
        out, _ = writer.communicate()
        acknowledged |= set(out.decode().split("\n")[:-1])
    kept = {json.loads(line)["uid"] for line in memai("export").lines}
    assert acknowledged <= kept
    assert memai("doctor", "--json").json["ok"]
    connection = apsw.Connection(str(home / "memai" / "memai.db"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
