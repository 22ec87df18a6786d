"""Who may import whom, what may be imported late, and what the tools say of the source."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from support import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = CHECKOUT / "memai"


class Import(NamedTuple):
    """One import: in which room, of what, and whether it waits until a function is called."""

    room: str
    package: str
    late: bool


def imports() -> Iterator[Import]:
    """Yield every import of the package, without those that only type checkers see."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inner = path.relative_to(PACKAGE)
        if inner.parts[0] == "model":  # builds the model and is not part of the program
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, late in _imported(tree, late=False):
            yield Import(inner.parts[0].removesuffix(".py"), name, late)


def _imported(node: ast.AST, *, late: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield (whole if child.module == "memai" else child.module or ""), late
        yield from _imported(child, late=late or isinstance(child, ast.FunctionDef))


IMPORTS = list(imports())

# Packages that are not of the standard library, and the rooms that may know them. Slow ones are
# imported by the function that needs them, in milliseconds: tabulate 40, numpy 80 to 130,
# tokenizers 60, model2vec 160 to 260, mcp with what it brings 600 to 900.
EARLY = {"click": {"cli", "documents"}, "apsw": {"store"}, "anyio": {"mcp"}}
LATE = {
    "tabulate": {"cli"},
    "yaml": {"formats"},
    "numpy": {
        *("embedding", "numeric", "store", "likeness", "operations", "sketches", "ranking"),
    },
    "tokenizers": {"embedding"},
    "model2vec": {"embedding"},
    "mcp": {"mcp"},
    "mcp_types": {"mcp"},
    "pydantic": {"mcp"},
    "uvicorn": {"mcp"},
}


def test_other_packages_are_imported_where_and_when_they_may_be() -> None:
    """Each foreign package is known to its rooms alone; slow ones are imported late."""
    rooms: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for room, name, late in IMPORTS:
        package = name.split(".")[0]
        if package != "memai" and package not in sys.stdlib_module_names:
            rooms[package, late].add(room)
    wrong = {
        (package, late): found - (EARLY | LATE if late else EARLY).get(package, set())
        for (package, late), found in rooms.items()
    }
    assert {key: found for key, found in wrong.items() if found} == {}


def test_what_is_imported_is_declared() -> None:
    """Every foreign package is a dependency, or comes with one."""
    declared = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["project"]["dependencies"]}
    used = (set(EARLY) | set(LATE)) - {"mcp_types", "pydantic", "anyio", "uvicorn"}  # by mcp
    # One is loaded by its path, the other has another name as a package.
    assert used - {"yaml"} | {"sqlite-vec", "pyyaml"} == declared


def test_no_face_imports_another() -> None:
    """Except that `memai serve-mcp` starts the server, and the manual shows the commands."""
    faces = {"cli", "mcp", "documents"}
    known = {
        (room, name.split(".")[1], late)
        for room, name, late in IMPORTS
        if room in faces and name.startswith("memai.") and name.split(".")[1] in faces - {room}
    }
    assert known <= {("cli", "mcp", True), ("documents", "cli", False), ("documents", "cli", True)}


def test_no_engine_is_known_above_the_store() -> None:
    """Outside its room only the protocol is known, so that another engine can take its place."""
    known = {
        (room, name)
        for room, name, _ in IMPORTS
        if room != "store" and name.startswith("memai.store.")
    }
    assert known == set()


def run(*command: str) -> None:
    """Run a tool of this environment over the checkout; what it says is the failure."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


def test_the_layers_hold() -> None:
    """Nothing lower in the house imports what is above it (the contracts in pyproject.toml)."""
    program = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_the_source_is_clean(command: str) -> None:
    """Ruff finds nothing, and nothing to lay out."""
    run("ruff", *command.split(), "--quiet", ".")


def test_the_types_hold() -> None:
    """Mypy in its strict mode finds nothing."""
    run("mypy", "--no-error-summary")


def test_each_exception_to_the_rules_has_a_reason() -> None:
    """What ruff is told to overlook, in the configuration or in a line, says why."""
    text = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.split("[tool.ruff.lint]")[1].split("ignore = [")[1].split("\n]")[0]
    assert [line for line in block.splitlines()[1:] if "#" not in line] == []
    bare = [
        f"{path.relative_to(CHECKOUT)}:{number}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        # A method takes what its base class gives it (ARG002): that reason is always the same.
        if re.search(r"#\s*(noqa|type: ignore)\b(?!.*- )(?!: ARG002)", line)
    ]
    assert bare == []
