"""Files of users: read without following links, written whole or not at all.

Never for a store that may be open: closing a second descriptor of it drops SQLite's locks.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from memai.errors import NoSpace, NotWritable, UsageError

# Folders full of other people's texts.
_OTHERS = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


class Seen(NamedTuple):
    """What tells whether a file was changed: size in bytes, time of change in nanoseconds."""

    size: int
    mtime: int


def seen(status: os.stat_result) -> Seen:
    """Return what a stat says of a file's state."""
    return Seen(status.st_size, status.st_mtime_ns)


def read(path: str, most: int) -> tuple[bytes, Seen]:
    """Return the bytes of a regular file of at most so many, and what it was when they were read.

    Raises OSError, and ValueError for a link, another kind of file or a larger one.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise ValueError("it is a symbolic link") from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        data = file.read(most + 1)
        if len(data) > most:
            raise ValueError(f"it is larger than {most:,} bytes")
        return data, seen(status)


def lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is longer than `most` only its beginning.

    So a line without end costs no more memory than a long one; what is yielded is longer than
    `most`, by which the reader sees it.
    """
    while line := file.readline(most + 1):
        if len(line) > most and not line.endswith(b"\n"):
            while (rest := file.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
        yield line


def write_new(path: str, chunks: Iterable[bytes]) -> int:
    """Write a file that is not there yet, for its owner only; return its size.

    It gets its name when it is whole and on disk. Raises UsageError if the name is taken, NoSpace,
    NotWritable.
    """
    if os.path.lexists(path):
        raise UsageError(reason=f"{path} is there already, and nothing is overwritten.")
    folder, name = os.path.split(path)
    partial = _partial(folder, name)
    try:
        size = 0
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            for chunk in chunks:
                size += file.write(chunk)
            file.flush()
            os.fsync(descriptor)
        _publish(partial, path)
        sync_folder(folder)
    except OSError as error:
        raise failure(path, error) from None
    finally:
        with suppress(OSError):
            os.unlink(partial)
    return size


class Draft(NamedTuple):
    """A file to be written in place of the one that was `before` (None: of none)."""

    path: str
    data: bytes
    before: Seen | None


def write_all(drafts: Sequence[Draft]) -> list[Seen | None]:
    """Write many files, each whole or not at all; return what each is now.

    None, and nothing written, where somebody else changed a file meanwhile. A file keeps its mode.
    All are on disk before the first gets its name: waiting for them together takes a fraction of
    waiting for each. Raises NoSpace, NotWritable, and then none got its name.
    """
    partials: list[str] = []
    at = ""  # what was being written when something went wrong
    try:
        for draft in drafts:
            at = draft.path
            partials.append(_partial(*os.path.split(at)))
            _lay(partials[-1], draft.data, at if draft.before is not None else None)
        for partial in partials:
            _sync(partial)
        written = []
        for partial, draft in zip(partials, drafts, strict=True):
            at = draft.path
            written.append(_settle(partial, at, draft.before))
        for at in {os.path.dirname(draft.path) for draft in drafts}:
            sync_folder(at)
    except OSError as error:
        raise failure(at, error) from None
    finally:
        for partial in partials:
            with suppress(OSError):
                os.unlink(partial)
    return written


def _lay(partial: str, data: bytes, like: str | None) -> None:
    """Write bytes under a name of their own, with the mode of another file."""
    mode = 0o600
    if like is not None:
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(like).st_mode)
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(data)


def _settle(partial: str, path: str, before: Seen | None) -> Seen | None:
    """Give a written file its name, unless somebody else changed what has it."""
    try:
        if before is None:
            _publish(partial, path)
        else:
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode) or seen(status) != before:
                return None
            os.replace(partial, path)
        return seen(os.lstat(path))
    except (FileExistsError, FileNotFoundError):
        return None


def _partial(folder: str, name: str) -> str:
    """Return the name under which a file is written before it gets its own."""
    return os.path.join(folder, f".{name[:60]}.{os.getpid()}-{os.urandom(4).hex()}.partial")


def discard_abandoned(folder: str, name: str) -> None:
    """Remove a file that a process was writing when it was killed."""
    import re

    made = re.fullmatch(r"\..*\.(\d+)-[0-9a-f]{8}\.partial", name, re.DOTALL)
    if made is None:
        return
    try:
        os.kill(int(made[1]), 0)
    except (ProcessLookupError, OverflowError):
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
    except OSError:
        return


def make_folders(root: str, path: str) -> str:
    """Make the folders of a path below a root, for their owner; return where the file belongs.

    Raises UsageError for a path that leads elsewhere, also by way of a link; NotWritable.
    """
    parts = path.split("/") if path else []
    if any(part in ("", ".", "..") or "\0" in part or part.startswith("/") for part in parts):
        raise UsageError(reason=f"The path '{path}' leads out of {root}.")
    here = root
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        for part in parts[:-1]:
            here = os.path.join(here, part)
            with suppress(FileExistsError):
                os.mkdir(here, 0o700)
            if not stat.S_ISDIR(os.lstat(here).st_mode):
                raise UsageError(reason=f"{here} is no folder but a link or a file.")
    except OSError as error:
        raise failure(here, error) from None
    return os.path.join(here, parts[-1]) if parts else here


def _publish(partial: str, path: str) -> None:
    """Give a finished file its name; raises FileExistsError where that is taken."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:  # a filesystem without links
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        os.replace(partial, path)


def sync_folder(path: str) -> None:
    """Wait until the names in a folder are on disk."""
    _sync(path or ".")


def _sync(path: str) -> None:
    """Wait until a file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def failure(path: str, error: OSError) -> Exception:
    """Return the error of memai that a fault of the disk is."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(path=path)
    if isinstance(error, FileExistsError):
        return UsageError(reason=f"{path} is there already, and nothing is overwritten.")
    return NotWritable(path=path, reason=error.strerror or str(error))


class Found(NamedTuple):
    """A file of a folder: its path below it, with slashes, and what it was when it was seen."""

    path: str
    seen: Seen


def walk(
    root: str,
    ending: str,
    refused: Callable[[str, str], None],
    hidden: Callable[[str, str], None] = lambda _folder, _name: None,
) -> Iterator[Found]:
    """Yield the files below a folder whose names end so, in the order of their paths.

    Hidden files and folders are left out, and told to `hidden` (folder, name). Links are not
    followed: they are told to `refused` (path, reason), as is what cannot be looked into. Raises
    NotWritable for the folder itself.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(os.path.join(root, below)) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not below:
                raise failure(root, error) from None
            refused(below, error.strerror or str(error))
            continue
        folders = []
        for entry in inside:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.name.startswith(".") or entry.name in _OTHERS:
                hidden(os.path.join(root, below), entry.name)
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif entry.name.endswith(ending) or (entry.is_symlink() and os.path.isdir(entry.path)):
                fault = _fault(entry, path)
                if fault is None:
                    yield Found(path, seen(entry.stat(follow_symlinks=False)))
                else:
                    refused(path.encode(errors="replace").decode(), fault)
        waiting += reversed(folders)


def _fault(entry: os.DirEntry[str], path: str) -> str | None:
    """Return why an entry of a folder is not read, None if it is."""
    if entry.is_symlink():
        return "it is a symbolic link"
    if not entry.is_file(follow_symlinks=False):
        return "it is no regular file"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return None
