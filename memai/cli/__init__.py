"""The command line: a face over the table of operations.

It knows operations, signatures, records and errors; nothing in it knows the store. This module is
where a command line enters and leaves; the rest is imported when it is needed, so that a command
pays for itself alone.
"""

from __future__ import annotations

import gc
import os
import sys

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run a command line (default: that of the process) and leave with its exit code.

    The interpreter is not taken apart on leaving: everything is written and closed by then, and it
    would take a seventh of the time of a short command. Nor is garbage looked for while modules
    are read: they hold none.
    """
    gc.disable()
    code = main(sys.argv[1:] if arguments is None else arguments)
    os._exit(code)


def main(arguments: list[str]) -> int:
    """Run one command line; return its exit code, whatever happens."""
    try:
        from memai.cli import output

        output.prepare()
        try:
            code = _call(arguments)
            output.flush()
        except BaseException as error:  # noqa: BLE001 - the one place where everything ends
            from memai.cli import leaving

            return leaving.report(error, arguments)
    except KeyboardInterrupt:  # while modules were being read, or a second one while leaving
        return 130
    return code


def _call(arguments: list[str]) -> int:
    """Run a command line the quick way where it is plain, else with Click."""
    question = os.environ.get("_MEMAI_COMPLETE")
    if question:
        from memai.cli import tab

        code = tab.answer(question)
    else:
        from memai.cli import quick

        code = quick.call(arguments)
    if code is not None:
        return code
    from memai.cli.program import call

    return call(arguments)
