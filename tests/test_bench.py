"""The benchmarks of speed run, and say what they found."""

import json
import subprocess
import sys
from pathlib import Path

from support import CHECKOUT

SPEED = str(CHECKOUT / "tests" / "bench" / "speed.py")


def measure(folder: Path, *more: str) -> str:
    """Run the smallest of its parts, on the smallest of stores."""
    parts = ["--only", "bulk", "--memories", "20", "40", "60", "--rounds", "1"]
    command = [sys.executable, SPEED, *parts, "--keep", str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_writes_a_table_its_growth_and_a_file_to_compare_with(tmp_path: Path) -> None:
    """Targets are judged, exponents fitted, and a second run says what moved since the first."""
    saved = tmp_path / "speed.json"
    printed = measure(tmp_path, "--json", str(saved))
    assert "| bulk: import | 20 |" in printed
    assert "targets met." in printed
    assert "| bulk: a memory in the file | 20:" in printed  # in the table of growth
    figures = json.loads(saved.read_text())["figures"]
    assert {one["what"] for one in figures} >= {"import", "reembed", "backup", "doctor --deep"}
    assert all(one["median"] > 0 for one in figures)
    for one in figures:
        if one["what"] == "a memory in the file":
            one.update(dict.fromkeys(("median", "low", "high"), one["median"] / 2))
    saved.write_text(json.dumps({"figures": figures}))
    compared = measure(tmp_path, "--compare", str(saved))
    assert "| bulk: a memory in the file | 20 |" in compared.partition("| before | after |")[2]
