"""An answer as a client gets it: the envelope as structured content, and one short text."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from memai.errors import MemaiError
from memai.mcp import bounds
from memai.mcp.texts import in_words
from memai.records import to_json
from memai.signatures import Signature

_WRITERS = ("Written", "Changed")
_LONGEST = 2_000  # characters of a refusal


def success(record: Any, budget: int | None = None, offset: int = 0) -> dict[str, Any]:
    """Return the result of a tool for a record; `budget` is what the caller asked for, in bytes."""
    most = bounds.STRUCTURED_BYTES if budget is None else budget
    envelope = _envelope(record, most, offset)
    text = in_words(type(record).__name__, envelope, min(most, bounds.TEXT_BYTES))
    return result(text, envelope)


def spoken(record: Any, budget: int) -> str:
    """Return a record in words alone, in at most so many bytes."""
    return in_words(type(record).__name__, _envelope(record, budget), budget)


def _envelope(record: Any, budget: int, offset: int = 0) -> dict[str, Any]:
    """Return a record as an object of at most so many bytes."""
    kind = type(record).__name__
    envelope: dict[str, Any] = to_json(record)
    if kind in _WRITERS:
        envelope = bounds.echoed(envelope)
    if kind == "Shown":
        envelope = bounds.fit_shown(envelope, budget, offset)
    return bounds.fit(envelope, budget)


def failure(error: Exception, name: str, signature: Signature | None = None) -> dict[str, Any]:
    """Return the result of a tool that could not do what was asked, in words for the model."""
    error = known(error, name)
    message = error.message
    if len(message) > _LONGEST:  # an argument that is echoed can have any length
        message = message[: _LONGEST - 1] + "…"
    structured = {"error": {"code": error.code, "message": message, "exit_code": error.exit_code}}
    return result(_in_arguments(message, signature), structured, failed=True)


def result(text: str, structured: Mapping[str, Any], *, failed: bool = False) -> dict[str, Any]:
    """Return what `tools/call` answers."""
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": failed,
    }


def text_only(text: str) -> dict[str, Any]:
    """Return the result of a tool that has nothing but words."""
    return {"content": [{"type": "text", "text": text}], "isError": False}


def known(error: Exception, name: str) -> MemaiError:
    """Return an error of ours: a fault of the program is one sentence without what it holds."""
    if isinstance(error, MemaiError):
        return error
    if os.environ.get("MEMAI_DEBUG"):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    return MemaiError(
        reason=f"{name} failed ({type(error).__name__}). This is a fault of memai; "
        "MEMAI_DEBUG=1 writes the details to the server's log"
    )


def _in_arguments(message: str, signature: Signature | None) -> str:
    """Return a message with the names that the arguments have here instead of shell options."""
    for parameter in signature.parameters if signature else ():
        message = message.replace(f"{parameter.option}:", f"'{parameter.name}':")
        for after in (" ", ",", "."):
            message = message.replace(parameter.option + after, f"'{parameter.name}'" + after)
    return message
