"""Nothing leaves the machine: no name is looked up and no connection is made."""

import json
import os
import subprocess
import sys

import pytest

# Ends the process at the first look-up or connection, before anything could be sent.
GUARD = """
import os, sys
def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(99)
sys.addaudithook(guard)
from memai.cli import run
run(sys.argv[1:])
"""


def guarded(folder, *arguments, stdin=""):
    """Run a command line that may not use the network."""
    return subprocess.run(
        [sys.executable, "-c", GUARD, "--db", f"{folder}/memai.db", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MEMAI_HOME": str(folder)},
    )


def test_the_guard_ends_a_process_that_connects(tmp_path):
    """The check can fail: a hub name as model is the one thing that asks the network."""
    done = subprocess.run(
        [sys.executable, "-c", GUARD.replace("from memai.cli import run", "import socket").replace(
            "run(sys.argv[1:])", "socket.create_connection(('127.0.0.1', 9))"
        )],
        capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 99


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "when are test records wiped"),
        ("list",),
        ("pulse",),
        ("doctor", "--deep"),
        ("reembed",),
        ("backup",),
        ("stats",),
        ("duplicates",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_asks_no_network(tmp_path, arguments):
    """The model is in the package, and nothing looks for updates."""
    assert guarded(tmp_path, "note", "Staging resets its database at two.").returncode == 0
    done = guarded(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr


def test_the_mcp_server_asks_no_network(tmp_path):
    """From the handshake to the first search the server stays on this machine."""
    requests = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "note", "arguments": {"content": "x"}},
        },
        {
            "id": 3,
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "x"}},
        },
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    done = guarded(tmp_path, "serve-mcp", stdin=lines)
    answered = {json.loads(line).get("id") for line in done.stdout.splitlines()}
    assert (done.returncode, answered) == (0, {1, 2, 3}), done.stderr
