"""What a long-lived process keeps of a file, once for all its connections and threads.

Nothing here is ever trusted to be up to date: who asks says what state of the store it sees.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from memai.store.connection import Identity
    from memai.store.matrix import Matrix


class Caches:
    """What is kept of one file; the lock is held for every change."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.changes = 0
        """The state of the store that was last looked at, by its counter of changes."""
        self.space: str | None = None
        self.matrix: Matrix | None = None
        self.complete = False
        """Whether the matrix has every vector of that state."""
        self.forgotten = 0
        """How often rows were taken out of the matrix."""
        self.buried = 0
        """How many tombstones there were."""


# By file, as long as a connection to it is open: its inode is not given to another file before.
_known: WeakValueDictionary[Identity, Caches] = WeakValueDictionary()
_lock = allocate_lock()
_process = os.getpid()


def of(identity: Identity) -> Caches:
    """Return the caches of the file with this identity, which the caller has open."""
    global _known, _lock, _process
    if _process != os.getpid():  # a child must not wait for threads of its parent
        _known, _lock, _process = WeakValueDictionary(), allocate_lock(), os.getpid()
    with _lock:
        found = _known.get(identity)
        if found is None:
            found = _known[identity] = Caches()
        return found
