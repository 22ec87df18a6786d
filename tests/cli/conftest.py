"""Ways to run a command line: in this process, in a process of its own, at a terminal."""

import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import NamedTuple

import pytest
from support import CHECKOUT

from memai import cli

# What would make a run depend on whose machine it is.
_FOREIGN = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PAGER", "LESS", "EDITOR", "VISUAL")


class Run(NamedTuple):
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The answer as an object."""
        return json.loads(self.out)

    @property
    def lines(self):
        """The lines of the answer."""
        return self.out.splitlines()


@pytest.fixture(autouse=True)
def environment(home, monkeypatch, tmp_path_factory):
    """Give every command line the same environment; modules are compiled once for all of them."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))
    for name in _FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.chdir(home)  # the checkout is a repository, and that would be the domain at hand
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def memai(monkeypatch):
    """Run command lines in this process, with neither end a terminal."""

    def run(*arguments, input=b""):
        data = input if isinstance(input, bytes) else input.encode()
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", newline=""))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", newline=""))
            code = cli.main([str(argument) for argument in arguments])
            sys.stdout.flush()
            sys.stderr.flush()
            return Run(code, out.getvalue().decode(), err.getvalue().decode())

    return run


@pytest.fixture
def process():
    """Run command lines in a process each; `raw` leaves the streams undecoded."""

    def run(*arguments, input=b"", env=None, raw=False, **settings):
        done = subprocess.run(
            [sys.executable, "-m", "memai", *arguments],
            input=input.encode() if isinstance(input, str) else input,
            stdout=settings.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            timeout=60,
            check=False,
            **settings,
        )
        out, err = done.stdout or b"", done.stderr
        return Run(done.returncode, *((out, err) if raw else (out.decode(), err.decode())))

    return run


@pytest.fixture
def terminal():
    """Run command lines at a terminal of a given size; `typed` is sent once its prompt is there."""

    def run(*arguments, columns=80, lines=24, typed=None, prompt="", env=None, program=None):
        command = program or [sys.executable, "-m", "memai"]
        pid, ours = pty.fork()
        if pid == 0:
            try:
                size = struct.pack("HHHH", lines, columns, 0, 0)
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                # execve, because a library may have put sizes beside what Python knows of.
                os.execve(command[0], [*command, *arguments], {**os.environ, **(env or {})})
            finally:
                os._exit(127)
        return _conversation(pid, ours, typed, prompt)

    return run


def _conversation(pid, ours, typed, prompt):
    """Read all that a process says, answer its prompt, and wait for it."""
    said, deadline, answered = b"", time.monotonic() + 30, typed is None
    again = deadline
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 0.1)
        if ready:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            said += data
        if not answered and prompt.encode() in said:
            os.write(ours, typed if isinstance(typed, bytes) else typed.encode())
            answered = True
            # A Ctrl-C between a prompt and Python's read waits for that read, as any does in
            # Python: a person who sees nothing happen types it again.
            again = time.monotonic() + 3 if typed == "\x03" else deadline
        if time.monotonic() > again:
            os.write(ours, b"\x03")
            again = deadline
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ours)
    return Run(os.waitstatus_to_exitcode(status), said.decode().replace("\r\n", "\n"), "")
