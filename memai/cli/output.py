"""Where answers go: to a terminal, a pipe or a program, each in its own form.

Results go to standard output, remarks to standard error. On a terminal an answer is laid out for
its width; in a pipe it is tab-separated, one row a line, uncut; with --json it is one object.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from memai import records
from memai.errors import MemaiError
from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Literal, TextIO

    from memai.cli.choices import Choices

    Form = Literal["json", "jsonl", "quiet", "rows", "screen"]

# Answers that are one list, and nothing but that: these can be empty, and a line for each item.
# By the names of the records, so that no other record than that of the answer is imported.
_LISTS = {
    "Listed": "memories",
    "Found": "hits",
    "Duplicates": "pairs",
    "Domains": "domains",
    "Related": "relations",
    "History": "versions",
    "Backups": "backups",
}


class AnswerLost(MemaiError):
    """The answer could not be written: {reason}. What the command did stays done."""

    exit_code = 9
    code = "answer-lost"


class Screen(NamedTuple):
    """The terminal an answer is laid out for: columns, lines, and whether it may be coloured."""

    width: int
    height: int
    colour: bool
    verbose: bool


def prepare() -> None:
    """Make the streams accept any text: what their encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def emit(answer: Any, choices: Choices, *, counted: bool = False) -> None:
    """Print the answer of an operation in the form the command line asks for.

    `counted` means that the caller said how many: that there are more is then no news.
    """
    chosen, shown = form(choices), is_terminal(sys.stdout)
    if isinstance(answer, Iterator):  # an export: JSON Lines in every form
        for item in answer:
            write(as_json(item, shown=shown) + "\n")
        for note in getattr(answer, "notes", ()) if chosen != "json" else ():
            remark(note)
        return
    if chosen == "json":
        write(as_json(records.to_json(answer), indent=shown, shown=shown) + "\n")
        return
    if chosen == "jsonl":
        for item in _items(answer):
            write(as_json(records.to_json(item), shown=shown) + "\n")
    elif chosen == "screen":
        from memai.cli import views

        page("".join(line + "\n" for line in views.lines(answer, screen(choices))), choices)
    else:
        from memai.cli import rows

        quiet = chosen == "quiet"
        found = rows.names(answer) if quiet else rows.rows(answer, verbose=choices.verbose)
        write("".join(found))
    for note in getattr(answer, "notes", ()) or _remarks(answer, counted=counted):
        remark(note)


def form(choices: Choices) -> Form:
    """Return the form of the answer."""
    if choices.json:
        return "json"
    if choices.jsonl:
        return "jsonl"
    if choices.quiet:
        return "quiet"
    return "screen" if choices.color == "always" or is_terminal(sys.stdout) else "rows"


def screen(choices: Choices) -> Screen:
    """Return the terminal's size and abilities."""
    width, height = size()
    return Screen(width, height, coloured(sys.stdout, choices.color), choices.verbose)


def size() -> tuple[int, int]:
    """Return columns and lines: of COLUMNS and LINES, else of the terminal, else 80 and 24."""
    try:
        columns, lines = os.get_terminal_size(1)
    except (OSError, ValueError):
        columns, lines = 80, 24
    given = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    width, height = (int(v) if v.isdigit() and 0 < int(v) < 10_000 else 0 for v in given)
    return max(width or columns or 80, 20), height or lines or 24


def coloured(stream: TextIO | None, wish: str = "auto") -> bool:
    """Whether what is for people is coloured on this stream."""
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed one is none."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def as_json(value: Any, *, indent: bool = False, shown: bool = False) -> str:
    """Return JSON on one line, or indented; `shown` is for what goes to a terminal.

    What breaks lines, what a terminal would obey and what the encoding of the stream lacks is
    written as an escape, which means the same in JSON.
    """
    import json
    import re

    from memai import terminal

    encoded = json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ": ") if indent else (",", ":"),
        indent=2 if indent else None,
    )
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"

    def harmless(match: re.Match[str]) -> str:
        character = match[0]
        try:
            character.encode(encoding)
        except UnicodeEncodeError:
            return _escape(character)
        kept = character > "\x9f" and character not in "\u2028\u2029"
        kept = kept and not (shown and terminal.safe(character) != character)
        return character if kept else _escape(character)

    # Few characters are in question where the stream can write all of them.
    few = not shown and encoding.lower() == "utf-8"
    suspects = "[\x7f-\x9f\u2028\u2029\ud800-\udfff]" if few else "[^\x00-\x7e]"
    return re.sub(suspects, harmless, encoded)


def _escape(character: str) -> str:
    r"""Return a character as ``\uXXXX``, as two of them beyond the first plane."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def page(text: str, choices: Choices) -> None:
    """Write a text for people, through a pager where it is longer than the screen."""
    if not (
        choices.no_pager
        or not is_terminal(sys.stdout)
        or not is_terminal(sys.stdin)
        or os.environ.get("TERM") == "dumb"
        or text.count("\n") < size()[1]
    ):
        from memai.cli import pager

        if pager.show(text):
            return
    write(text)


def write(text: str) -> None:
    """Write to standard output; raises AnswerLost where that is closed or full."""
    if sys.stdout is None:
        raise AnswerLost(reason="standard output is closed")
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        let_go()
        raise AnswerLost(reason=getattr(error, "strerror", None) or str(error)) from None


def flush() -> None:
    """Hand over what was written; raises AnswerLost, or BrokenPipeError where nobody reads."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        let_go()
        raise AnswerLost(reason=getattr(error, "strerror", None) or str(error)) from None


def let_go() -> None:
    """Point standard output nowhere, or the interpreter would complain about it when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    except OSError:
        return


def remark(text: str, kind: Literal["note", "error"] = "note") -> None:
    """Say something on standard error."""
    from memai import terminal

    line = terminal.safe(text, newlines=False, tabs=False)
    colour = ("31;1" if kind == "error" else "2") if coloured(sys.stderr) else ""
    remark_line(f"\x1b[{colour}mmemai:\x1b[0m {line}" if colour else f"memai: {line}")


def remark_line(line: str) -> None:
    """Write a line to standard error, if there is one."""
    if sys.stderr is None:
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()  # what came first is read first
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def _items(answer: Any) -> tuple[Any, ...]:
    """Return what --jsonl writes a line each: the one list of an answer, else the answer."""
    return (answer,) if (items := _list(answer)) is None else items


def _list(answer: Any) -> tuple[Any, ...] | None:
    """Return the list that is all of an answer, None where it is more than that."""
    name = _LISTS.get(type(answer).__name__)
    return None if name is None else getattr(answer, name)


def _remarks(answer: Any, *, counted: bool) -> Iterator[str]:
    """Yield what a reader of rows or lines must know and does not see in them."""
    kind = type(answer).__name__
    if kind == "Found" and answer.hits and not answer.close:
        yield "No close match: these are the nearest."
    elif _list(answer) == () or (kind == "Pulse" and not any(answer[1:5])):
        yield "Nothing was found."
    if kind not in ("Listed", "Found") or answer.next is None:
        return
    if answer.truncated:
        yield f"Cut at --max-bytes; go on with --after {answer.next}."
    elif kind == "Listed" and not counted:
        yield f"There are more: go on with --after {answer.next}, or say how many with -n."
