"""What the torture does to a store, and what must be there afterwards.

A worker changes memories that only it knows, one operation after the other. Before each it writes
down what it is about to do and after each that it was acknowledged, one write(2) a line, so that
the journal survives whatever kills the worker. So what must be there is known exactly: the last
acknowledged state of every memory, or the state of the one operation that was in flight.
"""

import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from support import HashedWords

from memai import embedding, open_store, operations
from memai.operations import embedding_policy
from memai.records import Caller, Where
from memai.settings import resolve
from memai.store import Store

EVERYTHING = Where(current=False)
MODELS = ("hashed-16", "hashed-24")
_WORDS = (
    "alpha beta gamma delta deploy rollback PROJ-1042 foo_bar C++ 한국어 メモリ vector commit kill "
    "acknowledge café naïve --dry-run memai/PROJ 10.0.0.1"
).split()


def use_small_models() -> None:
    """Let stores load the embedders of the tests by name."""
    for name, dim in zip(MODELS, (16, 24), strict=True):
        embedding._loaded[name] = HashedWords(name, dim)


def text(dice: random.Random) -> str:
    """Return a text that no other call returns."""
    words = " ".join(dice.choice(_WORDS) for _ in range(dice.choice((3, 12, 40, 160))))
    return f"{words} #{dice.getrandbits(64):016x}"


class State(NamedTuple):
    """What is kept of a memory, as far as the torture looks: None of it means that it is gone."""

    content: str  # its SHA-256, shortened
    status: str
    version: int


