"""The help of memai and of each command, made from the table of operations."""

import sys
from collections.abc import Iterator, Sequence

import click

from memai.cli import output, style
from memai.cli.choices import EVERYWHERE, SUMMARIES
from memai.cli.commands import Family, OperationCommand
from memai.errors import EXIT_CODES
from memai.operations import OPERATIONS
from memai.settings import ENVIRONMENT
from memai.signatures import Parameter, Signature

GROUPS = {
    "write": "Write",
    "read": "Read",
    "curate": "Curate",
    "look after": "Look after",
}
_EVERYWHERE = frozenset(name for name, *_ in EVERYWHERE) | {"help_"}


def page_of(context: click.Context) -> str:
    """Return the help of a command."""
    formatter = _formatter()
    context.command.format_help(context, formatter)
    return formatter.getvalue()


def page_about(name: str) -> str:
    """Return one of the pages that belong to no command."""
    title, rows = TOPICS[name]
    formatter = _formatter()
    formatter.write_text(title)
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl([(str(term), text) for term, text in rows], col_max=26)
    return formatter.getvalue()


def _formatter() -> click.HelpFormatter:
    """Return a page as wide as the screen, but no wider than is read with ease."""
    return click.HelpFormatter(width=min(output.size()[0], 100) - 2)


def summaries() -> Iterator[tuple[str, str]]:
    """Yield each command with its summary, in the order of the table."""
    for op in OPERATIONS:
        if " " not in op.name:
            yield op.name, _summary(op.function)
    yield from SUMMARIES.items()


def _summary(function: object) -> str:
    """Return the first line of a docstring."""
    return (function.__doc__ or "").strip().split("\n", 1)[0]


def write_program(command: click.Group, ctx: click.Context, to: click.HelpFormatter) -> None:
    """Write what `memai` alone shows: every command by what it is for, and where to read on."""
    to.write_text("Long-term memory for AI agents and the people who work with them.")
    to.write_paragraph()
    to.write_usage("memai", "[OPTION]... COMMAND [ARGUMENT]...")
    known = dict(summaries())
    for group, title in GROUPS.items():
        names = dict.fromkeys(
            op.name for op in OPERATIONS if op.group == group and op.name in known
        )
        _listed(to, title, [(name, known[name]) for name in names])
    _listed(to, "Serve", list(SUMMARIES.items()))
    _options(to, command, ctx, "Options, before or after the command")
    _listed(
        to,
        "More",
        [
            ("memai help COMMAND", "A command with its options and examples; so does -h after it."),
            *((f"memai help {name}", title) for name, (title, _) in TOPICS.items()),
        ],
    )


def write_operation(command: OperationCommand, ctx: click.Context, to: click.HelpFormatter) -> None:
    """Write the help of an operation, from its docstring and its table entry."""
    operation, signature = command.operation, command.signature
    _usage(to, command, ctx)
    _text(to, signature.summary, signature.body)
    _arguments(to, signature)
    _options(to, command, ctx)
    _listed_lines(to, "Examples", [example_of(example) for example in operation.examples])
    _see_also(to)


def write_family(command: Family, ctx: click.Context, to: click.HelpFormatter) -> None:
    """Write the help of a first word: what it does alone, and its second words."""
    alone = command.alone
    _usage(to, command, ctx)
    if alone is not None:
        _text(to, alone.signature.summary, alone.signature.body)
    members = command.members
    _listed(to, "Commands", [(word, _summary(op.function)) for word, op in members.items()])
    _options(to, command, ctx)
    if alone is not None:
        _listed_lines(to, "Examples", [example_of(e) for e in alone.operation.examples])
    _see_also(to)


def write_plain(
    command: click.Command,
    ctx: click.Context,
    to: click.HelpFormatter,
    text: str,
    signature: Signature | None,
    examples: Sequence[str],
) -> None:
    """Write the help of what is no operation."""
    _usage(to, command, ctx)
    summary, _, body = text.partition("\n")
    _text(to, summary, body.strip())
    if signature is not None:
        _arguments(to, signature)
    _options(to, command, ctx)
    _listed_lines(to, "Examples", examples)
    _see_also(to)


def _arguments(to: click.HelpFormatter, signature: Signature) -> None:
    """Write what is given by place."""
    rows = []
    for p in signature.positionals():
        said = p.param.help
        said += f" One of {', '.join(p.choices)}." if p.choices else ""
        said += " '-' is standard input." if _from_input(p) else ""
        rows.append((p.metavar, said))
    _listed(to, "Arguments", rows)


