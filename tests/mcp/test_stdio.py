"""A server over pipes: what each line is answered with, and how it lives and ends."""

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

import pytest
from support import CHECKOUT, python

from memai.mcp import bounds, stdio, wire
from memai.settings import resolve

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602

IMPATIENT = "from memai.mcp import stdio; stdio.GRACE = 0.5\n"

# A server whose operation `stats` takes a while.
SLOW = textwrap.dedent(
    """
    import time
    from memai.operations import upkeep
    quick = upkeep.stats
    def stats(store):
        \"\"\"Show, slowly.\"\"\"
        time.sleep({seconds})
        return quick(store)
    upkeep.stats = stats
    """
)
SERVE = "from memai.mcp import serve; from memai.settings import resolve; serve(resolve(){options})"


def envelope(**more: Any) -> dict[str, Any]:
    """Return what every request of the later protocol carries."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "modern-client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"_meta": {**meta, **more}}


# --- protocol ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*HANDSHAKES, "1999-01-01", "2030-01-01", MODERN, "", "x"])
def test_every_revision_is_answered(start: Any, version: str) -> None:
    """A revision with a handshake is spoken as asked; any other is answered with the latest."""
    server = start(shake=False)
    said = server.shake(version)
    assert said["protocolVersion"] == (version if version in HANDSHAKES else HANDSHAKES[-1])
    assert said["serverInfo"]["name"] == "memai"
    assert len(said["instructions"].encode()) < 1_000
    assert len(server.request("tools/list")["tools"]) == 12
    assert server.call("note", content="Kept.")["created"] is True
    assert server.leave() == 0


def test_the_later_protocol_needs_no_handshake(start: Any) -> None:
    """Requests that carry their own envelope are answered, and the client's name is the agent."""
    server = start(shake=False)
    found = server.request("server/discover", **envelope())
    assert MODERN in found["supportedVersions"]
    assert "data" in found["instructions"]
    assert len(server.request("tools/list", **envelope())["tools"]) == 12
    result = server.request("tools/call", name="note", arguments={"content": "Kept."}, **envelope())
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["memory"]["agent"] == "modern-client"
    assert server.leave() == 0


def test_without_handshake_and_envelope_a_request_is_refused(start: Any) -> None:
    """A client that forgets to begin gets an error, and can still begin."""
    server = start(shake=False)
    assert server.answer(server.begin("tools/list"))["error"]["code"] == INVALID_PARAMS
    server.shake()
    assert server.request("tools/list")["tools"]


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"not json", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping",}', PARSE_ERROR, 7),
        (b'{"method":"ping","params":NaN,"jsonrpc":"2.0","id":"seven"}', PARSE_ERROR, "seven"),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"1" * 5_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b"5", INVALID_REQUEST, None),
        (b'"text"', INVALID_REQUEST, None),
        (b"null", INVALID_REQUEST, None),
        (b'{"id":9}', INVALID_REQUEST, 9),
        (b'{"jsonrpc":"2.0","id":9,"method":5}', INVALID_REQUEST, 9),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":9,"method":"\\ud800"}', METHOD_NOT_FOUND, 9),
        (b'{"jsonrpc":"2.0","id":9,"method":"nothing/such"}', METHOD_NOT_FOUND, 9),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call"}', INVALID_PARAMS, 9),
        (b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":5}}', INVALID_PARAMS, 9),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_a_line_that_is_no_message_is_answered(
    shared: Any, line: bytes, code: int, id: Any
) -> None:
    """Nothing a client writes is met with silence, and the server goes on."""
    shared.send(line)
    answer = shared.receive()
    assert answer["error"]["code"] == code
    assert answer.get("id") == id
    assert shared.request("ping") == {}


def test_blank_lines_and_windows_line_ends_are_no_messages(shared: Any) -> None:
    """White space between messages is skipped."""
    shared.send(b"\r\n\n  \t\r")
    shared.send(b'{"jsonrpc":"2.0","id":"crlf","method":"ping"}\r')
    assert shared.answer("crlf")["result"] == {}


