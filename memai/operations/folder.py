"""A folder of pages: read and written without following links, locked while it is synced."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from memai import files
from memai.errors import Busy, UsageError
from memai.files import Draft, Found, Seen
from memai.formats import Broken, pages

# A file that was changed less than this before it is looked at may change again without its time
# showing it: its bytes are compared the next time.
_RECENT = 2_000_000_000

_ENDING = ".md"


class Folder:
    """What is in a folder; `unreadable` are the paths that cannot be looked at, with reasons."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.unreadable: dict[str, str] = {}

    def files(self) -> Iterator[Found]:
        """Yield every page below the folder, and remove what a killed sync left half-written."""
        refused = self.unreadable.__setitem__
        yield from files.walk(self.root, _ENDING, refused, files.discard_abandoned)

    def hides(self, path: str) -> bool:
        """Whether a path cannot be looked at, or is in a folder that cannot."""
        while path:
            if path in self.unreadable:
                return True
            path = path.rpartition("/")[0]
        return False

    def read(self, path: str) -> tuple[bytes, Seen]:
        """Return the bytes of a page and what it was then; raises Broken."""
        try:
            return files.read(os.path.join(self.root, path), pages.MAX_PAGE_BYTES)
        except OSError as error:
            raise Broken(error.strerror or str(error)) from None
        except ValueError as error:
            raise Broken(str(error)) from None

    def write(self, drafts: Sequence[Draft]) -> list[Seen | None]:
        """Write pages whole, each in place of what was seen before (None: of nothing).

        Their paths are below the folder. None where something else is there. Raises NoSpace,
        NotWritable.
        """
        return files.write_all([d._replace(path=os.path.join(self.root, d.path)) for d in drafts])

    def make_place(self, path: str) -> None:
        """Make the folders of a page; raises UsageError if it leads out of this one."""
        files.make_folders(self.root, path)


def trusted(seen: Seen, now: int) -> Seen:
    """Return what may be remembered of a file so that a later change shows."""
    return seen if seen.mtime < now - _RECENT else seen._replace(mtime=0)


def text_of(data: bytes) -> str:
    """Return the text of a page; raises Broken."""
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Broken("it is not UTF-8") from None


@contextmanager
def locked(root: str, seconds: float) -> Iterator[None]:
    """Let one process at a time sync a folder; raises Busy, UsageError.

    A lock on the folder itself, which leaves nothing behind and ends with its holder.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0))
    except OSError as error:
        raise UsageError(reason=f"{root} cannot be read: {error.strerror}.") from None
    try:
        with suppress(ImportError):  # Windows: the transactions and renames still decide
            import fcntl

            until = time.monotonic() + seconds
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= until:
                        raise Busy(seconds=seconds) from None
                    time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)
