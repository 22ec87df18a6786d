"""What becomes of a memory when somebody elsewhere says what it is, without its history.

A page of Markdown or another system knows only the present state. What it said last tells on which
side each field was changed since (a three-way merge); whatever either side said is in the history.
"""

import re
from typing import Any

from memai import when
from memai.operations.merging import CHANGEABLE, Merged, states
from memai.records import Edit, Memory

# What another system speaks about. Where a memory belongs here (domain, session) is ours to say.
_FOREIGN = ("type", "tags", "status", "confidence", "content", "source", "extra")
_AGAIN = re.compile("imported again, as it was at (.{27})")
_KEPT = "kept what was changed here"
Step = tuple[str, str | None, dict[str, Any]]


def again(ours: Memory, history: tuple[Edit, ...], theirs: Memory) -> Merged:
    """Take what another system says now of a memory that was imported from it before.

    The source stands; fields changed here only stay as they are here.
    """
    seen = states(ours, history)
    last, said_at = seen[0], ours.updated_at if ours.version == 1 else ""
    for state in seen[1:]:
        found = _AGAIN.fullmatch(state.reason or "")
        if found:
            last, said_at = state, found[1]
    told = {name: getattr(theirs, name) for name in _FOREIGN}
    here = {name: getattr(ours, name) for name in _FOREIGN}
    base = {name: last.fields[name] for name in _FOREIGN}
    if told in (base, here) or theirs.updated_at < said_at:
        return Merged(ours, history, changed=False, diverged=False)
    merged = {name: here[name] if told[name] == base[name] else told[name] for name in _FOREIGN}
    apart = any(here[n] != base[n] and told[n] not in (base[n], here[n]) for n in _FOREIGN)
    reason = f"imported again, as it was at {theirs.updated_at}"
    steps: list[Step] = [(theirs.agent, reason, told), (theirs.agent, _KEPT, merged)]
    return Merged(*advanced(ours, history, steps), changed=True, diverged=apart)


def paged(
    ours: Memory, history: tuple[Edit, ...], theirs: Memory, agent: str, reason: str
) -> Merged:
    """Take a page that says what a memory is, written from the state it was in at `updated_at`.

    A page that says what the memory once was is an old copy, and changes nothing.
    """
    told = {name: getattr(theirs, name) for name in CHANGEABLE}
    seen = states(ours, history)
    if any(told == state.fields for state in seen):
        return Merged(ours, history, changed=False, diverged=False)
    base = next((s.fields for s in reversed(seen) if s.at == theirs.updated_at), None)
    return reconciled(ours, history, told, base, agent, reason, theirs_newer=True)


def reconciled(
    ours: Memory,
    history: tuple[Edit, ...],
    told: dict[str, Any],
    base: dict[str, Any] | None,
    agent: str,
    reason: str,
    *,
    theirs_newer: bool,
    at: str = "",
) -> Merged:
    """Merge ours with what somebody else made of `base`; without that, nobody knows who changed.

    Where both changed a field the newer side stands. Both versions are in the history then: first
    theirs as a whole, and then what was kept of ours. `at` is when theirs was changed, as far as
    that is known.
    """
    here = {name: getattr(ours, name) for name in told}
    if base is None:
        base = {name: here[name] if here[name] == told[name] else _Unknown for name in told}
    ours_changed = any(here[name] not in (base[name], told[name]) for name in told)
    merged = {
        name: told[name]
        if here[name] == base[name] or (told[name] != base[name] and theirs_newer)
        else here[name]
        for name in told
    }
    steps: list[Step] = [(agent, reason, told), (agent, _KEPT, merged)]
    memory, edits = advanced(ours, history, steps, at)
    return Merged(memory, edits, changed=memory != ours, diverged=ours_changed)


class _Unknown:
    """What no field is."""


def advanced(
    memory: Memory, history: tuple[Edit, ...], steps: list[Step], at: str = ""
) -> tuple[Memory, tuple[Edit, ...]]:
    """Return a memory after some edits: (agent, reason, the fields as they become).

    The first is as of `at`, if that can be; the others are now, and each is strictly after the
    state it ends, also where a clock was set back.
    """
    for agent, reason, fields in steps:
        before = {
            name: getattr(memory, name)
            for name, value in fields.items()
            if value != getattr(memory, name)
        }
        if not before:
            continue
        now = when.now()
        then = at if memory.updated_at < at < now else now
        then, at = max(then, when.from_micros(when.to_micros(memory.updated_at) + 1)), ""
        history = (*history, Edit(memory.version, then, agent, reason, before))
        memory = memory._replace(
            **{name: fields[name] for name in before}, version=memory.version + 1, updated_at=then
        )
    return memory, history
