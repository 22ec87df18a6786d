"""What each operation answers, as a JSON schema: committed, compared, and true of every answer.

The keys of an answer are a promise to scripts and agents: a change of tests/golden/envelopes.json
is a change of that promise. `pytest tests/test_envelopes.py --update` writes it anew.
"""

import json
import types
import typing
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest
from calls import CALLS, Call, fill, for_the_faces, in_python

from memai import records, signatures
from memai.cli.output import AnswerLost
from memai.errors import MemaiError
from memai.operations import OPERATIONS
from memai.records import core, reading, upkeep, writing
from memai.store import Store

GOLDEN = Path(__file__).parent / "golden" / "envelopes.json"
# What the annotations of records may name; they are only read here and by type checkers.
RECORDS = vars(typing) | vars(core) | vars(reading) | vars(upkeep) | vars(writing)
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema(annotation: Any, defined: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a type; records are put among the definitions."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation in NAMES:
        return {"type": NAMES[annotation]}
    if annotation is Any:
        return {}
    if annotation in (None, type(None)):
        return {"type": "null"}
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema(arm, defined) for arm in inside]}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(inside[1], defined)}
    if origin is tuple and inside[-1] is ...:
        return {"type": "array", "items": schema(inside[0], defined)}
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [schema(item, defined) for item in inside],
            "minItems": len(inside),
            "maxItems": len(inside),
        }
    name = annotation.__name__
    if name not in defined:
        defined[name] = {}  # a record may hold itself
        hints = get_type_hints(annotation, localns=RECORDS)
        defined[name] = {
            "type": "object",
            "properties": {field: schema(hints[field], defined) for field in annotation._fields},
            "required": list(annotation._fields),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def exported(defined: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a line of an export: a memory flat, with history and relations."""
    for record in (records.Memory, records.Edit, records.Relation):
        schema(record, defined)
    memory = dict(defined["Memory"]["properties"])
    del memory["superseded_by"]
    relation = dict(defined["Relation"]["properties"])
    del relation["from_uid"]
    memory["history"] = {"type": "array", "items": {"$ref": "#/$defs/Edit"}}
    memory["relations"] = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": relation,
            "required": list(relation),
            "additionalProperties": False,
        },
    }
    return {
        "type": "object",
        "properties": memory,
        "required": list(memory),
        "additionalProperties": False,
    }


def envelopes() -> dict[str, Any]:
    """Return the schemas of all answers and of the records in them."""
    defined: dict[str, Any] = {}
    answers = {}
    for operation in OPERATIONS:
        returns = signatures.read(operation.function).returns
        answers[operation.name] = (
            schema(returns, defined) if hasattr(returns, "_fields") else exported(defined)
        )
    answers["error"] = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": {"enum": sorted({kind.code for kind in KINDS})},
                    "message": {"type": "string"},
                    "exit_code": {"type": "integer"},
                },
                "required": ["code", "message", "exit_code"],
                "additionalProperties": False,
            }
        },
        "required": ["error"],
        "additionalProperties": False,
    }
    return {"answers": answers, "$defs": dict(sorted(defined.items()))}


def _errors(kind: type[MemaiError]) -> list[type[MemaiError]]:
    return [kind, *(child for below in kind.__subclasses__() for child in _errors(below))]


KINDS = {*_errors(MemaiError), AnswerLost}  # that one belongs to a face


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return what checks an answer against the committed schema."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator({**golden["answers"][name], "$defs": golden["$defs"]})


def test_the_envelopes_are_those_that_are_committed(request: pytest.FixtureRequest) -> None:
    """The schemas of today are the promise of tests/golden/envelopes.json, to the letter."""
    text = json.dumps(envelopes(), indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text, "see --update"


def test_the_schemas_are_schemas() -> None:
    """Each of them is valid JSON Schema (2020-12)."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    every = {"anyOf": list(golden["answers"].values()), "$defs": golden["$defs"]}
    jsonschema.Draft202012Validator.check_schema(every)


@pytest.mark.parametrize("call", [c for c in CALLS if c.error is None], ids=str)
def test_every_answer_fits_its_envelope(store: Store, call: Call) -> None:
    """Whatever an operation answers has exactly the keys that were promised."""
    answer = in_python(store, call, fill(store, "shop"))
    check = validator(call.operation)
    for line in answer if isinstance(answer, list) else [answer]:
        check.validate(json.loads(json.dumps(line)))


@pytest.mark.parametrize("operation", [op for op in OPERATIONS if op.reads], ids=lambda op: op.name)
def test_answers_of_an_empty_store_fit_too(store: Store, operation: Any) -> None:
    """Nothing found is an answer of the same form."""
    for call in CALLS:
        if call.operation == operation.name and not for_the_faces(call) and call.error is None:
            try:
                answer = in_python(store, call, {"domain": "shop"})
            except MemaiError:
                continue
            for line in answer if isinstance(answer, list) else [answer]:
                validator(operation.name).validate(line)
