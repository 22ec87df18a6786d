"""Where answers go: to a terminal, a pipe or a program, each in its own form.

Results go to standard output, remarks to standard error. On a terminal an answer is laid out for
its width; in a pipe it is tab-separated, one row a line, uncut; with --json it is one object.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TextIO

from memai.cli.parameters import Choices
from memai.errors import MemaiError
from memai.records import to_json

Form = Literal["json", "jsonl", "quiet", "rows", "screen"]

# JSON may hold these raw, but terminals obey C1 and line-wise readers break at the others.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7e]")


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


def emit(answer: Any, choices: Choices) -> None:
    """Print the answer of an operation in the form the command line asks for."""
    if isinstance(answer, Iterator):  # an export: JSON Lines in every form
        for item in answer:
            write(as_json(item) + "\n")
        return
    chosen = form(choices)
    if chosen == "json":
        write(as_json(to_json(answer), indent=is_terminal(sys.stdout)) + "\n")
        return
    if chosen == "jsonl":
        write("".join(as_json(to_json(item)) + "\n" for item in _items(answer)))
    elif chosen == "screen":
        from memai.cli import views

        page("\n".join(views.lines(answer, screen(choices))) + "\n", choices)
    else:
        from memai.cli import rows

        quiet = chosen == "quiet"
        found = rows.names(answer) if quiet else rows.rows(answer, verbose=choices.verbose)
        write("".join(found))
    for note in (*getattr(answer, "notes", ()), *_going_on(answer)):
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


def as_json(value: Any, *, indent: bool = False) -> str:
    """Return JSON on one line (or indented), with what a line or a terminal would break escaped."""
    encoded = json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ": ") if indent else (",", ":"),
        indent=2 if indent else None,
    )
    if encoded.isascii() and "\x7f" not in encoded:
        return encoded
    pattern = _UNSAFE_IN_JSON
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        encoded.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        pattern = _BEYOND_ASCII
    if indent:
        from memai import terminal

        return _BEYOND_ASCII.sub(
            lambda m: m[0] if terminal.safe(m[0]) == m[0] and not pattern.match(m[0]) else _u(m[0]),
            encoded,
        )
    return pattern.sub(lambda match: _u(match[0]), encoded)


def _u(character: str) -> str:
    r"""Return a character as \uXXXX, as two of them beyond the first plane."""
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


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


def _items(answer: Any) -> Iterable[Any]:
    """Return what --jsonl writes a line each: the one list of an answer, else the answer."""
    lists = ("memories", "hits", "pairs", "domains", "relations", "findings")
    for name in lists if not hasattr(answer, "memory") else ():
        items = getattr(answer, name, None)
        if isinstance(items, tuple):
            return items
    return (answer,)


def _going_on(answer: Any) -> Iterator[str]:
    """Yield the remark that says how to read on."""
    following = getattr(answer, "next", None)
    if following is not None:
        yield f"There is more: go on with --after {following}, or ask for more with -n."
