"""What memai does: the table of every operation.

Each operation is an ordinary typed function of an open store; its docstring and parameters are all
that the command line, the MCP server, the manual and the completions know of it.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from memai.operations.comparing import duplicates as duplicates
    from memai.operations.copies import backup as backup
    from memai.operations.copies import backups as backups
    from memai.operations.copies import recover as recover
    from memai.operations.curating import confidence as confidence
    from memai.operations.curating import edit as edit
    from memai.operations.curating import forget as forget
    from memai.operations.curating import link as link
    from memai.operations.curating import purge as purge
    from memai.operations.curating import restore as restore
    from memai.operations.curating import unlink as unlink
    from memai.operations.health import doctor as doctor
    from memai.operations.interchange import export as export
    from memai.operations.interchange import import_memories as import_memories
    from memai.operations.naming import domains_merge as domains_merge
    from memai.operations.naming import domains_policy as domains_policy
    from memai.operations.naming import domains_rename as domains_rename
    from memai.operations.reading import domains as domains
    from memai.operations.reading import list_memories as list_memories
    from memai.operations.reading import pulse as pulse
    from memai.operations.reading import relations as relations
    from memai.operations.reading import show as show
    from memai.operations.searching import recall as recall
    from memai.operations.searching import search as search
    from memai.operations.syncing import sync as sync
    from memai.operations.upkeep import reembed as reembed
    from memai.operations.upkeep import stats as stats
    from memai.operations.versions import history as history
    from memai.operations.writing import anti_pattern as anti_pattern
    from memai.operations.writing import checkpoint as checkpoint
    from memai.operations.writing import handoff as handoff
    from memai.operations.writing import note as note
    from memai.operations.writing import reasoning as reasoning

    Group = Literal["write", "read", "curate", "look after"]


class Operation(NamedTuple):
    """One thing memai does.

    `place` says where its function is, as room.name below `memai.operations`: it is imported when
    it is used, so that a command pays for no other (25 ms for all of them). `reads` means it
    changes nothing; `destroys` that it removes or hides something; `idempotent` that doing it
    twice is doing it once; `daily` that an MCP client sees it unasked; `shell_only` that it makes
    sense on this machine only. `examples` are shell commands that run.
    """

    name: str
    place: str
    group: Group
    examples: tuple[str, ...]
    reads: bool = False
    destroys: bool = False
    idempotent: bool = False
    daily: bool = False
    shell_only: bool = False

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        room, _, name = self.place.partition(".")
        # As importlib.import_module does, without importing it and `warnings`.
        found: Callable[..., Any] = getattr(
            __import__(f"memai.operations.{room}", fromlist=(name,)), name
        )
        return found


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "note",
        "writing.note",
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
        "writing.checkpoint",
        "write",
        ("memai checkpoint -d shop --intent 'Ship login' --pursuing 'Token refresh'",),
        daily=True,
    ),
    Operation(
        "handoff",
        "writing.handoff",
        "write",
        ("memai handoff 'Login works; the e-mail templates are next.' -d shop",),
        daily=True,
    ),
    Operation(
        "anti_pattern",
        "writing.anti_pattern",
        "write",
        (
            (
                "memai anti_pattern --pattern 'Retry without a limit' --why-wrong 'Overload' "
                "--instead 'Back off'"
            ),
        ),
        idempotent=True,
        daily=True,
    ),
    Operation(
        "reasoning",
        "writing.reasoning",
        "write",
        ("memai reasoning 'We chose SQLite because one file is easy to back up.' -d shop",),
        idempotent=True,
    ),
    Operation(
        "search",
        "searching.search",
        "read",
        ("memai search 'why does the test database lose rows'", "memai search staging -d shop"),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation(
        "recall",
        "searching.recall",
        "read",
        ("memai recall 'nightly reset'",),
        reads=True,
        idempotent=True,
    ),
    Operation(
        "show",
        "reading.show",
        "read",
        ("memai show {uid}",),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation(
        "list",
        "reading.list_memories",
        "read",
        ("memai list -n 5", "memai list -d shop --type note --since 7d"),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation(
        "pulse",
        "reading.pulse",
        "read",
        ("memai pulse -d shop", "memai pulse --max-bytes 1800"),
        reads=True,
        idempotent=True,
        daily=True,
    ),
    Operation(
        "domains",
        "reading.domains",
        "read",
        ("memai domains", "memai domains --here"),
        reads=True,
        idempotent=True,
    ),
    Operation(
        "domains rename",
        "naming.domains_rename",
        "curate",
        ("memai domains rename shop store --dry-run", "memai domains rename shop webshop"),
    ),
    Operation(
        "domains merge",
        "naming.domains_merge",
        "curate",
        ("memai domains merge shop webshop --dry-run",),
    ),
    Operation(
        "domains policy",
        "naming.domains_policy",
        "curate",
        ("memai domains policy", "memai domains policy lower"),
        idempotent=True,
    ),
    Operation(
        "relations",
        "reading.relations",
        "read",
        ("memai relations {uid}",),
        reads=True,
        idempotent=True,
    ),
    Operation(
        "history",
        "versions.history",
        "read",
        ("memai history {uid}",),
        reads=True,
        idempotent=True,
    ),
    Operation(
        "edit",
        "curating.edit",
        "curate",
        (
            "memai edit {uid} 'Staging resets its database at 02:00.' --reason 'asked ops'",
            "memai edit {uid} --add-tag ops",
            "memai edit {uid} --revert 1",
        ),
        daily=True,
    ),
    Operation(
        "link",
        "curating.link",
        "curate",
        ("memai link {uid} relates_to {other} --note 'same outage'",),
        idempotent=True,
        daily=True,
    ),
    Operation(
        "unlink",
        "curating.unlink",
        "curate",
        ("memai unlink {uid} relates_to {linked}",),
        destroys=True,
        idempotent=True,
    ),
    Operation(
        "confidence",
        "curating.confidence",
        "curate",
        ("memai confidence {uid} confirmed",),
        idempotent=True,
    ),
    Operation(
        "forget",
        "curating.forget",
        "curate",
        (
            "memai forget {uid} --reason 'no longer true'",
            "memai forget {uid} --superseded-by {other}",
        ),
        destroys=True,
        idempotent=True,
        daily=True,
    ),
    Operation("restore", "curating.restore", "curate", ("memai restore {uid}",), idempotent=True),
    Operation(
        "purge",
        "curating.purge",
        "curate",
        ("memai purge {uid} --confirm 'DELETE {uid}'",),
        destroys=True,
    ),
    Operation(
        "duplicates",
        "comparing.duplicates",
        "curate",
        ("memai duplicates",),
        reads=True,
        idempotent=True,
    ),
    Operation(
        "doctor",
        "health.doctor",
        "look after",
        ("memai doctor", "memai doctor --deep --secrets", "memai doctor --compact"),
        idempotent=True,
    ),
    Operation(
        "backup",
        "copies.backup",
        "look after",
        ("memai backup", "memai backup --keep 7 --keep-weekly 8"),
    ),
    Operation(
        "backups",
        "copies.backups",
        "look after",
        ("memai backups", "memai backups --verify"),
        idempotent=True,
    ),
    Operation(
        "recover",
        "copies.recover",
        "look after",
        ("memai recover {backup} --dry-run", "memai recover {backup}"),
        destroys=True,
        idempotent=True,
        shell_only=True,
    ),
    Operation("reembed", "upkeep.reembed", "look after", ("memai reembed",), idempotent=True),
    Operation("stats", "upkeep.stats", "look after", ("memai stats",), reads=True, idempotent=True),
    Operation(
        "import",
        "interchange.import_memories",
        "look after",
        ("memai export -d shop | memai import - --db shop.db", "memai import {backup} --dry-run"),
        idempotent=True,
        shell_only=True,
    ),
    Operation(
        "export",
        "interchange.export",
        "look after",
        ("memai export -d shop", "memai export --output memories.jsonl"),
        reads=True,
        idempotent=True,
        shell_only=True,
    ),
    Operation(
        "sync",
        "syncing.sync",
        "look after",
        ("memai sync notes", "memai sync notes --dry-run"),
        idempotent=True,
        shell_only=True,
    ),
)


def operation(name: str) -> Operation | None:
    """Return the operation with this public name."""
    return next((op for op in OPERATIONS if op.name == name), None)


def __getattr__(name: str) -> Any:
    """Give the library face its functions: `operations.note(store, ...)`."""
    for op in OPERATIONS:
        if op.place.endswith("." + name):
            return op.function
    raise AttributeError(name)
