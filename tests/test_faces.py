"""Every operation gives the same data and the same refusals through the shell and through MCP.

Three stores live side by side: one is used as a library, one through the command line, one through
a server and the client of the `mcp` package. Each test does the same to all three, so they stay
alike whatever the order of the tests.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from calls import CALLS, Call, fill, filled_in, for_the_faces, in_python
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from support import CHECKOUT

from memai import cli, operations
from memai.cli import commands
from memai.errors import MemaiError
from memai.operations import OPERATIONS, Operation
from memai.records import Caller
from memai.settings import resolve
from memai.signatures import read
from memai.store import Store, open_store

SIGNATURES = {op.name: read(op.function) for op in OPERATIONS}
SHELL_ONLY = {op.name for op in OPERATIONS if op.shell_only}
READS = {op.name for op in OPERATIONS if op.reads}
# What differs from store to store and from moment to moment.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z|\d{8}T\d{6}\.\d{6}Z")
UID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{10}\b")
VOLATILE = {"sha256", "bytes", "wal_bytes", "path", "last_backup", "store"}
# Over MCP no paths of this machine are named, so these refuse them in other words.
NAME_PATHS = {"backup", "backups", "recover"}


class Said(NamedTuple):
    """What a face answers: the data, or the error with its sentence."""

    data: Any
    error: dict[str, Any] | None


class Face:
    """One way to a store of its own."""

    name = "library"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        self.folder.mkdir()
        self.environment = {
            "HOME": str(self.folder),
            "MEMAI_HOME": str(self.folder / "memai"),
            "MEMAI_AGENT": "tester",
            "MEMAI_SESSION": "a sitting",
        }
        settings = resolve(None, self.environment)
        self.store: Store = open_store(settings=settings, caller=Caller("tester", "a sitting"))
        self.filled = 0
        self.unchanged: dict[str, str] = {}

    def memories(self, call: Call) -> dict[str, str]:
        """Return memories to do a call on: new ones if it changes them, else always the same."""
        changes = call.error is None and call.operation not in READS
        if changes:
            self.filled += 1
            return fill(self.store, f"d{self.filled}")
        if not self.unchanged:
            self.unchanged = fill(self.store, "unchanged")
        return self.unchanged

    def call(self, call: Call, names: dict[str, str]) -> Said:
        """Do a call and return what came back."""
        try:
            return Said(in_python(self.store, call, names), None)
        except MemaiError as error:
            said = {"code": error.code, "message": error.message, "exit_code": error.exit_code}
            return Said(None, said)

    def alike(self, said: Any, names: dict[str, str]) -> Any:
        """Return data without what differs from store to store: uids become their names."""
        known = {uid: name for name, uid in names.items()}

        def name(found: re.Match[str]) -> str:
            return f"<{known.setdefault(found[0], str(len(known)))}>"

        text = json.dumps(said, ensure_ascii=False, sort_keys=True)
        text = TIME.sub("<time>", text.replace(str(self.folder), "<home>"))
        return _masked(json.loads(UID.sub(name, text)))

    def close(self) -> None:
        """Let go of what is open."""
        self.store.close()


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "<volatile>" if key in VOLATILE else _masked(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value


class Shell(Face):
    """The command line; in this process, because a hundred of their own take their time."""

    name = "shell"

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command; return its exit code and what it wrote."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, io.StringIO() as nothing:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            patch.chdir(self.folder)  # the folder of a repository has a domain
            patch.setattr(sys, "stdin", nothing)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = cli.main(list(arguments))
        written = []
        for stream in (out, err):
            stream.flush()
            written.append(stream.buffer.getvalue().decode())
        return code, *written

    def call(self, call: Call, names: dict[str, str]) -> Said:
        """Do a call with --json."""
        given = filled_in(call.arguments, names)
        options, positional = [], []
        for parameter in SIGNATURES[call.operation].parameters:
            value = given.get(parameter.name)
            values = value if isinstance(value, list) else [value]
            if value is None:
                continue
            if parameter.param.positional:
                positional += values
            elif parameter.kind == "flag":
                options += [parameter.option] if value else []
            else:
                options += [part for item in values for part in (parameter.option, str(item))]
        code, out, err = self.run(*call.operation.split(), "--json", *options, "--", *positional)
        if code not in (0, 8):
            assert out == ""
            error = json.loads(err)["error"]
            assert error["exit_code"] == code
            return Said(None, error)
        assert err == ""
        if call.operation == "export":
            return Said([json.loads(line) for line in out.splitlines()], None)
        return Said(json.loads(out), None)


class Server(Face):
    """An MCP server over stdio, and a client that other people wrote."""

    name = "mcp"

    def __init__(self, folder: Path, portal: BlockingPortal) -> None:
        super().__init__(folder)
        self.portal = portal
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "memai", "serve-mcp", "--tools", "all", "--allow-purge"],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **self.environment},
            cwd=self.folder,
        )
        self.errors = (self.folder / "errors").open("w+")
        self._wire = portal.wrap_async_context_manager(stdio_client(parameters, self.errors))
        self._session = portal.wrap_async_context_manager(ClientSession(*self._wire.__enter__()))
        self.session: ClientSession = self._session.__enter__()
        portal.call(self.session.initialize)
        self.tools = {t.name: t for t in portal.call(self.session.list_tools).tools}

    def call(self, call: Call, names: dict[str, str]) -> Said:
        """Call a tool."""
        given = filled_in(call.arguments, names)
        tool = tool_name(call.operation)
        result: Any = self.portal.call(self.session.call_tool, tool, given)
        assert result.content[0].text
        if result.is_error:
            return Said(None, result.structured_content["error"])
        return Said(result.structured_content, None)

    def close(self) -> None:
        """Leave, and look whether the server complained."""
        self._session.__exit__(None, None, None)
        self._wire.__exit__(None, None, None)
        self.errors.seek(0)
        assert self.errors.read() == ""
        self.errors.close()
        super().close()


def tool_name(operation: str) -> str:
    """Return the name of an operation over MCP."""
    return operation.replace(" ", "_")


Faces = tuple[Face, Shell, Server]


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faces]:
    """Open the three faces of three stores that are filled alike."""
    folder = tmp_path_factory.mktemp("faces")
    with start_blocking_portal() as portal:
        made = (Face(folder), Shell(folder), Server(folder, portal))
        yield made
        for face in made:
            face.close()


@pytest.fixture
def everywhere(faces: Faces, tmp_path: Path) -> Iterator[Callable[[Call], list[Said]]]:
    """Do a call through each face, on memories of its own, and return the answers made alike.

    What works in a shell only gets stores of its own, or the server's would be left behind.
    """
    opened: list[Face] = []

    def do(call: Call) -> list[Said]:
        chosen: tuple[Face, ...] = faces
        if call.operation in SHELL_ONLY:
            chosen = (Face(tmp_path), Shell(tmp_path))
            opened.extend(chosen)
        names = [face.memories(call) for face in chosen]
        answers = []
        for face, known in zip(chosen, names, strict=True):
            if for_the_faces(call) and face.name == "library":
                answers.append(Said(None, None))
                continue
            said = face.call(call, known)
            answers.append(Said(face.alike(said.data, known), face.alike(said.error, known)))
        return answers

    yield do
    for face in opened:
        face.close()


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_every_face_says_the_same(everywhere: Callable[[Call], list[Said]], call: Call) -> None:
    """The same call gives the same data, or the same refusal, whichever way it comes."""
    library, *others = everywhere(call)
    for said in others:
        if call.error is not None:
            assert said.error is not None
            assert said.error["code"] == call.error
            assert said.data is None
            alike = not for_the_faces(call) and call.operation not in NAME_PATHS
            if alike and set(call.arguments):
                assert said.error == library.error
        elif call.operation == "export":
            assert _by_content(said.data) == _by_content(library.data)
        else:
            assert _lines(said) == _lines(library)


def _lines(said: Said) -> list[str]:
    """Return an answer line by line, so that a difference is seen."""
    return json.dumps(said.error or said.data, indent=1, ensure_ascii=False).splitlines()


def _by_content(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an export in an order that does not depend on random uids."""
    return sorted(lines, key=lambda line: (line["content"], line["type"], line["created_at"]))


