"""What the tests of imports, exports and syncs share: whole stores as text, texts of any kind."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from memai import operations
from memai.formats import own, pages
from memai.formats.fields import _BLANK
from memai.operations import statements
from memai.records import Imported, Memory, Where
from memai.store import Store

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


def exported(store: Store) -> list[str]:
    """Return everything in a store as the lines of an export."""
    return [own.dumps(line) for line in operations.export(store)]  # type: ignore[arg-type]


def written(path: Path, records: Iterable[Any]) -> str:
    """Write objects as JSON Lines; return the path."""
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), "utf-8")
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
        found[page.memory.uid] = statements.of_page(page)
    return found
