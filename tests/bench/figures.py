"""Figures of a run: what was measured, against which floor, whether it is on target, what moved."""

import json
import math
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Figure(NamedTuple):
    """One thing measured at one size.

    `against` has for each floor of the same run how many times the median is of it.
    """

    group: str
    what: str
    memories: int
    unit: str
    median: float
    low: float
    high: float
    p95: float
    against: dict[str, float]

    def value(self, measure: str) -> float | None:
        """Return the median, `p95`, `p95 / p50` or the ratio to a floor; None if there is none."""
        if measure in ("median", "p95"):
            return float(getattr(self, measure))
        if measure == "p95 / p50":
            return self.p95 / self.median if self.median else None
        return self.against.get(measure)


class Target(NamedTuple):
    """What a measure of a figure should be, at every size or at those that are named."""

    group: str
    what: str
    measure: str
    bound: float | Mapping[int, float]
    least: bool = False
    """Whether the bound is the least it should be, not the most."""

    def at(self, memories: int) -> float | None:
        """Return the bound at a size."""
        if isinstance(self.bound, Mapping):
            return self.bound.get(memories)
        return self.bound


def figure(
    group: str,
    what: str,
    memories: int,
    unit: str,
    runs: Sequence[float],
    floors: Mapping[str, float] | None = None,
) -> Figure:
    """Return the figure of some runs; `floors` are medians of the same run."""
    middle = statistics.median(runs)
    low, high, p95 = middle, middle, middle
    if len(runs) > 1:
        cuts = statistics.quantiles(runs, n=20, method="inclusive")
        low, high, p95 = cuts[4], cuts[14], cuts[18]
    against = {name: middle / floor for name, floor in (floors or {}).items() if floor}
    return Figure(group, what, memories, unit, middle, low, high, p95, against)


def table(figures: Iterable[Figure], targets: Sequence[Target]) -> str:
    """Return figures as Markdown, with the targets they meet or miss."""
    lines = [
        "| what | memories | median | quartiles | p95 | against | target |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in figures:
        against = ", ".join(f"{ratio:.2f} x {name}" for name, ratio in one.against.items())
        lines.append(
            f"| {one.group}: {one.what} | {_size(one)} | {_shown(one.median)} {one.unit}"
            f" | {_shown(one.low)}-{_shown(one.high)} | {_shown(one.p95)} | {against}"
            f" | {'; '.join(judged(one, targets))} |"
        )
    return "\n".join(lines)


def judged(one: Figure, targets: Sequence[Target]) -> list[str]:
    """Return what each target says of a figure."""
    said = []
    for target in targets:
        bound = target.at(one.memories)
        value = one.value(target.measure)
        if (target.group, target.what) != (one.group, one.what) or bound is None or value is None:
            continue
        met = value >= bound if target.least else value <= bound
        sign = ">=" if target.least else "<="
        name = "" if target.measure == "median" else f" {target.measure}"
        missed = "" if met else f" MISSED: {_shown(value)}"
        said.append(f"{sign} {_shown(bound)}{name}{missed}")
    return said


def growth(figures: Iterable[Figure]) -> str:
    """Return how what was measured at three sizes or more grows, as Markdown.

    The exponent is the slope of a line through the logarithms, by least squares: 0 does not grow,
    1 is linear. Rates are turned into time a memory first, so that 0 is linear in all.
    """
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for one in figures:
        found.setdefault((one.group, one.what, one.unit), {})[one.memories] = one.median
    lines = ["| what | at each size | exponent |", "|---|---|---|"]
    for (group, what, unit), values in found.items():
        if len(values) >= 3 and all(value > 0 for value in values.values()):
            sizes = sorted(values)
            rate = unit == "/s"
            slope = exponent(sizes, [n / values[n] if rate else values[n] for n in sizes])
            shown = ", ".join(f"{n:,}: {_shown(values[n])}" for n in sizes)
            lines.append(f"| {group}: {what} | {shown} {unit} | {slope:+.2f} |")
    return "\n".join(lines)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of the logarithms of positive values over those of their sizes."""
    slope, _ = statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(value) for value in values]
    )
    return slope


def save(path: str, figures: Sequence[Figure]) -> None:
    """Write figures and what they were measured on as JSON."""
    import apsw

    machine = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "load": os.getloadavg(),
    }
    saved = {"machine": machine, "figures": [one._asdict() for one in figures]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(saved, file, indent=1)


def load(path: str) -> list[Figure]:
    """Return the figures of an earlier run."""
    with open(path, encoding="utf-8") as file:
        saved: dict[str, Any] = json.load(file)
    return [Figure(**one) for one in saved["figures"]]


def moved(before: Sequence[Figure], after: Sequence[Figure]) -> str:
    """Return what moved from one run to another as Markdown.

    Compared are ratios to the first floor where there is one, as machines have moods. Named is
    what moved by a tenth or more and out of the quartiles of both runs.
    """
    old = {(one.group, one.what, one.memories): one for one in before}
    lines = ["| what | memories | before | after | change |", "|---|---|---|---|---|"]
    for one in after:
        was = old.get((one.group, one.what, one.memories))
        if was is None:
            continue
        floor = next((name for name in one.against if name in was.against), None)
        a, b = (x.against[floor] if floor else x.median for x in (was, one))
        spread = max((x.high - x.low) / x.median if x.median else 0.0 for x in (was, one))
        change = b / a - 1 if a else 0.0
        if abs(change) >= max(0.1, spread):
            unit = f"x {floor}" if floor else one.unit
            lines.append(
                f"| {one.group}: {one.what} | {_size(one)} | {_shown(a)} {unit}"
                f" | {_shown(b)} {unit} | {change:+.0%} |"
            )
    return "\n".join(lines) if len(lines) > 2 else "Nothing moved by more than its spread."


def _size(one: Figure) -> str:
    return f"{one.memories:,}" if one.memories else ""


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
