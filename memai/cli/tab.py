"""Questions of the Tab key that are answered without Click: the plain lines, which are most.

What is unusual (options to be listed, quotes, commands of two words) is left to Click. What is
answered here, Click answers alike: a test compares.
"""

from __future__ import annotations

from memai.cli import candidates, quick, shells
from memai.cli.candidates import Asked, Candidate
from memai.cli.known import SIGNATURES
from memai.cli.quick import Unsure
from memai.lean import TYPE_CHECKING
from memai.operations import operation
from memai.shapes import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memai.cli.quick import Option


def answer(instruction: str) -> int | None:
    """Answer a question as _MEMAI_COMPLETE puts it; None for one that Click has to look at."""
    shell, _, what = instruction.partition("_")
    question = shells.question(shell) if what == "complete" else None
    if question is None or question[1].startswith(("-", "=")):
        return None
    try:
        found = _found(*question)
    except Unsure:
        return None
    from memai.cli import output

    output.write(shells.written(shell, found) + "\n")
    return 0


def _found(before: Sequence[str], incomplete: str) -> list[Candidate]:
    """Return what may stand behind these words; raises Unsure."""
    options: dict[str, Option] = dict(quick.everywhere())
    said: dict[str, Any] = {}
    # The name of an option whose value is wanted stands last.
    last = before[-1] if before and before[-1][0] == "-" and "=" not in before[-1] else None
    tokens = quick.checked(before if last is None else before[:-1])
    name = next(quick.words(tokens, options, said), None)
    words: list[str] = []
    if name is not None:
        if name not in SIGNATURES or any(other.startswith(f"{name} ") for other in SIGNATURES):
            raise Unsure
        known = quick.signature(name)
        options |= quick.own(known)
        words = list(quick.words(tokens, options, said))
    meant = None if last is None else _awaited(options, last, said)
    asked = Asked(name, _typed(said), quick.choices(said))
    if meant is not None:
        return _values(meant[0], asked, incomplete)
    if name is None:
        return candidates.commands(incomplete)
    found = operation(name)
    for place, p in enumerate(known.positionals()):
        several = p.many or (p.param.stdin and found is not None and found.reads)
        if several or place >= len(words):
            asked = asked._replace(typed=asked.typed.union(words)) if several else asked
            return _values(p, asked, incomplete)
    return []


def _awaited(options: dict[str, Option], name: str, said: dict[str, Any]) -> tuple[Any] | None:
    """Return what the value of this option may be; None for one that takes none.

    Raises Unsure for no option.
    """
    if name not in options:
        raise Unsure
    key, meant = options[name]
    if isinstance(meant, bool):
        said[key] = meant
        return None
    return (("path",) if key in ("db", "file_") else meant,)


def _values(meant: Parameter | tuple[str, ...], asked: Asked, incomplete: str) -> list[Candidate]:
    """Return the values of a parameter that begin so."""
    if meant == ("path",):
        return candidates.offered("path", asked, incomplete)
    choices = meant.choices if isinstance(meant, Parameter) else meant
    if choices or not isinstance(meant, Parameter):
        return [Candidate(word) for word in choices if word.startswith(incomplete)]
    if meant.kind != "text":
        return []
    what = "relation" if meant.name == "relation" else meant.param.completes
    return candidates.offered(what, asked, incomplete)


def _typed(said: dict[str, Any]) -> frozenset[str]:
    """Return the values of options that may be given several times."""
    return frozenset(v for value in said.values() if isinstance(value, tuple) for v in value)
