"""The JSON that mem0 gives for all memories of a user, from its client, its API or its exports."""

from collections.abc import Callable, Iterator
from typing import Any

from memai.formats import Broken, Incoming
from memai.formats.foreign import Home, line, made, rest

SYSTEM = "mem0"

_LISTS = ("results", "memories", "data")
_TEXTS = ("memory", "text", "content", "data")
_ARCHIVED = ("archived", "deleted", "paused")
_DERIVED = ("hash", "score", "embedding", "vector", "embeddings")


def holds(value: Any) -> bool:
    """Whether a value of JSON looks like memories of mem0."""
    first = next(iter(_items(value) or ()), None)
    return isinstance(first, dict) and any(name in first for name in _TEXTS)


def read(value: Any, home: Home, broken: Callable[[str, str], None]) -> Iterator[Incoming]:
    """Yield the memories of an export; what cannot be read is told to `broken`."""
    items = _items(value)
    if items is None:
        broken("the file", "it holds no list of memories ('results' or 'memories')")
        return
    for number, item in enumerate(items, start=1):
        place = f"memory {number}"
        try:
            yield _memory(item, home, place)
        except Broken as error:
            broken(place, str(error))
    graph = value.get("relations") if isinstance(value, dict) else None
    for number, item in enumerate(graph if isinstance(graph, list) else [], start=1):
        place = f"relation {number}"
        try:
            yield _triple(item, home, place)
        except Broken as error:
            broken(place, str(error))


def _items(value: Any) -> list[Any] | None:
    """Return the list of memories in an export."""
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    return value if isinstance(value, list) else None


def _memory(item: Any, home: Home, place: str) -> Incoming:
    """Return one memory."""
    if not isinstance(item, dict):
        raise Broken("it is no object")
    text = next((item[name] for name in _TEXTS if isinstance(item.get(name), str)), None)
    user = line(item.get("user_id"))
    metadata = item.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    categories = item.get("categories") or []
    tags = [*(categories if isinstance(categories, list | dict) else [])]
    for name in ("tags", "category"):
        told = metadata.get(name)
        tags += told if isinstance(told, list) else [told]
    key = item.get("id") or item.get("hash") or f"{user or ''}\n{text}"
    return made(
        SYSTEM,
        str(key),
        home,
        place,
        content=text,
        type=str(metadata.get("type") or "note"),
        tags=tags,
        domain=item.get("app_id"),
        session=item.get("run_id"),
        agent=item.get("agent_id") or item.get("actor_id"),
        source=f"{SYSTEM}: {user}" if user else SYSTEM,
        created=item.get("created_at"),
        updated=item.get("updated_at"),
        status="archived" if item.get("state") in _ARCHIVED else "active",
        extra=rest(
            item,
            *(*_TEXTS, *_DERIVED, "id", "app_id", "run_id", "agent_id", "created_at"),
            *("updated_at", "categories"),
        ),
    )


def _triple(item: Any, home: Home, place: str) -> Incoming:
    """Return an edge of mem0's graph, between words and not memories, as a sentence."""
    if not isinstance(item, dict):
        raise Broken("it is no object")
    parts = [line(item.get(name)) for name in ("source", "relationship", "target")]
    if item.get("target") is None:
        parts[2] = line(item.get("destination"))
    if None in parts:
        raise Broken("it has no source, relationship and target")
    text = " ".join(str(part) for part in parts)
    key, source = f"graph {text}", f"{SYSTEM}: graph"
    return made(SYSTEM, key, home, place, content=text, tags=["graph"], source=source)
