"""Operations as commands of Click."""

from typing import Any

import click

from memai.cli import parameters, running
from memai.operations import OPERATIONS, Operation, operation
from memai.signatures import read


def command(name: str) -> click.Command | None:
    """Make the command with this name; an operation of two words is found below its first."""
    members = {op.name.split()[1]: op for op in OPERATIONS if op.name.startswith(name + " ")}
    alone = operation(name)
    if members:
        return Family(name, alone, members)
    return OperationCommand(alone) if alone is not None else None


class OperationCommand(click.Command):
    """One operation on the command line."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.signature = read(operation.function)
        super().__init__(
            operation.name.split()[-1],
            params=parameters.of(operation, self.signature),
            short_help=self.signature.summary,
            add_help_option=False,
        )

    def invoke(self, ctx: click.Context) -> int:
        """Run the operation and print its answer; return the exit code."""
        return running.perform(ctx.obj, dict(ctx.params), self.operation, self.signature)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the operation."""
        from memai.cli import manual

        manual.write_operation(self, ctx, formatter)


class Family(click.Group):
    """Operations whose names share the first word; that word alone is their list."""

    def __init__(self, name: str, alone: Operation | None, members: dict[str, Operation]) -> None:
        self.alone = OperationCommand(alone) if alone is not None else None
        self.members = members
        super().__init__(
            name,
            params=self.alone.params if self.alone else parameters.everywhere(),
            invoke_without_command=self.alone is not None,
            callback=self._list,
            short_help=self.alone.short_help if self.alone else None,
            add_help_option=False,
        )

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the second words."""
        return list(self.members)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Make the command with this second word."""
        member = self.members.get(cmd_name)
        return OperationCommand(member) if member is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the second word; a wrong one is answered with the right one."""
        if args[0] not in self.members and not ctx.resilient_parsing:
            from memai.cli import usage

            raise click.UsageError(usage.no_such_command(args[0], list(self.members), ctx), ctx)
        return super().resolve_command(ctx, args)

    def _list(self, **_given: Any) -> int:
        """Run the operation of the first word, unless a second one follows."""
        context = click.get_current_context()
        if self.alone is None or context.invoked_subcommand is not None:
            return 0
        return self.alone.invoke(context)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the list and name the second words."""
        from memai.cli import manual

        manual.write_family(self, ctx, formatter)
