"""How bash, zsh and fish ask for completions, and how each is answered.

The questions and forms are those of Click's completion scripts; nothing here needs Click.
"""

from __future__ import annotations

import os

from memai import terminal
from memai.lean import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memai.cli.candidates import Candidate

_LISTING = (str(ord("?")), str(ord("!")))  # COMP_TYPE of bash where it inserts none of several
_PLAIN = "@%+=:,./-_"  # what a shell takes as it stands, beside letters and digits


def question(shell: str) -> tuple[list[str], str] | None:
    """Return the words before the one that is completed, and its beginning.

    None for a line that needs the rules of quoting to be taken apart, or another shell.
    """
    line, place = os.environ.get("COMP_WORDS", ""), os.environ.get("COMP_CWORD", "")
    for text in (line.replace("\n", " "), place):
        if not text.isprintable() or any(sign in text for sign in "\"'\\"):
            return None
    words = line.split()
    if shell == "fish":  # the word that is completed stands in both
        before, incomplete = words[1:], "".join(place.split()[:1])
        return before[:-1] if incomplete and before[-1:] == [incomplete] else before, incomplete
    if shell not in ("bash", "zsh") or not (place.isascii() and place.isdecimal()):
        return None
    at = int(place)
    return words[1:at], "".join(words[at : at + 1])


def written(shell: str, candidates: Sequence[Candidate]) -> str:
    """Return the candidates in the form of a shell."""
    if shell == "bash":
        return "\n".join(_for_bash(candidates))
    return "\n".join(_for_zsh(c) if shell == "zsh" else _for_fish(c) for c in candidates)


def _for_bash(candidates: Sequence[Candidate]) -> list[str]:
    """Return a line for each candidate; where bash only lists them, with its first words.

    Bash inserts what it is given as it stands: what it would run or split is quoted.
    """
    lines = [f"{c.kind},{quoted(c.value) if c.kind == 'plain' else c.value}" for c in candidates]
    if len(lines) < 2 or os.environ.get("COMP_TYPE") not in _LISTING:
        return lines
    room = max(terminal.width(line) for line in lines)
    columns = len("plain,") + int(os.environ.get("COLUMNS") or 80) - 1
    return [
        terminal.cut(f"{line}{' ' * (room - terminal.width(line))}  ({c.help})", columns)
        if c.help and c.kind == "plain"
        else line
        for line, c in zip(lines, candidates, strict=True)
    ]


def _for_zsh(candidate: Candidate) -> str:
    """Return three lines; with a description zsh splits at the first colon that is bare."""
    value = candidate.value.replace(":", r"\:") if candidate.help else candidate.value
    return f"{candidate.kind}\n{value}\n{candidate.help or '_'}"


def _for_fish(candidate: Candidate) -> str:
    """Return a line, with the description after a tab."""
    said = candidate.help.replace("\n", "\\n").replace("\t", " ")
    return f"{candidate.kind},{candidate.value}" + (f"\t{said}" if said else "")


def quoted(value: str) -> str:
    """Return a value as bash reads it: stored text that it would split or run is quoted."""
    if value and all(sign.isalnum() or sign in _PLAIN for sign in value):
        return value
    import shlex

    return shlex.quote(value)