def test_the_messages_of_a_batch_are_answered_one_by_one(shared: Any) -> None:
    """A line that holds a list of messages is taken as these messages."""
    shared.send([{"jsonrpc": "2.0", "id": f"b{n}", "method": "ping"} for n in range(3)])
    for n in range(3):
        assert shared.answer(f"b{n}")["result"] == {}


@pytest.mark.parametrize("escaped", [True, False])
def test_a_lone_surrogate_or_broken_byte_is_refused_in_words(shared: Any, escaped: bool) -> None:
    """What is no Unicode is refused by the tool, by position, and nothing is stored."""
    text = b"hello \\ud83d" if escaped else b"hello \xff"
    shared.send(
        b'{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"note",'
        b'"arguments":{"content":"' + text + b'"}}}'
    )
    result = shared.answer("s")["result"]
    assert result["isError"] is True
    assert "at character 6" in result["content"][0]["text"]
    for place in ("name", "argument"):
        shared.send(
            b'{"jsonrpc":"2.0","id":"t","method":"tools/call","params":{"name":"'
            + (b"\\ud83d" if place == "name" else b"note")
            + b'","arguments":{"\\ud83d":1}}}'
        )
        answer = shared.answer("t")
        assert answer.get("error") or answer["result"]["isError"]


def test_a_line_of_any_length_is_bounded(start: Any) -> None:
    """A line above the limit is refused with its id, wherever that stands, and not kept."""
    server = start()
    text = "x" * (wire.MAX_LINE + 1_000)
    call = {"name": "note", "arguments": {"content": text}}
    server.send({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call})
    assert server.answer(77)["error"]["code"] == INVALID_REQUEST
    server.send({"method": "tools/call", "params": call, "jsonrpc": "2.0", "id": "last"})
    assert "longer than" in server.answer("last")["error"]["message"]
    assert server.call("note", content="x" * 1_000_000)["created"] is True
    result = server.request("tools/call", name="note", arguments={"content": "x" * 5_000_000})
    assert result["structuredContent"]["error"]["code"] == "too-large"
    assert all(len(line) < 100_000 for line in server.lines)


def test_a_cancelled_call_is_not_answered(start: Any) -> None:
    """The server goes on after a call was cancelled, and ends without waiting for it."""
    server = start(code=SLOW.format(seconds=0.5) + SERVE)
    id = server.begin("tools/call", name="stats")
    server.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
    )
    assert server.request("ping") == {}
    assert server.leave() == 0
    assert id not in [json.loads(line).get("id") for line in server.lines]


def test_the_client_is_the_agent_unless_the_environment_says_another(start: Any) -> None:
    """Writes are signed by the client's name and the connection, or by MEMAI_AGENT and _SESSION."""
    first, second = (start().call("note", content=f"Note {n}.")["memory"] for n in range(2))
    assert first["agent"] == second["agent"] == "raw-client"
    assert first["session"].startswith("mcp-")
    assert first["session"] != second["session"]
    named = start(env={"MEMAI_AGENT": "me", "MEMAI_SESSION": "today", "MEMAI_DOMAIN": "shop"})
    memory = named.call("note", content="Note 3.")["memory"]
    assert (memory["agent"], memory["session"], memory["domain"]) == ("me", "today", "shop")


def test_a_strange_client_name_is_made_one_line(start: Any) -> None:
    """Control characters and endless names do not get into the store."""
    server = start(shake=False)
    server.request(
        "initialize",
        protocolVersion=HANDSHAKES[-1],
        capabilities={},
        clientInfo={"name": " bad\n\x1b[31mname" + "x" * 500, "version": "1"},
    )
    agent = server.call("note", content="Kept.")["memory"]["agent"]
    assert agent.startswith("bad [31mname")
    assert len(agent) == 200


def test_the_path_is_the_one_that_the_environment_means(start: Any, home: Path) -> None:
    """MEMAI_HOME with ~ is expanded, and stats says where the store is."""
    stats = start(env={"MEMAI_HOME": "~/elsewhere"}).call("stats")
    assert stats["path"] == str(home / "elsewhere" / "memai.db")


