"""What a long-lived process keeps of a file, once for all its connections and threads.

Nothing here is ever trusted to be up to date: who asks says what state of the store it sees.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from memai.queries import Clause
    from memai.records import Where
    from memai.store.bm25 import Lengths, Postings
    from memai.store.connection import Identity
    from memai.store.forward import Forward
    from memai.store.matrix import Matrix, Vectors
    from memai.store.postings import Size

_FILTERS = 1_000  # of which it is counted how often they were searched


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
        self.narrow: dict[Where, Vectors | None] = {}
        """The vectors of filters that leave few memories, None where they are too many."""
        self.narrow_changes = -1
        """The state of the store that they belong to."""
        self.words_changes = -1
        """The state of the store that what follows belongs to."""
        self.rewritten: str | None = None
        """How often words that were there had changed or gone by then."""
        self.lengths: Lengths | None = None
        self.postings: dict[Clause, Postings] = {}
        self.sizes: dict[Clause, Size] = {}
        """How common words are."""
        self.forward: Forward | None = None
        """The words of the few memories of some filters."""
        self.walks: dict[Where, int] = {}
        """How many words were looked for in a filter without it."""
        self.inside: dict[tuple[Clause, Where], Postings] = {}
        """Postings in the few memories of a filter."""
        self._bytes = 0

    def renew_narrow(self, changes: int) -> bool:
        """Drop the vectors of filters of an older state; return whether those kept are of this."""
        if changes > self.narrow_changes:
            self.narrow, self.narrow_changes = {}, changes
        return changes == self.narrow_changes

    def renew_words(self, changes: int, rewritten: str | None, lengths: Lengths | None) -> None:
        """Begin anew with the words of another state of the store."""
        self.extend_words(changes, lengths)
        self.rewritten, self.postings, self._bytes = rewritten, {}, 0
        self.forward, self.walks = None, {}

    def extend_words(self, changes: int, lengths: Lengths | None) -> None:
        """Go on to a state that has more words and none other."""
        self.words_changes, self.lengths = changes, lengths
        self.sizes, self.inside = {}, {}

    def walked(self, where: Where, times: int) -> bool:
        """Whether so many words were looked for in a filter; counts one more if not."""
        before = self.walks.get(where, 0)
        if before < times:
            if len(self.walks) > _FILTERS:
                self.walks.clear()
            self.walks[where] = before + 1
        return before >= times

    def kept_postings(self, clause: Clause) -> Postings | None:
        """Return the postings of a clause, which so are the last to go."""
        found = self.postings.pop(clause, None)
        if found is not None:
            self.postings[clause] = found
        return found

    def keep_postings(self, clause: Clause, postings: Postings, most: int) -> None:
        """Keep the postings of a clause, as many as there is room for; the longest unused go."""
        known = self.postings.pop(clause, None)  # by another thread meanwhile
        self.postings[clause] = postings
        self._bytes += postings.size - (known.size if known is not None else 0)
        while self._bytes > most:
            oldest = next(iter(self.postings))
            self._bytes -= self.postings.pop(oldest).size


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
