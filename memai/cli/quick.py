"""Plain command lines taken apart without Click.

It is strict: an operation by its name, whole names of options, each once, values that need no
second look. For anything else (help, a mistake, what is rare) it is unsure, and Click decides and
explains. What it takes apart, Click takes apart alike: a test compares.

A `list` with Click executes 7.0 times the instructions of `python -c pass`, 3.1 of them in Click.
"""

from __future__ import annotations

from memai.cli.choices import EVERYWHERE, PICKED, Choices
from memai.cli.known import SIGNATURES
from memai.lean import TYPE_CHECKING, NamedTuple
from memai.operations import operation
from memai.shapes import Param, Parameter, Signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from memai.operations import Operation

    # What an option stands for: the name of its value, and what that may be: the value of a flag,
    # a parameter, one of some words, or any text (None).
    Option = tuple[str, bool | Parameter | tuple[str, ...] | None]


# What `serve-mcp` takes, but for serving over HTTP, which is no plain line.
_SERVING: dict[str, Option] = {
    "--tools": ("tools", ("daily", "all")),
    "--prefix": ("prefix", None),
    "--read-only": ("read_only", True),
    "--allow-purge": ("allow_purge", True),
}


class Line(NamedTuple):
    """A command line taken apart, with the values of all parameters as Click would give them."""

    choices: Choices
    given: dict[str, Any]
    operation: Operation
    signature: Signature


class Unsure(Exception):
    """A line that Click has to look at."""


def call(arguments: Sequence[str]) -> int | None:
    """Run a plain command line; return its exit code, None for a line that is not plain."""
    try:
        line = taken_apart(arguments)
    except Unsure:
        return _served(arguments) if "serve-mcp" in arguments else None
    from memai.cli import running

    return running.perform(*line)


def _served(arguments: Sequence[str]) -> int | None:
    """Serve a client over pipes; None for a line that is not plain."""
    shared = dict(everywhere())
    said: dict[str, Any] = {}
    tokens = checked(arguments)
    try:
        if _before(tokens, shared, said) != "serve-mcp" or list(
            words(tokens, _SERVING | shared, said)
        ):
            return None
    except Unsure:
        return None
    from memai.cli import starting

    chosen = choices(said)
    options = {"tools": "daily", "prefix": "", "read_only": False, "allow_purge": False, **said}
    return starting.serve(chosen, http=None, allow_host=(), **options)


def taken_apart(arguments: Sequence[str]) -> Line:
    """Take a command line apart; raises Unsure."""
    shared = dict(everywhere())
    said: dict[str, Any] = {}
    tokens = checked(arguments)
    name = _before(tokens, shared, said)
    rest = list(tokens)
    if rest and f"{name} {rest[0]}" in SIGNATURES:
        name += f" {rest.pop(0)}"
    found = operation(name)
    if found is None or name not in SIGNATURES:
        raise Unsure
    known = signature(name)
    options = dict(own(known)) | shared
    left = list(words(iter(rest), options, said))
    return Line(choices(said), _given(found, known, said, left), found, known)


def signature(name: str) -> Signature:
    """Return the signature of an operation as it was read ahead, without what it returns."""
    summary, body, parameters = SIGNATURES[name]
    made = (Parameter._make((*fields, Param(*param))) for *fields, param in parameters)
    return Signature(summary, body, tuple(made), None)


def choices(said: dict[str, Any]) -> Choices:
    """Return what the options of every command say, and leave the others."""
    made = Choices()
    for name, *_ in EVERYWHERE:
        if name in said:
            setattr(made, name, said.pop(name))
    return made


def checked(arguments: Sequence[str]) -> Iterator[str]:
    """Yield arguments that are text and not empty; raises Unsure for others."""
    for argument in arguments:
        if not argument or not (argument.isascii() or _is_text(argument)):
            raise Unsure
        yield argument


def _is_text(argument: str) -> bool:
    """Whether an argument was read in the encoding it was written in."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _before(tokens: Iterator[str], options: dict[str, Option], said: dict[str, Any]) -> str:
    """Read the options before the first word; return that word."""
    for word in words(tokens, options, said):
        return word
    raise Unsure


def words(tokens: Iterator[str], options: dict[str, Option], said: dict[str, Any]) -> Iterator[str]:
    """Yield the words among options, and put into `said` what the options say."""
    for token in tokens:
        if token[0] != "-" or len(token) == 1:
            yield token
            continue
        name, equals, value = token.partition("=") if token.startswith("--") else (token, "", "")
        if name not in options:
            raise Unsure
        key, meant = options[name]
        if isinstance(meant, bool):
            if equals or key in said:
                raise Unsure
            said[key] = meant
            continue
        if not equals:
            value = next(tokens, "")
        if not value or (value.startswith("-") and value != "-"):
            raise Unsure
        read = _value(meant, value)
        if isinstance(meant, Parameter) and meant.many:
            said[key] = (*said.get(key, ()), read)
        elif key in said:
            raise Unsure
        else:
            said[key] = read


def _value(meant: Parameter | tuple[str, ...] | None, value: str) -> Any:
    """Return what was written as a value; raises Unsure."""
    if meant is None:
        return value
    allowed = meant.choices if isinstance(meant, Parameter) else meant
    if allowed:
        if value not in allowed:
            raise Unsure
        return value
    if not isinstance(meant, Parameter) or meant.kind == "text":
        return value
    plain = value if meant.kind == "integer" else value.replace(".", "", 1)
    if not (plain.isascii() and plain.isdecimal() and len(plain) < 16):
        raise Unsure
    number = int(value) if meant.kind == "integer" else float(value)
    low, high = meant.param.at_least, meant.param.at_most
    if (low is not None and number < low) or (high is not None and number > high):
        raise Unsure
    return number


def own(known: Signature) -> Iterator[tuple[str, Option]]:
    """Yield the options of an operation by their names."""
    for p in known.options():
        if p.kind == "flag":
            yield p.option, (p.argument, True)
            if p.default is True:
                yield f"--no-{p.option[2:]}", (p.argument, False)
            continue
        yield p.option, (p.argument, p)
        if p.param.short:
            yield f"-{p.param.short}", (p.argument, p)
    if any(p.param.stdin for p in known.parameters):
        yield "--file", ("file_", None)


def everywhere() -> Iterator[tuple[str, Option]]:
    """Yield the options of every command by their names."""
    for name, declarations, value, _help in EVERYWHERE:
        for declaration in declarations:
            if value is None:
                yield declaration, (name, True)
            else:
                yield declaration, (name, value if isinstance(value, tuple) else None)


def _given(
    found: Operation, known: Signature, said: dict[str, Any], words: list[str]
) -> dict[str, Any]:
    """Return the values of all parameters; raises Unsure where words are missing or left over."""
    given: dict[str, Any] = {}
    for p in known.parameters:
        if not p.param.positional:
            empty = p.default if p.kind == "flag" else () if p.many else None
            given[p.argument] = said.get(p.argument, empty)
        elif p.many or (p.param.stdin and found.reads):
            given[p.argument] = tuple(_value(p, word) for word in words)
            words = []
        elif words:
            given[p.argument] = _value(p, words.pop(0))
        elif p.required and not p.param.stdin:
            raise Unsure
        else:
            given[p.argument] = None
    if words:
        raise Unsure
    if any(p.param.stdin for p in known.parameters):
        given["file_"] = said.get("file_")
    if found.name in PICKED:
        given["pick_"] = False
    return given
