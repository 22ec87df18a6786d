"""A process of the torture: `worker.py DB SEED JOURNAL KIND`; it works until it is killed.

Some kinds have a defect that the torture must notice.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from durability.faces import Client, Shell
from durability.workload import MODELS, Journal, Worker, opened, text, use_small_models

from memai import operations
from memai.records import Embedded, Memory
from memai.store.writing import Writing


class Mixed(Worker):
    """A worker that also looks after the whole store now and then."""

    def step(self) -> None:
        """Do one thing."""
        choice = self.dice.random() if self.mine else 1.0
        if choice < 0.01:
            operations.reembed(self.store, model=self.dice.choice(MODELS))
        elif choice < 0.02:
            operations.doctor(self.store, compact=True)
        elif choice < 0.03:
            operations.backup(self.store, keep=2)
        elif choice < 0.06:
            operations.search(self.store, text(self.dice))
        else:
            super().step()


class TwoTransactions(Worker):
    """Stores a memory in one transaction and its vectors in another."""

    def write(self) -> None:
        """Add a memory in two steps."""
        left: list[tuple[Memory, Embedded]] = []
        insert = Writing.insert

        def without_vectors(store: Writing, memory: Memory, embedded: Embedded) -> None:
            left.append((memory, embedded))
            insert(store, memory, embedded._replace(space=None))

        acknowledge = self.journal.acknowledge

        def later(**more: Any) -> None:
            with self.store.writing():
                for memory, embedded in left:
                    id = self.store._id(memory.uid)  # type: ignore[attr-defined]
                    self.store.put_passages([(id, memory, embedded)])
            acknowledge(**more)

        Writing.insert = without_vectors  # type: ignore[method-assign]
        self.journal.acknowledge = later  # type: ignore[method-assign]
        try:
            super().write()
        finally:
            Writing.insert = insert  # type: ignore[method-assign]
            self.journal.acknowledge = acknowledge  # type: ignore[method-assign]


class EarlyAcknowledgement(Worker):
    """Says that something is done before it is."""

    def write(self) -> None:
        """Add a memory that was acknowledged before."""
        with _early(self.journal):
            super().write()


@contextmanager
def _early(journal: Journal) -> Iterator[None]:
    intend, acknowledge = journal.intend, journal.acknowledge

    def both(key: str, to: Any) -> None:
        intend(key, to)
        acknowledge()

    journal.intend = both  # type: ignore[method-assign]
    journal.acknowledge = lambda **_: None  # type: ignore[method-assign]
    yield
    journal.intend, journal.acknowledge = intend, acknowledge  # type: ignore[method-assign]


class ForgottenVector(Worker):
    """Edits the text of a memory and forgets its vectors."""

    def edit(self) -> None:
        """Edit a memory, and keep the vectors of its old text."""
        change = Writing.change
        Writing.change = lambda store, memory, edit, _: change(  # type: ignore[method-assign]
            store, memory, edit, None
        )
        try:
            super().edit()
        finally:
            Writing.change = change  # type: ignore[method-assign]


KINDS: dict[str, Callable[..., Worker]] = {
    "store": Mixed,
    "command line": Worker,
    "MCP server": Worker,
    "two transactions": TwoTransactions,
    "early acknowledgement": EarlyAcknowledgement,
    "forgotten vector": ForgottenVector,
}


def main(db: str, seed: str, path: str, kind: str) -> None:
    """Work until killed."""
    os.environ["MEMAI_HOME"] = os.path.dirname(db)
    journal = Journal(path)
    faces = {"command line": Shell, "MCP server": Client}
    if kind in faces:
        worker = Worker(None, int(seed), journal, faces[kind](db))
    else:
        use_small_models()
        worker = KINDS[kind](opened(db), int(seed), journal)
    journal.note(started=True)
    while True:
        worker.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
