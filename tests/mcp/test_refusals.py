"""What a server refuses, how it says so, and where a model reads more."""

import json
from typing import Any

import pytest

from memai.errors import MemaiError
from memai.operations import OPERATIONS


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "exit_code"),
    [
        ("show", {"uid": "0000000000"}, "no-such-memory", 3),
        ("show", {"uid": "-1"}, "no-such-memory", 3),
        ("note", {"content": "  "}, "usage", 2),
        ("note", {"content": "x", "colour": "red"}, "usage", 2),
        ("note", {"content": "bad \ud83d"}, "usage", 2),
        ("search", {"query": "x \ude00 y"}, "usage", 2),
        ("list", {"since": "2026-1-5"}, "usage", 2),
        ("list", {"domain": ""}, "usage", 2),
        ("note", {"content": "x" * 1_000_001}, "too-large", 2),
        ("backup", {"target": "/etc/x.db"}, "usage", 2),
        ("nothing", {}, "usage", 2),
        ("export", {}, "refused", 4),
    ],
)
def test_a_refusal_has_code_message_and_exit_code(
    tools: Any, tool: str, arguments: dict[str, Any], code: str, exit_code: int
) -> None:
    """What cannot be done is an error in words for the model and a code for a program."""
    if tool == "backup":
        tools.call("note", content="Something to back up.")
    result = tools.result(tool, **arguments)
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert (error["code"], error["exit_code"]) == (code, exit_code)
    assert result["content"][0]["text"]
    result["content"][0]["text"].encode()
    assert "Traceback" not in json.dumps(result)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("show", {"uid": "UID", "span": "9" * 100_000 + ":"}),
        ("show", {"uid": "9" * 100_000}),
        ("backup", {"target": "d" * 100_000}),
        ("list", {"since": "d" * 100_000}),
        ("note", {"content": "x", "k" * 100_000: 1}),
    ],
)
def test_a_refusal_is_short_whatever_was_sent(
    tools: Any, tool: str, arguments: dict[str, Any]
) -> None:
    """An argument of any length is not sent back whole."""
    uid = tools.call("note", content="Something.")["uid"]
    given = {name: uid if value == "UID" else value for name, value in arguments.items()}
    result = tools.result(tool, **given)
    assert result["isError"] is True
    assert len(json.dumps(result)) < 10_000


def test_purging_wants_the_whole_uid_and_the_phrase(tools: Any) -> None:
    """Without the phrase, or with an abbreviation, nothing is erased."""
    uid = tools.call("note", content="To be erased.")["uid"]
    for arguments in (
        {"uid": uid},
        {"uid": uid, "confirm": "yes"},
        {"uid": uid[:6], "confirm": f"DELETE {uid[:6]}"},
        {"uid": uid, "confirm": f"delete {uid}"},
    ):
        assert tools.error("purge", **arguments)["code"] == "confirmation-needed"
    assert tools.call("show", uid=uid)
    assert tools.call("purge", uid=uid, confirm=f"DELETE {uid}")["erased"] is True
    assert tools.error("purge", uid=uid, confirm=f"DELETE {uid}")["code"] == "no-such-memory"


def test_purge_and_writes_can_be_switched_off(local: Any) -> None:
    """A server does not purge unless allowed, and a read-only one changes nothing at all."""
    uid = local().call("note", content="Kept.")["uid"]
    assert local().error("purge", uid=uid, confirm=f"DELETE {uid}")["code"] == "refused"
    reader = local(read_only=True, allow_purge=True)
    for operation in OPERATIONS:
        if not operation.reads and not operation.shell_only:
            assert reader.error(operation.name)["code"] == "refused"
    assert reader.call("show", uid=uid)["memory"]["content"] == "Kept."


def test_what_is_not_listed_works_when_called(local: Any) -> None:
    """The daily list is a list, not a fence; a prefix may be there or not."""
    daily = local(prefix="memai_")
    assert daily.call("memai_note", content="Prefixed.")["created"]
    assert daily.call("note", content="Plain.")["created"]
    assert daily.call("memai_stats")["counts"]["memories"] == 2
    assert daily.call("domains")["domains"]


def test_a_fault_is_one_sentence_without_secrets(
    tools: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception that nobody foresaw shows neither its message nor a path, but its kind."""

    def broken(store: object) -> object:
        raise RuntimeError("secret at /home/someone/.memai")

    monkeypatch.setattr("memai.operations.upkeep.stats", broken)
    error = tools.error("stats")
    assert (error["code"], error["exit_code"]) == ("unexpected", MemaiError.exit_code)
    assert "RuntimeError" in error["message"]
    assert "secret" not in json.dumps(error)
    assert "/home" not in json.dumps(error)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("MEMAI_DEBUG", "1")
    tools.error("stats")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "RuntimeError: secret at" in captured.err


def test_shell_options_are_named_as_arguments(tools: Any) -> None:
    """A message about a missing option speaks of the argument that the tool has."""
    result = tools.result("checkpoint")
    assert "'open_questions'" in result["content"][0]["text"]
    assert "--" not in result["content"][0]["text"]


def test_help_explains_tools_and_how_to_keep_memories(tools: Any) -> None:
    """Help lists everything; a topic has all arguments with defaults and bounds, or advice."""
    overview = tools.text("help")
    for operation in OPERATIONS:
        if not operation.shell_only:
            assert f"\n{operation.name.replace(' ', '_')}: " in overview
    search = tools.text("help", topic="search")
    assert "- limit (integer, default 10, from 1, to 1000): " in search
    assert "- type (note|checkpoint|anti_pattern|reasoning|handoff): " in search
    assert "- query (text, required): " in search
    assert "Search before you save" in tools.text("help", topic="keeping")
    assert "memai backup" in tools.text("help", topic="schedule")
    assert tools.error("help", topic="nothing")["code"] == "usage"
    assert "It takes: topic" in tools.error("help", about="x")["message"]


@pytest.mark.parametrize("operation", [op for op in OPERATIONS if not op.shell_only], ids=str)
def test_help_has_every_operation(tools: Any, operation: Any) -> None:
    """Each tool has its page, and no page is larger than an answer."""
    page = tools.text("help", topic=operation.name)
    assert len(page.encode()) < 6_000
