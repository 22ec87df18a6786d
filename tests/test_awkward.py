"""Inputs that broke other tools, through the operations: each works, or is refused cleanly.

The cases lie in a folder beside the checkout and are skipped where it is missing. The faces have
tests of their own for what only they can be given.
"""

import json
from typing import Any

import pytest
from support import SHARED

from memai import embedding, operations
from memai.errors import MemaiError
from memai.records import Where
from memai.store import Store

FOLDER = SHARED / "eval" / "awkward"
GROUPS = "fts-syntax empty characters surrogates size structured ids time cli-args".split()
EVERYTHING = Where(current=False)


def cases() -> list[dict[str, Any]]:
    """Return the cases of our groups; lines end at line feeds only."""
    path = FOLDER / "awkward.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    found = [json.loads(line) for line in lines if line.strip()]
    return [c for c in found if c["group"] in GROUPS and c["do"]["op"] in DEEDS]


def text_of(value: Any) -> str:
    """Return the text that a case describes; broken bytes come as Python reads them."""
    if isinstance(value, dict) and "gen" in value:
        return "".join(piece * times for piece, times in value["gen"])
    if isinstance(value, dict):
        return bytes.fromhex(value["bytes_hex"]).decode(errors="surrogateescape")
    return str(value)


def add(store: Store, do: dict[str, Any]) -> list[str]:
    """Keep the text of a case, and look whether it comes back as it was."""
    text = text_of(do.get("text", do.get("stdin")))
    uid = operations.note(store, text).uid
    assert operations.show(store, uid).memory.content == text
    (line,) = [e for e in operations.export(store) if e["uid"] == uid]
    assert json.loads(json.dumps(line))["content"] == text
    return [uid]


def search(store: Store, do: dict[str, Any]) -> list[str]:
    """Ask the question of a case."""
    limit = int(do.get("limit", 5))
    return [
        h.uid for h in operations.search(store, text_of(do["query"]), limit=min(limit, 1000)).hits
    ]


def listed(store: Store, do: dict[str, Any]) -> list[str]:
    """List from the time of a case on."""
    return [m.uid for m in operations.list_memories(store, since=do["since"]).memories]


def get(store: Store, do: dict[str, Any]) -> list[str]:
    """Show what a case takes for a uid."""
    return [operations.show(store, do["ref"]).memory.uid]


DEEDS = {"add": add, "search": search, "list": listed, "get": get}
CASES = cases()


@pytest.mark.skipif(not CASES, reason="the folder 'shared' is not beside the checkout")
def test_there_are_enough_cases() -> None:
    """The groups are the ones that the operations can be given."""
    assert len(CASES) >= 50
    assert {c["group"] for c in CASES} == set(GROUPS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['why'][:40]}")
def test_an_awkward_input_is_taken_or_refused(opener: Any, case: dict[str, Any]) -> None:
    """It does what the case expects; a refusal is one short sentence and changes nothing."""
    store = opener(model=embedding.DEFAULT)
    uids = {}
    distractors = json.loads((FOLDER / "distractors.json").read_text(encoding="utf-8"))
    for text in distractors if case["distractors"] else ():
        operations.note(store, text)
    for setup in case["setup"]:
        uids[setup["key"]] = operations.note(store, text_of(setup["text"])).uid
    before = list(store.export(EVERYTHING))
    expect = case["expect"]
    refusals: list[MemaiError] = []
    try:
        found = DEEDS[case["do"]["op"]](store, case["do"])
    except MemaiError as refusal:
        refusals.append(refusal)
    for error in refusals:
        assert expect["outcome"] != "ok", error.message
        assert error.exit_code in (2, 3)
        assert 10 < len(error.message) < 400
        assert "\n" not in error.message
        assert expect.get("message_names", "") in error.message
        assert list(store.export(EVERYTHING)) == before
    if not refusals:
        assert expect["outcome"] != "clean-error"
        for key in (*expect.get("includes", ()), *expect.get("includes_if_ok", ())):
            assert uids[key] in found[:5]
        assert len(found) == expect.get("count", len(found))
    assert operations.list_memories(store).memories or not (before or case["do"]["op"] == "add")
    assert operations.doctor(store, deep=True).ok