def test_the_working_folder_means_nothing(start: Any, home: Path) -> None:
    """Wherever a client starts it, in a project or at home, a server keeps to no domain."""
    (home / ".memai").write_text("a-project\n")
    server = start(popen={"cwd": home})
    result = server.request("tools/call", name="note", arguments={"content": "Adrift."})
    assert result["structuredContent"]["memory"]["domain"] is None
    assert "without a domain" in result["content"][0]["text"]
    assert server.call("pulse")["domain"] is None


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_input_or_output_it_says_so(home: Path, closed: str) -> None:
    """A server with nothing to speak over ends at once with a sentence."""
    code = SERVE.replace("{options}", "")
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    assert b"UsageError" in done.stderr
    assert b"one of them is closed" in done.stderr


def test_four_calls_run_at_once(start: Any) -> None:
    """Writes and searches of one client in parallel are all answered, and all is kept."""
    server = start()
    ids = [
        server.begin("tools/call", name="note", arguments={"content": f"Parallel {n}."})
        if n % 2
        else server.begin("tools/call", name="search", arguments={"query": "parallel"})
        for n in range(40)
    ]
    for id in ids:
        assert server.answer(id)["result"]["isError"] is False
    assert server.call("stats")["counts"]["memories"] == 20
    assert server.call("doctor")["ok"] is True


def test_several_servers_share_one_store(start: Any) -> None:
    """What one server keeps another finds at once."""
    servers = [start() for _ in range(3)]
    for number, server in enumerate(servers):
        server.call("note", content=f"The lantern number {number}.")
    for server in servers:
        assert len(server.call("search", query="lantern")["hits"]) == 3


# --- start -------------------------------------------------------------------------------------


def test_it_begins_while_the_store_is_locked_and_the_model_is_missing(
    start: Any, tmp_path: Path
) -> None:
    """The handshake and the list wait for neither store nor model; reads go on meanwhile."""
    import apsw

    first = start()
    first.call("note", content="Before the lock.")
    lock = apsw.Connection(resolve().path)
    lock.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    server = start(env={"MEMAI_BUSY_SECONDS": "0.2", "MEMAI_EMBED_MODEL": str(tmp_path)})
    assert len(server.request("tools/list")["tools"]) == 12
    assert server.call("search", query="lock")["hits"]
    assert server.call("note", content="Meanwhile.")["error"]["code"] == "busy"
    assert time.monotonic() - began < 25  # the lock is waited for once, and briefly
    lock.execute("ROLLBACK")
    lock.close()
    assert server.call("note", content="Afterwards.")["created"] is True


def test_a_missing_model_is_said_and_nothing_fails(start: Any, tmp_path: Path) -> None:
    """A store whose model is not there is kept and searched by words, and answers say so."""
    server = start(env={"MEMAI_EMBED_MODEL": str(tmp_path / "nothing")})
    written = server.call("note", content="Words only.")
    assert "without vectors" in written["notes"][0]
    found = server.call("search", query="words")
    assert len(found["hits"]) == 1
    assert "Words only" in found["notes"][0]


NOISY = """
import sys, os, warnings, threading
print("printed at import")
os.write(1, b"written to the descriptor\\n")
warnings.warn("warned at import")
os.system("echo from a child")
sys.stdout.write("left in the buffer")
"""


def test_nothing_but_protocol_is_on_standard_output(start: Any, tmp_path: Path) -> None:
    """With warnings on and a module that prints, writes and warns at import, each line is JSON."""
    (tmp_path / "noisy.py").write_text(NOISY)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from memai.operations import upkeep\n"
        "quick = upkeep.stats\n"
        "def stats(store):\n"
        "    'Show, noisily.'\n"
        "    import noisy\n"
        "    return quick(store)\n"
        "upkeep.stats = stats\n"
    )
    server = start(code=code + SERVE, python=("-W", "always", "-X", "dev"))
    server.call("stats")
    server.call("note", content="Kept.")
    server.send(b"not json")
    assert server.receive()["error"]["code"] == PARSE_ERROR
    assert server.leave() == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.lines)
    assert b"printed at import" in server.errors
    assert b"from a child" in server.errors
    assert b"left in the buffer" in server.errors


