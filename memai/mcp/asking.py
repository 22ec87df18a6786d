"""Asking a person before a memory is erased, where the client can ask.

Clients that began with a handshake are asked while the call waits; clients of the later protocol
get the question as an interim result and call again with the answer. A client that cannot ask says
the phrase in the call.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memai.errors import Refused
from memai.mcp import Profile
from memai.records import Caller

if TYPE_CHECKING:
    from memai.mcp.server import Backend

_TOOL = "purge"
_KEY = "confirm"
_FORM = "elicitation/create"


def wanted(profile: Profile, name: str, arguments: Mapping[str, Any] | None, context: Any) -> bool:
    """Whether this call erases something, and its client can ask a person."""
    if name.removeprefix(profile.prefix) != _TOOL or not profile.allow_purge:
        return False
    can = context.session.client_capabilities
    elicits = getattr(can, "elicitation", None)
    # A client that names no mode has the form, the first there was.
    forms = elicits is not None and (elicits.form is not None or elicits.url is None)
    return forms and isinstance((arguments or {}).get("uid"), str)


async def purge(
    backend: "Backend", context: Any, parameters: Any, caller: Caller
) -> dict[str, Any]:
    """Ask, and purge with what the person typed."""
    from memai.mcp import answers

    arguments = parameters.arguments
    uid = arguments["uid"]
    try:
        line = await backend.do(backend.calls.first_line, uid, caller)
        responses = parameters.input_responses or {}
        if _KEY in responses:
            typed = responses[_KEY]
        elif context.session.can_send_request:
            typed = await _asked(backend, context, _form(uid, line))
        else:
            form = _form(uid, line)
            asked = {"message": form["message"], "requestedSchema": form["requested_schema"]}
            question = {"method": _FORM, "params": {"mode": "form", **asked}}
            return {"resultType": "input_required", "inputRequests": {_KEY: question}}
        phrase = _phrase(uid, typed)
    except Exception as error:  # noqa: BLE001 - whatever it is, the client gets one sentence
        return answers.failure(error, _TOOL)
    answer: dict[str, Any] = await backend.tool(
        parameters.name, {**arguments, _KEY: phrase}, caller
    )
    return answer


def _phrase(uid: str, typed: Any) -> str:
    """Return what the person typed; raises Refused where that was a no."""
    if typed.action != "accept":
        raise Refused(reason=f"Nothing was purged: the person did not agree that {uid} goes.")
    return str((typed.content or {}).get(_KEY) or "")


async def _asked(backend: "Backend", context: Any, form: dict[str, Any]) -> Any:
    """Ask while the call waits; raises Refused where the client fails to."""
    try:
        return await context.session.elicit_form(**form, related_request_id=context.request_id)
    except backend.sdk.error as error:
        raise Refused(
            reason="Nothing was purged: the client could not ask the person "
            f"({error.error.message[:200]}). A person can run 'memai purge' in a shell."
        ) from None


def _form(uid: str, line: str) -> dict[str, Any]:
    """Return what the person is shown."""
    return {
        "message": f"Erase this memory for good? It cannot be undone.\n{uid}: {line}\n"
        f"To confirm, type: DELETE {uid}",
        "requested_schema": {
            "type": "object",
            "properties": {_KEY: {"type": "string", "description": f"DELETE {uid}"}},
            "required": [_KEY],
        },
    }
