"""A full disk: what was acknowledged stays, what does not fit is refused, and space heals it."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support import CHECKOUT


def test_a_disk_filled_to_the_brim_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    """On 3 MiB: exit code 9 for each that does not fit, all others kept, and work goes on later."""
    folder = shlex.quote(str(tmp_path))
    program = shlex.join([sys.executable, str(Path(__file__).with_name("full_disk.py"))])
    mounted = f"mount -t tmpfs -o size=3m tmpfs {folder} || exit 77; {program} {folder}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mounted],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{CHECKOUT / 'tests'}"},
    )
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    assert told["refused"] == [9]
    assert told["acknowledged"] > 20
