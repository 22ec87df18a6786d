"""Calls of tools, done in worker threads: each thread has a store of its own."""

import re
import threading
from collections.abc import Mapping
from typing import Any

from memai.mcp import Profile
from memai.records import Caller
from memai.settings import Settings
from memai.store import Store, open_store

_PAUSE = 0.05
_SPAN_START = re.compile(r"\s*(\d{1,9}):")


class Calls:
    """What a server does for its clients, whatever brings their requests; safe to share."""

    def __init__(self, settings: Settings, profile: Profile) -> None:
        self.settings = settings
        self.profile = profile
        self._thread = threading.local()

    def store(self, caller: Caller) -> Store:
        """Return this thread's store, signed by the caller."""
        store: Store | None = getattr(self._thread, "store", None)
        if store is None:
            store = self._thread.store = open_store(settings=self.settings, caller=caller)
        store.caller = caller
        return store

    def tool(
        self, name: str, arguments: Mapping[str, Any] | None, caller: Caller
    ) -> dict[str, Any]:
        """Call a tool; never raises: what goes wrong is an answer too."""
        from memai.mcp import answers, guide, offer, schemas
        from memai.mcp.arguments import bind

        taken = None
        try:
            if name.removeprefix(self.profile.prefix) == offer.HELP:
                return guide.answer(self.profile, arguments)
            operation = offer.called(self.profile, name)
            taken = schemas.signature(operation)
            bound = bind(operation.name, taken, arguments)
            budget, offset = _bounds(bound, {p.argument for p in taken.parameters})
            record = operation.function(self.store(caller), **bound)
            return answers.success(record, budget, offset)
        except Exception as error:  # noqa: BLE001 - a client gets an answer whatever happens
            return answers.failure(error, name[:80], taken)

    def writing(self) -> frozenset[str]:
        """Return the names, without prefix, of the tools that may change the store."""
        from memai.mcp import offer

        return offer.writing()

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools as `tools/list` sends them."""
        from memai.mcp import schemas

        return schemas.tools(self.profile)

    def resource(self, uri: str, caller: Caller) -> dict[str, Any]:
        """Read a resource; raises MemaiError."""
        from memai.mcp import resources

        return resources.read(self.store(caller), uri)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None, caller: Caller
    ) -> dict[str, Any]:
        """Fill in a prompt; raises MemaiError."""
        from memai.mcp import prompts

        return prompts.get(self.store(caller), name, arguments)

    def completion(self, argument: str, begun: str, caller: Caller) -> dict[str, Any]:
        """Complete an argument; raises MemaiError."""
        from memai.mcp import prompts

        return prompts.complete(self.store(caller), argument, begun)

    def first_line(self, uid: str, caller: Caller) -> str:
        """Return how a memory begins, for the person who is asked; raises NoSuchMemory."""
        from memai.operations.budget import first_line

        return first_line(self.store(caller).get(uid).content)

    def warm(self, caller: Caller) -> None:
        """Read the model before it is needed; what goes wrong is said when it matters."""
        import contextlib

        from memai.embedding import NoModel
        from memai.operations import embedding_policy

        with contextlib.suppress(Exception):
            model = embedding_policy.embedder(self.store(caller))
            if not isinstance(model, NoModel):
                model.embed("ready")

    def backfill(self, caller: Caller) -> None:
        """Embed what was stored while there was no model; the next server goes on if this ends."""
        import contextlib
        import time

        from memai.operations import embedding_policy

        store = self.store(caller)
        with contextlib.suppress(Exception):
            if store.exists():
                embedding_policy.backfill(store, lambda: time.sleep(_PAUSE))


def _bounds(bound: dict[str, Any], arguments: set[str]) -> tuple[int | None, int]:
    """Return what the caller allows for the answer, in bytes, and where a span begins.

    An operation that bounds itself is told, so that its cursor is right.
    """
    from memai.mcp.bounds import MOST_BYTES, STRUCTURED_BYTES

    budget: int | None = bound.get("max_bytes")
    if budget is not None:
        budget = bound["max_bytes"] = min(budget, MOST_BYTES)
    elif "max_bytes" in arguments:
        bound["max_bytes"] = STRUCTURED_BYTES
    start = _SPAN_START.match(bound.get("span") or "")
    return budget, int(start[1]) if start else 0
