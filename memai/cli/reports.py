"""Answers about the store, for people: counts, findings, copies."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memai import records, when
from memai.cli import style
from memai.cli.output import Screen
from memai.cli.style import GAP, INDENT, Cell, laid_out, line, paint
from memai.terminal import cut
from memai.vocabulary import NO_DOMAIN


def _domains(answer: records.Domains, screen: Screen) -> Iterator[str]:
    """Yield a table; the domains stand last, because only they may be wide."""
    if not answer.domains:
        return
    from tabulate import tabulate

    now = when.now()
    found = [
        (
            d.memories,
            d.current,
            when.age(d.latest_at, now),
            paint(line(d.domain or NO_DOMAIN), style.DOMAIN, screen.colour),
        )
        for d in answer.domains
    ]
    heads = ("memories", "current", "latest", "domain")
    yield from tabulate(found, heads, tablefmt="plain", disable_numparse=[2, 3]).split("\n")


def _duplicates(answer: records.Duplicates, screen: Screen) -> Iterator[str]:
    """Yield each pair on two lines, with how alike they are and by what measure."""
    for number, p in enumerate(answer.pairs):
        if number:
            yield ""
        head = [Cell(f"{p.score:.2f}", style.STRONG, 4), Cell(p.method, style.DIM, 9)]
        used = sum(c.columns + len(GAP) for c in head) + 10 + len(GAP)
        room = max(screen.width - used, style.NARROWEST)
        for begin, uid, text in (
            (head, p.uid, p.first_line),
            ([Cell("", "", 4), Cell("", "", 9)], p.other, p.other_first_line),
        ):
            cells = [*begin, Cell(uid, style.UID, 10), Cell(cut(line(text), room))]
            yield laid_out(cells, screen.colour)
        said = cut(line(p.why), screen.width - used + 12)
        yield " " * (used - 12) + paint(said, style.DIM, screen.colour)


def _health(answer: records.Health, screen: Screen) -> Iterator[str]:
    """Yield whether all is well, and each finding with what to do."""
    if answer.ok:
        yield paint("All is well", style.GOOD, screen.colour) + f": {', '.join(answer.checked)}."
    colours = {"damage": style.WARNING + ";1", "problem": style.WARNING, "advice": style.DIM}
    for f in answer.findings:
        yield paint(f.level, colours.get(f.level, ""), screen.colour) + f": {line(f.message)}"
        if f.fix:
            yield INDENT + f"do: {line(f.fix)}"


def _stats(answer: records.Stats, screen: Screen) -> Iterator[str]:
    """Yield where the store is and what it holds."""
    c, now = answer.counts, when.now()
    size = f"{_bytes(c.bytes)}, log {_bytes(c.wal_bytes)}" if answer.exists else "not made yet"
    dim = f", {answer.space.dim} dimensions" if answer.space else ""
    about = [
        ("store", line(answer.path)),
        ("size", size),
        ("domain at hand", line(answer.domain or NO_DOMAIN)),
        ("model", line(answer.model) + dim),
        ("last backup", when.age(answer.last_backup, now) if answer.last_backup else "never"),
        ("memories", f"{c.memories}, of them {c.superseded} superseded"),
        ("relations", str(c.relations)),
        ("edits", str(c.edits)),
        ("without vectors", str(c.without_vectors)),
    ]
    room = max(len(name) for name, _ in about)
    for name, value in about:
        yield laid_out([Cell(name, style.DIM, room), Cell(value)], screen.colour)
    counted = (
        ("type", c.by_type),
        ("status", c.by_status),
        ("confidence", c.by_confidence),
        ("domain", c.by_domain),
    )
    if not c.memories:
        return
    from tabulate import tabulate

    for name, counts in counted:
        found = [(count, line(value or NO_DOMAIN)) for value, count in counts.items()]
        yield ""
        yield from tabulate(found, ("memories", name), tablefmt="plain").split("\n")


def _bytes(count: int) -> str:
    """Return a size for people."""
    size = float(count)
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _backups(answer: records.Backups, screen: Screen) -> Iterator[str]:
    """Yield the backups, newest first, with how far each can be trusted."""
    now = when.now()
    colours = {"verified": style.GOOD, "altered": style.WARNING, "damaged": style.WARNING}
    for b in answer.backups:
        cells = [
            Cell(b.state, colours.get(b.state, style.DIM), 10),
            Cell(when.age(b.created_at, now), style.DIM, 12),
            Cell(style.counted(b.memories), "", 14),
            Cell(_bytes(b.bytes), "", 8),
            Cell(line(b.path)),
        ]
        yield laid_out(cells, screen.colour)
        if b.reason:
            yield INDENT + paint(line(b.reason), style.WARNING, screen.colour)


def _recovered(answer: records.Recovered, screen: Screen) -> Iterator[str]:
    """Yield what a recovery brought back, and where the store as it was is kept."""
    yield f"{style.counted(answer.memories)} from {line(answer.backup)}"
    yield (
        f"{answer.back} back, {answer.changed} changed, {answer.gone} gone, "
        f"{answer.buried} still purged"
    )
    if answer.safety is not None:
        yield paint(f"The store as it was: {line(answer.safety)}", style.DIM, screen.colour)


def _imported(answer: records.Imported, screen: Screen) -> Iterator[str]:
    """Yield the counts of an import, and what needs a person."""
    yield f"{answer.new} new, {answer.changed} changed, {answer.same} the same"
    colours = {"new": style.GOOD, "conflict": style.WARNING}
    for c in (*answer.changes, *answer.conflicts):
        said = f"{line(c.first_line)}{f' ({line(c.why)})' if c.why else ''}"
        cells = [Cell(c.what, colours.get(c.what, ""), 8), Cell(c.uid, style.UID, 10)]
        room = screen.width - sum(cell.columns + len(GAP) for cell in cells)
        yield laid_out([*cells, Cell(cut(said, max(room, style.NARROWEST)))], screen.colour)
    for fault in answer.errors:
        yield (
            paint("error", style.WARNING, screen.colour)
            + f"{GAP}{line(fault.place)}: "
            + line(fault.reason)
        )


def _saved(answer: records.Saved, _screen: Screen) -> Iterator[str]:
    """Yield where an export is."""
    yield f"{style.counted(answer.memories)} in {line(answer.path)}"


def _reembedded(answer: records.Reembedded, _screen: Screen) -> Iterator[str]:
    """Yield what was embedded, and with what."""
    yield f"{style.counted(answer.memories)}, {answer.passages} passages, by {line(answer.model)}"


def _renamed(answer: records.Renamed, screen: Screen) -> Iterator[str]:
    """Yield which domain became which."""
    names = [Cell(line(answer.domain), style.DOMAIN), Cell("->", style.DIM)]
    names += [Cell(line(answer.new), style.DOMAIN), Cell(style.counted(answer.memories))]
    yield laid_out(names, screen.colour)


def _spelling(answer: records.Spelling, screen: Screen) -> Iterator[str]:
    """Yield the policy, and the domains it did not write."""
    yield answer.policy
    if answer.otherwise:
        others = ", ".join(line(name) for name in answer.otherwise)
        yield paint(f"spelled otherwise: {others}", style.DIM, screen.colour)


def _backed_up(answer: records.BackedUp, screen: Screen) -> Iterator[str]:
    """Yield where the copy is."""
    yield f"{style.counted(answer.memories)} in {line(answer.path)}"
    yield paint(f"SHA-256 {answer.sha256}", style.DIM, screen.colour)
    for path in answer.removed:
        yield paint(f"removed {line(path)}", style.DIM, screen.colour)


VIEWS: dict[type, Callable[[Any, Screen], Iterable[str]]] = {
    records.Domains: _domains,
    records.Duplicates: _duplicates,
    records.Health: _health,
    records.Stats: _stats,
    records.BackedUp: _backed_up,
    records.Backups: _backups,
    records.Recovered: _recovered,
    records.Imported: _imported,
    records.Saved: _saved,
    records.Reembedded: _reembedded,
    records.Renamed: _renamed,
    records.Spelling: _spelling,
}
