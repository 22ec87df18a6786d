"""Whole processes timed in shuffled order, so that a machine's moods fall on all of them alike."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """What one process took: milliseconds on the clock and of the processor, peak memory in MB."""

    wall: float
    cpu: float = 0.0
    peak: float = 0.0


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which Python keeps what it compiles, as where memai is installed."""
    kept = {name: value for name, value in os.environ.items() if name[:6] != "MEMAI_"}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, **more}


def process(command: Sequence[str], **more: str) -> Callable[[], Run]:
    """Return what runs a command to its end, in a pipe; `more` is its environment."""

    def run() -> Run:
        began = time.perf_counter()
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(**more),
        ) as started:
            _, status, used = os.wait4(started.pid, 0)
            took = (time.perf_counter() - began) * 1000
            started.returncode = os.waitstatus_to_exitcode(status)
            if started.returncode != 0:
                said = started.stderr.read().decode() if started.stderr else ""
                raise SystemExit(f"{' '.join(command)} failed: {said[-300:]}")
        peak = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
        return Run(took, (used.ru_utime + used.ru_stime) * 1000, peak)

    return run


def compare(measures: Mapping[str, Callable[[], Run]], rounds: int) -> dict[str, list[Run]]:
    """Take every measure once a round, in a new order each round, after one round of warming up."""
    found: dict[str, list[Run]] = {name: [] for name in measures}
    order = random.Random(1)
    for round in range(rounds + 1):
        names = list(measures)
        order.shuffle(names)
        for name in names:
            run = measures[name]()
            if round:
                found[name].append(run)
    return found


def program() -> list[str]:
    """Return the console script that belongs to this interpreter."""
    script = os.path.join(os.path.dirname(sys.executable), "memai")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "memai"]
