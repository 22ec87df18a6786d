"""How a server ends: with its input, its client, its parent, or a signal."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from mcp_support import SLOW, serving
from support import CHECKOUT

from memai.mcp import stdio
from memai.settings import resolve

IMPATIENT = "from memai.mcp import stdio; stdio.GRACE = 0.5\n"


def test_an_idle_server_ends_with_its_input(start: Any) -> None:
    """The end of the input ends an idle server at once, without the grace of a busy one, with 0."""
    server = start()
    began = time.monotonic()
    assert server.leave() == 0
    assert time.monotonic() - began < stdio.GRACE


def test_it_ends_with_an_input_that_never_began(start: Any) -> None:
    """A server whose input is empty ends at once."""
    server = start(shake=False, popen={"stdin": subprocess.DEVNULL})
    assert server.ended(10) == 0
    assert server.lines == []


def test_the_calls_before_the_end_are_answered(start: Any) -> None:
    """All that was asked before the input ended is answered, the slow call too."""
    server = start(before=SLOW.format(seconds=1.5))
    slow = server.begin("tools/call", name="stats")
    quick = [
        server.begin("tools/call", name="note", arguments={"content": f"Note {n}."})
        for n in range(10)
    ]
    assert server.leave() == 0
    answered = {json.loads(line).get("id") for line in server.lines}
    assert {slow, *quick} <= answered


def test_a_whole_conversation_can_be_piped_in(home: Path) -> None:
    """`printf ... | server` answers every request."""
    talk = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
         "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "help", "arguments": {}}},
        {"id": 3, "method": "tools/call", "params": {"name": "stats", "arguments": None}},
    ]  # fmt: skip
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in talk)
    done = subprocess.run(
        serving(),
        input=lines.removesuffix("\n").encode(),  # the last line needs no end
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        timeout=20,
        check=True,
    )
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {1, 2, 3}


def test_a_call_that_does_not_end_is_given_up(start: Any) -> None:
    """A call that runs on is left behind after the grace period, which is below five seconds."""
    assert stdio.GRACE < 5
    server = start(before=IMPATIENT + SLOW.format(seconds=60))
    id = server.begin("tools/call", name="stats")
    server.request("ping")
    assert server.leave(20) == 0
    assert id not in [json.loads(line).get("id") for line in server.lines]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)]
)
def test_one_signal_ends_an_idle_server(start: Any, number: int, code: int) -> None:
    """One signal is enough, at once and without a traceback."""
    server = start()
    server.call("note", content="Kept.")
    began = time.monotonic()
    server.process.send_signal(number)
    assert server.ended() == code
    assert time.monotonic() - began < stdio.GRACE
    assert server.errors == b""


def test_a_signal_lets_a_write_finish(start: Any, home: Path) -> None:
    """A write in flight when the signal comes is kept and answered."""
    slow = SLOW.replace("upkeep", "writing").replace("stats", "note")
    slow = slow.replace("def note(store)", "def note(store, content: 'Content')")
    slow = slow.replace("quick(store)", "quick(store, content)")
    server = start(before=slow.format(seconds=1))
    id = server.begin("tools/call", name="note", arguments={"content": "Kept all the same."})
    server.request("ping")
    server.process.send_signal(signal.SIGTERM)
    assert server.ended() == 0
    assert id in [json.loads(line).get("id") for line in server.lines]
    assert start().call("stats")["counts"]["memories"] == 1


def test_a_write_that_waits_for_a_lock_is_not_half_done(start: Any) -> None:
    """A write that waits when the server must end leaves nothing behind."""
    server = start(before=IMPATIENT)
    server.call("note", content="Before.")
    lock = apsw.Connection(resolve().path)
    lock.execute("BEGIN IMMEDIATE")
    server.begin("tools/call", name="note", arguments={"content": "Waiting."})
    server.request("ping")
    server.process.send_signal(signal.SIGTERM)
    assert server.ended(20) == 0
    lock.execute("ROLLBACK")
    lock.close()
    after = start()
    assert after.call("stats")["counts"]["memories"] == 1
    assert after.call("doctor")["ok"] is True


def test_one_interrupt_on_a_terminal_ends_it(home: Path) -> None:
    """Ctrl-C once on a terminal: 130 at once, no traceback."""
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - another process
        os.environ["PYTHONPATH"] = str(CHECKOUT)
        os.execv(sys.executable, serving())
    shaking = {"protocolVersion": "2025-11-25", "capabilities": {},
               "clientInfo": {"name": "terminal", "version": "1"}}  # fmt: skip
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": shaking}
    os.write(terminal, json.dumps(request).encode() + b"\n")
    seen = b""
    while b'"result"' not in seen:
        seen += os.read(terminal, 65_536)
    began = time.monotonic()
    os.write(terminal, b"\x03")
    while True:
        try:
            more = os.read(terminal, 65_536)
        except OSError:
            break
        if not more:
            break
        seen += more
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert time.monotonic() - began < stdio.GRACE
    assert b"Traceback" not in seen


def test_a_client_that_closes_its_end_ends_it(home: Path) -> None:
    """A client that stops reading but keeps the input open does not keep the server."""
    process = subprocess.Popen(
        serving(),
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    with process.stdin:
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b"result" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 0


def test_a_parent_that_is_killed_takes_it_along(home: Path, tmp_path: Path) -> None:
    """A server ends after its parent, also where somebody else holds its pipes."""
    ours, theirs = socket.socketpair()
    parent = textwrap.dedent(
        f"""
        import subprocess, sys, time
        child = subprocess.Popen({serving()!r},
                                 stdin={theirs.fileno()}, stdout={theirs.fileno()})
        print(child.pid, flush=True)
        time.sleep(60)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        pass_fds=(theirs.fileno(),),
    )
    assert process.stdout
    child = int(process.stdout.readline())
    try:
        request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        ours.sendall(json.dumps(request).encode() + b"\n")
        assert b"jsonrpc" in ours.recv(65_536)
        process.kill()
        process.wait()
        process.stdout.close()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and Path(f"/proc/{child}").exists():
            status = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
            if status == "Z":
                break
            time.sleep(0.05)
        else:
            if Path(f"/proc/{child}").exists():
                os.kill(child, signal.SIGKILL)
                pytest.fail("the server outlived its parent")
    finally:
        ours.close()
        theirs.close()
