"""Prompts that a person picks in a client, and completion of arguments."""

from collections.abc import Mapping
from typing import Any

from memai import operations
from memai.errors import UsageError
from memai.mcp.answers import spoken
from memai.records import Where
from memai.store import Store
from memai.text import fold

# Bytes of the pulse within a prompt, and entries of one completion (the protocol's limit).
_PULSE_BYTES = 6_000
_MOST = 100
_DEPTH = 1_000

_DOMAIN = {
    "name": "domain",
    "description": "The project or area; empty for all.",
    "required": False,
}
PROMPTS: list[dict[str, Any]] = [
    {
        "name": "resume",
        "title": "Resume work",
        "description": "Take up work from memory: where it stands, what was left, what to avoid.",
        "arguments": [_DOMAIN],
    },
    {
        "name": "wrap_up",
        "title": "Wrap up a session",
        "description": "Put into memory what this session learned, and leave a hand-off.",
        "arguments": [_DOMAIN],
    },
]

_RESUME = """\
Resume work{where} from memory. This is where it stands:

{pulse}

Read what matters with show, and search for what the next step needs. Then say in a few sentences \
where things stand and what you will do next; name what is uncertain or old. When you take up a \
hand-off, forget it.
"""
_WRAP_UP = """\
Wrap up this session{where} in memory.
1. search for each thing that was learned, decided or found. Save what is new as a note of its \
own; edit or supersede what changed instead of adding to it.
2. Save mistakes that cost time as anti_pattern, with what to do instead.
3. Say with confidence what proved right or wrong.
4. forget the hand-offs that were taken up.
5. Save one checkpoint: intent, established, pursuing, open_questions. If someone else goes on, \
leave a handoff too.
Save no passwords or keys. End with the uids of what you saved.
"""


def get(store: Store, name: str, arguments: Mapping[str, str] | None) -> dict[str, Any]:
    """Return what `prompts/get` answers; raises UsageError."""
    prompt = next((p for p in PROMPTS if p["name"] == name), None)
    if prompt is None:
        names = ", ".join(p["name"] for p in PROMPTS)
        raise UsageError(reason=f"There is no prompt '{name[:60]}'. There are: {names}.")
    given = dict(arguments or {})
    domain = given.pop("domain", "").strip() or None
    if given:
        raise UsageError(reason=f"{name} has no argument '{next(iter(given))[:60]}', only domain.")
    where = f" in the domain '{domain}'" if domain else ""
    if name == "resume":
        pulse = spoken(operations.pulse(store, domain=domain, max_bytes=_PULSE_BYTES), _PULSE_BYTES)
        text = _RESUME.format(where=where, pulse=pulse)
    else:
        text = _WRAP_UP.format(where=where)
    return {
        "description": prompt["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def complete(store: Store, argument: str, begun: str) -> dict[str, Any]:
    """Return what `completion/complete` answers for an argument called `domain` or `uid`."""
    if argument == "domain":
        names = [count.domain for count in store.domains() if count.domain is not None]
        found = [name for name in names if fold(name).startswith(fold(begun))]
    elif argument == "uid":
        memories = store.page(Where(), _DEPTH)
        found = [memory.uid for memory in memories if memory.uid.startswith(begun.lower())]
    else:
        found = []
    return {
        "completion": {
            "values": found[:_MOST],
            "total": len(found),
            "hasMore": len(found) > _MOST,
        }
    }
