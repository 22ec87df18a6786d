"""The transcripts: every command in them is run, and the terminal shows what they say."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios

import pytest
from support import CHECKOUT

FILES = sorted((CHECKOUT / "tests" / "transcripts").glob("*.txt"))
UPDATE = os.environ.get("MEMAI_UPDATE_TRANSCRIPTS") == "1"
SECONDS = {"minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800}
NUMBERS = ["", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
LATER = re.compile(
    rf"\b({'|'.join(NUMBERS[1:])}|\d+) (minute|hour|day|week)s? later\.$", re.IGNORECASE
)

# How large files are is the engine's business.
SIZE = re.compile(r"\b\d+ (bytes|KB|MB) *")

# The program as it is installed, but for its clock and where its uids come from.
PROGRAM = """#!{python}
import os, sys
sys.path.insert(0, {checkout!r})
from random import Random
from memai import when
from memai.operations import checking

folder = {folder!r}
with open(folder + "/clock") as file:
    seconds = int(file.read())
with open(folder + "/uids") as file:
    made = int(file.read())
ticks = iter(range(seconds * 1_000_000, 1 << 60, 1_000))

def new_uid():
    global made
    made += 1
    with open(folder + "/uids", "w") as file:
        file.write(str(made))
    return "".join(Random(made).choices(checking.UID_ALPHABET, k=checking.UID_LENGTH))

when.clock = lambda: next(ticks)
checking.new_uid = new_uid
from memai.cli import run
run()
"""


@pytest.fixture
def scene(tmp_path, home, tmp_path_factory):
    """Make a place with its own memai, clock and uids; return how to run a command there."""
    folder, desk = tmp_path / "scene", home / "desk"
    (folder / "bin").mkdir(parents=True)
    desk.mkdir()
    (folder / "clock").write_text("1772359200")  # 2026-03-01T10:00:00Z
    (folder / "uids").write_text("0")
    program = folder / "bin" / "memai"
    program.write_text(
        PROGRAM.format(python=sys.executable, checkout=str(CHECKOUT), folder=str(folder))
    )
    program.chmod(0o755)
    environment = {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "PYTHONPYCACHEPREFIX": str(tmp_path_factory.getbasetemp() / "compiled"),
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "TERM": "xterm",
        "TZ": "UTC",
    }

    def run(command):
        _pass_time(folder, 60)
        code, said = _typed(command, desk, environment)
        said = said.replace(str(home), "/home/ada")
        return said + (f"(exit code {code})\n" if code else "")

    run.wait = lambda seconds: _pass_time(folder, seconds)
    return run


def _pass_time(folder, seconds):
    """Move the clock of the scene."""
    clock = folder / "clock"
    clock.write_text(str(int(clock.read_text()) + seconds))


def _typed(command, folder, environment):
    """Run a command line at a terminal of 80 columns; return its exit code and what it shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        ["bash", "-c", command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the last of them has closed the terminal
            break
        if not data:
            break
        said += data
    os.close(ours)
    return process.wait(60), said.decode().replace("\r\n", "\n")


def steps(text):
    """Yield each line that is typed or said, and what the terminal shows after it."""
    line, shown = None, []
    for part in text.splitlines(keepends=True):
        if part.startswith(("$ ", "## ")):
            if line is not None or shown:
                yield line, "".join(shown)
            line, shown = part, []
        else:
            shown.append(part)
    yield line, "".join(shown)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_transcript_is_what_happens(scene, path):
    """Typing the commands of a transcript shows exactly what it says."""
    said, happened = path.read_text(encoding="utf-8"), []
    for line, shown in steps(said):
        later = LATER.search(line or "")
        if later:
            number = later[1].lower()
            count = NUMBERS.index(number) if number in NUMBERS else int(number)
            scene.wait(count * SECONDS[later[2].lower() + "s"])
        if line is None or not line.startswith("$ "):
            happened.append((line or "") + shown)
            continue
        answer = scene(line[2:].rstrip("\n"))
        if answer and not answer.endswith("\n"):
            answer += "\n"
        blank = "\n" if shown.endswith("\n\n") or shown == "\n" or UPDATE else ""
        happened.append(line + answer + blank)
    now = "".join(happened).rstrip("\n") + "\n"
    if UPDATE:
        path.write_text(now, encoding="utf-8")
    assert SIZE.sub("size", now) == SIZE.sub("size", said.rstrip("\n") + "\n")


def test_there_are_enough_to_learn_from():
    """There are thirty transcripts or more, each with something to type."""
    assert len(FILES) >= 30
    for path in FILES:
        assert re.search(r"^\$ .*\bmemai ", path.read_text(encoding="utf-8"), re.MULTILINE)
