"""What each line of a client is answered with, whichever revision it speaks."""

import json
from typing import Any

import pytest
from mcp_support import HANDSHAKES, MODERN, SLOW

from memai.mcp import wire

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


def envelope(**more: Any) -> dict[str, Any]:
    """Return what every request of the later protocol carries."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "modern-client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"_meta": {**meta, **more}}


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
        (b'{"jsonrpc":"2.0","id":1' + b"0" * 5_000 + b',"method":"ping"}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', INVALID_REQUEST, None),
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
    server = start(before=SLOW.format(seconds=0.5))
    id = server.begin("tools/call", name="stats")
    server.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
    )
    assert server.request("ping") == {}
    assert server.leave() == 0
    assert id not in [json.loads(line).get("id") for line in server.lines]


def test_a_fault_behind_a_resource_shows_nothing(start: Any) -> None:
    """What nobody foresaw is an error of the protocol without message, path or log."""
    broken = (
        "from memai.operations import reading\n"
        "def pulse(store, **_):\n"
        "    raise RuntimeError('secret at /home/someone')\n"
        "reading.pulse = pulse\n"
    )
    server = start(before=broken)
    error = server.answer(server.begin("resources/read", uri="memai://pulse"))["error"]
    assert error["code"] == -32603
    assert "RuntimeError" in error["message"]
    assert server.leave() == 0
    assert server.errors == b""
    assert not any(b"secret" in line for line in server.lines)
