"""Answers for people: laid out for the width of a terminal, with colour where it says something.

Every stored text is made safe here, and cut before it is coloured.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from memai import records, when
from memai.cli import reports, style
from memai.cli.output import Screen
from memai.cli.rows import state
from memai.cli.style import GAP, INDENT, NARROWEST, Cell, laid_out, line, paint, wrapped
from memai.terminal import cut, safe, width
from memai.vocabulary import NO_DOMAIN

_ROOMY = 100  # columns from which on what can be spared is shown too
_COMFORT = 40  # columns that a text should have, before a domain gets more than its share
_WIDEST = 120  # columns that are still read with ease


def lines(answer: Any, screen: Screen) -> Iterable[str]:
    """Yield the lines of an answer, without line feeds."""
    describe = _VIEWS.get(type(answer))
    if describe is not None:
        return describe(answer, screen)
    return _any(records.to_json(answer))


def table(items: Sequence[Any], screen: Screen) -> Iterator[str]:
    """Yield memories or digests as lines: uid, type, domain, age, first line, tags."""
    if not items:
        return
    now = when.now()
    kinds = [getattr(item, "type", "") for item in items]
    domains = [line(item.domain or NO_DOMAIN) for item in items]
    ages = [when.age(item.created_at, now) for item in items]
    if screen.width < _ROOMY:
        ages = [age.removesuffix(" ago") for age in ages]
    kind_room = style.columns_of(kinds, 12)
    age_room = style.columns_of(ages, 12)
    spare = screen.width - 10 - kind_room - age_room - 4 * len(GAP) - _COMFORT
    domain_room = style.columns_of(domains, max(screen.width // 6, spare, 8))
    for item, kind, domain, age in zip(items, kinds, domains, ages, strict=True):
        cells = [Cell(item.uid, style.UID, 10)]
        if kind_room:
            cells.append(Cell(kind, style.TYPES.get(kind, ""), kind_room))
        cells.append(Cell(cut(domain, domain_room), style.DOMAIN, domain_room))
        cells.append(Cell(age, style.DIM, age_room))
        left = screen.width - sum(c.columns + len(GAP) for c in cells)
        text: str = getattr(item, "content", "") or getattr(item, "text", "")
        if left >= NARROWEST:
            cells += _text(item, text, left, screen)
            yield laid_out(cells, screen.colour)
        else:
            yield laid_out(cells, screen.colour)
            yield INDENT + laid_out(_text(item, text, screen.width - 2, screen), screen.colour)
        if screen.verbose and isinstance(item, records.Memory):
            said = cut(GAP.join(_about(item, now)), screen.width - len(INDENT))
            yield INDENT + paint(said, style.DIM, screen.colour)


def _text(item: Any, text: str, room: int, screen: Screen) -> list[Cell]:
    """Return what a reader must know of a memory, its first line, and its tags if they fit."""
    remarks = _standing(item)
    if screen.width < _ROOMY:
        remarks = [said for said in remarks if said[0] != "confirmed"]
    said = cut(" ".join(f"[{remark}]" for remark, _ in remarks), room)
    left = room - (width(said) + len(GAP) if said else 0)
    first = cut(line(text), left)
    hidden = any(colour == style.DIM for _, colour in remarks)
    cells = [Cell(first, style.DIM if hidden else "")]
    if said:
        cells.insert(0, Cell(said, remarks[0][1]))
    tags = " ".join("#" + line(tag) for tag in getattr(item, "tags", ()))
    if tags and width(first) + len(GAP) + width(tags) <= left:
        cells.append(Cell(tags, style.DIM))
    return cells


def _standing(item: Any) -> list[tuple[str, str]]:
    """Return what sets a memory apart: hidden, confirmed, contradicted."""
    said = []
    if hasattr(item, "status") and state(item) != "active":
        said.append((state(item), style.DIM))
    confidence = getattr(item, "confidence", "unverified")
    if confidence != "unverified":
        said.append((confidence, style.CONFIDENCE.get(confidence, "")))
    return said


def _found(answer: records.Found, screen: Screen) -> Iterator[str]:
    """Yield each hit as a head line and the passage that matched."""
    now = when.now()
    room = min(screen.width, _WIDEST) - len(INDENT) - 1
    for number, h in enumerate(answer.hits):
        if number:
            yield ""
        cells = [
            Cell(h.uid, style.UID),
            Cell(h.type, style.TYPES.get(h.type, "")),
            Cell(cut(line(h.domain or NO_DOMAIN), max(screen.width // 4, 12)), style.DOMAIN),
            Cell(when.age(h.created_at, now), style.DIM),
            Cell(h.match_source, style.DIM),
            *(Cell(f"[{said}]", colour) for said, colour in _standing(h)),
        ]
        left = screen.width - sum(width(c.text) + len(GAP) for c in cells)
        tags = " ".join("#" + line(tag) for tag in h.tags)
        if tags and left > 8:
            cells.append(Cell(cut(tags, left), style.DIM))
        yield laid_out(cells, screen.colour)
        for wrap in wrapped(h.snippet, h.marks, room, 4, screen.colour):
            yield INDENT + wrap
        if screen.verbose:
            scores = [f"{name} {value:g}" for name, value in h.scores.items()]
            details = [
                f"score {h.score:g}",
                *scores,
                f"agent {line(h.agent)}",
                f"characters {h.span[0]}:{h.span[1]} of {h.content_chars}",
            ]
            said = cut(GAP.join(details), screen.width - len(INDENT))
            yield INDENT + paint(said, style.DIM, screen.colour)


def _shown(answer: records.Shown, screen: Screen) -> Iterator[str]:
    """Yield a memory whole: a head, its text, its relations, its history."""
    m, now, on = answer.memory, when.now(), screen.colour
    cells = [
        Cell(m.uid, style.UID),
        Cell(m.type, style.TYPES.get(m.type, "")),
        Cell(line(m.domain or NO_DOMAIN), style.DOMAIN),
        *(Cell(f"[{said}]", colour) for said, colour in _standing(m)),
        Cell(" ".join("#" + line(tag) for tag in m.tags), style.DIM),
    ]
    yield laid_out([cell for cell in cells if cell.text], on)
    yield from (paint(said, style.DIM, on) for said in _about(m, now))
    yield ""
    yield from safe(m.content).rstrip("\n").split("\n")
    if answer.outline:
        yield from _headed("Passages", on)
    for h in answer.outline:
        cells = [
            Cell(f"{h.start}:{h.end}", style.DIM, 15),
            Cell(cut(line(h.first_line), max(screen.width - 19, NARROWEST))),
        ]
        yield INDENT + laid_out(cells, on)
    if answer.relations:
        yield from _headed("Relations", on)
        yield from _relations(answer.relations, screen)
    if answer.history:
        yield from _headed("History", on)
    for e in reversed(answer.history):
        said = f"version {e.version} until {when.age(e.at, now)}: "
        said += f"{', '.join(sorted(e.before))} changed by {line(e.agent)}"
        said += f" ({line(e.reason)})" if e.reason else ""
        yield INDENT + cut(said, screen.width - len(INDENT))


def _about(m: records.Memory, now: str) -> Iterator[str]:
    """Yield when, by whom and from where a memory is, and what replaced it."""
    yield f"{when.local(m.created_at)} ({when.age(m.created_at, now)}) by {line(m.agent)}"
    if m.version > 1:
        yield f"version {m.version}, changed {when.age(m.updated_at, now)}"
    for name in ("session", "source", "key"):
        if getattr(m, name) is not None:
            yield f"{name} {line(getattr(m, name))}"
    if m.origin is not None:
        yield f"from {line(m.origin.system)} {line(m.origin.key)}"
    if m.superseded_by:
        yield "superseded by " + ", ".join(m.superseded_by)


def _history(answer: records.History, screen: Screen) -> Iterator[str]:
    """Yield each version, newest first, with what it changed; of a text the lines that differ."""
    now, on = when.now(), screen.colour
    for number, v in enumerate(answer.versions):
        if number:
            yield ""
        cells = [Cell(f"version {v.version}", style.STRONG), Cell(when.age(v.at, now), style.DIM)]
        cells += [Cell(line(v.agent)), Cell(line(v.reason), style.DIM)]
        yield laid_out([cell for cell in cells if cell.text], on)
        for c in v.changes:
            if c.diff is None:
                said = f"{c.field}: {_value(c.before)} -> {_value(c.after)}"
                yield INDENT + cut(said, screen.width - len(INDENT))
                continue
            for part in safe(c.diff).split("\n"):
                colour = {"+": style.GOOD, "-": style.WARNING, "@": style.DIM}.get(part[:1], "")
                yield INDENT + paint(part, colour, on)


def _value(value: Any) -> str:
    """Return the value of a field on one safe line."""
    many = ", ".join(value) if isinstance(value, tuple | list) else value
    return line(many or NO_DOMAIN)


def _purged(answer: records.Purged, screen: Screen) -> Iterator[str]:
    """Yield how far a memory is erased."""
    if not answer.removed:
        said = "would be erased"
    else:
        said = "erased for good" if answer.erased else "removed; its bytes leave the disk later"
    yield f"{paint(answer.uid, style.UID, screen.colour)}{GAP}{said}"
    for path in answer.backups:
        yield INDENT + paint(f"still in {line(path)}", style.WARNING, screen.colour)


def _headed(title: str, on: bool) -> Iterator[str]:
    """Yield the heading of a part."""
    yield ""
    yield paint(title, style.STRONG, on)


def _relations(relations: Sequence[records.Linked], screen: Screen) -> Iterator[str]:
    """Yield each relation as seen from its memory: '->' to another, '<-' from it."""
    kinds = style.columns_of([line(r.type) for r in relations], 20)
    for r in relations:
        cells = [
            Cell("->" if r.direction == "to" else "<-", style.DIM, 2),
            Cell(cut(line(r.type), kinds), "", kinds),
            Cell(r.uid, style.UID, 10),
        ]
        note = f" ({line(r.note)})" if r.note else ""
        left = screen.width - len(INDENT) - sum(c.columns + len(GAP) for c in cells)
        cells.append(Cell(cut(line(r.first_line) + note, max(left, NARROWEST))))
        yield INDENT + laid_out(cells, screen.colour)


def _pulse(answer: records.Pulse, screen: Screen) -> Iterator[str]:
    """Yield where work stands: the checkpoint in full, then what is open, then what is new."""
    on = screen.colour
    parts: list[list[str]] = []
    if answer.latest_checkpoint is not None:
        m, related = answer.latest_checkpoint
        place = line(m.domain or NO_DOMAIN)
        head = [Cell("Checkpoint", style.STRONG), Cell(m.uid, style.UID), Cell(place, style.DOMAIN)]
        head.append(Cell(when.age(m.created_at, when.now()), style.DIM))
        text = [INDENT + part for part in safe(m.content).rstrip("\n").split("\n")]
        parts.append([laid_out(head, on), *text, *_relations(related, screen)])
    for title, digests in (
        ("Open hand-offs", answer.handoffs),
        ("Anti-patterns", answer.anti_patterns),
        ("Recent notes", answer.recent_notes),
    ):
        if digests:
            parts.append([paint(title, style.STRONG, on), *table(digests, screen)])
    left = answer.omitted
    if any(left[:3]):
        said = [
            f"{count} {name}"
            for count, name in (
                (left.handoffs, "hand-offs"),
                (left.anti_patterns, "anti-patterns"),
                (left.recent_notes, "notes"),
            )
            if count
        ]
        pointer = f"Left out: {', '.join(said)}. See '{line(left.hint)}'."
        parts.append([paint(pointer, style.DIM, on)])
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from part


def _any(value: Any, indent: str = "") -> Iterator[str]:
    """Yield an answer that has no view of its own: names and values, nested ones indented."""
    for name, item in value.items():
        if name == "notes":
            continue
        label = f"{indent}{line(str(name))}"
        if isinstance(item, dict):
            yield f"{label}:"
            yield from _any(item, indent + INDENT)
        elif isinstance(item, list) and any(isinstance(part, dict) for part in item):
            yield f"{label}:"
            for part in item:
                yield from _any(part, indent + INDENT)
                yield ""
        else:
            many = ", ".join(map(str, item)) if isinstance(item, list) else item
            yield f"{label}: {NO_DOMAIN if many is None else line(str(many))}"


_VIEWS: dict[type, Callable[[Any, Screen], Iterable[str]]] = {
    records.Written: lambda a, s: table([a.memory], s),
    records.Changed: lambda a, s: table(a.memories, s),
    records.Connected: lambda a, s: [
        laid_out(
            [
                Cell(a.relation.from_uid, style.UID),
                Cell(line(a.relation.type)),
                Cell(a.relation.to_uid, style.UID),
                Cell(line(a.relation.note), style.DIM),
            ],
            s.colour,
        )
    ],
    records.Purged: _purged,
    records.History: _history,
    records.Listed: lambda a, s: table(a.memories, s),
    records.Found: _found,
    records.Shown: _shown,
    records.Pulse: _pulse,
    records.Related: lambda a, s: _relations(a.relations, s),
    **reports.VIEWS,
}
