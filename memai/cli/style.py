"""Colours with a meaning, columns, and lines that wrap: the parts that views are made of."""

from __future__ import annotations

from memai.lean import TYPE_CHECKING, NamedTuple
from memai.terminal import one_line, safe, width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GAP = "  "
INDENT = "  "
NARROWEST = 24  # columns a text needs beside its uid
# Colours (SGR codes). What warns is red, what is certain green, what is beside the point dim.
UID, DOMAIN, DIM, STRONG, MARK, WARNING, GOOD = "33", "32", "2", "1", "1;31", "31", "32"
TYPES = {"checkpoint": "36", "handoff": "35", "anti_pattern": "31", "reasoning": "34"}
_MOST = 4000  # characters of a text that are looked through for its first line
CONFIDENCE = {"confirmed": GOOD, "contradicted": WARNING}


class Cell(NamedTuple):
    """One cell of a line: safe text, its colour, and how many columns it fills."""

    text: str
    colour: str = ""
    columns: int = 0


def paint(text: str, colour: str, on: bool) -> str:
    """Return text in a colour, if there are colours."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and colour and text else text


def counted(memories: int | None) -> str:
    """Say how many memories."""
    if memories is None:
        return "? memories"
    return "1 memory" if memories == 1 else f"{memories} memories"


def line(text: str | None) -> str:
    """Return a stored text as one safe line: its first that is not blank."""
    return safe(one_line((text or "")[:_MOST]), newlines=False, tabs=False)


def laid_out(cells: Sequence[Cell], on: bool) -> str:
    """Return cells side by side, each padded to its columns, the last one not."""
    parts = []
    for number, cell in enumerate(cells):
        blanks = max(cell.columns - width(cell.text), 0) if number < len(cells) - 1 else 0
        parts.append(paint(cell.text, cell.colour, on) + " " * blanks)
    return GAP.join(parts).rstrip()


def columns_of(values: Sequence[str], most: int) -> int:
    """Return how many columns a column of these values takes, at most `most`."""
    return min(max((width(value) for value in values), default=0), most)


def wrapped(
    text: str, marks: Sequence[tuple[int, int]], columns: int, most: int, on: bool
) -> list[str]:
    """Return a text of one line as at most `most` lines of so many columns, marked words marked.

    `marks` are offsets in `text`. Without colour a mark is written with asterisks.
    """
    lines: list[list[tuple[str, bool]]] = [[]]
    used = 0
    for word in _words(text, marks, on):
        room = sum(width(piece) for piece, _ in word)
        # What is longer than a line (also text without blanks, as in Chinese) breaks anywhere.
        units = [word] if room <= columns else [[(c, mark)] for piece, mark in word for c in piece]
        blank = 1 if used else 0
        for unit in units:
            room = sum(width(piece) for piece, _ in unit)
            if used + blank + room > columns:
                if len(lines) == most:
                    return [_painted(line, on) for line in lines[:-1]] + [
                        _painted(lines[-1], on) + "…"
                    ]
                lines.append([])
                used, blank = 0, 0
            lines[-1] += ([(" ", False)] if blank else []) + unit
            used, blank = used + blank + room, 0
    return [_painted(line, on) for line in lines if line]


def _words(
    text: str, marks: Sequence[tuple[int, int]], on: bool
) -> Iterator[list[tuple[str, bool]]]:
    """Yield the words of a text, each as its safe pieces and whether they are marked."""
    word: list[tuple[str, bool]] = []
    place = 0
    runs = []
    for start, end in marks:
        runs += [(text[place:start], False), (text[start:end], True)]
        place = end
    for run, marked in (*runs, (text[place:], False)):
        shown = safe(run, newlines=False, tabs=False)
        if marked and not on and shown:
            shown = f"*{shown}*"
        first, *others = shown.split(" ")
        if first:
            word.append((first, marked))
        for other in others:
            if word:
                yield word
            word = [(other, marked)] if other else []
    if word:
        yield word


def _painted(pieces: Sequence[tuple[str, bool]], on: bool) -> str:
    """Return a line, neighbours of the same kind in one colour."""
    runs: list[tuple[str, bool]] = []
    for piece, marked in pieces:
        if runs and runs[-1][1] == marked:
            runs[-1] = (runs[-1][0] + piece, marked)
        else:
            runs.append((piece, marked))
    return "".join(paint(run, MARK if marked else "", on) for run, marked in runs)
