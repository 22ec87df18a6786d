"""What prose says of commands and pages must be so: a name that is none stops the generator."""

import re
import shlex
from collections.abc import Iterator, Mapping

_CODE = re.compile(r"`([^`]+)`|(?m:^ {4}(.+)$)|'(memai [^']+)'")
_BLOCK = re.compile(r"(?m)^ {4}.*$")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_SEPARATOR = re.compile(r"\|\|?|&&|;|\$\(|[<>()]")
_PAGE = re.compile(r"\b(memai(?:-[a-z][a-z_-]*)?)\((\d)\)")
_NAME = re.compile(r"[a-z][a-z_-]*")


class UnknownReferenceError(ValueError):
    """A text names a command, an option or a page that is not there."""


def check(where: str, prose: str, commands: Mapping[str, frozenset[str]]) -> None:
    """Check the commands in the code of a text.

    `commands` gives the options of each command. Options that a text names by themselves must be
    those of some command. Raises UnknownReferenceError.
    """
    known = frozenset().union(*commands.values())
    for option in _OPTION.findall(_BLOCK.sub("", prose)):
        if option not in known:
            raise UnknownReferenceError(f"{where}: no command has an option {option}")
    for match in _CODE.finditer(prose):
        for call in _calls(next(filter(None, match.groups()))):
            _check_call(where, call, commands)


def check_pages(where: str, prose: str, pages: frozenset[str]) -> None:
    """Check that the pages a text refers to are there; raises UnknownReferenceError."""
    for name, section in _PAGE.findall(prose):
        if f"{name}.{section}" not in pages:
            raise UnknownReferenceError(f"{where}: there is no page {name}({section})")


def _calls(code: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of memai in a line of shell, service file or crontab."""
    for piece in _SEPARATOR.split(code):
        try:
            words = shlex.split(piece, comments=True)
        except ValueError:
            words = piece.split()
        for at, word in enumerate(words):
            # "from memai import ..." is Python.
            if word.rpartition("/")[2] == "memai" and words[:at][-1:] != ["from"]:
                yield words[at + 1 :]


def _check_call(where: str, words: list[str], commands: Mapping[str, frozenset[str]]) -> None:
    """Check one call: its first word is a command, its options are that command's."""
    if not words or not _NAME.fullmatch(words[0]):
        return
    two = " ".join(words[:2])
    name = two if two in commands else words[0]
    if name not in commands:
        raise UnknownReferenceError(f"{where}: there is no command 'memai {name}'")
    for word in words[1:]:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in commands[name]:
            raise UnknownReferenceError(f"{where}: 'memai {name}' has no option {option}")
