"""What a command may import: start-up is a feature, and an import is the usual way to lose it.

A stopwatch would judge the machine; the set of modules is the same everywhere. The floor is what
Click and apsw import themselves.
"""

import json
import os
import subprocess
import sys

import pytest
from support import CHECKOUT

# Beyond the floor, by the first part of the name: quick ones of the standard library.
LISTING = {"binascii", "gc", "json", "memai", "unicodedata"}
EMBEDDING = {"array", "bisect", "blake2", "hashlib", "mmap", "struct"}
# Click looks for near names of a short option before it takes it for one.
SHORT_OPTION = {"difflib", "heapq", "locale"}

# Slow ones, which a command line in a pipe never needs: 15 ms (dataclasses) to 900 ms (mcp).
SLOW = {
    "asyncio",
    "dataclasses",
    "importlib.metadata",
    "mcp",
    "model2vec",
    "numpy",
    "pathlib",
    "pydantic",
    "shutil",
    "sqlite_vec",
    "subprocess",
    "tabulate",
    "tempfile",
    "tokenizers",
    "traceback",
}

_ASK = """
import io, json, sys
import click, apsw
floor = set(sys.modules)
from memai import cli
answer, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
code = cli.main(sys.argv[1:])
print(json.dumps([code, sorted(set(sys.modules) - floor)]), file=answer)
"""


def imported(*arguments):
    """Return what a command line imports beyond the floor, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    code, modules = json.loads(done.stdout)
    assert code == 0
    return set(modules)


def first_parts(modules):
    """Return the first parts of module names, without the underscore of built-in halves."""
    return {name.partition(".")[0].lstrip("_") for name in modules}


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        (["list"], LISTING),
        (["list", "-q"], LISTING | SHORT_OPTION),
        (["list", "--json"], LISTING),
        (["pulse"], LISTING),
        (["stats"], LISTING | EMBEDDING),
        (["note", "Another fact."], LISTING | EMBEDDING),
        (["search", "fact"], LISTING | EMBEDDING | {"importlib"}),
    ],
)
def test_a_command_imports_what_it_needs(home, line, allowed):
    """Each command imports modules of its list and no other."""
    imported("note", "A fact.")
    assert first_parts(imported(*line)) <= allowed


@pytest.mark.parametrize(
    "line", [["list"], ["note", "A fact."], ["search", "fact"], ["export"], ["-h"], ["list", "-h"]]
)
def test_slow_modules_stay_away(home, line):
    """No command line in a pipe imports a slow module."""
    assert not imported(*line) & SLOW


def test_a_command_imports_no_other_operation(home):
    """A command imports the room of its own operation: list knows nothing of writing."""
    rooms = {name for name in imported("list") if name.startswith("memai.operations.")}
    assert "memai.operations.reading" in rooms
    assert not rooms & {
        "memai.operations.writing",
        "memai.operations.curating",
        "memai.operations.searching",
        "memai.operations.copies",
    }
    faces = {name for name in imported("list") if name.startswith("memai.mcp")}
    assert not faces