def test_a_quiet_server_writes_nothing_to_standard_error(start: Any) -> None:
    """Where nothing is wrong, the client's log stays empty, warnings on or not."""
    server = start(python=("-W", "always"))
    server.call("note", content="Kept.")
    server.call("search", query="kept")
    assert server.leave() == 0
    assert server.errors == b""


def test_both_ways_of_loading_the_sdk_serve_the_same(start: Any) -> None:
    """The short import of the SDK answers as the plain one does, message by message."""
    plain = "from memai.mcp import sdk; load = sdk.load; sdk.load = lambda: load(light=False)\n"

    def talk(code: str) -> list[Any]:
        server = start(code=code + SERVE, shake=False)
        answers = [
            server.shake(),
            server.request("tools/list"),
            server.request("resources/list"),
            server.request("resources/templates/list"),
            server.request("prompts/list"),
            server.request("prompts/get", name="wrap_up"),
            server.request("tools/call", name="help"),
            server.request("tools/call", name="show", arguments={"uid": "0000"}),
            server.request(
                "completion/complete",
                ref={"type": "ref/prompt", "name": "resume"},
                argument={"name": "domain", "value": ""},
            ),
            server.answer(server.begin("prompts/get", name="nothing"))["error"],
            server.answer(server.begin("nothing/such"))["error"],
        ]
        assert server.leave() == 0
        return answers

    assert talk("") == talk(plain)


def test_the_plain_import_follows_where_the_short_one_fails(start: Any) -> None:
    """An SDK with another layout is imported as its authors meant it."""
    broken = "from memai.mcp import sdk; sdk._EMPTY = (*sdk._EMPTY, 'mcp.server.lowlevel.server')\n"
    server = start(code=broken + "import builtins\n" + SERVE)
    assert server.call("note", content="Kept.")["created"] is True
    loaded = subprocess.run(
        [sys.executable, "-c", broken + "sdk.load(); import mcp; print(mcp.ClientSession)"],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        check=True,
    )
    assert b"ClientSession" in loaded.stdout


# --- end ---------------------------------------------------------------------------------------


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
    server = start(code=SLOW.format(seconds=1.5) + SERVE)
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
        [sys.executable, "-c", SERVE.replace("{options}", "")],
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
    server = start(code=IMPATIENT + SLOW.format(seconds=60) + SERVE)
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


def test_a_signal_while_it_starts_ends_it(start: Any) -> None:
    """A server that is interrupted while it imports ends with 130 and no traceback."""
    late = "import sys; sys.stderr.write('begun\\n'); sys.stderr.flush()\n"
    code = (
        "from memai.mcp import sdk\n"
        "import sys, time\n"
        "def load():\n"
        "    sys.stderr.write('loading\\n'); sys.stderr.flush(); time.sleep(30)\n"
        "sdk.load = load\n"
    )
    server = start(code=late + code + SERVE, shake=False)
    time.sleep(0.5)
    server.process.send_signal(signal.SIGINT)
    assert server.ended() == 130
    assert server.errors == b"begun\nloading\n"


def test_a_signal_lets_a_write_finish(start: Any, home: Path) -> None:
    """A write in flight when the signal comes is kept and answered."""
    slow = SLOW.replace("upkeep", "writing").replace("stats", "note")
    slow = slow.replace("def note(store)", "def note(store, content: writing.Content)")
    slow = slow.replace("quick(store)", "quick(store, content)")
    server = start(code=slow.format(seconds=1) + SERVE)
    id = server.begin("tools/call", name="note", arguments={"content": "Kept all the same."})
    server.request("ping")
    server.process.send_signal(signal.SIGTERM)
    assert server.ended() == 0
    assert id in [json.loads(line).get("id") for line in server.lines]
    assert start().call("stats")["counts"]["memories"] == 1


