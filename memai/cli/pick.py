"""Picking a memory with fzf, and doing something with it."""

import os
import sys
from typing import TYPE_CHECKING, Any

from memai.cli import output
from memai.cli.parameters import Choices
from memai.errors import UsageError

if TYPE_CHECKING:
    from memai.store import Store

_HEADER = "enter: show   ctrl-e: edit   ctrl-f: forget   ctrl-u: print the uid"
_MISSING = (
    "Picking needs fzf, which is not installed. Get it with your package manager "
    "('apt install fzf', 'brew install fzf', 'pacman -S fzf') or from github.com/junegunn/fzf."
)
_DONE_WITHOUT = (1, 130)  # fzf: nothing matched, or left with escape


def one(answer: Any, store: "Store", choices: Choices) -> int:
    """Let one memory of an answer be picked, then do what the key says; return the exit code.

    Raises UsageError where there is no fzf, or nobody to pick.
    """
    from memai.cli import views

    if choices.no_input or not output.is_terminal(sys.stdin):
        raise UsageError(reason="Picking (-i) needs a terminal.")
    items = getattr(answer, "hits", None) or getattr(answer, "memories", ())
    if not items:
        output.emit(answer, choices)
        return 0
    width, _ = output.size()
    # The preview takes half of the width.
    screen = output.Screen(max(width // 2 - 4, 40), 0, output.coloured(sys.stderr), verbose=False)
    shown = views.table(items, screen._replace(width=1 << 16))
    lines = [f"{item.uid}\t{line}" for item, line in zip(items, shown, strict=True)]
    status, key, uid = _fzf(lines, store.settings.path)
    if status in _DONE_WITHOUT:
        return 0
    if status:
        raise UsageError(reason=f"fzf failed with exit code {status}.")
    return _act(key, uid, store, choices)


def _fzf(lines: list[str], path: str) -> tuple[int, str, str]:
    """Run fzf over the lines; return its exit code, the key that was pressed, and the uid."""
    import shlex
    import subprocess

    preview = f"{shlex.quote(sys.executable)} -m memai show --color always --no-pager {{1}}"
    command = [
        "fzf",
        "--ansi",
        "--no-sort",
        "--layout=reverse",
        "--delimiter=\t",
        "--with-nth=2..",
        "--expect=ctrl-e,ctrl-f,ctrl-u",
        f"--header={_HEADER}",
        f"--preview={preview}",
        "--preview-window=right,50%,wrap",
    ]
    try:
        found = subprocess.run(  # noqa: S603 - no text of a memory is part of the command
            command,
            input="\n".join(lines).encode(errors="backslashreplace"),
            stdout=subprocess.PIPE,
            env={**os.environ, "MEMAI_DB": path},
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(reason=_MISSING) from None
    key, _, line = found.stdout.decode(errors="replace").partition("\n")
    return found.returncode, key, line.partition("\t")[0].strip()


def _act(key: str, uid: str, store: "Store", choices: Choices) -> int:
    """Do what the key says with the memory that was picked."""
    from memai.cli import asking
    from memai.operations import operation
    from memai.signatures import read

    if key == "ctrl-u" or not output.is_terminal(sys.stdout):
        output.write(uid + "\n")
        return 0
    name = {"ctrl-e": "edit", "ctrl-f": "forget"}.get(key, "show")
    found = operation(name)
    if found is None:
        raise LookupError(name)
    with asking.Asking(choices, found, read(found.function), store) as asked:
        arguments = asked.arguments({"uids": (uid,)} if name == "forget" else {"uid": uid})
        answer = found.function(store, **arguments)
    output.emit(answer, choices)
    if name == "forget":
        output.remark(f"'memai restore {uid}' brings it back.")
    return 0
