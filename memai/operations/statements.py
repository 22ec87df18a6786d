"""What a page of Markdown states of a memory, in a form that is remembered and compared.

Of three statements - the page now, the memory now, and what both were when last synced - follows
who changed what.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from memai.formats import pages
from memai.formats.pages import Page
from memai.operations.merging import CHANGEABLE
from memai.records import Memory, Relation, to_json

NOTHING = "{}"
"""What is remembered of a file that was taken in but does not say yet which memory it is."""

Edge = tuple[str, str, str | None]
"""A relation as pages state it: type, the other memory, note."""


class Statement(NamedTuple):
    """What is said of a memory: its fields (of the content the SHA-256) and its relations."""

    fields: dict[str, Any]
    edges: frozenset[Edge]

    def dumps(self) -> str:
        """Return it as it is remembered."""
        said = {**self.fields, "relations": sorted(self.edges, key=repr)}
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


SILENT = Statement({}, frozenset())
"""What a page says whose front matter was taken away."""


def of(memory: Memory, relations: Iterable[Relation]) -> Statement:
    """Return what is said of a memory with the relations that go from it."""
    fields = {name: to_json(getattr(memory, name)) for name in CHANGEABLE}
    fields["content"] = _digest(memory.content)
    edges = frozenset(
        (r.type, r.to_uid, r.note)
        for r in relations
        if r.from_uid == memory.uid and r.removed_at is None
    )
    return Statement(fields, edges)


def loads(said: str) -> Statement | None:
    """Return what was remembered, None for a file whose words were not understood yet."""
    fields = json.loads(said)
    if not fields:
        return None
    edges = frozenset((kind, other, note) for kind, other, note in fields.pop("relations"))
    return Statement(fields, edges)


def base_of(said: Statement, *known: Memory) -> dict[str, Any]:
    """Return the fields of a remembered statement as a memory holds them.

    Of the content only its hash is remembered: it is that of one of the `known`, or of none.
    """
    base = dict(said.fields)
    base["tags"] = tuple(base["tags"])
    contents = {_digest(memory.content): memory.content for memory in known}
    base["content"] = contents.get(base["content"])
    return base


def bare(memory: Memory, text: str) -> Page:
    """Return the page of a memory whose front matter was taken away: its text is all it says."""
    return pages.Page(memory._replace(content=text.removesuffix("\n")), ())


def _digest(content: str) -> str:
    from hashlib import sha256

    return sha256(content.encode()).hexdigest()
