"""Who writes, where to, and how several calls, clients and processes share one store."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from mcp_support import HANDSHAKES
from support import python

from memai.mcp import bounds
from memai.settings import resolve


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


def test_readers_do_not_wait_for_writers(start: Any) -> None:
    """While more writes than there are threads wait for a lock, searches are answered."""
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


def test_an_answer_is_below_a_mebibyte_whatever_is_asked(start: Any) -> None:
    """The largest page that can be asked for stays far below what clients can read."""
    server = start()
    for number in range(40):
        server.call("note", content=f"{number} " + "long " * 2_000)
    server.call("list", limit=1_000, max_bytes=10**12)
    assert max(map(len, server.lines)) < bounds.MOST_BYTES + bounds.TEXT_BYTES + 4_000


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


def test_a_missing_model_is_said_and_nothing_fails(start: Any, tmp_path: Path) -> None:
    """A store whose model is not there is kept and searched by words, and answers say so."""
    server = start(env={"MEMAI_EMBED_MODEL": str(tmp_path / "nothing")})
    written = server.call("note", content="Words only.")
    assert "without vectors" in written["notes"][0]
    found = server.call("search", query="words")
    assert len(found["hits"]) == 1
    assert "Words only" in found["notes"][0]
