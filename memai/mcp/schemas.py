"""Operations as tools: flat schemas that every client accepts, in as few bytes as they need.

Some clients reject a whole server for `$ref`, `anyOf`, a null default or an array without items,
and every agent pays for each byte. So a schema here has types and choices, and a parameter is
explained where the list has it first; bounds and defaults are in `help` and are checked when a tool
is called. The daily list is briefer still: of a docstring what fits a line, and no help that a name
gives away.
"""

import re
from functools import cache
from typing import Any

from memai.mcp import Profile
from memai.mcp.offer import HELP, listed, tool_name
from memai.operations import Operation
from memai.signatures import Parameter, Signature, read
from memai.vocabulary import Param

_TYPES = {"text": "string", "integer": "integer", "number": "number", "flag": "boolean"}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")

# Of the daily list: characters of a description beyond which sentences are left to `help`, and
# of a parameter's help up to which it says what its name says ("The text to keep.").
_LINE = 100
_OBVIOUS = 31


@cache
def signature(operation: Operation) -> Signature:
    """Take the function of an operation apart, once a process."""
    return read(operation.function)


def tools(profile: Profile) -> list[dict[str, Any]]:
    """Return the tools of a server as `tools/list` sends them."""
    explained: set[Param] = set()
    brief = profile.tools == "daily"
    return [
        *(_operation(op, profile.prefix, explained, brief=brief) for op in listed(profile)),
        _tool(
            profile.prefix + HELP,
            "Explain a memory tool with all its arguments, or how to keep memories well.",
            {"topic": {"type": "string", "description": "A tool, or: keeping, schedule."}},
            reads=True,
            idempotent=True,
        ),
    ]


def _operation(
    operation: Operation, prefix: str, explained: set[Param], *, brief: bool
) -> dict[str, Any]:
    """Return one operation as a tool; what it explains is added to what has been explained."""
    taken = signature(operation)
    return _tool(
        prefix + tool_name(operation),
        _description(taken, brief=brief),
        {p.name: _property(p, explained, brief=brief) for p in taken.parameters},
        [p.name for p in taken.parameters if p.required],
        reads=operation.reads,
        destroys=operation.destroys,
        idempotent=operation.idempotent,
    )


def _tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    required: list[str] | None = None,
    *,
    reads: bool = False,
    destroys: bool = False,
    idempotent: bool = False,
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": idempotent,
            "openWorldHint": False,  # nothing leaves the machine
        },
    }


def _description(taken: Signature, *, brief: bool) -> str:
    """Return what a tool does; names like `list` say nothing among the tools of other servers."""
    text = taken.summary
    if "memor" not in text.lower():
        text = f"Memory: {text[:1].lower()}{text[1:]}"
    for sentence in filter(None, _SENTENCE.split(taken.body)):
        longer = f"{text} {' '.join(sentence.split())}"
        if brief and len(longer) > _LINE:
            break
        text = longer
    return text


def _property(parameter: Parameter, explained: set[Param], *, brief: bool) -> dict[str, Any]:
    """Return the schema of one parameter."""
    value: dict[str, Any] = {"type": _TYPES[parameter.kind]}
    if parameter.choices:
        value["enum"] = list(parameter.choices)
    if parameter.many:
        value = {"type": "array", "items": value}
    param = parameter.param
    if param not in explained and not (brief and len(param.help) <= _OBVIOUS):
        explained.add(param)
        value["description"] = param.help
    return value
