"""The evaluation sets: what they hold, and the stores they become."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from memai import embedding, open_store
from memai.operations import checking, embedding_policy
from memai.records import Caller, Memory
from memai.store import Store

DEVELOPMENT = (
    "longmemeval",
    "notes",
    "cosqa",
    "multihop-musique",
    "multihop-hotpot",
    "madial-en",
    "noncommercial/locomo",
)
LANGUAGES = ("xquad/en", "xquad/de", "xquad/es", "xquad/ru", "xquad/ar", "xquad/zh", "jsquad")

_DATES = ("%Y/%m/%d (%a) %H:%M", "%I:%M %p on %d %B, %Y", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")
_BATCH = 1000


class Item(NamedTuple):
    """Something to remember, with its id in the set."""

    id: str
    text: str
    session: str | None
    at: str


class Question(NamedTuple):
    """A question and what answers it: ids of items with their grades."""

    id: str
    text: str
    gold: dict[str, float]


class Collection(NamedTuple):
    """What is one store: its items in order and the questions that are put to it."""

    name: str
    items: list[Item]
    questions: list[Question]


def read(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file, cut at line feeds only."""
    with open(path, encoding="utf-8", newline="\n") as file:
        yield from (json.loads(line) for line in file if line.strip())


def collections(folder: str, name: str) -> list[Collection]:
    """Return a set as the stores it falls into: one for each conversation."""
    base, language = (name.split("/") if name.startswith("xquad/") else (name, ""))[:2]
    prefix = f"{language}." if language else "known-item." if name == "notes" else ""
    path = os.path.join(folder, base)
    found: dict[str, Collection] = {}
    start = datetime(2024, 1, 1, tzinfo=UTC)
    for number, row in enumerate(read(os.path.join(path, f"{prefix}items.jsonl"))):
        key = str(row.get("conversation") or name)
        made = found.setdefault(key, Collection(key, [], []))
        at = _date(row.get("datetime")) or start
        # What has no time was written one after the other.
        at += timedelta(milliseconds=number)
        session = row.get("session")
        if session is not None:
            session = "/".join(str(row[k]) for k in ("question_id", "session") if k in row)
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        made.items.append(Item(row["id"], _text(row), session, stamp))
    for row in read(os.path.join(path, f"{prefix}queries.jsonl")):
        gold = row.get("grades") or dict.fromkeys(row.get("evidence") or (), 1.0)
        if gold and not row.get("adversarial") and row.get("category") != 5:
            key = str(row.get("conversation") or name)
            found[key].questions.append(Question(row["qid"], row["question"], gold))
    return [one for one in found.values() if one.questions]


def _text(row: dict[str, Any]) -> str:
    """Return an item as a person would note it: title, speaker and day in front."""
    day = f"({str(row['datetime'])[:10]})" if row.get("datetime") else ""
    head = " ".join(x for x in (row.get("title") or "", row.get("speaker") or "", day) if x)
    text = (row["text"] or "") + (" " + row["caption"] if row.get("caption") else "")
    return f"{head}: {text}" if head else text


def _date(value: str | None) -> datetime | None:
    if not value:
        return None
    value = re.sub(r"\.\d+", "", value)
    for form in _DATES:
        try:
            return datetime.strptime(value, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(value)


def fill(path: str, items: Sequence[Item]) -> dict[str, str]:
    """Write a store with these items, if it is not there yet; return uid to id.

    In batches, past the checks of a note: one commit for each takes a hundred times as long.
    """
    store = open_store(path, caller=Caller(agent="bench"))
    uids = [_uid(number) for number in range(len(items))]
    if not store.exists():
        model = embedding.load()
        for start in range(0, len(items), _BATCH):
            batch = [
                _memory(uid, item)
                for uid, item in zip(
                    uids[start : start + _BATCH], items[start : start + _BATCH], strict=True
                )
            ]
            embedded = embedding_policy.embed(model, batch)
            with store.writing():
                for memory, vectors in zip(batch, embedded, strict=True):
                    store.insert(memory, vectors)
    store.close()
    return dict(zip(uids, (item.id for item in items), strict=True))


def opened(path: str) -> Store:
    """Open a store that `fill` has written."""
    return open_store(path, caller=Caller(agent="bench"))


def _uid(number: int) -> str:
    digits = checking.UID_ALPHABET
    uid = ""
    for _ in range(checking.UID_LENGTH):
        uid = digits[number % len(digits)] + uid
        number //= len(digits)
    return uid


def _memory(uid: str, item: Item) -> Memory:
    return Memory(
        uid=uid,
        type="note",
        domain=None,
        session=item.session,
        tags=(),
        status="active",
        confidence="unverified",
        content=item.text or item.id,
        agent="bench",
        source=None,
        key=None,
        origin=None,
        created_at=item.at,
        updated_at=item.at,
        version=1,
        extra={},
    )
