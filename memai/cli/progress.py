"""How far long work has come: one line on a terminal, gone before anything else is written."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memai.cli.choices import Choices

if TYPE_CHECKING:
    from memai.store import Store

# Work that is over sooner is not worth a word.
_PATIENCE = 0.5
_BETWEEN = 0.1


class Progress:
    """A line that is written over and over; called with how much is done, and of how much."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.began = self.last = time.monotonic()
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        """Show how far the work is, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self.began < _PATIENCE or now - self.last < _BETWEEN:
            return
        self.last, self.shown = now, True
        far = f"{min(done / total, 1):.0%}" if total else f"{done:,}"
        self._write(f"\r\x1b[Kmemai: {self.what}: {far}")

    def wipe(self) -> None:
        """Take the line away."""
        if self.shown:
            self.shown = False
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            return


@contextmanager
def watched(store: "Store", choices: Choices, what: str) -> Iterator[None]:
    """Show how far an operation on this store has come, where a person watches."""
    from memai.cli import output

    plain = os.environ.get("TERM") == "dumb" or choices.json or choices.quiet
    if plain or not output.is_terminal(sys.stderr):
        yield
        return
    line = Progress(what)
    store.caller = store.caller._replace(progress=line)
    try:
        yield
    finally:
        line.wipe()
