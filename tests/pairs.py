"""The pairs of texts of the evaluation data that are duplicates or are not, and a store of them."""

import json
from collections.abc import Iterable, Iterator
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from support import memory

from memai import operations
from memai.operations import embedding_policy
from memai.store import Store

Pairs = dict[frozenset[str], bool]


def labelled(folder: Path) -> Pairs:
    """Return pairs of texts and whether they are duplicates, from the folder of all sets.

    Notes that share most of their words, and edits that left nine words of ten, are; edits that
    changed more, and questions of a bank's customers with the same intent, are not.
    """
    found: Pairs = {}
    for row in _rows(folder / "duplicates" / "notes-near-identical.jsonl"):
        found[frozenset((row["text_a"], row["text_b"]))] = True
    for row in _rows(folder / "duplicates" / "note-revisions.jsonl"):
        pair = frozenset((row["older"]["text"], row["newer"]["text"]))
        found[pair] = found.get(pair, False) or row["similarity"] >= 0.9
    intents: dict[str, list[str]] = {}
    for text, intent in questions(folder).items():
        intents.setdefault(intent, []).append(text)
    for texts in intents.values():
        for two in combinations(texts, 2):
            found.setdefault(frozenset(two), False)
    return found


def questions(folder: Path) -> dict[str, str]:
    """Return the questions of a bank's customers and what each is after."""
    rows = _rows(folder / "duplicates" / "banking77.jsonl")
    return {row["text"]: row["intent"] for row in rows}


def reported(store: Store, contents: Iterable[str]) -> set[frozenset[str]]:
    """Store some texts and return the pairs that are reported of them."""
    texts = list(dict.fromkeys(contents))
    text_of = dict(zip(fill(store, texts), texts, strict=True))
    found = operations.duplicates(store, limit=10**6, max_bytes=10**9)
    return {frozenset((text_of[pair.uid], text_of[pair.other])) for pair in found.pairs}


def fill(store: Store, contents: Iterable[str]) -> list[str]:
    """Add memories in bulk and return their uids."""
    uids: list[str] = []
    model = embedding_policy.embedder(store)
    left = iter(contents)
    while batch := list(islice(left, 1000)):
        memories = [memory(content, domain=f"d{len(uids) % 7}") for content in batch]
        embedded = embedding_policy.embed(model, memories)
        with store.writing():
            for one, passages in zip(memories, embedded, strict=True):
                store.insert(one, passages)
        uids += [one.uid for one in memories]
    return uids


def f1(found: set[frozenset[str]], known: Pairs) -> float:
    """Return F1 of the pairs found; one without a label counts as wrong."""
    right = sum(known.get(pair, False) for pair in found)
    return 2 * right / (len(found) + sum(known.values()))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8").split("\n"):
        if line:
            yield json.loads(line)
