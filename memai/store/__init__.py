"""Engines that keep memories: `Store` is what each must do, `open_store` opens one."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from memai.records import Caller
    from memai.settings import Settings
    from memai.store.protocol import Progress as Progress
    from memai.store.protocol import Store as Store


class SpaceChanged(Exception):
    """The store's space is not the one these passages were made for: embed again and retry."""


def open_store(
    path: str | None = None, *, caller: Caller | None = None, settings: Settings | None = None
) -> Store:
    """Open the store at `path`, or where the environment says.

    Nothing is read or made before the first use. Raises UsageError for settings that cannot be
    meant; what is wrong with the file is raised when it is used.
    """
    from memai.records import Caller
    from memai.settings import resolve
    from memai.store.sqlite import SQLiteStore  # the engine is chosen here and nowhere else

    opened: Any = SQLiteStore(settings or resolve(path), caller or Caller())
    store: Store = opened  # it is one as soon as it has become `WholeStore`
    return store


def __getattr__(name: str) -> Any:
    """Import the protocol when it is asked for: a command only names it in annotations."""
    if name in ("Store", "Progress"):
        from memai.store import protocol

        return getattr(protocol, name)
    raise AttributeError(f"module 'memai.store' has no attribute '{name}'")