def test_a_write_that_waits_for_a_lock_is_not_half_done(start: Any) -> None:
    """A write that waits when the server must end leaves nothing behind."""
    import apsw

    server = start(code=IMPATIENT + SERVE)
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
        os.execv(sys.executable, [sys.executable, "-c", SERVE.replace("{options}", "")])
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
        [sys.executable, "-c", SERVE.replace("{options}", "")],
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
        child = subprocess.Popen([sys.executable, "-c", {SERVE.replace("{options}", "")!r}],
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


def test_an_answer_is_below_a_mebibyte_whatever_is_asked(start: Any) -> None:
    """The largest page that can be asked for stays far below what clients can read."""
    server = start()
    for number in range(40):
        server.call("note", content=f"{number} " + "long " * 2_000)
    server.call("list", limit=1_000, max_bytes=10**12)
    assert max(map(len, server.lines)) < bounds.MOST_BYTES + bounds.TEXT_BYTES + 4_000


def test_readers_do_not_wait_for_writers(start: Any) -> None:
    """While more writes than there are threads wait for a lock, searches are answered."""
    import apsw

    server = start()
    server.call("note", content="Before the lock.")
    lock = apsw.Connection(resolve().path)
    lock.execute("BEGIN IMMEDIATE")
    waiting = [
        server.begin("tools/call", name="note", arguments={"content": f"Waiting {n}."})
        for n in range(12)
    ]
    assert server.call("search", query="lock")["hits"]
    lock.execute("ROLLBACK")
    lock.close()
    for id in waiting:
        assert server.answer(id)["result"]["structuredContent"]["created"] is True


def test_a_server_reads_while_others_write(start: Any) -> None:
    """Searches over MCP go on, and find what shells write meanwhile."""
    server = start()
    server.call("note", content="Before the others.")
    code = (
        "from memai import open_store, operations\n"
        "for n in range(60): operations.note(open_store(), f'Written by process {n}.')\n"
    )
    with python("-c", code) as writer:
        while writer.poll() is None:
            assert server.call("search", query="before others")["hits"]
        assert writer.returncode == 0
    assert server.call("stats")["counts"]["memories"] == 61


def test_a_fault_behind_a_resource_shows_nothing(start: Any) -> None:
    """What nobody foresaw is an error of the protocol without message, path or log."""
    broken = (
        "from memai.operations import reading\n"
        "def pulse(store, **_):\n"
        "    raise RuntimeError('secret at /home/someone')\n"
        "reading.pulse = pulse\n"
    )
    server = start(code=broken + SERVE)
    error = server.answer(server.begin("resources/read", uri="memai://pulse"))["error"]
    assert error["code"] == -32603
    assert "RuntimeError" in error["message"]
    assert server.leave() == 0
    assert server.errors == b""
    assert not any(b"secret" in line for line in server.lines)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_server_at_work_stays_small(start: Any) -> None:
    """After writes and searches a server holds less than 150 MB, the SDK's 70 included."""
    server = start()
    for number in range(20):
        server.call("note", content=f"Fact {number} about the mill.")
        server.call("search", query="mill")
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0])
    assert resident < 150_000, f"{resident} kB"


def test_the_handshake_loads_neither_model_nor_numbers(start: Any) -> None:
    """What answers `initialize` has imported no numpy, no tokenizers and no model."""
    code = (
        "from memai.mcp import server\n"
        "build = server.build\n"
        "def built(*arguments):\n"
        "    import sys\n"
        "    made = build(*arguments)\n"
        "    names = ('numpy', 'tokenizers', 'model2vec', 'apsw', 'memai.embedding.static')\n"
        "    sys.stderr.write(repr([n for n in names if n in sys.modules]) + '\\n')\n"
        "    return made\n"
        "server.build = built\n"
    )
    server = start(code=code + SERVE)
    assert server.leave() == 0
    assert server.errors == b"[]\n"
