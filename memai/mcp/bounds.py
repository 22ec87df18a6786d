"""How large an answer may be: what is too long is shortened here, visibly, not in the store."""

import json
from collections.abc import Iterator
from typing import Any

# An answer has two forms for two kinds of clients; most read only one of them.
STRUCTURED_BYTES = 13_500
TEXT_BYTES = 6_000
# The most that a client can ask for.
MOST_BYTES = 100_000
# Of a text that the caller has just sent, this much comes back.
_ECHO = 500
_SHORTEST = 80


# Made once: `json.dumps` makes one each time, which takes as long as a line of text.
_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def size(value: Any) -> int:
    """Return the bytes of a value as it is sent."""
    return len(_written(value).encode())


def echoed(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a writer with the beginning of a long text only: the caller has it."""
    return _shortened(answer, _ECHO)


def fit(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """Return an answer in at most `budget` bytes.

    What that costs is said first among its notes, and by `truncated` where it has that.
    """
    for length in (2_000, 1_000, 500, 250, _SHORTEST):
        if size(answer) <= budget:
            return answer
        answer = _shortened(answer, length)
    return _fewer(answer, budget)


def fit_shown(answer: dict[str, Any], budget: int, offset: int) -> dict[str, Any]:
    """Return a memory that is shown with as much of its content as fits; `next` goes on.

    `offset` is where its content begins in the store.
    """
    if size(answer) <= budget:
        return answer
    memory, notes = answer["memory"], [note[:_ECHO] for note in answer["notes"][:5]]
    content: str = memory["content"]
    rest = {**answer, "memory": {**memory, "content": ""}, "notes": []}
    rest = _shortened(rest, _SHORTEST if size(rest) > budget // 3 else 2_000)
    rest = _fewer(rest, budget // 2)
    notes += rest["notes"]
    kept = within(content, budget - size(rest) - size(notes) - 200)
    if kept < len(content):
        end = offset + kept
        rest["next"] = f"{end}:"
        notes.insert(0, f"This is {offset}:{end} of the content; read on with span '{end}:'.")
    rest["memory"] = {**rest["memory"], "content": content[:kept]}
    return {**rest, "truncated": True, "notes": notes}


def within(content: str, most: int) -> int:
    """Return how many characters of a text fit into so many bytes of JSON."""
    low, high = 0, min(len(content), max(most, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if size(content[:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(answer: dict[str, Any], length: int) -> dict[str, Any]:
    """Return an answer whose texts have at most `length` characters."""
    cut = False

    def shorter(value: Any) -> Any:
        nonlocal cut
        if isinstance(value, str) and len(value) > length:
            cut = True
            return value[: length - 1] + "…"
        if isinstance(value, list):
            return [shorter(item) for item in value]
        if isinstance(value, dict):
            return {key: shorter(item) for key, item in value.items()}
        return value

    changed: dict[str, Any] = shorter(answer)
    return _marked(changed, _TEXTS) if cut else answer


def _fewer(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """Return an answer whose longest list is cut until it fits, or until each has one item."""
    if size(answer) <= budget or not any(_collections(answer)):
        return answer
    answer = _marked(answer, _LISTS)
    while size(answer) > budget and (places := [*_collections(answer)]):
        holder, key = max(places, key=lambda place: size(place[0][place[1]]))
        items = holder[key]
        half = len(items) // 2
        holder[key] = items[:half] if isinstance(items, list) else dict([*items.items()][:half])
    return answer


_TEXTS = "Long texts are shortened in this answer, not in the store; 'show' reads them."
_LISTS = "Not everything is listed in this answer; ask for less at a time."


def _marked(answer: dict[str, Any], note: str) -> dict[str, Any]:
    """Return a copy of an answer that says what was done to it."""
    copy: dict[str, Any] = json.loads(json.dumps(answer))
    if "truncated" in copy:
        copy["truncated"] = True
    if note not in copy.setdefault("notes", []):
        copy["notes"].insert(0, note)
    return copy


def _collections(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield where there are lists but for notes, and tables of numbers, of more than one item."""
    for key, item in value.items():
        if isinstance(item, list):
            if (
                len(item) > 1 and key != "notes"
            ):  # what a cursor goes on behind must have been there
                yield value, key
        elif isinstance(item, dict):
            if len(item) > 1 and all(isinstance(inner, int) for inner in item.values()):
                yield value, key
            else:
                yield from _collections(item)
