"""Inputs that broke other tools, over the wire; the cases lie beside the checkout."""

import json
from typing import Any

import pytest
from support import SHARED

GROUPS = {
    "fts-syntax", "empty", "characters", "surrogates", "size", "structured", "ids", "time",
    "process", "cli-args",
}  # fmt: skip
FOLDER = SHARED / "eval" / "awkward"


def cases() -> list[Any]:
    """Return the cases that are for MCP."""
    path = FOLDER / "awkward.jsonl"
    if not path.exists():
        reason = "the awkward inputs are not beside the checkout"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    rows = [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]
    wanted = [r for r in rows if r["group"] in GROUPS and "mcp" in r["via"]]
    return [pytest.param(r, id=r["id"]) for r in wanted if r["do"]["op"] in DOINGS]


def made(value: Any) -> Any:
    """Return a value that may be described by pieces and how often each comes."""
    if isinstance(value, dict) and "gen" in value:
        return "".join(piece * times for piece, times in value["gen"])
    return value


def clean(result: dict[str, Any]) -> None:
    """Check that a refusal is a short sentence with a code, and no traceback."""
    text = result["content"][0]["text"]
    assert 0 < len(text) < 600
    assert "Traceback" not in text
    assert result["structuredContent"]["error"]["code"] != "unexpected", text


def whole(server: Any, uid: str) -> str:
    """Read a memory, in as many parts as it takes."""
    parts, span = [], "0:"
    while span:
        shown = server.call("show", uid=uid, span=span)
        parts.append(shown["memory"]["content"])
        span = shown.get("next")
    return "".join(parts)


def call(server: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return the whole result."""
    result: dict[str, Any] = server.request("tools/call", name=tool, arguments=arguments)
    return result


def add(server: Any, case: dict[str, Any], domain: str, _uids: dict[str, str]) -> None:
    """Store a text and read it back."""
    text, expect = made(case["do"]["text"]), case["expect"]
    result = call(server, "note", content=text, domain=domain)
    if result["isError"]:
        assert expect["outcome"] != "ok"
        clean(result)
        return
    assert expect["outcome"] != "clean-error"
    if expect.get("roundtrip") or expect.get("roundtrip_if_ok"):
        assert whole(server, result["structuredContent"]["uid"]) == text


def search(server: Any, case: dict[str, Any], domain: str, uids: dict[str, str]) -> None:
    """Search, and look among the first five."""
    do, expect = case["do"], case["expect"]
    limit = {"limit": do["limit"]} if "limit" in do else {}
    result = call(server, "search", query=made(do["query"]), domain=domain, **limit)
    if result["isError"]:
        assert expect["outcome"] != "ok"
        clean(result)
        return
    found = [hit["uid"] for hit in result["structuredContent"]["hits"]]
    for key in expect.get("includes") or expect.get("includes_if_ok") or []:
        assert uids[key] in found[:5]
    for key in expect.get("excludes") or []:
        assert uids[key] not in found[:5]
    assert len(found) == expect.get("count", len(found))


def listed(server: Any, case: dict[str, Any], domain: str, _uids: dict[str, str]) -> None:
    """List since a time; a refusal names the argument."""
    result = call(server, "list", since=case["do"]["since"], domain=domain)
    if result["isError"]:
        assert case["expect"]["outcome"] != "ok"
        clean(result)
        assert case["expect"]["message_names"] in result["content"][0]["text"]


def get(server: Any, case: dict[str, Any], _domain: str, _uids: dict[str, str]) -> None:
    """Show a memory by what is no uid."""
    result = call(server, "show", uid=case["do"]["ref"])
    assert result["isError"] or case["expect"]["outcome"] != "clean-error"
    if result["isError"]:
        clean(result)


DOINGS = {"add": add, "search": search, "list": listed, "get": get}


@pytest.mark.parametrize("case", cases())
def test_an_awkward_input_is_taken_or_refused_cleanly(shared: Any, case: dict[str, Any]) -> None:
    """The case ends as expected, `list` still works, and nothing but JSON was written."""
    domain = case["id"]
    uids = {
        note["key"]: shared.call("note", content=made(note["text"]), domain=domain)["uid"]
        for note in case["setup"]
    }
    if case["distractors"] and case["do"]["op"] == "search":
        for text in json.loads((FOLDER / "distractors.json").read_text())[:12]:
            shared.call("note", content=text, domain=domain)
    DOINGS[case["do"]["op"]](shared, case, domain, uids)
    assert not call(shared, "list", limit=1)["isError"]


def test_nothing_was_damaged(shared: Any) -> None:
    """After all of them the store is sound."""
    assert shared.call("doctor", deep=True)["ok"] is True
