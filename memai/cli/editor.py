"""Writing a memory in the person's own editor, with a template that shows the fields."""

from __future__ import annotations

import os

from memai.errors import UsageError
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from memai.operations import Operation
    from memai.records import Memory
    from memai.shapes import Signature
    from memai.store import Store

# Operations without one text: their options are the sections of the template.
SECTIONS = {
    "checkpoint": ("intent", "established", "pursuing", "open_questions"),
    "anti_pattern": ("pattern", "why_wrong", "instead"),
}
_WRITERS = frozenset(("note", "reasoning", "handoff"))
# A line that no text has by chance; what follows it is not kept.
_CUT = "# ------------------------ >8 ------------------------"
_SECTION = r"(?m)^# == (\w+) == .*$"
# Arguments of edit that change nothing by themselves.
_NO_CHANGE = frozenset(("uid", "version", "reason", "allow_secret", "redact"))
_EDITORS = ("sensible-editor", "nano", "vi")


def wanted(operation: Operation, arguments: dict[str, Any]) -> bool:
    """Whether the text is missing, and nothing else says what is to be done."""
    if operation.name in SECTIONS:
        return not any(arguments.get(name) for name in SECTIONS[operation.name])
    if operation.name == "edit":
        said = {name for name, value in arguments.items() if value not in (None, False)}
        return not said - _NO_CHANGE
    return operation.name in _WRITERS and arguments.get("content") is None


def hint(operation: Operation) -> str:
    """Say how the text can be given where no editor can be opened."""
    name = operation.name
    if name in SECTIONS:
        listed = ", ".join("--" + field.replace("_", "-") for field in SECTIONS[name])
        return f"Nothing to keep: give at least one of {listed}."
    text = "CONTENT" if name != "edit" else "UID CONTENT"
    also = "" if name != "edit" else ", or a field to change"
    return (
        f"The text is missing. Write 'memai {name} {text}', '-' for standard input, "
        f"--file PATH{also}."
    )


class Draft:
    """A private file that a person edits; it is kept if what was written could not be stored."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.written = False

    def write(
        self,
        operation: Operation,
        signature: Signature,
        store: Store,
        arguments: dict[str, Any],
    ) -> dict[str, Any]:
        """Let the person write; return the arguments it makes. Raises UsageError for nothing."""
        if operation.name in SECTIONS:
            helps = {p.argument: p.param.help for p in signature.parameters}
            head = "".join(f"# == {f} == {helps[f]}\n\n\n" for f in SECTIONS[operation.name])
            fields = _sections(self._edited(head + _foot(operation, signature, store, arguments)))
            self.written = bool(fields)
            if not fields:
                raise UsageError(reason="Nothing was written: nothing is kept.")
            return fields
        memory: Memory | None = None
        if operation.name == "edit":
            memory = store.get(store.resolve(arguments["uid"]))
        before = "" if memory is None else memory.content
        # Editors want a line feed at the end of the text; one that was not there goes again.
        feed = "" if before.endswith("\n") else "\n"
        after = self._edited(before + feed + _foot(operation, signature, store, arguments, memory))
        content = after.partition(_CUT)[0]
        if feed:
            content = content.removesuffix("\n") if memory else content.rstrip("\n")
        self.written = bool(content.strip()) and content != before
        if not self.written:
            what = "kept" if memory is None else "changed"
            raise UsageError(reason=f"Nothing was written: nothing is {what}.")
        if memory is None:
            return {"content": content}
        return {"content": content, "version": arguments.get("version") or memory.version}

    def _edited(self, template: str) -> str:
        """Open the editor on a new file and return what it holds afterwards."""
        import shlex
        import subprocess
        import tempfile

        from memai.cli.asking import read_file

        command = _editor()
        descriptor, self.path = tempfile.mkstemp(prefix="memai-", suffix=".md")
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(template)
        try:
            status = subprocess.call([*shlex.split(command), self.path])  # noqa: S603 - their own
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                reason=f"The editor '{command}' cannot be started: {reason}. Set VISUAL or EDITOR."
            ) from None
        if status:
            raise UsageError(reason=f"The editor '{command}' failed: nothing was changed.")
        return read_file(self.path)

    def let_go(self, *, failed: bool) -> None:
        """Remove the file; after a failure leave it where something was written, and say so."""
        if self.path is None:
            return
        if failed and self.written:
            from memai.cli import output

            output.remark(f"What you wrote is kept in {self.path}")
            return
        try:
            os.unlink(self.path)
        except OSError:  # the editor may have moved it
            return


def _foot(
    operation: Operation,
    signature: Signature,
    store: Store,
    arguments: dict[str, Any],
    memory: Memory | None = None,
) -> str:
    """Return what stands below the text: what is asked for, and the fields as they will be."""
    fields = []
    for name in ("type", "domain", "session", "tags", "source"):
        value = arguments.get(name)
        if value is None and memory is not None:
            value = getattr(memory, name)
        if value is None and name == "domain":
            value = store.caller.domain
        if value is None and name == "type":
            value = operation.name
        shown = ", ".join(value) if isinstance(value, tuple) else value
        fields.append(f"# {name + ':':<9} {shown or '-'}")
    if memory is not None:
        fields.insert(0, f"# {'uid:':<9} {memory.uid}, version {memory.version}")
    return "\n".join(
        (
            _CUT,
            "# This line and all below it is left out. An empty text keeps nothing.",
            f"# {signature.summary}",
            "#",
            *fields,
            f"# Fields are options: see 'memai {operation.name} -h'.",
            "",
        )
    )


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a template that hold something, stripped."""
    import re

    pieces = re.split(_SECTION, text.partition(_CUT)[0])
    found = zip(pieces[1::2], pieces[2::2], strict=True)
    return {name: body.strip() for name, body in found if body.strip()}


def _editor() -> str:
    """Return the command of the person's editor; raises UsageError where there is none."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if chosen and chosen.strip():
        return chosen
    from shutil import which

    found = next((name for name in _EDITORS if which(name)), None)
    if found is None:
        raise UsageError(reason="There is no editor. Set VISUAL or EDITOR, or write the text here.")
    return found
