"""How a command runs: gather what it takes, ask the operation, print the answer."""

from __future__ import annotations

import gc
import os

from memai import place
from memai.lean import TYPE_CHECKING
from memai.limits import NO_DOMAIN, UNBOUNDED
from memai.records import Caller
from memai.settings import Settings, resolve

if TYPE_CHECKING:
    from typing import Any

    from memai.cli.choices import Choices
    from memai.operations import Operation
    from memai.shapes import Signature
    from memai.store import Store

# Their answers are cut to a number of bytes of JSON for the sake of agents. What a person or a
# pipe reads is not that JSON, so without --json they are cut only when --max-bytes says so.
_CUT_AS_JSON = frozenset(("list", "search", "recall", "duplicates"))
_TO_PICK_FROM = 200  # memories, if the line does not say how many


def perform(
    choices: Choices, given: dict[str, Any], operation: Operation, signature: Signature
) -> int:
    """Run an operation as the command line says; return the exit code.

    `given` holds a value for each parameter, None where nothing was said.
    """
    from memai.cli import asking, output

    picking = given.pop("pick_", False)
    store = opened(choices)
    try:
        with asking.Asking(choices, operation, signature, store) as asked:
            arguments = asked.arguments(given)
            if operation.name in _CUT_AS_JSON and not choices.json:
                arguments.setdefault("max_bytes", UNBOUNDED)
            if picking:
                arguments.setdefault("limit", _TO_PICK_FROM)
            if not gc.isenabled():
                gc.freeze()  # what is there now stays: no use in looking through it again
                gc.enable()
            answer = asked.nothing() or _ask(operation, store, choices, arguments)
        if picking:
            from memai.cli import pick

            return pick.one(answer, store, choices)
        output.emit(answer, choices, counted="limit" in arguments)
        return 8 if getattr(answer, "needs_person", False) else 0
    finally:
        store.close()


def _ask(operation: Operation, store: Store, choices: Choices, arguments: dict[str, Any]) -> Any:
    """Return the answer of an operation; show how far work has come that may take long."""
    if operation.group != "look after":
        return operation.function(store, **arguments)
    from memai.cli import progress

    with progress.watched(store, choices, operation.name):
        return operation.function(store, **arguments)


def opened(choices: Choices) -> Store:
    """Return the store that the options and the environment name, for the caller they name."""
    from memai.store import open_store

    settings = resolve(choices.db, allow_network_fs=choices.allow_network_fs)
    return open_store(settings=settings, caller=_caller(settings))


def _caller(settings: Settings) -> Caller:
    """Return who is at the shell: the domain is that of the environment or of this folder."""
    domain, why = settings.domain, "MEMAI_DOMAIN"
    if domain is None:
        at_hand = _here()
        if at_hand is not None:
            domain, why = at_hand
    return Caller(
        agent=settings.agent or "cli",
        session=settings.session,
        domain=None if domain == NO_DOMAIN else domain,
        domain_from=why if domain else None,
    )


def _here() -> place.AtHand | None:
    """Return the domain of this folder, None where it has none or was removed."""
    try:
        folder = os.getcwd()
    except OSError:
        return None
    return place.at_hand(folder)
