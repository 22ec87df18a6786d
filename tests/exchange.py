"""What the tests of imports, exports and syncs share: whole stores as text, texts of any kind."""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from memai import operations, when
from memai.formats import own, pages
from memai.formats.fields import _BLANK
from memai.operations import checking, statements
from memai.operations.merging import CHANGEABLE
from memai.records import Edit, Imported, Memory, Origin, Relation, Where
from memai.store import Store
from memai.text import fold
from memai.vocabulary import MEMORY_TYPES, RELATIONS, STATUSES, VERDICTS

EVERYTHING = Where(current=False)

# What a store keeps: no NUL, no half characters, and something to see.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(characters, min_size=1, max_size=60).filter(lambda text: not _BLANK.fullmatch(text))
lines = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()) and text == text.strip())
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
extras = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8), json_values, max_size=3
)


domains = (
    st.lists(lines.map(lambda text: text.replace("/", "_")), min_size=1, max_size=3)
    .map("/".join)
    .filter(lambda text: text != "-")
)
uids = st.text(checking.UID_ALPHABET, min_size=10, max_size=10)
moments = st.integers(-(10**15), 10**16)
fields = st.fixed_dictionaries(
    {
        "type": st.sampled_from(MEMORY_TYPES),
        "domain": st.none() | domains,
        "session": st.none() | lines,
        "tags": st.lists(lines, max_size=3, unique_by=fold).map(tuple),
        "status": st.sampled_from(STATUSES),
        "confidence": st.sampled_from(VERDICTS),
        "content": texts,
        "source": st.none() | lines,
        "extra": extras,
    }
)
remarks = st.none() | st.text(characters, max_size=20)


@st.composite
def wholes(draw: st.DrawFn) -> tuple[Memory, tuple[Edit, ...], tuple[Relation, ...]]:
    """Draw a memory with a history and relations as a store could hold them."""
    uid = draw(uids)
    steps = draw(st.lists(st.integers(0, 10**12), max_size=4))
    times = list(itertools.accumulate(steps, initial=draw(moments)))
    said = [draw(fields) for _ in times]
    history = tuple(
        Edit(
            number,
            when.from_micros(at),
            draw(lines),
            draw(remarks),
            {name: before[name] for name in CHANGEABLE if before[name] != after[name]},
        )
        for number, (at, before, after) in enumerate(
            zip(times[1:], said, said[1:], strict=False), 1
        )
    )
    memory = Memory(
        uid=uid,
        **said[-1],
        agent=draw(lines),
        key=draw(st.none() | lines),
        origin=draw(st.none() | st.builds(Origin, lines, lines)),
        created_at=when.from_micros(times[0]),
        updated_at=when.from_micros(times[-1]),
        version=len(times),
    )
    others = draw(st.lists(uids.filter(lambda other: other != uid), max_size=2, unique=True))
    at = when.from_micros(draw(moments))
    relations = tuple(
        Relation(uid, draw(st.sampled_from(RELATIONS) | lines), other, draw(remarks), "a", at, gone)
        for other in others
        for gone in (draw(st.none() | st.just(at)),)
    )
    return memory, history, relations


def exported(store: Store) -> list[str]:
    """Return everything in a store as the lines of an export."""
    return [own.dumps(line) for line in operations.export(store)]  # type: ignore[arg-type]


def written(path: Path, records: Iterable[Any]) -> str:
    """Write objects as JSON Lines; return the path."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), "utf-8")
    return str(path)


def save(store: Store, path: Path) -> str:
    """Export a store to a file; return the path."""
    path.unlink(missing_ok=True)
    operations.export(store, output=str(path))
    return str(path)


def counts(answer: Imported) -> tuple[int, int, int, int, int]:
    """Return how many were new, changed, the same, in conflict, in error."""
    return (answer.new, answer.changed, answer.same, len(answer.conflicts), len(answer.errors))


def all_of(store: Store) -> list[Memory]:
    """Return every memory of a store, by uid."""
    return [memory for memory, _, _ in store.export(EVERYTHING)]


def told(store: Store) -> dict[str, Any]:
    """Return what each memory says, with its relations: all that a page carries."""
    return {
        memory.uid: statements.of(memory, store.relations(memory.uid)) for memory in all_of(store)
    }


def on_disk(folder: Path) -> dict[str, Any]:
    """Return what the pages of a folder say."""
    found = {}
    for path in folder.rglob("*.md"):
        page = pages.parse(path.read_bytes().decode())
        assert page is not None, path
        found[page.memory.uid] = statements.of(page.memory, page.relations)
    return found
