"""What a server offers: which operations are listed, which can be called, under which names."""

from memai.errors import Refused, UsageError
from memai.mcp import Profile
from memai.operations import OPERATIONS, Operation

HELP = "help"


def tool_name(operation: Operation) -> str:
    """Return the name of an operation as a tool, without prefix."""
    return operation.name.replace(" ", "_")


def listed(profile: Profile) -> list[Operation]:
    """Return the operations that clients are shown, in the order of the table."""
    return [
        operation
        for operation in OPERATIONS
        if not operation.shell_only
        and (operation.reads or not profile.read_only)
        and (
            profile.allow_purge
            if operation.name == "purge"
            else operation.daily or profile.tools == "all"
        )
    ]


def writing() -> frozenset[str]:
    """Return the names, without prefix, of the tools that may change the store."""
    return frozenset(name for op in OPERATIONS if not op.reads for name in (tool_name(op), op.name))


def named(profile: Profile, name: str) -> Operation | None:
    """Return the operation that a tool's name means, with or without the prefix."""
    plain = name.removeprefix(profile.prefix)
    return next((op for op in OPERATIONS if plain in (tool_name(op), op.name)), None)


def called(profile: Profile, name: str) -> Operation:
    """Return the operation a client calls; raises UsageError, Refused."""
    operation = named(profile, name)
    if operation is None:
        names = ", ".join(profile.prefix + n for n in (*map(tool_name, listed(profile)), HELP))
        raise UsageError(reason=f"There is no tool '{name[:80]}'. There are: {names}.")
    if operation.shell_only:
        raise Refused(
            reason=f"{operation.name} works in a shell only: 'memai {operation.name}', on the "
            "machine where the store is."
        )
    if profile.read_only and not operation.reads:
        raise Refused(reason=f"This server is read-only: {operation.name} would change the store.")
    if operation.name == "purge" and not profile.allow_purge:
        raise Refused(
            reason="This server does not purge. A person can run 'memai purge' in a shell, or "
            "start the server with --allow-purge; 'forget' hides a memory."
        )
    return operation
