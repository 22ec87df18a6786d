"""Picking a memory with fzf, and doing something with it."""

import os
import sys
from typing import TYPE_CHECKING, Any

from memai.cli import output
from memai.cli.choices import Choices
from memai.errors import UsageError
from memai.vocabulary import NO_DOMAIN

if TYPE_CHECKING:
    from memai.store import Store

_HEADER = "enter show, ctrl-e edit, ctrl-f forget, ctrl-u uid"
_MISSING = (
    "Picking needs fzf, which is not installed. Get it with your package manager "
    "('apt install fzf', 'brew install fzf', 'pacman -S fzf') or from github.com/junegunn/fzf."
)
_DONE_WITHOUT = (1, 130)  # fzf: nothing matched, or left with escape


def one(answer: Any, store: "Store", choices: Choices) -> int:
    """Let one memory of an answer be picked, then do what the key says; return the exit code.

    Raises UsageError where there is no fzf, or nobody to pick.
    """
    if choices.no_input or not output.is_terminal(sys.stdin):
        raise UsageError(reason="Picking (-i) needs a terminal.")
    items = getattr(answer, "hits", None) or getattr(answer, "memories", ())
    if not items:
        output.emit(answer, choices)
        return 0
    colour = output.coloured(sys.stderr, choices.color)
    lines = [f"{item.uid}\t{_line(item, colour)}" for item in items]
    status, key, uid = _fzf(lines, store.settings.path)
    if status in _DONE_WITHOUT:
        return 0
    if status:
        raise UsageError(reason=f"fzf failed with exit code {status}.")
    return _act(key, uid, store, choices)


def _line(item: Any, colour: bool) -> str:
    """Return what fzf shows and searches: the text first, because the preview has the rest."""
    from memai.cli import style

    text = style.line(getattr(item, "content", "") or getattr(item, "snippet", ""))
    about = [style.line(item.domain or NO_DOMAIN), item.type]
    about += [f"#{style.line(tag)}" for tag in item.tags]
    uid = style.paint(item.uid, style.UID, colour)
    return f"{uid}  {text[:400]}  {style.paint(' '.join(about), style.DIM, colour)}"


def _fzf(lines: list[str], path: str) -> tuple[int, str, str]:
    """Run fzf over the lines; return its exit code, the key that was pressed, and the uid."""
    import shlex
    import subprocess

    program = f"{shlex.quote(sys.executable)} -m memai"
    preview = f"env COLUMNS=$FZF_PREVIEW_COLUMNS {program} show --color always {{1}}"
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
