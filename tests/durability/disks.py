"""Disks that fail.

A recording one, of which any state after a power cut can be made, and one that reports errors:
both are SQLite filesystems (VFS) in front of the real one.
"""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

SECTOR = 512


class Event(NamedTuple):
    """What was done to a file, or said (`mark`) in between."""

    kind: str  # write, truncate, sync, delete, mark
    name: str = ""
    offset: int = 0
    data: bytes = b""
    said: Any = None


class Recorder(apsw.VFS):
    """Writes through to the real disk, and keeps a list of everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        super().__init__("recorder", "unix")

    def xOpen(self, name: Any, flags: list[int]) -> "RecordedFile":
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.events.append(Event("delete", os.path.basename(filename)))
        super().xDelete(filename, syncdir)


class RecordedFile(apsw.VFSFile):
    """One open file of the recorder."""

    def __init__(self, disk: Recorder, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.own = _name(name)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.events.append(Event("write", self.own, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.disk.events.append(Event("truncate", self.own, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self.disk.events.append(Event("sync", self.own))


class Faulty(apsw.VFS):
    """Lets one call fail, or all from it on, with an error of the disk."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails_at = 0  # 0: never
        self.lasting = False
        self.error: type[apsw.Error] = apsw.IOError
        self.failed: list[str] = []  # files whose calls failed
        super().__init__("faulty", "unix")

    def xOpen(self, name: Any, flags: list[int]) -> "FaultyFile":
        return FaultyFile(self, name, flags)

    def hit(self, name: str) -> None:
        """Count a call, and let it fail if it is its turn."""
        self.calls += 1
        if self.fails_at and (
            self.calls == self.fails_at or (self.lasting and self.calls > self.fails_at)
        ):
            self.failed.append(name)
            raise self.error("injected")


class FaultyFile(apsw.VFSFile):
    """One open file of a faulty disk."""

    def __init__(self, disk: Faulty, name: Any, flags: list[int]) -> None:
        self.disk = disk
        self.own = _name(name)
        super().__init__("unix", name, flags)

    def excepthook(self, *_: Any) -> None:
        """Say nothing: the errors are meant."""

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.hit(self.own)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.disk.hit(self.own)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self.disk.hit(self.own)
        super().xSync(flags)


@contextmanager
def in_front(disk: apsw.VFS, name: str) -> Iterator[None]:
    """Put a disk in front of the real one for everything that is opened meanwhile."""
    apsw.set_default_vfs(name)
    try:
        yield
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()


def after_power_cut(events: list[Event], dice: random.Random, folder: Path) -> None:
    """Lay files as they may be when the power fails after these events.

    What was synced is there; of a file's writes since its last sync each may be there whole, torn
    at a sector, or not at all, and a file that was never synced may be missing.
    """
    synced: dict[str, int] = {}
    for number, event in enumerate(events):
        if event.kind == "sync":
            synced[event.name] = number
    files: dict[str, bytearray] = {}
    for number, event in enumerate(events):
        pending = number > synced.get(event.name, -1)
        if event.kind == "delete":
            files.pop(event.name, None)
        elif event.kind in ("write", "truncate"):
            if pending and dice.random() < 0.4:
                continue
            content = files.setdefault(event.name, bytearray())
            if event.kind == "truncate":
                del content[event.offset :]
                content.extend(bytes(event.offset - len(content)))
                continue
            data = event.data
            if pending and len(data) > SECTOR and dice.random() < 0.3:
                data = data[: dice.randrange(len(data) // SECTOR) * SECTOR]
            content.extend(bytes(max(event.offset - len(content), 0)))
            content[event.offset : event.offset + len(data)] = data
    for name, content in files.items():
        if name.endswith("-shm") or (name not in synced and dice.random() < 0.3):
            continue
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)


def _name(name: Any) -> str:
    """Return the name of a file without its folder."""
    if isinstance(name, apsw.URIFilename):
        name = name.filename()
    return os.path.basename(name or "temporary")
