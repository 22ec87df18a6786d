"""The arguments of a call, as agents really send them, turned into those of an operation.

Clients send lists as JSON text, numbers as text and null for what they leave out; models guess
names. What can only mean one thing is taken; everything else is refused with the name, the value
and what is right. Text is never parsed: a note that looks like JSON is that note.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from memai.errors import UsageError
from memai.signatures import Parameter, Signature

# What models call the arguments; of several that an operation has the first is suggested.
_CALLED: dict[str, str] = {
    "limit": "top_k topk k n count max_results num_results size page_size",
    "content": "text body message memory note value data observation fact",
    "query": "q text keywords question search prompt content",
    "uid": "id ids uids memory memory_id",
    "uids": "id ids uid memory memories memory_id memory_ids",
    "domain": "project namespace scope category workspace",
    "tags": "tag labels label keywords",
    "add_tags": "tag labels label",
    "type": "kind memory_type types",
    "since": "from start newer_than after_date",
    "until": "to end before before_date",
    "after": "cursor next offset page page_token",
    "version": "if_version expected_version",
    "all": "include_archived include_all everything",
    "without": "exclude not",
    "confirm": "confirmation phrase",
    "verdict": "status confidence value",
    "other": "target to to_uid other_uid",
    "superseded_by": "superseded replaced_by replacement",
}
_TRUE = frozenset(("true", "yes", "on", "1"))
_FALSE = frozenset(("false", "no", "off", "0"))
_SHOWN = 60


def bind(name: str, signature: Signature, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the keyword arguments of an operation's function; raises UsageError."""
    given = arguments or {}
    known = {parameter.name: parameter for parameter in signature.parameters}
    for argument in given:
        if argument not in known:
            raise UsageError(reason=_unknown(name, argument, known))
    bound: dict[str, Any] = {}
    for parameter in signature.parameters:
        value = given.get(parameter.name)
        if value is not None:
            bound[parameter.argument] = _value(parameter, value)
        elif parameter.required:
            raise UsageError(reason=f"{name} needs '{parameter.name}': {parameter.param.help}")
    return bound


def _unknown(name: str, argument: str, known: Mapping[str, Parameter]) -> str:
    """Say that there is no such argument, and which one is likely meant."""
    folded = argument.strip().replace("-", "_").lower()
    meant = next((p.name for p in known.values() if folded in _also_called(p)), None)
    if meant is None:
        from difflib import get_close_matches  # only when a name is wrong

        meant = next(iter(get_close_matches(folded, known, n=1, cutoff=0.7)), None)
    takes = f"It takes: {', '.join(known)}." if known else "It takes none."
    hint = f" Did you mean '{meant}'?" if meant else ""
    return f"{name} has no argument '{argument[:_SHOWN]}'.{hint} {takes}"


def _also_called(parameter: Parameter) -> set[str]:
    """Return what a parameter may be called by mistake: in other case, as an option, by a model."""
    option = (parameter.param.option or parameter.name).replace("-", "_")
    return {parameter.name, option, *_CALLED.get(parameter.name, "").split()}


def _value(parameter: Parameter, value: Any) -> Any:
    """Return one argument in the type the operation wants."""
    if not parameter.many:
        return _single(parameter, value)
    return tuple(_single(parameter, item) for item in _items(parameter, value))


def _items(parameter: Parameter, value: Any) -> list[Any]:
    """Return the entries of a list, however it was sent."""
    if isinstance(value, str):
        listed = _json_list(value)
        if listed is None:
            return [part.strip() for part in value.split(",")]
        value = listed
    entries: list[Any] = value if isinstance(value, list) else [value]
    if not parameter.param.commas:
        return entries
    split: list[Any] = []
    for entry in entries:
        split += [p.strip() for p in entry.split(",")] if isinstance(entry, str) else [entry]
    return split


def _json_list(text: str) -> list[Any] | None:
    """Return the list that a text is in JSON, or None if it is none."""
    if not text.strip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _single(parameter: Parameter, value: Any) -> Any:
    """Return one value in the type of the parameter, within its choices and bounds."""
    if parameter.kind == "flag":
        return _flag(parameter, value)
    if parameter.kind == "text":
        return _choice(parameter, _text(parameter, value))
    return _bounded(parameter, _number(parameter, value))


def _text(parameter: Parameter, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise UsageError(
        reason=f"{parameter.name} is text; this is {_kind(value)}. Send it as one string."
    )


def _choice(parameter: Parameter, value: str) -> str:
    if parameter.choices and value not in parameter.choices:
        raise UsageError(
            reason=f"{parameter.name} is one of {', '.join(parameter.choices)}; "
            f"not '{value[:_SHOWN]}'."
        )
    return value


def _flag(parameter: Parameter, value: Any) -> bool:
    word = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise UsageError(reason=f"{parameter.name} is true or false; not {_said(value)}.")


def _number(parameter: Parameter, value: Any) -> int | float:
    """Return a number; whole where the parameter is."""
    wanted = "a whole number" if parameter.kind == "integer" else "a number"
    number: Any = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            try:
                number = float(value)
            except ValueError:
                number = None
    if isinstance(number, float) and parameter.kind == "integer" and number.is_integer():
        number = int(number)
    allowed = int if parameter.kind == "integer" else int | float
    finite = not isinstance(number, float) or math.isfinite(number)
    if isinstance(number, bool) or not isinstance(number, allowed) or not finite:
        raise UsageError(reason=f"{parameter.name} is {wanted}; not {_said(value)}.")
    return number


def _bounded(parameter: Parameter, value: float) -> float:
    low, high = parameter.param.at_least, parameter.param.at_most
    if (low is not None and value < low) or (high is not None and value > high):
        if high is None:
            bounds = f"at least {low}"
        elif low is None:
            bounds = f"at most {high}"
        else:
            bounds = f"from {low} to {high}"
        raise UsageError(reason=f"{parameter.name} is {bounds}; not {_said(value)}.")
    return value


def _said(value: Any) -> str:
    """Show a value that was refused."""
    if isinstance(value, str | int | float):
        text = str(value) if not isinstance(value, str) else f"'{value}'"
        return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return _kind(value)


def _kind(value: Any) -> str:
    """Name the kind of a JSON value."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else json.dumps(value)
