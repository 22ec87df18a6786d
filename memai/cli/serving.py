"""Commands that are no operation: the MCP server, and help."""

import gc
from typing import Any, Literal

import click

from memai.cli import kinds, parameters

SUMMARIES = {
    "serve-mcp": "Serve the operations to an MCP client over standard input and output.",
    "help": "Show the help of memai, or of one of its commands.",
}


def command(name: str) -> click.Command:
    """Make the command with this name."""
    make = {"serve-mcp": _serve_mcp, "help": _help}[name]
    return make()


def _serve_mcp() -> click.Command:
    """Make `serve-mcp`."""
    return _Plain(
        "serve-mcp",
        callback=_serve,
        params=[
            click.Option(
                ["--tools"],
                type=click.Choice(("daily", "all")),
                default="daily",
                help="Which tools the client sees; the others work all the same.",
            ),
            click.Option(
                ["--prefix"],
                default="",
                metavar="TEXT",
                help="Put this before each tool's name, as in memai_.",
            ),
            click.Option(["--read-only"], is_flag=True, help="Refuse what changes anything."),
            click.Option(["--allow-purge"], is_flag=True, help="Let a client erase memories."),
            *parameters.everywhere(),
        ],
    )


def _help() -> click.Command:
    """Make `help`."""
    return _Plain(
        "help",
        callback=_show_help,
        params=[
            click.Argument(
                ["words"],
                nargs=-1,
                required=False,
                metavar="COMMAND",
                type=kinds.Known("command"),
            ),
            *parameters.everywhere(),
        ],
    )


class _Plain(click.Command):
    """A command beside the operations."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(
            name,
            short_help=SUMMARIES[name],
            add_help_option=False,
            **settings,
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        from memai.cli import manual

        manual.write_plain(self, ctx, formatter, SUMMARIES[self.name or ""])


def _serve(tools: Literal["daily", "all"], prefix: str, read_only: bool, allow_purge: bool) -> int:
    """Serve until the client goes."""
    from memai.mcp import serve  # faces do not know each other, but for this late import
    from memai.settings import resolve

    gc.enable()
    choices: parameters.Choices = click.get_current_context().obj
    settings = resolve(choices.db, allow_network_fs=choices.allow_network_fs)
    return int(
        serve(settings, tools=tools, prefix=prefix, read_only=read_only, allow_purge=allow_purge)
    )


def _show_help(words: tuple[str, ...]) -> int:
    """Show the help of a command; with --json what is known of the operation."""
    from memai.cli import manual, output, program, usage

    context = click.get_current_context()
    if len(words) == 1 and words[0] in manual.TOPICS:
        output.page(manual.page_about(words[0]), context.obj)
        return 0
    found: click.Command = program.Program()
    shown = found.make_context("memai", [], obj=context.obj, resilient_parsing=True)
    for word in words:
        inner = found.get_command(shown, word) if isinstance(found, click.Group) else None
        if inner is None:
            names = found.list_commands(shown) if isinstance(found, click.Group) else []
            raise click.UsageError(usage.no_such_command(word, names, shown), context)
        shown = inner.make_context(inner.name, [], parent=shown, resilient_parsing=True)
        found = inner
    output.page(manual.page_of(shown), context.obj)
    return 0
