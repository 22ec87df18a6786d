"""What a command takes from elsewhere than its line: standard input, a file, an editor."""

from __future__ import annotations

import sys

from memai.cli import output
from memai.errors import UsageError
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

    from memai.cli.choices import Choices
    from memai.cli.editor import Draft
    from memai.operations import Operation
    from memai.records import Changed
    from memai.shapes import Parameter, Signature
    from memai.store import Store

# More is refused before it fills the memory; the operations have their own, smaller limits.
_MOST_BYTES = 64_000_000


class Asking:
    """The arguments of one run; a text written in an editor is not lost if the run fails."""

    def __init__(
        self,
        choices: Choices,
        operation: Operation,
        signature: Signature,
        store: Store,
    ) -> None:
        self.choices = choices
        self.operation = operation
        self.signature = signature
        self.store = store
        self.empty_input = False
        self.draft: Draft | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.draft is not None:
            self.draft.let_go(failed=error is not None)

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the operation; raises UsageError where one is missing."""
        file = given.pop("file_", None)
        arguments: dict[str, Any] = {}
        for p in self.signature.parameters:
            value = self._value(p, given.get(p.argument), file)
            if value is not None:
                arguments[p.argument] = value
        self._ask_for_text(arguments)
        self._ask_for_phrase(arguments)
        self._no_files(arguments)
        for p in self.signature.positionals():
            if p.required and arguments.get(p.argument) is None:
                raise UsageError(reason=self._missing(p))
        return arguments

    def _no_files(self, arguments: dict[str, Any]) -> None:
        """Refuse the file of a backup where a uid is expected; raises UsageError."""
        if self.operation.name != "restore":
            return
        for uid in arguments.get("uids") or ():
            if "/" in uid or uid.endswith(".db"):
                raise UsageError(
                    reason=f"'{uid}' is no uid: restore brings back forgotten memories. For a "
                    f"backup say 'memai recover {uid}'."
                )

    def nothing(self) -> Changed | None:
        """Return the answer if the uids were to come from standard input and none came."""
        if not self.empty_input:
            return None
        from memai.records import Changed

        return Changed((), (), ("No uids on standard input: nothing was changed.",))

    def _value(self, p: Parameter, value: Any, file: str | None) -> Any:
        """Return the value of one parameter, None where nothing was said."""
        if p.param.stdin:
            if isinstance(value, tuple):
                value = " ".join(value) if value else None
            if file is not None:
                if value is not None:
                    raise UsageError(reason="Give the text on the line or with --file, not both.")
                return read_file(file)
            return read_input() if value == "-" else value
        if not p.many:
            return value
        values = tuple(value or ())
        if p.param.positional and p.param.completes == "uid" and "-" in values:
            values = self._uids(values)
        if p.param.commas:
            values = tuple(part for item in values for part in _parts(item))
        return values or (() if self.empty_input else None)

    def _uids(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """Return the uids; `-` stands for the first fields of the lines of standard input."""
        lines = read_input().split("\n")
        read = tuple(line.split("\t")[0].strip() for line in lines if line.strip())
        found = tuple(uid for value in values for uid in (read if value == "-" else (value,)))
        self.empty_input = not found
        return found

    def _ask_for_text(self, arguments: dict[str, Any]) -> None:
        """Open an editor where the text is missing and a person is there."""
        if self.operation.group != "write" and self.operation.name != "edit":
            return
        from memai.cli import editor

        if not editor.wanted(self.operation, arguments):
            return
        if not self.may_ask():
            raise UsageError(reason=editor.hint(self.operation))
        self.draft = editor.Draft()
        arguments.update(self.draft.write(self.operation, self.signature, self.store, arguments))

    def _ask_for_phrase(self, arguments: dict[str, Any]) -> None:
        """Ask for the phrase of purge where it is missing and a person is there."""
        if self.operation.name != "purge" or arguments.get("confirm") is not None:
            return
        if self.may_ask():
            from memai.cli import prompt

            arguments["confirm"] = prompt.phrase(self.store, arguments["uid"])

    def may_ask(self) -> bool:
        """Whether a person is there: both ends are a terminal, and --no-input was not said."""
        return (
            not self.choices.no_input
            and output.is_terminal(sys.stdin)
            and output.is_terminal(sys.stdout)
        )

    def _missing(self, p: Parameter) -> str:
        """Say what is missing and how to give it."""
        name = self.operation.name
        if p.param.stdin:
            return f"What is to be found? Write 'memai {name} {p.metavar}'."
        if p.many:
            return (
                f"No memory was named. Write 'memai {name} {p.metavar}...', or '-' to read uids "
                "from standard input."
            )
        return f"{p.metavar} is missing. See 'memai {name} -h'."


def _parts(value: str) -> list[str]:
    """Return what is between the commas; nothing at all stays, to be refused."""
    parts = [part.strip() for part in value.split(",")]
    return [part for part in parts if part] or [""]


def read_input() -> str:
    """Return standard input unchanged; raises UsageError for what is no UTF-8."""
    if sys.stdin is None:
        raise UsageError(reason="Standard input is closed.")
    if output.is_terminal(sys.stdin):
        output.remark("Reading standard input; Ctrl-D on a line of its own ends it.")
    buffer = getattr(sys.stdin, "buffer", None)
    data = buffer.read(_MOST_BYTES + 1) if buffer is not None else sys.stdin.read().encode()
    return decoded(data, "Standard input")


def read_file(path: str) -> str:
    """Return the text of a file unchanged; raises UsageError."""
    from memai.settings import expanded

    if path == "-":
        return read_input()
    try:
        with open(expanded(path), "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(reason=f"The file '{path}' cannot be read: {reason}.") from None
    return decoded(data, f"The file '{path}'")


def decoded(data: bytes, what: str) -> str:
    """Return bytes as text; raises UsageError with the place of what is no UTF-8."""
    if len(data) > _MOST_BYTES:
        raise UsageError(reason=f"{what} is larger than {_MOST_BYTES:,} bytes.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        hint = ""
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            hint = " It looks like UTF-16, as PowerShell writes it: convert it first."
        raise UsageError(
            reason=f"{what} is not UTF-8: byte 0x{data[error.start]:02x} at offset "
            f"{error.start:,}.{hint}"
        ) from None
