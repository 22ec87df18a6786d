"""Durability: what happens to a store when processes, power, disks and files fail."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in memory if there is one: a simulated disk waits for no real one."""
    if not os.path.isdir("/dev/shm"):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="memai-test-"))
    yield folder
    shutil.rmtree(folder)
