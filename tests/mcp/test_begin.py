"""How a server begins: what it waits for, what it loads, what it writes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from mcp_support import serving
from support import CHECKOUT

from memai.settings import resolve

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOISY = """
import sys, os, warnings, threading
print("printed at import")
os.write(1, b"written to the descriptor\\n")
warnings.warn("warned at import")
os.system("echo from a child")
sys.stdout.write("left in the buffer")
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_input_or_output_it_says_so(home: Path, closed: str) -> None:
    """A server with nothing to speak over ends at once with a sentence."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" "$@" {closed}', *serving()],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    assert b"UsageError" in done.stderr
    assert b"one of them is closed" in done.stderr


def test_it_begins_while_the_store_is_locked_and_the_model_is_missing(
    start: Any, tmp_path: Path
) -> None:
    """The handshake and the list wait for neither store nor model; reads go on meanwhile."""
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
    server = start(before=code, python=("-W", "always", "-X", "dev"))
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
        server = start(before=code, shake=False)
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
    server = start(before=broken)
    assert server.call("note", content="Kept.")["created"] is True
    loaded = subprocess.run(
        [sys.executable, "-c", broken + "sdk.load(); import mcp; print(mcp.ClientSession)"],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        check=True,
    )
    assert b"ClientSession" in loaded.stdout


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
    server = start(before=late + code, shake=False)
    time.sleep(0.5)
    server.process.send_signal(signal.SIGINT)
    assert server.ended() == 130
    assert server.errors == b"begun\nloading\n"


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
    server = start(before=code)
    assert server.leave() == 0
    assert server.errors == b"[]\n"
