"""No answer is larger than a client can take; what is cut says so, and can be read on."""

import json
from typing import Any

import pytest
from mcp_support import WHOLE, fits, wire

from memai.mcp import bounds


@pytest.mark.parametrize("text", ["x" * 80_000, 'é\n"\\' * 15_000, "\x01" * 20_000], ids=len)
def test_a_long_memory_is_read_in_parts(tools: Any, text: str) -> None:
    """Each answer is bounded and says how to go on; the parts put together are the memory."""
    uid = tools.call("note", content=text)["uid"]
    parts, span = [], "0:"
    while span:
        result = tools.result("show", uid=uid, span=span)
        assert wire(result) <= WHOLE * 1.05
        structured = result["structuredContent"]
        fits("show", structured)
        parts.append(structured["memory"]["content"])
        span = structured.get("next")
        if span:
            assert next(iter(structured)) == "truncated"
            assert structured["truncated"] is True
            assert f"span '{span}'" in structured["notes"][0]
            assert f"span '{span}'" in result["content"][0]["text"]
    assert "".join(parts) == text
    assert len(parts) > 3


def test_what_was_just_sent_does_not_come_back_whole(tools: Any) -> None:
    """A writer's answer holds the beginning of a long text and says that the store has it all."""
    result = tools.result("note", content="y" * 9_000)
    structured = result["structuredContent"]
    fits("note", structured)
    assert wire(result) < 3_000
    assert "not in the store" in structured["notes"][0]
    assert "not in the store" in result["content"][0]["text"]
    assert tools.call("show", uid=structured["uid"])["memory"]["content"] == "y" * 9_000


def test_a_thousand_memories_come_in_pages(tools: Any) -> None:
    """A search or list over much stays below 20 KB, says truncated first, and can be gone on."""
    for number in range(60):
        tools.call("note", content=f"Fact {number}. " + "rain in the valley " * 110)
    for tool, arguments in (("search", {"query": "valley rain"}), ("list", {})):
        seen: list[str] = []
        after = None
        for _ in range(40):
            result = tools.result(tool, limit=50, after=after, **arguments)
            assert wire(result) <= WHOLE
            structured = result["structuredContent"]
            fits(tool, structured)
            assert next(iter(structured)) == "truncated"
            items = structured["hits" if tool == "search" else "memories"]
            seen += [item["uid"] for item in items]
            after = structured["next"]
            if after is None:
                break
            assert structured["truncated"] or len(items) == 50
        assert len(seen) == len(set(seen)) == 60, tool


def test_pages_join_whatever_bytes_are_allowed(tools: Any) -> None:
    """A cursor goes on behind what was in the answer: nothing is cut that it has passed.

    Where not even one fits, one comes.
    """
    for number in range(40):
        tools.call("note", content=f"Short fact {number} of rain" + " and snow" * (number % 5))
    for tool, arguments in (("search", {"query": "rain fact"}), ("list", {})):
        for budget in range(400, 9_000, 331):
            seen: list[str] = []
            after = None
            for _ in range(40):
                answer = tools.call(tool, limit=100, after=after, max_bytes=budget, **arguments)
                items = answer["hits" if tool == "search" else "memories"]
                assert len(items) == 1 or bounds.size(answer) <= budget
                seen += [item["uid"] for item in items]
                after = answer["next"]
                if after is None:
                    break
            assert len(seen) == len(set(seen)) == 40, (tool, budget)


def test_the_caller_sets_the_bytes(tools: Any) -> None:
    """max_bytes bounds each form of the answer, and no value lifts the upper bound."""
    for number in range(300):
        tools.call("note", content=f"Fact {number}. " + "rain in the valley " * 50)
    small = tools.result("pulse", max_bytes=1_800)
    assert bounds.size(small["structuredContent"]) <= 1_800
    assert len(small["content"][0]["text"].encode()) <= 1_800
    large = tools.result("list", limit=1_000, max_bytes=10**9)
    assert wire(large) <= bounds.MOST_BYTES + bounds.TEXT_BYTES + 4_000
    assert large["structuredContent"]["truncated"] is True


def test_changes_of_many_long_memories_stay_bounded(tools: Any) -> None:
    """Forgetting much at once answers within the budget."""
    uids = [tools.call("note", content=f"{n} " + "z" * 3_000)["uid"] for n in range(80)]
    result = tools.result("forget", uids=uids)
    fits("forget", result["structuredContent"])
    assert not result["isError"]
    assert wire(result) <= WHOLE
    assert "Not everything is listed" in result["structuredContent"]["notes"][0]
    assert len(result["structuredContent"]["uids"]) == 80


def test_a_history_of_long_versions_stays_bounded(tools: Any) -> None:
    """A memory that was often rewritten can still be shown."""
    uid = tools.call("note", content="v0 " + "a" * 5_000)["uid"]
    for number in range(1, 30):
        tools.call("edit", uid=uid, content=f"v{number} " + "a" * 5_000)
    result = tools.result("show", uid=uid)
    fits("show", result["structuredContent"])
    fits("history", tools.call("history", uid=uid))
    assert wire(tools.result("history", uid=uid)) <= WHOLE
    assert wire(result) <= WHOLE
    assert result["structuredContent"]["memory"]["content"].startswith("v29 ")
    assert "Earlier versions: 29" in result["content"][0]["text"]


def test_the_answers_of_much_are_bounded_whatever_the_tool(tools: Any) -> None:
    """Domains, relations, duplicates and counts of very many memories stay within the budget."""
    first = tools.call("note", content="The hub of it all.", domain="d")["uid"]
    for number in range(300):
        domain = f"a rather long name of a project number {number}"
        content = f"A remark on matter number {number} that is like the others."
        other = tools.call("note", content=content, domain=domain)["uid"]
        tools.call("link", uid=first, relation="relates_to", other=other, note="n" * 300)
    for tool, arguments in (
        ("domains", {}),
        ("relations", {"uid": first}),
        ("show", {"uid": first}),
        ("duplicates", {}),
        ("stats", {}),
        ("pulse", {}),
        ("doctor", {}),
        ("backups", {}),
    ):
        result = tools.result(tool, **arguments)
        assert not result["isError"], result
        assert wire(result) <= WHOLE, tool
        fits(tool, result["structuredContent"])


def test_a_text_form_is_no_second_envelope(tools: Any) -> None:
    """The text of a search is shorter than its envelope and cuts what is long."""
    for number in range(10):
        tools.call("note", content=f"Fact {number}: " + "the mill grinds slowly. " * 60)
    result = tools.result("search", query="mill")
    text = result["content"][0]["text"]
    assert len(result["structuredContent"]["hits"]) == 10
    assert len(text) < len(json.dumps(result["structuredContent"])) / 2
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
