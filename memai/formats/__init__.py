"""Forms in which memories come and go: each turns bytes into what may be kept, and knows no store.

What comes in is somebody else's data: every reader checks types, sizes and words, and says which
line is wrong.
"""

from typing import Any, Literal, NamedTuple

from memai.records import Edit, Embedded, Memory, Relation

# What foreign fields and the extra fields of a memory may take, as JSON.
MAX_EXTRA_BYTES = 256_000
MAX_DEPTH = 32


class Broken(Exception):
    """A line or file that cannot be read; its text says why."""


class Incoming(NamedTuple):
    """One memory on its way in.

    `place` is where it was read (a line, a file). Of memai's own lines ("own") the whole history is
    known, of its Markdown pages ("page") the present state; what other systems wrote ("foreign") is
    known by its origin. `relations` go from this memory; their other end is a uid.
    """

    place: str
    memory: Memory
    kind: Literal["own", "page", "foreign"] = "own"
    history: tuple[Edit, ...] = ()
    relations: tuple[Relation, ...] = ()
    embedded: Embedded | None = None


def check_extra(value: dict[str, Any]) -> None:
    """Refuse fields that no store keeps: half characters, deep nesting, too much of them.

    Walks without recursion, because what is nested deeply would otherwise end the program later.
    Raises Broken.
    """
    import json

    layer: list[Any] = [value]
    depth = 0
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            raise Broken(f"nested more than {MAX_DEPTH} levels deep")
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below += item.values()
                below += item.keys()
            elif isinstance(item, list):
                below += item
        layer = below
    text = json.dumps(value, ensure_ascii=False)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Broken("a field holds half a character (a lone surrogate)") from None
    if size > MAX_EXTRA_BYTES:
        raise Broken(f"its further fields take more than {MAX_EXTRA_BYTES:,} bytes")
