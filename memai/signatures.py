"""An operation's signature and docstring, taken apart once for every face.

A parameter of an operation has one of a closed list of shapes; anything else raises here, when the
program is built, and not when a user meets it:

    content: Content                        required text
    content: Content | None = None          optional text
    uids: Uids                              several (positional) or a repeatable option
    domain: Domain | None = None            option: text, whole number, number
    deep: Deep = False                      flag; with default True a pair --newer/--no-newer
    type: Type | None = None                choice
"""

import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from memai import records, store, vocabulary
from memai.shapes import Param, Parameter, Signature

if TYPE_CHECKING:
    from memai.shapes import Kind

__all__ = ["Parameter", "Signature", "read"]

_KINDS: "dict[type, Kind]" = {str: "text", int: "integer", float: "number", bool: "flag"}


def read(function: Callable[..., Any]) -> Signature:
    """Take a function apart; raises TypeError for a shape that is not in the list above."""
    signature = inspect.signature(function, locals=_Names(), eval_str=True)
    summary, _, body = inspect.cleandoc(function.__doc__ or "").partition("\n")
    parameters = list(signature.parameters.values())[1:]  # the first is the store
    return Signature(
        summary=summary.strip(),
        body=body.strip(),
        parameters=tuple(_parameter(function.__name__, p) for p in parameters),
        returns=signature.return_annotation,
    )


class _Names(dict[str, Any]):
    """What annotations may name where they are not evaluated: words, records, the store."""

    def __missing__(self, name: str) -> Any:
        """Find a name; raises KeyError."""
        for room in (vocabulary, records, store):
            if hasattr(room, name):
                return getattr(room, name)
        raise KeyError(name)


def _parameter(where: str, parameter: inspect.Parameter) -> Parameter:
    """Read one parameter."""
    annotation, optional = _without_none(parameter.annotation)
    if get_origin(annotation) is not Annotated:
        raise TypeError(f"{where}: {parameter.name} has no Param")
    inner, param = get_args(annotation)[:2]
    many = get_origin(inner) is tuple
    if many:
        inner = get_args(inner)[0]
    choices: tuple[str, ...] = ()
    if get_origin(inner) is Literal:
        choices, inner = get_args(inner), str
    required = parameter.default is inspect.Parameter.empty
    if not isinstance(param, Param) or inner not in _KINDS or (required and optional):
        raise TypeError(f"{where}: {parameter.name} has a shape that no face knows")
    if required and not param.positional:
        raise TypeError(f"{where}: {parameter.name} is required but not positional")
    return Parameter(
        argument=parameter.name,
        name=parameter.name.rstrip("_"),
        kind=_KINDS[inner],
        many=many,
        required=required,
        default=None if required else parameter.default,
        choices=choices,
        param=param,
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """Return the annotation without `| None`, and whether it had one."""
    if get_origin(annotation) in (Union, types.UnionType):
        arms = [arm for arm in get_args(annotation) if arm is not type(None)]
        if len(arms) == 1:
            return arms[0], True
    return annotation, False
