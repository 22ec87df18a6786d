"""Long work says on a terminal how far it has come, and in a pipe nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memai import embedding

# The command line, as it is when work takes longer than a person likes to wait.
IMPATIENT = """
import sys
from memai import cli
from memai.cli import progress
progress._PATIENCE = progress._BETWEEN = 0
sys.exit(cli.main(sys.argv[1:]))
"""
LINE = "\r\x1b[K"


@pytest.fixture
def work(memai, tmp_path):
    """Return the arguments of each kind of long work, on a store of some memories."""
    for number in range(3):
        assert memai("note", f"memory number {number}").code == 0
    lines = memai("export").out.splitlines()
    given = tmp_path / "given.jsonl"
    given.write_text("".join(f"{line}\n" for line in lines))
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (model / name).symlink_to(Path(embedding.FOLDER, name))
    return {
        "import": ("import", str(given), "--db", str(tmp_path / "other.db")),
        "reembed": ("reembed", "--model", str(model)),
        "doctor": ("doctor", "--deep"),
        "backup": ("backup", str(tmp_path / "copies")),
    }


@pytest.mark.parametrize("command", ["import", "reembed", "doctor", "backup"])
def test_long_work_says_on_a_terminal_how_far_it_is(terminal, work, command):
    """A line with a share in percent, which never falls and is gone before the answer."""
    done = terminal(*work[command], program=[sys.executable, "-c", IMPATIENT])
    shares = [int(share) for share in re.findall(rf"memai: {command}: (\d+)%", done.out)]
    assert shares
    assert shares == sorted(shares)
    assert shares[-1] <= 100
    last = done.out.rindex(f"memai: {command}:")
    assert done.out[last:].split(LINE, 1)[1].strip()


@pytest.mark.parametrize("command", ["import", "reembed", "doctor", "backup"])
def test_long_work_is_silent_in_a_pipe(work, command):
    """Neither stream holds a line of progress where neither is a terminal."""
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, *work[command]],
        capture_output=True,
        check=False,
        text=True,
    )
    assert f"memai: {command}" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
