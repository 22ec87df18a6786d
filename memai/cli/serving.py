"""Commands that are no operation: the MCP server, and help."""

from typing import Any

import click

from memai.cli import kinds, parameters
from memai.cli.choices import SUMMARIES, Choices
from memai.settings import Settings, resolve
from memai.signatures import Signature, read

EXAMPLES = {
    "serve-mcp": (
        "memai serve-mcp",
        "memai serve-mcp --tools all --read-only",
        "memai serve-mcp --http",
    ),
    "setup": (
        "memai setup claude-code --dry-run",
        "memai setup codex --remove",
        "memai setup print",
    ),
    "help": ("memai help search", "memai help exit-codes"),
}


def command(name: str) -> click.Command:
    """Make the command with this name."""
    make = {"serve-mcp": _serve_mcp, "setup": _setup, "help": _help}[name]
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
            click.Option(
                ["--http"],
                is_flag=False,
                flag_value="",
                metavar="[HOST][:PORT]",
                help="Serve any number of clients over HTTP there, instead of one here.",
            ),
            click.Option(
                ["--allow-host"],
                multiple=True,
                metavar="NAME",
                help="With --http: a further name by which clients may address this host.",
            ),
            *parameters.everywhere(),
        ],
    )


def _setup() -> click.Command:
    """Make `setup`, whose parameters are those of its function."""
    from memai.mcp.setup import setup

    signature = read(setup)
    return _Plain(
        "setup",
        signature,
        callback=_set_up,
        help=f"{signature.summary}\n\n{signature.body}",
        params=[*parameters.own(signature), *parameters.everywhere()],
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

    def __init__(self, name: str, signature: Signature | None = None, **settings: Any) -> None:
        self.signature = signature
        super().__init__(
            name,
            short_help=SUMMARIES[name],
            add_help_option=False,
            **settings,
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        from memai.cli import manual

        text = self.help or SUMMARIES[self.name or ""]
        manual.write_plain(self, ctx, formatter, text, self.signature, EXAMPLES[self.name or ""])


def _serve(**options: Any) -> int:
    """Serve until the client goes, or with --http until a signal comes."""
    from memai.cli import starting

    return starting.serve(click.get_current_context().obj, **options)


def _set_up(**arguments: Any) -> int:
    """Write the settings of a client, and say what was written."""
    from memai.cli import output
    from memai.mcp.setup import setup
    from memai.records import to_json

    choices: Choices = click.get_current_context().obj
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = setup(_settings(), **given)
    if output.form(choices) in ("json", "jsonl"):
        output.write(output.as_json(to_json(answer)) + "\n")
        return 0
    if arguments["client"] != "print":
        for name in ("path", "hook_path"):
            if getattr(answer, name) is not None:
                output.write(f"{getattr(answer, name)}\n")
    output.write(answer.shows)
    for copy in answer.backups:
        output.remark(f"As it was: {copy}")
    for note in answer.notes:
        output.remark(note)
    return 0


def _settings() -> Settings:
    """Return the settings that the options and the environment name."""
    choices: Choices = click.get_current_context().obj
    return resolve(choices.db, allow_network_fs=choices.allow_network_fs)


def _show_help(words: tuple[str, ...]) -> int:
    """Show the help of a command, or a page that belongs to none."""
    from memai.cli import manual, output

    context = click.get_current_context()
    choices: Choices = context.obj
    if len(words) == 1 and words[0] in manual.TOPICS:
        text = manual.page_about(words[0])
    else:
        text = manual.page_of(_found(words, context))
    if output.form(choices) in ("json", "jsonl"):
        output.write(output.as_json({"text": text}) + "\n")
    else:
        output.page(text, choices)
    return 0


def _found(words: tuple[str, ...], context: click.Context) -> click.Context:
    """Return the context of the command with this name; raises UsageError where there is none."""
    from memai.cli import program, usage

    command: click.Command = program.Program()
    shown = command.make_context("memai", [], obj=context.obj, resilient_parsing=True)
    for word in words:
        inner = command.get_command(shown, word) if isinstance(command, click.Group) else None
        if inner is None:
            names = command.list_commands(shown) if isinstance(command, click.Group) else []
            raise click.UsageError(usage.no_such_command(word, names, shown), context)
        shown = inner.make_context(inner.name, [], parent=shown, resilient_parsing=True)
        command = inner
    return shown
