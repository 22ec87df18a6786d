"""The knowledge graph of the reference memory server: entities with observations, and relations.

Its file has one object a line, entities first; its answers have all of them in one object.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memai.formats import Broken, Incoming, own
from memai.formats.fields import Fields
from memai.formats.foreign import Home, made, relation, rest, texts
from memai.records import Relation

SYSTEM = "mcp-memory"


def read(
    lines: Iterable[bytes], home: Home, broken: Callable[[str, str], None]
) -> Iterator[Incoming | Relation]:
    """Yield the entities and relations of a file; what cannot be read is told to `broken`."""
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        place = f"line {number}"
        try:
            record = own.loads(raw)
            if "entities" in record:
                yield from graph(record, home, broken)
            else:
                yield _item(record, home, place)
        except Broken as error:
            broken(place, str(error))


def graph(
    record: dict[str, Any], home: Home, broken: Callable[[str, str], None]
) -> Iterator[Incoming | Relation]:
    """Yield the entities and relations of a whole graph in one object."""
    for kind, name in (("entity", "entities"), ("relation", "relations")):
        for number, item in enumerate(Fields(record).objects(name), start=1):
            place = f"{kind} {number}"
            try:
                yield _item({**item, "type": kind}, home, place)
            except Broken as error:
                broken(place, str(error))


def _item(record: dict[str, Any], home: Home, place: str) -> Incoming | Relation:
    """Return an entity as a memory, or a relation."""
    fields = Fields(record)
    if record.get("type") == "relation":
        ends = fields.line("from", 2000), fields.line("to", 2000)
        if ends[0] == ends[1]:
            raise Broken("it is related to itself")
        return relation(SYSTEM, ends[0], fields.line("relationType", 2000), ends[1], home, SYSTEM)
    if record.get("type") != "entity":
        raise Broken("'type' is neither entity nor relation")
    name, kind = fields.line("name", 2000), fields.optional("entityType", 2000) or "entity"
    # The file says nothing else of times; newer servers and forks do.
    return made(
        SYSTEM,
        name,
        home,
        place,
        content=_content(name, texts(record.get("observations", []))),
        type=kind,
        tags=record.get("tags"),
        source=f"{SYSTEM}: {name}",
        created=record.get("createdAt", record.get("created_at")),
        updated=record.get("updatedAt", record.get("updated_at")),
        extra=rest(
            record,
            *("type", "name", "entityType", "observations", "tags"),
            *("createdAt", "created_at", "updatedAt", "updated_at"),
        ),
    )


def _content(name: str, observations: list[str]) -> str:
    """Return what is known of an entity as one text: its name, and a point for each observation."""
    points = ("- " + text.strip().replace("\n", "\n  ") for text in observations if text.strip())
    return "\n".join([name, *points])
