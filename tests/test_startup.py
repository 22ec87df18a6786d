"""What a command may import: start-up is a feature, and an import is the usual way to lose it.

A stopwatch would judge the machine; the set of modules is the same everywhere. What is listed here
is beside what the interpreter has loaded by itself.
"""

import os
import subprocess
import sys

import pytest
from support import CHECKOUT

from memai import open_store, operations

# By the first part of the name. What apsw needs, and two that are compiled in.
OPENING = {"apsw", "collections", "errno", "itertools", "keyword", "operator", "reprlib"}
LISTING = OPENING | {"__future__", "binascii", "gc", "memai"}
JSON = LISTING | {"copyreg", "enum", "functools", "json", "re", "sre", "types"}
EMBEDDING = JSON | {
    *("array", "bisect", "contextlib", "math", "mmap", "struct", "unicodedata"),
}
WRITING = EMBEDDING | {"blake2", "hashlib"}
SEARCHING = EMBEDDING | {"importlib", "typing", "warnings"}

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
import io, sys
floor = set(sys.modules)
from memai import cli
answer, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
code = cli.main(sys.argv[1:])
print(code, *sorted(set(sys.modules) - floor), file=answer)
"""


def imported(*arguments, **environment):
    """Return what a command line imports, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
    )
    code, *modules = done.stdout.split()
    assert code == "0"
    return set(modules)


def first_parts(modules):
    """Return the first parts of module names, without the underscore of built-in halves."""
    parts = {name.partition(".")[0] for name in modules}
    return {part if part.endswith("__") else part.lstrip("_") for part in parts}


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        (["list"], LISTING),
        (["list", "-d", "shop", "-t", "a", "-n", "5", "-q"], LISTING),
        (["show", "{uid}"], LISTING),
        (["show", "{uid}", "--span", "0:2"], LISTING),
        (["relations", "{uid}"], LISTING),
        (["list", "--json"], JSON),
        (["pulse", "-d", "shop"], JSON),
        (["list", "--since", "3d"], JSON | {"calendar", "datetime", "locale", "math"}),
        (["stats"], EMBEDDING | {"typing", "warnings"}),
        (["note", "Another fact."], WRITING),
        (["search", "fact"], SEARCHING),
    ],
)
def test_a_command_imports_what_it_needs(home, line, allowed):
    """Each command imports modules of its list and no other."""
    uid = operations.note(open_store(), "A fact.", domain="shop", tags=("a", "b")).uid
    assert first_parts(imported(*(word.format(uid=uid) for word in line))) <= allowed


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("memai sh", LISTING),
        ("memai show ", LISTING),
        ("memai forget {uid} ", LISTING),
        ("memai list --type ", LISTING),
        ("memai list -t ", LISTING),
    ],
)
def test_a_completion_imports_what_it_needs(home, words, allowed):
    """A Tab imports no more than a list."""
    uid = operations.note(open_store(), "A fact.", domain="shop", tags=("a", "b")).uid
    line = words.format(uid=uid)
    question = {"_MEMAI_COMPLETE": "zsh_complete", "COMP_WORDS": line}
    place = str(len(line.split(" ")) - 1)
    assert first_parts(imported(COMP_CWORD=place, **question)) <= allowed


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
