"""Completion as Click does it: the lines that `tab` leaves to it."""

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    shell_complete,
)

from memai.cli import candidates, shells
from memai.cli.candidates import Asked, Candidate
from memai.cli.choices import Choices


def answer(program: click.Command, instruction: str) -> int:
    """Answer a shell's question (see _MEMAI_COMPLETE in Click); return the exit code."""
    add_completion_class(_Bash)
    try:
        return shell_complete(program, {"obj": Choices()}, "memai", "_MEMAI_COMPLETE", instruction)
    except Exception:  # noqa: BLE001 - a Tab must never print an error
        return 1


class _Bash(BashComplete):
    """Bash needs more than Click writes."""

    def complete(self) -> str:
        """Write all candidates."""
        items = self.get_completions(*self.get_completion_args())
        return shells.written(
            "bash", [Candidate(item.value, item.help or "", item.type) for item in items]
        )


def commands(incomplete: str) -> list[CompletionItem[str]]:
    """Offer the commands with their summaries."""
    return [_item(candidate) for candidate in candidates.commands(incomplete)]


def offered(what: str | None, context: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Offer what a parameter may mean."""
    typed = {uid for value in context.params.values() if isinstance(value, tuple) for uid in value}
    choices = context.find_object(Choices) or Choices()
    asked = Asked(context.command.name, frozenset(typed), choices)
    return [_item(candidate) for candidate in candidates.offered(what, asked, incomplete)]


def _item(candidate: Candidate) -> CompletionItem[str]:
    """Return a candidate as Click knows it."""
    return CompletionItem(candidate.value, type=candidate.kind, help=candidate.help or None)
