"""What a client can attach without calling a tool: one memory, and where work stands."""

from typing import Any
from urllib.parse import unquote

from memai import operations
from memai.errors import UsageError
from memai.mcp.answers import spoken
from memai.store import Store

_MEMORY = "memai://memory/"
_PULSE = "memai://pulse"
_TEXT = "text/plain"
_BYTES = 18_000

RESOURCES: list[dict[str, Any]] = [
    {
        "uri": _PULSE,
        "name": "pulse",
        "title": "Where work stands",
        "description": "Latest checkpoint, open hand-offs, pitfalls and recent notes in memory.",
        "mimeType": _TEXT,
    }
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": _MEMORY + "{uid}",
        "name": "memory",
        "title": "One memory",
        "description": "A memory whole, with its relations.",
        "mimeType": _TEXT,
    },
    {
        "uriTemplate": _PULSE + "/{domain}",
        "name": "pulse-of-domain",
        "title": "Where work stands in a domain",
        "description": "The same for one project or area; a slash in its name is %2F.",
        "mimeType": _TEXT,
    },
]


def read(store: Store, uri: str) -> dict[str, Any]:
    """Return what `resources/read` answers; raises UsageError, NoSuchMemory and their like."""
    place = uri.partition("?")[0].partition("#")[0]
    if place.startswith(_MEMORY) and len(place) > len(_MEMORY):
        text = spoken(operations.show(store, unquote(place.removeprefix(_MEMORY))), _BYTES)
    elif place.rstrip("/") == _PULSE:
        text = spoken(operations.pulse(store), _BYTES)
    elif place.startswith(_PULSE + "/"):
        text = spoken(
            operations.pulse(store, domain=unquote(place.removeprefix(_PULSE + "/"))), _BYTES
        )
    else:
        known = ", ".join([_PULSE, *(template["uriTemplate"] for template in TEMPLATES)])
        raise UsageError(reason=f"There is no resource '{uri[:200]}'. There are: {known}.")
    return {"contents": [{"uri": uri, "mimeType": _TEXT, "text": text}]}
