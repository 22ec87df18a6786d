"""Work on whole stores: memories a second, peak memory with children, and bytes a memory."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from figures import Figure, Target, figure
from stores import store
from timing import environment, program

from memai import embedding

_LARGE = (10_000, 100_000, 1_000_000)
TARGETS = (
    # Of 1,000 most of the time is starting.
    Target("bulk", "import", "median", dict.fromkeys(_LARGE, 4500), least=True),
    Target("bulk", "reembed", "median", dict.fromkeys(_LARGE, 10_000), least=True),
    *(
        Target("bulk", f"peak memory of {name}", "median", 250)
        for name in ("import", "reembed", "export", "backup", "doctor --deep")
    ),
    Target("bulk", "a memory in the file", "median", 2.9 * 1024),
)


class Work(NamedTuple):
    """What one command took: seconds, and its peak memory with that of its children, in MB."""

    seconds: float
    peak: float


def work(command: Sequence[str]) -> Work:
    """Run a command to its end and watch its memory."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        watch = _Watch(process.pid)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.done.set()
        watch.join()
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    largest = used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
    return Work(took, max(watch.peak, largest))


class _Watch(threading.Thread):
    """Adds up the memory of a process and its children, 20 times a second, where /proc tells it.

    Pages that several share are counted for each of them in part (PSS).
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        """Watch until the process has ended."""
        while not self.done.wait(0.05):
            self.peak = max(self.peak, sum(map(_proportional, _family(self.pid))))


def _family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found = [pid]
    for one in found:
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                children = Path(f"/proc/{one}/task/{thread}/children").read_text()
                found += map(int, children.split())
        except OSError:
            continue
    return found


def _proportional(pid: int) -> float:
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return int(told.partition("\nPss:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return 0.0


def _renamed_model(place: str) -> str:
    """Return the package's model as a folder: of the model it has, a store makes nothing again."""
    folder = Path(place, "model")
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).symlink_to(Path(embedding.FOLDER, name))
    return str(folder)


def measured(folder: str, sizes: Sequence[int], rounds: int) -> Iterator[Figure]:
    """Yield what bulk work on stores of these sizes does; those of 100,000 and more once."""
    for size in sizes:
        path, _ = store(folder, size)
        found: dict[str, list[Work]] = {}
        kept: list[float] = []
        for _ in range(rounds if size < 100_000 else 1):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                lines, made = f"{place}/all.jsonl", f"{place}/made.db"
                here = [*program(), "--db", made]
                for name, command in {
                    "export": [*program(), "--db", path, "export", "--output", lines],
                    "import": [*here, "import", lines],
                    "import of the same": [*here, "import", lines],
                    "reembed": [*here, "reembed", "--model", _renamed_model(place)],
                    "backup": [*here, "backup", f"{place}/copy.db"],
                    "doctor": [*here, "doctor"],
                    "doctor --deep": [*here, "doctor", "--deep"],
                }.items():
                    found.setdefault(name, []).append(work(command))
                    if name == "import":
                        files = Path(place).glob("made.db*")
                        kept.append(sum(file.stat().st_size for file in files) / size)
        for name, runs in found.items():
            yield figure("bulk", name, size, "/s", [size / run.seconds for run in runs])
            peaks = [run.peak for run in runs]
            yield figure("bulk", f"peak memory of {name}", size, "MB", peaks)
        yield figure("bulk", "a memory in the file", size, "bytes", kept)