# --- the same parameters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation", [op for op in OPERATIONS if not op.shell_only], ids=lambda op: op.name
)
def test_both_faces_offer_the_same_parameters(faces: Faces, operation: Operation) -> None:
    """A tool takes what the command takes: names, choices, several or one, required or not."""
    tool = faces[2].tools[tool_name(operation.name)]
    properties = tool.input_schema.get("properties", {})
    signature = SIGNATURES[operation.name]
    assert list(properties) == [p.name for p in signature.parameters]
    assert tool.input_schema.get("required", []) == [
        p.name for p in signature.parameters if p.required
    ]
    first, _, second = operation.name.partition(" ")
    command = commands.command(first)
    if isinstance(command, click.Group) and second:
        command = command.get_command(click.Context(command), second)
    assert command is not None
    options = {p.name: p for p in command.params}
    for p in signature.parameters:
        told, option = properties[p.name], options[p.argument]
        many = told.get("type") == "array"
        assert many == p.many == (option.multiple or (option.nargs == -1 and p.many))
        choices = tuple((told["items"] if many else told).get("enum", ()))
        assert choices == p.choices
        assert tuple(getattr(option.type, "choices", ())) == p.choices
        assert not isinstance(option, click.Option) or p.option in (*option.opts,)


def test_hints_are_those_of_the_table(faces: Faces) -> None:
    """Each tool says whether it reads, destroys, and may be repeated."""
    for operation in OPERATIONS:
        if not operation.shell_only:
            hints = faces[2].tools[tool_name(operation.name)].annotations
            assert hints is not None
            assert hints.read_only_hint == operation.reads
            assert hints.destructive_hint == operation.destroys
            assert hints.idempotent_hint == operation.idempotent
            assert hints.open_world_hint is False


# --- examples -----------------------------------------------------------------------------------

EXAMPLES = [(op.name, example) for op in OPERATIONS for example in op.examples]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[e for _, e in EXAMPLES])
def test_every_example_runs(name: str, example: str, tmp_path: Path) -> None:
    """What the manual shows works as typed, in a shell, on memories that are there."""
    shell = Shell(tmp_path)
    names = fill(shell.store, "shop")
    operations.note(shell.store, "Staging resets its database every night.", domain="shop")
    if name == "domains merge":
        operations.note(shell.store, "The checkout has a queue.", domain="webshop")
    operations.link(shell.store, names["note"], "relates_to", names["twin"])
    command = example.format(
        uid=names["note"],
        other=names["other"],
        linked=names["twin"],
        backup=operations.backup(shell.store, str(tmp_path / "copy.db")).path,
    )
    program = f'memai() {{ "{sys.executable}" -m memai "$@"; }}; git() {{ echo a change; }}; '
    done = subprocess.run(
        ["sh", "-c", program + command],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **shell.environment},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    shell.close()
    assert done.returncode == 0, done.stderr
    # Quiet where all is well: doctor of a healthy store, and backup, for cron.
    assert done.stdout or done.stderr or name in ("doctor", "backup", "export")
