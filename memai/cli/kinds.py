"""Click's types for what a parameter takes; what they complete to is found when Tab is pressed."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Type = click.ParamType[str]
    AnyType = click.ParamType[Any]
else:  # older versions of Click cannot be asked for the type of the value
    _Type = AnyType = click.ParamType


class Known(_Type):
    """A text of which some are known: uids, domains, tags, paths, relations."""

    name = "text"

    def __init__(self, what: str | None) -> None:
        self.what = what

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> Any:
        """Return the text unchanged: the operations check it."""
        return value

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> "list[CompletionItem]":
        """Offer what is known."""
        from memai.cli import completion

        return completion.offered(self.what, ctx, incomplete)


class Number(_Type):
    """A number within bounds; whole unless it is said otherwise."""

    name = "number"

    def __init__(
        self, least: int | None = None, most: int | None = None, *, whole: bool = True
    ) -> None:
        self.least = least
        self.most = most
        self.whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            # Other digits and underscores are Python's idea of a number, not a shell's.
            plain = value if value.isascii() and "_" not in value else ""
            number = int(plain) if self.whole else float(plain)
        except ValueError:
            number = None
        low = self.least is not None and number is not None and number < self.least
        high = self.most is not None and number is not None and number > self.most
        if number is None or number != number or low or high:  # noqa: PLR0124 - not a number
            self.fail(f"'{value[:40]}' is no {self._wanted()}", param, ctx)
        return number

    def _wanted(self) -> str:
        """Say which numbers are meant."""
        what = "whole number" if self.whole else "number"
        if self.least is not None and self.most is not None:
            return f"{what} from {self.least} to {self.most}"
        return what if self.least is None else f"{what} from {self.least} on"


class Choice(click.Choice[str]):
    """One of a few words; `anti-pattern` is `anti_pattern`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word."""
        if isinstance(value, str) and value not in self.choices:
            value = value.lower().replace("-", "_")
        return super().convert(value, param, ctx)