class _Shown(dict[str, str]):
    """What stands for the placeholders of examples."""

    def __missing__(self, name: str) -> str:
        return name.upper()


_EXAMPLE = _Shown(uid="7f3kq2zmxa", other="k4m8p0tzw2", linked="k4m8p0tzw2")


def example_of(example: str) -> str:
    """Return an example as it is shown, with uids as they look."""
    return example.format_map(_EXAMPLE)


def _from_input(p: Parameter) -> bool:
    """Whether `-` stands for standard input."""
    return p.param.stdin or (p.many and p.param.completes == "uid")


def _usage(to: click.HelpFormatter, command: click.Command, ctx: click.Context) -> None:
    """Write the synopsis."""
    pieces = ["[OPTION]..."]
    for argument in command.params:
        if isinstance(argument, click.Argument):
            several = argument.nargs == -1
            # What is missing of several is told by the command itself, of a text by an editor.
            needed = argument.required or (several and isinstance(command, OperationCommand))
            name = argument.human_readable_name
            pieces.append((name if needed else f"[{name}]") + ("..." if several else ""))
    if isinstance(command, click.Group):
        pieces.append("[COMMAND]")
    to.write_usage(ctx.command_path, " ".join(pieces))


def _text(to: click.HelpFormatter, summary: str, body: str) -> None:
    """Write a docstring."""
    to.write_paragraph()
    with to.indentation():
        to.write_text(summary)
        if body:
            to.write_paragraph()
            to.write_text(body)


def _options(
    to: click.HelpFormatter, command: click.Command, ctx: click.Context, title: str = ""
) -> None:
    """Write the options, a command's own before those of every command."""
    own: list[tuple[str, str]] = []
    common: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        if isinstance(parameter, click.Option):
            (common if parameter.name in _EVERYWHERE else own).append(_described(parameter, ctx))
    if title:
        _listed(to, title, common + own)
        return
    _listed(to, "Options", own)
    _listed(to, "Options of every command", common)


def _described(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return an option's names and its help, with the default where there is one."""
    names, text = option.get_help_record(ctx) or ("", "")
    operation = getattr(ctx.command, "signature", None)
    default = (
        next((p.default for p in operation.parameters if p.argument == option.name), None)
        if operation is not None
        else None
    )
    if default is not None and not isinstance(default, bool):
        text += f" Default: {default}."
    return names, text


def _listed(to: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write a list of names with what they mean."""
    if rows:
        with to.section(_heading(title)):
            to.write_dl(rows, col_max=26)


def _listed_lines(to: click.HelpFormatter, title: str, lines: Sequence[str]) -> None:
    """Write lines as they are."""
    if lines:
        with to.section(_heading(title)):
            for line in lines:
                to.write(f"{'':>{to.current_indent}}{line}\n")


def _see_also(to: click.HelpFormatter) -> None:
    """Write the exit codes in a line, and where the rest is."""
    with to.section(_heading("Exit codes")):
        codes = "; ".join(f"{code} {text[0].lower()}{text[1:-1]}" for code, text in EXIT_CODES)
        to.write_text(f"{codes}.")
    with to.section(_heading("Environment")):
        names = ", ".join(name for name, _ in ENVIRONMENT)
        to.write_text(f"{names}. See 'memai help environment'.")


def _heading(title: str) -> str:
    """Return a heading, bold where it can be."""
    return style.paint(title, style.STRONG, output.coloured(sys.stdout))


_OUTPUT = (
    ("terminal", "Aligned, cut to the width, ages instead of times, colour."),
    ("pipe", "Tab-separated, one row a line, uncut, ISO 8601 in UTC, no header."),
    (
        "escapes",
        r"In a pipe \\ \t \n \r \x1b \u2028 stand for what would break a row or a terminal.",
    ),
    ("list", "uid, type, domain, created, state, tags, text"),
    ("search", "uid, type, domain, created, match source, score, snippet; with -v the scores"),
    ("show", "Names and values, an empty line, then the text unchanged."),
    ("writers", "The uid."),
    ("--json", "One object; remarks are its 'notes'. Errors are an object on standard error."),
    ("--jsonl", "One object a line: each memory, hit, pair or domain."),
    ("-q", "Only uids (or domains, or the path of a backup), one a line."),
    ("remarks", "Always on standard error, after 'memai: '."),
)

# Pages of help that belong to no command.
TOPICS: dict[str, tuple[str, Sequence[tuple[object, str]]]] = {
    "exit-codes": ("What the exit codes mean.", EXIT_CODES),
    "environment": ("The variables that are read.", ENVIRONMENT),
    "output": ("What the forms of an answer look like.", _OUTPUT),
}
