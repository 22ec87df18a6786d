"""What the faces know of an operation: its parameters and its docstring, as records.

`memai.signatures` reads them from the operation itself; `memai.cli.known` holds what was read.
"""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Literal

    Kind = Literal["text", "integer", "number", "flag"]


class Param(NamedTuple):
    """How a parameter appears in the faces.

    `positional` puts it among the arguments of a command; `option` is its long option where that
    differs from the parameter's name; `stdin` lets `-` and --file stand for the text; `completes`
    names what completion offers; `commas` splits each value at commas; bounds are inclusive.
    """

    help: str
    positional: bool = False
    option: str | None = None
    short: str | None = None
    stdin: bool = False
    completes: Literal["uid", "domain", "tag", "path"] | None = None
    commas: bool = False
    at_least: int | None = None
    at_most: int | None = None


class Parameter(NamedTuple):
    """One parameter as every face sees it.

    `argument` is its name in Python, `name` its public name (no trailing underscore); `many` means
    a list of values; `choices` is empty where any value goes.
    """

    argument: str
    name: str
    kind: Kind
    many: bool
    required: bool
    default: Any
    choices: tuple[str, ...]
    param: Param

    @property
    def option(self) -> str:
        """Its long option on the command line."""
        return "--" + (self.param.option or self.name).replace("_", "-")

    @property
    def metavar(self) -> str:
        """What stands for its value in a synopsis."""
        if self.choices and not self.param.positional:
            return "|".join(self.choices)
        if self.kind in ("integer", "number"):
            return "N"
        singular = self.name[:-1] if self.many and self.name.endswith("s") else self.name
        return (self.param.option or singular).replace("-", "_").upper()


class Signature(NamedTuple):
    """A docstring's summary and body, the parameters after the store, and what comes back."""

    summary: str
    body: str
    parameters: tuple[Parameter, ...]
    returns: Any

    def positionals(self) -> list[Parameter]:
        """Return the arguments of the command, in order."""
        return [p for p in self.parameters if p.param.positional]

    def options(self) -> list[Parameter]:
        """Return what is given by name on the command line."""
        return [p for p in self.parameters if not p.param.positional]
