"""Whole processes timed in shuffled order, so that a machine's moods fall on all of them alike."""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Timing(NamedTuple):
    """Wall times of one command in milliseconds."""

    name: str
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the runs."""
        return statistics.median(self.runs)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles."""
        low, _, high = statistics.quantiles(self.runs, n=4)
        return low, high


def compare(
    commands: Mapping[str, Sequence[str]], rounds: int, env: Mapping[str, str] | None = None
) -> dict[str, Timing]:
    """Run every command once a round, in a new order each round, after one round of warming up."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    order = random.Random(1)
    for round in range(rounds + 1):
        names = list(commands)
        order.shuffle(names)
        for name in names:
            began = time.perf_counter()
            done = subprocess.run(
                commands[name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={**os.environ, **(env or {})},
                check=False,
            )
            took = (time.perf_counter() - began) * 1000
            if done.returncode != 0:
                raise SystemExit(f"{name} failed: {done.stderr.decode()[-300:]}")
            if round:
                found[name].append(took)
    return {name: Timing(name, tuple(runs)) for name, runs in found.items()}


def program() -> list[str]:
    """Return the console script that belongs to this interpreter."""
    script = os.path.join(os.path.dirname(sys.executable), "memai")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "memai"]
