"""Large imports, exports and syncs take a bounded amount of memory."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import CHECKOUT

from memai import when
from memai.formats import own
from memai.formats.foreign import origin_of, uid_of
from memai.records import Edit, Memory, Relation

MEMORIES = 100_000
MOST_KB = 250_000

# Runs an operation on a store and says how much memory that took at most.
PROGRAM = """
import json, resource, sys
from memai import open_store, operations
arguments = json.loads(sys.argv[1])
answer = getattr(operations, arguments.pop("operation"))(open_store(sys.argv[2]), **arguments)
told = answer._asdict()
told["kilobytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({k: told.get(k) for k in ("new", "same", "memories", "kilobytes")}))
"""


def run(store: Path, **arguments: Any) -> dict[str, int]:
    """Do an operation in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments), str(store)],
        env={"PYTHONPATH": str(CHECKOUT), "HOME": str(store.parent)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, int] = json.loads(done.stdout)
    return told


def lines() -> Iterator[str]:
    """Yield many memories, some with a history, some related to one far away."""
    words = "the walrus keeps a ledger of tusks tides and tokens in a very cold house".split()
    uids = [uid_of(origin_of("large", str(number))) for number in range(MEMORIES)]
    for number, uid in enumerate(uids):
        at = when.from_micros(1_700_000_000_000_000 + number * 1_000)
        text = " ".join(words[(number * step) % len(words)] for step in range(3, 60))
        history: tuple[Edit, ...] = ()
        if number % 10 == 0:
            history = (Edit(1, at, "large", None, {"content": f"{number} before"}),)
        memory = Memory(
            uid, "note", f"d{number % 20}", None, ("large",), "active", "unverified",
            f"{number} {text}", "large", None, None, None, at, at, 1 + len(history), {},
        )  # fmt: skip
        relations = [Relation(uid, "before", uids[-1 - number], None, "large", at)]
        yield own.dumps(own.line(memory, history, relations if number % 3 == 0 else ())) + "\n"


@pytest.mark.torture
def test_a_hundred_thousand_memories_take_a_bounded_amount_of_memory(tmp_path: Path) -> None:
    """In, in again, out, and from another store: never more than 250 MB at a time."""
    given, back = tmp_path / "given.jsonl", tmp_path / "back.jsonl"
    with given.open("w") as file:
        file.writelines(lines())
    store, other = tmp_path / "one.db", tmp_path / "two.db"
    first = run(store, operation="import_memories", source=str(given))
    again = run(store, operation="import_memories", source=str(given))
    out = run(store, operation="export", output=str(back))
    whole = run(other, operation="import_memories", source=str(store))
    assert (first["new"], again["same"]) == (MEMORIES, MEMORIES)
    assert (out["memories"], whole["new"]) == (MEMORIES, MEMORIES)
    with given.open() as one, back.open() as two:
        assert sorted(one) == list(two)
    assert max(told["kilobytes"] for told in (first, again, out, whole)) < MOST_KB


@pytest.mark.torture
def test_hostile_lines_take_a_bounded_amount_of_memory(tmp_path: Path) -> None:
    """A line without end, and nesting without end, are errors and not the end of the program."""
    given = tmp_path / "given.jsonl"
    with given.open("w") as file:
        for _ in range(400):
            file.write("x" * 1_000_000)
        file.write("\n" + "[" * 5_000_000 + "\n")
        file.write(next(lines()))
    told = run(tmp_path / "one.db", operation="import_memories", source=str(given),
               keep_going=True, format="memai")  # fmt: skip
    assert told["new"] == 1
    assert told["kilobytes"] < 600_000


@pytest.mark.torture
def test_a_sync_of_many_pages_takes_a_bounded_amount_of_memory(tmp_path: Path) -> None:
    """Writing, looking again, and making a store from pages."""
    given = tmp_path / "given.jsonl"
    with given.open("w") as file:
        file.writelines(line for number, line in enumerate(lines()) if number < 20_000)
    store, other, pages = tmp_path / "one.db", tmp_path / "two.db", str(tmp_path / "pages")
    run(store, operation="import_memories", source=str(given))
    first = run(store, operation="sync", folder=pages)
    again = run(store, operation="sync", folder=pages)
    made = run(other, operation="sync", folder=pages)
    assert (first["new"], again["same"], made["new"]) == (20_000, 20_000, 20_000)
    assert max(told["kilobytes"] for told in (first, again, made)) < MOST_KB