def fingerprint(content: str) -> str:
    """Return what the journal says of a text."""
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Journal:
    """The intents and acknowledgements of one worker."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def intend(self, key: str, to: State | None) -> None:
        """Write down what a memory shall become."""
        self._write({"intend": key, "to": to})

    def acknowledge(self, **more: Any) -> None:
        """Write down that it was said to be done."""
        self._write({"acknowledged": True, **more})

    def note(self, **more: Any) -> None:
        """Write down something else."""
        self._write(more)

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


class Worker:
    """Changes memories of its own, one after the other."""

    def __init__(self, store: Any, seed: int, journal: Journal, do: Any = operations) -> None:
        self.store = store
        self.do = do  # the operations, or another way to them
        self.dice = random.Random(seed)
        self.journal = journal
        self.prefix = f"{seed:x}-"
        self.made = 0
        self.mine: dict[str, tuple[str, State]] = {}  # by key: uid and state

    def step(self) -> None:
        """Do one thing."""
        choice = self.dice.random()
        if choice < 0.5 or len(self.mine) < 3:
            self.write()
        elif choice < 0.7:
            self.edit()
        elif choice < 0.8:
            self.retire()
        elif choice < 0.9:
            self.relate()
        else:
            self.purge()

    def write(self) -> None:
        """Add a memory, found again by its key."""
        key, content = f"{self.prefix}{self.made}", text(self.dice)
        self.made += 1
        state = State(fingerprint(content), "active", 1)
        tags = tuple(self.dice.sample(("a", "b", "c"), self.dice.randrange(3)))
        self.journal.intend(key, state)
        written = self.do.note(
            self.store, content, key=key, tags=tags, domain=self.dice.choice((None, "d", "d/e"))
        )
        self.journal.acknowledge()
        self.mine[key] = written.uid, state

    def edit(self) -> None:
        """Give a memory another text."""
        key, uid, state = self._any()
        content = text(self.dice)
        after = State(fingerprint(content), state.status, state.version + 1)
        self._change(key, uid, after, lambda: self.do.edit(self.store, uid, content))

    def retire(self) -> None:
        """Archive a memory, or bring it back."""
        key, uid, state = self._any()
        if state.status == "active":
            after = State(state.content, "archived", state.version + 1)
            self._change(key, uid, after, lambda: self.do.forget(self.store, (uid,)))
        else:
            after = State(state.content, "active", state.version + 1)
            self._change(key, uid, after, lambda: self.do.restore(self.store, (uid,)))

    def relate(self) -> None:
        """Relate two memories."""
        one, other = self.dice.sample(sorted(self.mine), 2)
        self.do.link(
            self.store, self.mine[one][0], "relates_to", self.mine[other][0], note=text(self.dice)
        )
        self.journal.note(linked=[one, other])

    def purge(self) -> None:
        """Erase a memory."""
        key, uid, _ = self._any()
        self.journal.intend(key, None)
        del self.mine[key]
        self.do.purge(self.store, uid, confirm=f"DELETE {uid}")
        self.journal.acknowledge(purged=uid)

    def _any(self) -> tuple[str, str, State]:
        key = self.dice.choice(sorted(self.mine))
        return key, *self.mine[key]

    def _change(self, key: str, uid: str, after: State, act: Callable[[], object]) -> None:
        self.journal.intend(key, after)
        act()
        self.journal.acknowledge()
        self.mine[key] = uid, after


class Expected(NamedTuple):
    """What the journals say."""

    allowed: dict[str, list[State | None]]  # by key; more than one while in flight
    linked: set[tuple[str, str]]
    purged: set[str]  # uids
    counted: Counter[str]


def expected(journals: Iterable[str]) -> Expected:
    """Read journals."""
    told = Expected({}, set(), set(), Counter())
    for path in journals:
        with open(path, encoding="utf-8") as file:
            replay((json.loads(line) for line in file), told)
    return told


def replay(lines: Iterable[dict[str, Any]], told: Expected) -> None:
    """Follow the lines of one journal."""
    pending: tuple[str, State | None] | None = None
    for line in lines:
        if "intend" in line:
            to = line["to"]
            pending = line["intend"], None if to is None else State(*to)
            told.linked.difference_update(
                [pair for pair in told.linked if to is None and line["intend"] in pair]
            )
        elif "acknowledged" in line and pending is not None:
            told.allowed[pending[0]] = [pending[1]]
            told.counted["acknowledged"] += 1
            told.purged.update([line["purged"]] if "purged" in line else [])
            pending = None
        elif "failed" in line and pending is not None:
            in_flight(told, pending)  # an error does not say whether it was kept
            told.counted["failed"] += 1
            pending = None
        elif "linked" in line:
            told.linked.add((line["linked"][0], line["linked"][1]))
            told.counted["acknowledged"] += 1
    if pending is not None:
        in_flight(told, pending)
        told.counted["in flight"] += 1


def in_flight(told: Expected, pending: tuple[str, State | None]) -> None:
    """Allow a memory to be as it was or as it was to become."""
    key, to = pending
    told.allowed[key] = [*told.allowed.get(key, [None]), to]


def faults(store: Store, told: Expected) -> list[str]:
    """Compare a store with what the journals say, and look at its health; return what is wrong."""
    found = [f"{f.level} {f.code}: {f.message}" for f in store.check(deep=True)]
    found += [f"{f.level} {f.code}: {f.message}" for f in store.surroundings() if f.code == "mode"]
    have: dict[str, State] = {}
    links: set[tuple[str, str]] = set()
    keys: dict[str, str] = {}
    related: list[tuple[str, str]] = []
    for memory, history, relations in store.export(EVERYTHING):
        have[memory.key or ""] = State(fingerprint(memory.content), memory.status, memory.version)
        keys[memory.uid] = memory.key or ""
        related += [(memory.uid, relation.to_uid) for relation in relations]
        if [edit.version for edit in history] != list(range(1, memory.version)):
            found.append(f"{memory.key} has not the history of version {memory.version}")
        if memory.uid in told.purged:
            found.append(f"{memory.key} was purged and is there")
    links = {(keys[one], keys[other]) for one, other in related}
    for key, states in told.allowed.items():
        if have.get(key) not in states:
            found.append(f"lost: {key} is {have.get(key)} and was acknowledged as {states}")
    found += [f"nobody wrote {key}" for key in have.keys() - told.allowed.keys()]
    ends = {key for key, states in told.allowed.items() if None not in states}
    found += [
        f"lost: the relation {pair}"
        for pair in told.linked - links
        if pair[0] in ends and pair[1] in ends
    ]
    found += [f"{uid} has no tombstone" for uid in told.purged if not store.buried(uid)]
    return found + stale_vectors(store)


def stale_vectors(store: Store) -> list[str]:
    """Embed every memory again; return those whose kept vectors are of another text."""
    from memai.operations.health import _same

    model = embedding_policy.embedder(store)
    found, last = [], 0
    while batch := store.embedded(500, last):
        made = embedding_policy.embed(model, [memory for _, memory, _ in batch])
        for (_, memory, kept), new in zip(batch, made, strict=True):
            if not _same(kept, new):
                found.append(f"the vectors of {memory.key} are not those of its text")
        last = batch[-1][0]
    return found


def opened(path: str, model: str = MODELS[0]) -> Store:
    """Open a store with a small embedder."""
    settings = resolve(path)._replace(model=model)
    return open_store(settings=settings, caller=Caller(agent="torture"))
