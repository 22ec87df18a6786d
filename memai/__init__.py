"""memai: long-term memory for AI agents and the people who work with them.

The library face: `from memai import open_store, operations`.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from memai import operations
    from memai.store import open_store

__all__ = ["open_store", "operations"]


def __getattr__(name: str) -> Any:
    """Import the library face on first use, so that a shell command pays for what it needs."""
    if name == "operations":
        import memai.operations

        return memai.operations
    if name == "open_store":
        from memai.store import open_store

        return open_store
    raise AttributeError(name)
