"""What a command takes: the parameters of its operation, and the options of every command."""

from typing import Any

import click

from memai.cli import kinds
from memai.cli.choices import EVERYWHERE, PICKED
from memai.operations import Operation
from memai.signatures import Parameter, Signature


def everywhere() -> list[click.Parameter]:
    """Return the options of every command, made anew: each command owns its parameters.

    Help is one of them, because Click's own would read translations of its text each time.
    """
    help_option = click.Option(
        ["help_", "-h", "--help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_help,
        help="Show this help.",
    )
    return [
        help_option,
        *(
            click.Option(
                [name, *declarations],
                is_flag=value is None,
                default=None,
                metavar=value if isinstance(value, str) else None,
                type=_everywhere_type(name, value),
                help=help,
                expose_value=False,
                callback=_keep,
            )
            for name, declarations, value, help in EVERYWHERE
        ),
    ]


def of(operation: Operation, signature: Signature) -> list[click.Parameter]:
    """Return the arguments and options of an operation: its own, then those of every command."""
    made = own(signature, reads=operation.reads)
    if any(p.param.stdin for p in signature.parameters):
        made.append(
            click.Option(
                ["file_", "--file"],
                metavar="PATH",
                type=kinds.Known("path"),
                help="Read the text from this file, unchanged.",
            )
        )
    if operation.name in PICKED:
        made.append(
            click.Option(
                ["pick_", "-i", "--interactive"],
                is_flag=True,
                help="Pick one with fzf, then show, edit or forget it.",
            )
        )
    return made + everywhere()


def own(signature: Signature, *, reads: bool = False) -> list[click.Parameter]:
    """Return what a function takes; the words of a text that is only looked for may be several."""
    return [_parameter(p, reads=reads) for p in signature.parameters]


def _parameter(p: Parameter, *, reads: bool) -> click.Parameter:
    """Return one parameter as Click knows it; `asking` looks after what is missing."""
    kind = _type(p)
    if p.param.positional:
        # The words of a query need no quotes; a text to keep does, because its blanks matter.
        words = p.many or (p.param.stdin and reads)
        return click.Argument(
            [p.argument],
            nargs=-1 if words else 1,
            required=p.required and not p.param.stdin and not words,
            type=kind,
            metavar=p.metavar,
        )
    names = [p.argument, p.option] + ([f"-{p.param.short}"] if p.param.short else [])
    if p.kind == "flag":
        if p.default is True:
            names[1] = f"{p.option}/--no-{p.option[2:]}"
        return click.Option(names, is_flag=True, default=p.default, help=p.param.help)
    return click.Option(
        names, type=kind, multiple=p.many, metavar=p.metavar, default=None, help=p.param.help
    )


def _type(p: Parameter) -> kinds.AnyType:
    """Return the type that checks and completes a parameter."""
    if p.choices:
        return kinds.Choice(p.choices)
    if p.kind == "integer":
        return kinds.Number(p.param.at_least, p.param.at_most)
    if p.kind == "number":
        return kinds.Number(p.param.at_least, p.param.at_most, whole=False)
    if p.kind == "flag":
        return click.BOOL
    if p.name == "relation":
        return kinds.Known("relation")
    return kinds.Known(p.param.completes)


def _everywhere_type(name: str, value: str | tuple[str, ...] | None) -> kinds.AnyType:
    """Return the type of an option of every command."""
    if isinstance(value, tuple):
        return click.Choice(value)
    return click.BOOL if value is None else kinds.Known("path" if name == "db" else None)


def _help(context: click.Context, _option: click.Parameter, value: bool) -> None:
    """Show the help of a command and leave."""
    if value and not context.resilient_parsing:
        from memai.cli import manual, output

        output.write(manual.page_of(context))
        context.exit()


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep a value that was given; one that was not leaves what stood before the command."""
    if value is not None and option.name is not None and context.obj is not None:
        setattr(context.obj, option.name, value)
