"""Two histories of one memory become one, the same whichever way round.

A memory with its history is a set of states, each with the time it began. Merging is the union of
the sets, put in order of time: commutative, associative, idempotent (a state-based replicated data
type, Shapiro et al. 2011). So stores that exchange memories in any order agree in the end, what is
newest is current, and nothing either side knew is lost.
"""

import json
from itertools import pairwise
from typing import Any, NamedTuple

from memai.records import Edit, Memory, Origin, Relation, to_json

# What an edit can change. The rest (uid, key, origin, creation) belongs to the memory for good.
CHANGEABLE = (
    "type",
    "domain",
    "session",
    "tags",
    "status",
    "confidence",
    "content",
    "source",
    "extra",
)


class State(NamedTuple):
    """What a memory was from `at` on, and whose doing that was."""

    at: str
    agent: str
    reason: str | None
    fields: dict[str, Any]

    def order(self) -> tuple[str, str]:
        """Return what orders states: time, then anything that every store sorts alike."""
        return self.at, json.dumps(to_json(tuple(self)), sort_keys=True, ensure_ascii=False)


class Merged(NamedTuple):
    """The outcome: `changed` if ours is not what it was, `diverged` if both went apart."""

    memory: Memory
    history: tuple[Edit, ...]
    changed: bool
    diverged: bool


def states(memory: Memory, history: tuple[Edit, ...]) -> list[State]:
    """Return every state of a memory, oldest first."""
    fields = {name: getattr(memory, name) for name in CHANGEABLE}
    found: list[State] = []
    for edit in reversed(history):
        found.append(State(edit.at, edit.agent, edit.reason, fields))
        fields = {**fields, **edit.before}
    found.append(State(memory.created_at, memory.agent, None, fields))
    return found[::-1]


def merge(
    ours: Memory, our_history: tuple[Edit, ...], theirs: Memory, their_history: tuple[Edit, ...]
) -> Merged:
    """Merge two histories of the memory with one uid."""
    here = {state.order(): state for state in states(ours, our_history)}
    there = {state.order(): state for state in states(theirs, their_history)}
    if there.keys() <= here.keys():
        return Merged(ours, our_history, changed=False, diverged=False)
    if here.keys() <= there.keys():
        return Merged(theirs, their_history, changed=True, diverged=False)
    chain = [state for _, state in sorted({**here, **there}.items())]
    memory, history = _rebuilt(ours, chain)
    apart = any(getattr(ours, name) != getattr(theirs, name) for name in CHANGEABLE)
    return Merged(memory, history, changed=True, diverged=apart)


def claims(ours: Memory, theirs: Memory) -> tuple[str | None, Origin | None]:
    """Return the key and origin of a memory two stores know: what either of them says.

    Where both say something, the lesser: any choice would do that both make alike.
    """
    keys = [memory.key for memory in (ours, theirs) if memory.key is not None]
    origins = [memory.origin for memory in (ours, theirs) if memory.origin is not None]
    return min(keys, default=None), min(origins, default=None)


def earlier(one: Memory, other: Memory) -> bool:
    """Whether the first of two memories that claim the same key or origin may keep it."""
    return (one.created_at, one.uid) < (other.created_at, other.uid)


def _rebuilt(memory: Memory, chain: list[State]) -> tuple[Memory, tuple[Edit, ...]]:
    """Return the memory whose states these are, with its history."""
    history = tuple(
        Edit(
            version,
            after.at,
            after.agent,
            after.reason,
            {
                name: before.fields[name]
                for name in CHANGEABLE
                if before.fields[name] != after.fields[name]
            },
        )
        for version, (before, after) in enumerate(pairwise(chain), start=1)
    )
    made = memory._replace(
        **chain[-1].fields,
        agent=chain[0].agent,
        created_at=chain[0].at,
        updated_at=chain[-1].at,
        version=len(chain),
    )
    return made, history


def newest(ours: Relation | None, theirs: Relation) -> Relation:
    """Return which of two accounts of a relation stands: the one with the last word.

    Taking away counts as said when it was done; at the same moment it wins over making. The order
    is total, so that every store chooses alike.
    """
    if ours is None:
        return theirs

    def said(relation: Relation) -> tuple[str, bool, str, str, bool, str]:
        gone = relation.removed_at is not None
        return (
            relation.removed_at or relation.created_at,
            gone,
            relation.agent,
            relation.created_at,
            relation.note is not None,
            relation.note or "",
        )

    return max(ours, theirs, key=said)
