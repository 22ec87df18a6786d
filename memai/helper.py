"""A second process of this program, which computes while this one waits for the engine.

A thread would not do: what computes here holds the interpreter's lock, and with one SQLite took
longer too. The process is a fresh interpreter, as forking under threads is not safe, and worth its
0.3 s only for much work. All that it does can be done here as well, so it may be lost at any
moment; and it ends with its pipe, however this process ends.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import subprocess

# The same modules as here, whatever the folder it runs in holds.
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from memai.helper import serve; serve()"


class Helper:
    """Calls functions of modules in a second process, one at a time.

    What goes there and comes back is pickled. Where it cannot be had, is lost, or a function fails
    in it, the answer is None: then the function is to be called here.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = False

    @property
    def present(self) -> bool:
        """Whether it can be asked."""
        return self._process is not None

    def start(self) -> None:
        """Start the process, unless there is no second core for it."""
        if not sys.executable or cores() < 2:
            return
        import subprocess

        with suppress(OSError):
            # In a group of its own: Ctrl-C is for this process, which then lets it go.
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter; arguments are ours
                [sys.executable, "-P", "-c", _PROGRAM, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )

    def ask(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin a call. The answer to the one before was taken, or both would wait for ever."""
        if self._process is None:
            return
        import pickle

        assert not self._asked
        assert self._process.stdin is not None
        try:
            pickle.dump((function, arguments), self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            self._asked = True
        except OSError:
            self.close()

    def answer(self) -> Any:
        """Return what the function returned that was asked for; None if nothing was, or is lost."""
        if self._process is None or not self._asked:
            return None
        import pickle

        assert self._process.stdout is not None
        self._asked = False
        try:
            return pickle.load(self._process.stdout)  # noqa: S301 - written by this program
        except (EOFError, OSError, pickle.UnpicklingError):
            self.close()
            return None

    def both(self, function: Callable[..., Any], parts: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """Yield what a function returns for each part; every second one is done there."""
        rest = iter(parts)
        for part in rest:
            other = next(rest, None) if self.present else None
            if other is not None:
                self.ask(function, *other)
            yield function(*part)
            if other is not None:
                found = self.answer()
                yield function(*other) if found is None else found

    def ahead(self, function: Callable[..., Any], parts: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """Yield what a function returns for each part; each is done there while one is used."""
        rest = iter(parts)
        part = next(rest, None)
        if part is not None:
            self.ask(function, *part)
        while part is not None:
            found = self.answer()
            following = next(rest, None)
            if following is not None:
                self.ask(function, *following)
            yield function(*part) if found is None else found
            part = following

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        self._asked = False
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes its pipes, and waits
                pass


def serve() -> None:
    """Answer calls on standard input until it ends."""
    import pickle

    answers: BinaryIO = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever prints, only answers are read
    with suppress(EOFError, OSError):
        while True:
            function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - from its parent
            pickle.dump(function(*arguments), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
