"""What memai does: the table of every operation.

Each operation is an ordinary typed function of an open store; its docstring and parameters are all
that the command line, the MCP server, the manual and the completions know of it.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from memai.operations.comparing import duplicates
from memai.operations.curating import (
    confidence,
    edit,
    forget,
    link,
    purge,
    restore,
    unlink,
)
from memai.operations.reading import domains, list_memories, pulse, relations, show
from memai.operations.searching import recall, search
from memai.operations.upkeep import backup, doctor, export, reembed, stats
from memai.operations.writing import anti_pattern, checkpoint, handoff, note, reasoning

Group = Literal["write", "read", "curate", "look after"]


class Operation(NamedTuple):
    """One thing memai does.

    `reads` means it changes nothing; `destroys` that it removes or hides something; `idempotent`
    that doing it twice is doing it once; `daily` that an MCP client sees it unasked; `shell_only`
    that it makes sense on this machine only. `examples` are shell commands that run.
    """

    name: str
    function: Callable[..., Any]
    group: Group
    examples: tuple[str, ...]
    reads: bool = False
    destroys: bool = False
    idempotent: bool = False
    daily: bool = False
    shell_only: bool = False


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "note",
        note,
        "write",
        (
            "memai note 'Staging resets its database every night.' -d shop -t staging",
            "git diff | memai note - -d shop --source 'git diff'",
        ),
        idempotent=True,
        daily=True,
    ),
    Operation(
        "checkpoint",
        checkpoint,
        "write",
        ("memai checkpoint -d shop --intent 'Ship login' --pursuing 'Token refresh'",),
        daily=True,
    ),
    Operation(
        "handoff",
        handoff,
        "write",
        ("memai handoff 'Login works; the e-mail templates are next.' -d shop",),
        daily=True,
    ),
    Operation(
        "anti_pattern",
        anti_pattern,
        "write",
        (
            "memai anti_pattern --pattern 'Retry without a limit' --why-wrong 'Overload' "
            "--instead 'Back off'",
        ),
        idempotent=True,
        daily=True,
    ),
    Operation(
        "reasoning",
        reasoning,
        "write",
        ("memai reasoning 'We chose SQLite because one file is easy to back up.' -d shop",),
        idempotent=True,
    ),
    Operation(
        "search",
        search,
        "read",
        ("memai search 'why does the test database lose rows'", "memai search staging -d shop"),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation(
        "recall",
        recall,
        "read",
        ("memai recall 'nightly reset'",),
        reads=True,
        idempotent=True,
    ),
    Operation(
        "show", show, "read", ("memai show {uid}",), reads=True, idempotent=True, daily=True
    ),
    Operation(
        "list",
        list_memories,
        "read",
        ("memai list -n 5", "memai list -d shop --type note --since 7d"),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation(
        "pulse",
        pulse,
        "read",
        ("memai pulse -d shop", "memai pulse --max-bytes 1800"),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation("domains", domains, "read", ("memai domains",), reads=True, idempotent=True),
    Operation(
        "relations", relations, "read", ("memai relations {uid}",), reads=True, idempotent=True
    ),
    Operation(
        "edit",
        edit,
        "curate",
        (
            "memai edit {uid} 'Staging resets its database at 02:00.' --reason 'asked ops'",
            "memai edit {uid} --add-tag ops",
        ),
        daily=True,
    ),
    Operation(
        "link",
        link,
        "curate",
        ("memai link {uid} relates_to {other} --note 'same outage'",),
        idempotent=True,
        daily=True,
    ),
    Operation(
        "unlink",
        unlink,
        "curate",
        ("memai unlink {uid} relates_to {linked}",),
        destroys=True,
        idempotent=True,
    ),
    Operation(
        "confidence", confidence, "curate", ("memai confidence {uid} confirmed",), idempotent=True
    ),
    Operation(
        "forget",
        forget,
        "curate",
        (
            "memai forget {uid} --reason 'no longer true'",
            "memai forget {uid} --superseded-by {other}",
        ),
        destroys=True,
        idempotent=True,
        daily=True,
    ),
    Operation("restore", restore, "curate", ("memai restore {uid}",), idempotent=True),
    Operation(
        "purge",
        purge,
        "curate",
        ("memai purge {uid} --confirm 'DELETE {uid}'",),
        destroys=True,
    ),
    Operation(
        "duplicates", duplicates, "curate", ("memai duplicates",), reads=True, idempotent=True
    ),
    Operation(
        "doctor", doctor, "look after", ("memai doctor", "memai doctor --deep"), idempotent=True
    ),
    Operation("backup", backup, "look after", ("memai backup",)),
    Operation("reembed", reembed, "look after", ("memai reembed",), idempotent=True),
    Operation("stats", stats, "look after", ("memai stats",), reads=True, idempotent=True),
    Operation(
        "export",
        export,
        "look after",
        ("memai export", "memai export -d shop"),
        reads=True,
        idempotent=True,
        shell_only=True,
    ),
)


def operation(name: str) -> Operation | None:
    """Return the operation with this public name."""
    return next((op for op in OPERATIONS if op.name == name), None)
