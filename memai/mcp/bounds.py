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


def size(value: Any) -> int:
    """Return the bytes of a value as it is sent."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def echoed(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a writer with the beginning of a long text only: the caller has it."""
    return _shortened(answer, _ECHO)[0]


def fit(answer: dict[str, Any], budget: int, offset: int = 0) -> dict[str, Any]:
    """Return an answer in at most `budget` bytes; `truncated` comes first where that cost anything.

    `offset` is where the content of a memory that is shown begins in the store.
    """
    if size(answer) <= budget:
        return answer
    if "history" in answer and "memory" in answer:
        return _fit_shown(answer, budget, offset)
    for length in (2_000, 1_000, 500, 250, _SHORTEST):
        shorter, _ = _shortened(answer, length)
        if size(shorter) <= budget:
            return shorter
    return _fewer(shorter, budget)


def _fit_shown(answer: dict[str, Any], budget: int, offset: int) -> dict[str, Any]:
    """Keep as much of the content as fits; it can be read on with `span`."""
    memory = answer["memory"]
    content: str = memory["content"]
    empty = {**answer, "memory": {**memory, "content": ""}, "notes": [], "next": "0" * 16}
    rest, _ = _shortened(empty, _SHORTEST if size(empty) > budget // 3 else 2_000)
    rest = _fewer(rest, budget // 2)
    notes = [note[:_ECHO] for note in answer["notes"][:5]]
    spare = budget - size(rest) - size(notes) - 240
    kept = within(content, spare)
    if kept < len(content):
        end = offset + kept
        notes.append(f"This is {offset}:{end} of the content; read on with span '{end}:'.")
        rest["next"] = f"{end}:"
    else:
        rest.pop("next")
    fitted = {**rest, "memory": {**rest["memory"], "content": content[:kept]}, "notes": notes}
    return {"truncated": True, **{k: v for k, v in fitted.items() if k != "truncated"}}


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


def _shortened(answer: dict[str, Any], length: int) -> tuple[dict[str, Any], bool]:
    """Return an answer whose texts have at most `length` characters, and whether it changed."""
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

    changed = shorter(answer)
    if not cut:
        return answer, False
    changed.pop("truncated", None)
    note = "Long texts are shortened in this answer, not in the store; 'show' reads them."
    if "notes" in changed and note not in changed["notes"]:
        changed["notes"] = [*changed["notes"], note]
    return {"truncated": True, **changed}, True


def _fewer(answer: dict[str, Any], budget: int) -> dict[str, Any]:
    """Return an answer whose longest list is cut until it fits."""
    fitted = {"truncated": True, **{k: v for k, v in answer.items() if k != "truncated"}}
    while size(fitted) > budget:
        holder, key = max(
            _lists(fitted), key=lambda place: size(place[0][place[1]]), default=({}, "")
        )
        if not holder or not holder[key]:
            break
        holder[key] = holder[key][: len(holder[key]) // 2]
    return fitted


def _lists(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield where the lists of an answer are; an object with many keys counts as one."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, list):
                yield value, key
            else:
                yield from _lists(item)
