"""How a command line ends when it does not end well: one sentence, one exit code."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from memai.cli import output
from memai.errors import MemaiError


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Say on standard error what went wrong, as a sentence or as JSON; return the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader has seen enough
        output.let_go()
        return 0
    if isinstance(error, KeyboardInterrupt | EOFError):
        _say("Interrupted.", "interrupted", 130, arguments)
        return 130
    if isinstance(error, MemaiError):
        _say(error.message, error.code, error.exit_code, arguments)
        return error.exit_code
    if "click" in sys.modules:  # nothing of Click is raised before it is imported
        import click

        if isinstance(error, click.Abort):
            return report(KeyboardInterrupt(), arguments)
        if isinstance(error, click.UsageError):
            from memai.cli import usage

            _say(usage.sentence(error), "usage", 2, arguments)
            return 2
    if os.environ.get("MEMAI_DEBUG") == "1":
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    _say(f"Unexpected error: {what[:300]}. MEMAI_DEBUG=1 shows where.", "unexpected", 1, arguments)
    return 1


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON: it may be too wrong to be taken apart."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or "--jsonl" in options


def _say(message: str, code: str, exit_code: int, arguments: Sequence[str]) -> None:
    """Write one line to standard error, if there is one."""
    if wants_json(arguments):
        fields: dict[str, Any] = {"code": code, "message": message, "exit_code": exit_code}
        output.remark_line(output.as_json({"error": fields}, shown=True))
    else:
        output.remark(message, "error")
