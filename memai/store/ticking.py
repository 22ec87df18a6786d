"""How one long statement shows that it is still at work."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from memai.store import Progress

# Steps of SQLite's machine between two signs of life: some milliseconds.
_STEPS = 100_000


@contextmanager
def ticking(
    connection: apsw.Connection, progress: Progress | None, done: int, total: int
) -> Iterator[None]:
    """Tell again and again that so much is done while statements of a connection run."""
    if progress is None:
        yield
        return

    def tick() -> bool:
        progress(done, total)
        return False  # true would end the statement

    connection.set_progress_handler(tick, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None)
