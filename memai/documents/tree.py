"""The commands as the manual sees them: Click's tree, with the operation behind each."""

from collections.abc import Iterator
from typing import NamedTuple

import click

from memai.cli.choices import EVERYWHERE
from memai.cli.commands import OperationCommand
from memai.cli.program import Program
from memai.operations import Operation
from memai.signatures import Parameter

SERVE = "serve"
"""The group of the commands that are no operation."""

_EVERYWHERE = frozenset(described[0] for described in EVERYWHERE)


class Command(NamedTuple):
    """One command: its words after `memai`, what Click knows of it, its operation if it has one."""

    words: str
    node: click.Command
    operation: Operation | None
    summary: str
    body: str

    @property
    def page(self) -> str:
        """The name of its page, in section 1."""
        return "memai-" + self.words.replace(" ", "-")

    @property
    def group(self) -> str:
        """Where it stands in the list of commands; what is no operation stands together."""
        return self.operation.group if self.operation else SERVE

    def arguments(self) -> list[click.Argument]:
        """Return what is given by place."""
        return [p for p in self.node.params if isinstance(p, click.Argument)]

    def own_options(self) -> list[click.Option]:
        """Return the options that not every command has."""
        return [option for option in options(self.node) if not _is_shared(option)]

    def shared_options(self) -> list[click.Option]:
        """Return the options that every command has."""
        return [option for option in options(self.node) if _is_shared(option)]

    def parameter(self, param: click.Parameter) -> Parameter | None:
        """Return the operation's parameter behind one of Click's, if there is one."""
        if not isinstance(self.node, OperationCommand):
            return None
        return next((p for p in self.node.signature.parameters if p.argument == param.name), None)


def options(command: click.Command) -> list[click.Option]:
    """Return the options of a command, with the one for its help."""
    context = click.Context(command, **command.context_settings)
    return [p for p in command.get_params(context) if isinstance(p, click.Option)]


def _is_shared(option: click.Option) -> bool:
    """Whether every command has this option."""
    return option.name in _EVERYWHERE or "--help" in option.opts


def program() -> Program:
    """Return the program, whose parameters are the options of every command."""
    return Program()


def commands() -> list[Command]:
    """Return every command, in the order of the table."""
    return list(_below(program(), ""))


def _below(group: click.Group, prefix: str) -> Iterator[Command]:
    """Yield the commands of a group and of the groups in it."""
    context = click.Context(group, info_name="memai")
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if found is None:
            raise LookupError(f"the program lists '{name}' and does not have it")
        words = f"{prefix}{name}"
        alone = getattr(found, "alone", None) if isinstance(found, click.Group) else found
        if alone is not None:
            yield _command(words, alone)
        if isinstance(found, click.Group):
            yield from _below(found, words + " ")


def _command(words: str, command: click.Command) -> Command:
    """Describe one command."""
    if isinstance(command, OperationCommand):
        signature = command.signature
        return Command(words, command, command.operation, signature.summary, signature.body)
    summary, _, body = (command.help or command.short_help or "").partition("\n")
    return Command(words, command, None, summary.strip(), body.strip())
