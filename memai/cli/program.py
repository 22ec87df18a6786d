"""The program itself: a Click group that makes a command when it is called and not before."""

import os
from typing import TYPE_CHECKING

import click

from memai.cli import parameters
from memai.cli.choices import Choices

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PLAIN = ("serve-mcp", "setup", "help")  # what is no operation


def call(arguments: list[str]) -> int:
    """Run one command line; return its exit code, or raise what went wrong."""
    program = Program()
    if os.environ.get("_MEMAI_COMPLETE"):
        from memai.cli import completion

        return completion.answer(program, os.environ["_MEMAI_COMPLETE"])
    given = [decoded(argument) for argument in arguments]
    try:
        with program.make_context("memai", given, obj=Choices()) as context:
            code = program.invoke(context)
    except click.exceptions.Exit as left:  # --help and --version have done their work
        code = left.exit_code
    return int(code or 0)


def decoded(argument: str) -> str:
    """Return an argument as UTF-8, also where the locale made Python read it otherwise.

    What is no UTF-8 at all stays as it is, and is refused where it is used.
    """
    if argument.isascii():
        return argument
    try:
        argument.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(argument).decode()
        except UnicodeError:
            return argument
    return argument


class Program(click.Group):
    """`memai`: its commands are the operations, and what is no operation."""

    def __init__(self) -> None:
        version = click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Show the version.",
        )
        super().__init__(
            "memai",
            params=[*parameters.everywhere(), version],
            invoke_without_command=True,
            callback=_without_command,
            add_help_option=False,
        )

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names in the order of the table."""
        from memai.operations import OPERATIONS

        return list(dict.fromkeys([op.name.split()[0] for op in OPERATIONS] + list(PLAIN)))

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Make the command with this name; `anti-pattern` is `anti_pattern`."""
        if cmd_name in PLAIN:
            from memai.cli import serving

            return serving.command(cmd_name)
        from memai.cli import commands

        return commands.command(cmd_name) or commands.command(cmd_name.replace("-", "_"))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a wrong name is answered with the right one."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None:
            return command.name, command, args[1:]
        if ctx.resilient_parsing:
            return None, None, args[1:]
        from memai.cli import usage

        raise click.UsageError(usage.no_such_command(name, self.list_commands(ctx), ctx), ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what `memai` alone shows."""
        from memai.cli import manual

        manual.write_program(self, ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the commands with their summaries, without making them."""
        from memai.cli import completion

        named = completion.commands(incomplete)
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


def _without_command() -> None:
    """Show the help when there is no command."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        from memai.cli import manual, output

        output.write(manual.page_of(context))


def _version(context: click.Context, _option: click.Parameter, value: bool) -> None:
    """Print the version and leave."""
    if value and not context.resilient_parsing:
        from memai.cli import output

        output.write(f"memai {version()}\n")
        context.exit()


def version() -> str:
    """Return the version of this package."""
    from importlib import metadata  # 20 ms: only for those who ask

    try:
        return metadata.version("memai")
    except metadata.PackageNotFoundError:
        return "unknown (not installed)"
