"""Questions to a person at a terminal."""

import sys
from typing import TYPE_CHECKING

from memai import terminal
from memai.errors import ConfirmationNeeded
from memai.records import Memory

if TYPE_CHECKING:
    from memai.store import Store


def phrase(store: "Store", uid: str) -> str:
    """Show what would be erased and let the phrase be typed; never for an abbreviated uid."""
    memory: Memory = store.get(store.resolve(uid))
    if memory.uid != uid:
        raise ConfirmationNeeded(uid=memory.uid)
    line = terminal.safe(terminal.one_line(memory.content), tabs=False)
    place = terminal.safe(memory.domain or "-", newlines=False, tabs=False)
    sys.stderr.write(
        f"{memory.uid}  {memory.type}  {place}  {terminal.cut(line, 60)}\n"
        "This erases text, history, words, vectors and relations, and cannot be undone.\n"
        f"Type DELETE {memory.uid} to go on: "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip()
