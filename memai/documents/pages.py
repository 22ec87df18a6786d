"""The manual: a page for the program, one for each command, one for the ideas."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import click

from memai.cli.manual import GROUPS, example_of
from memai.documents import references, roff
from memai.documents.tree import SERVE, Command, commands, options, program
from memai.errors import EXIT_CODES
from memai.settings import ENVIRONMENT
from memai.signatures import Parameter

PROSE = os.path.join(os.path.dirname(__file__), "prose")
"""Where what is written by hand stands: NAME.md for what a page says beside what the table says."""

CONCEPTS = "memai-concepts"

_LONG = 72  # characters of an example that fit a terminal of 80 columns


class Page(NamedTuple):
    """A page: its name and section, one line about it, and its sections, heading to roff."""

    name: str
    section: int
    summary: str
    sections: Mapping[str, str]

    @property
    def path(self) -> str:
        """Where it stands below the folder `man`."""
        return f"man{self.section}/{self.name}.{self.section}"

    def source(self, version: str, date: str) -> str:
        """Return the whole page in roff."""
        title = f'.TH {self.name.upper()} {self.section} {date} "memai {version}" "memai manual"'
        name = roff.section("NAME", f"{roff.text(self.name)} \\- {roff.text(self.summary)}")
        rest = [roff.section(head, body) for head, body in self.sections.items() if body]
        return "\n".join([_PREAMBLE, title, _LAYOUT, name, *rest]) + "\n"


_PREAMBLE = '.\\" Made by "python -m memai.documents"; changes belong into its sources.'
# Names and options are not hyphenated, and lines are not stretched to the margin.
_LAYOUT = ".nh\n.ad l"


def pages() -> list[Page]:
    """Return every page of the manual; raises UnknownReferenceError."""
    known = commands()
    proses = _proses()
    found = [
        _program_page(known, proses.pop("memai")),
        *(_command_page(command, known, proses.pop(command.page, "")) for command in known),
        _concepts_page(proses.pop(CONCEPTS)),
    ]
    if proses:
        raise references.UnknownReferenceError(f"prose without a page: {', '.join(proses)}")
    _check(found, known)
    return found


def _program_page(known: list[Command], prose: str) -> Page:
    """Return the page of the program itself."""
    own = roff.sections(prose)
    lists = []
    for group, title in {**GROUPS, SERVE: "Serve and explain"}.items():
        lists.append(roff.subheading(title))
        lists += [
            roff.definition(f"{roff.bold(command.page)}(1)", command.summary)
            for command in known
            if command.group == group
        ]
    sections = {
        "SYNOPSIS": f"{roff.bold('memai')} [{roff.italic('OPTION')}]... {roff.italic('COMMAND')} "
        f"[{roff.italic('OPTION')}]... [{roff.italic('ARGUMENT')}]...",
        "DESCRIPTION": roff.blocks(own.pop("")),
        "COMMANDS": "\n".join(lists),
        "OPTIONS": "\n".join(map(_option, options(program()))),
        **_own(own),
        "EXAMPLES": roff.blocks(own.get("EXAMPLES", "")),
        **_closing(own, [f"{CONCEPTS}(7)"]),
    }
    summary = "long-term memory for AI agents and the people who work with them"
    return Page("memai", 1, summary, sections)


def _command_page(command: Command, known: list[Command], prose: str) -> Page:
    """Return the page of one command."""
    own = roff.sections(prose)
    described = f"{command.summary}\n\n{command.body}\n\n{own.pop('')}"
    mates = [c.page for c in known if c.group == command.group and c is not command]
    sections = {
        "SYNOPSIS": _synopsis(command),
        "DESCRIPTION": roff.blocks(described),
        "OPTIONS": "\n".join(_options(command)),
        **_own(own),
        "EXAMPLES": "\n".join(_examples(command, own.get("EXAMPLES", ""))),
        **_closing(own, ["memai(1)", *(f"{page}(1)" for page in mates), f"{CONCEPTS}(7)"]),
    }
    return Page(command.page, 1, _as_name(command.summary), sections)


def _concepts_page(prose: str) -> Page:
    """Return the page of the ideas, all of it written by hand."""
    own = roff.sections(prose)
    summary = own.pop("NAME").strip()
    own.pop("")
    sections = {head: roff.blocks(body) for head, body in own.items()}
    return Page(CONCEPTS, 7, summary, {**sections, "SEE ALSO": _see_also(["memai(1)"])})


_STANDARD = ("EXAMPLES", "FILES", "SEE ALSO")


def _own(own: Mapping[str, str]) -> dict[str, str]:
    """Return the sections that only this page has."""
    return {head: roff.blocks(body) for head, body in own.items() if head not in _STANDARD}


def _closing(own: Mapping[str, str], related: list[str]) -> dict[str, str]:
    """Return the sections that end every page of a command."""
    more = re.findall(r"\S+\(\d\)", own.get("SEE ALSO", ""))
    files = _files() + "\n" + own.get("FILES", "")
    return {
        "EXIT STATUS": "\n".join(
            roff.definition(roff.bold(str(code)), meaning) for code, meaning in EXIT_CODES
        ),
        "ENVIRONMENT": "\n".join(
            roff.definition(roff.bold(name), meaning) for name, meaning in ENVIRONMENT
        ),
        "FILES": roff.blocks(files),
        "SEE ALSO": _see_also(related + more),
    }


def _see_also(related: list[str]) -> str:
    """Return references to pages."""
    return roff.paragraph(", ".join(dict.fromkeys(related)))


def _synopsis(command: Command) -> str:
    """Return the form of a call."""
    pieces = [roff.bold(f"memai {command.words}"), f"[{roff.italic('OPTION')}]..."]
    for argument in command.arguments():
        known = command.parameter(argument)
        needed = (known.required and not known.param.stdin) if known else argument.required
        name = roff.italic(_metavar(argument))
        pieces.append((name if needed else f"[{name}]") + ("..." if argument.nargs == -1 else ""))
    return " ".join(pieces)


def _options(command: Command) -> Iterator[str]:
    """Yield the arguments and options of a command, then those of every command."""
    for argument in command.arguments():
        known = command.parameter(argument)
        if known is not None:
            yield roff.definition(roff.italic(_metavar(argument)), _meaning(argument, known))
    for option in command.own_options():
        yield _option(option, command.parameter(option))
    yield roff.subheading("Options of every command")
    yield from map(_option, command.shared_options())


def _option(option: click.Option, known: Parameter | None = None) -> str:
    """Return an option with its spellings, what its value is called, and what it means."""
    spellings = sorted([*option.opts, *option.secondary_opts], key=lambda o: (len(o) > 2, o))
    declared = ", ".join(map(roff.bold, spellings))
    if not option.is_flag:
        declared += f" {roff.italic(_metavar(option))}"
    return roff.definition(declared, _meaning(option, known))


def _metavar(param: click.Parameter) -> str:
    """Return what stands for a value; choices are told with the meaning instead."""
    metavar = (param.metavar or "").strip("[]")
    if not metavar or "|" in metavar:
        metavar = (param.name or "").upper()
    return metavar.strip("_")


def _meaning(param: click.Parameter, known: Parameter | None) -> str:
    """Return the help of a parameter with its choices, how often it may be given, its default."""
    said = [known.param.help if known else getattr(param, "help", None) or ""]
    if isinstance(param.type, click.Choice):
        said.append(f"One of {', '.join(map(str, param.type.choices))}.")
    if known is None:
        return " ".join(said)
    if known.param.stdin:
        said.append("`-` is standard input, unchanged.")
    if known.param.commas:
        said.append("Several: given again, or with commas between them.")
    elif known.many and not known.param.positional:
        said.append("Several: given again.")
    if known.kind in ("integer", "number") and known.default is not None:
        said.append(f"Default: {known.default}.")
    return " ".join(said)


def _examples(command: Command, prose: str) -> Iterator[str]:
    """Yield the examples of the table, then those of the prose."""
    for example in examples(command):
        yield roff.verbatim(folded(example))
    if prose.strip():
        yield roff.blocks(prose)


def examples(command: Command) -> list[str]:
    """Return the examples of the table as help shows them."""
    return [
        example_of(example) for example in (command.operation.examples if command.operation else ())
    ]


def folded(example: str) -> str:
    """Return a long command on several lines, as a shell reads it."""
    lines = [""]
    for piece in re.split(r" (?=--?[a-z])", example):
        joined = f"{lines[-1]} {piece}" if lines[-1] else piece
        if len(joined) <= _LONG or not lines[-1]:
            lines[-1] = joined
        else:
            lines[-1] += " \\"
            lines.append("    " + piece)
    return "\n".join(lines)


def _as_name(summary: str) -> str:
    """Return a summary as the line of a NAME section, which is a phrase and not a sentence."""
    return summary[:1].lower() + summary[1:].rstrip(".")


def _proses() -> dict[str, str]:
    """Return what is written by hand for each page."""
    names = sorted(os.path.splitext(name)[0] for name in os.listdir(PROSE))
    return {name: _read(name) for name in names if name != "files"}


def _files() -> str:
    """Return what every page says of files."""
    return _read("files")


def _read(name: str) -> str:
    """Return one text written by hand."""
    with open(os.path.join(PROSE, name + ".md"), encoding="utf-8") as file:
        return file.read()


def _check(found: list[Page], known: list[Command]) -> None:
    """Check every reference in what is written by hand and in the table."""
    everywhere = _spellings(program())
    accepted = {c.words: everywhere | _spellings(c.node) for c in known}
    names = frozenset(f"{page.name}.{page.section}" for page in found)
    texts = {f"{name}.md": prose for name, prose in (*_proses().items(), ("files", _files()))}
    for command in known:
        texts[command.page] = f"{command.summary}\n{command.body}"
        if command.operation:
            texts[f"the examples of {command.words}"] = "".join(
                f"    {example}\n" for example in examples(command)
            )
    for where, prose in texts.items():
        references.check(where, prose, accepted)
        references.check_pages(where, prose, names)


def _spellings(command: click.Command) -> frozenset[str]:
    """Return every spelling of the options of a command."""
    return frozenset(o for option in options(command) for o in option.opts + option.secondary_opts)
