"""What the store lies on and runs with: engine, files, filesystem, log, other processes."""

import os
import stat

import apsw

from memai.records import Finding
from memai.store import filesystem
from memai.store.driver import has_reset_bug
from memai.store.erasing import Erasing
from memai.store.overview import size

# The log is folded in at 4 MB; beyond this something has kept it from that for long.
_LARGE_LOG = 64 << 20

# Where a reader's lock lies in the -shm file (https://sqlite.org/walformat.html, "locks").
_READ_MARKS = range(123, 128)


class Surroundings(Erasing):
    """What doctor asks of everything around the rows."""

    def surroundings(self) -> list[Finding]:
        """Look at engine, files, filesystem and log."""
        found = []
        version = apsw.sqlite_lib_version()
        if has_reset_bug(version):
            found.append(
                Finding(
                    "problem",
                    "engine",
                    f"SQLite {version} can lose acknowledged rows when two processes write "
                    "(the WAL-reset bug).",
                    "pip install --upgrade apsw",
                )
            )
        if not self.exists():
            return found
        place = os.path.realpath(self.path)
        found += _modes(place)
        found += self._filesystem(place)
        log = size(place + "-wal")
        if log > _LARGE_LOG:
            found.append(
                Finding(
                    "advice",
                    "log",
                    f"The log has grown to {log >> 20} MB: a reader keeps it from being folded in"
                    f"{_named(readers(place))}.",
                    "End that process",
                )
            )
        since = self.erasing_since()
        if since is not None:
            found.append(
                Finding(
                    "problem",
                    "purge-pending",
                    f"Bytes of a memory purged at {since} are still on disk: another process "
                    f"reads{_named(readers(place))}, or there is no space to fold the log in.",
                    "End that process or make space, then run 'memai doctor' again",
                )
            )
        return found

    def _filesystem(self, place: str) -> list[Finding]:
        """Look at where the file lies."""
        found = []
        kind = filesystem.type_of(place)
        if filesystem.is_network(place):
            found.append(
                Finding(
                    "advice",
                    "network",
                    f"The store is on a {kind} filesystem: use it from one host only.",
                    "Move it to a local disk with 'memai backup' and 'memai recover'",
                )
            )
        if filesystem.is_synced(place):
            found.append(
                Finding(
                    "advice",
                    "synced-folder",
                    f"{place} seems to be in a folder that a cloud service carries about: it "
                    "copies the file while it is written, and can put an old one in its place.",
                    "Keep the store elsewhere and let the service carry backups",
                )
            )
        names = os.stat(place).st_nlink
        if names > 1:
            found.append(
                Finding(
                    "problem",
                    "names",
                    f"The file has {names} names (hard links): opened by two of them at once it "
                    "is destroyed.",
                    "Remove the other names",
                )
            )
        return found


def readers(place: str) -> list[int]:
    """Return the ids of processes that are reading the store now; empty where that is unknown."""
    try:
        inode = os.stat(place + "-shm").st_ino
        with open("/proc/locks", encoding="ascii") as locks:
            lines = [line.split() for line in locks]
    except OSError:
        return []
    found = set()
    for line in lines:
        # 7: POSIX ADVISORY READ 4711 08:01:131 124 124
        if len(line) != 8 or line[1] != "POSIX" or not line[6].isdigit():
            continue
        if int(line[5].rpartition(":")[2]) == inode and int(line[6]) in _READ_MARKS:
            found.add(int(line[4]))
    return sorted(found - {os.getpid()})


def _named(processes: list[int]) -> str:
    """Return the names of processes for the end of a sentence."""
    if not processes:
        return ""
    names = []
    for process in processes:
        try:
            with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
                names.append(f"{process} {file.read().strip()}")
        except OSError:
            names.append(str(process))
    return f" (process {', '.join(names)})"


def _modes(place: str) -> list[Finding]:
    """Look for files that others can read."""
    found = []
    for name in (place, place + "-wal", place + "-shm"):
        try:
            mode = stat.S_IMODE(os.stat(name).st_mode)
        except OSError:
            continue
        if mode & 0o077:
            found.append(
                Finding(
                    "problem",
                    "mode",
                    f"Others on this machine can open {name} (mode {mode:04o}).",
                    f"chmod 600 '{name}'",
                )
            )
    folder = os.path.dirname(place)
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    if mode & 0o022 and not mode & stat.S_ISVTX:
        found.append(
            Finding(
                "advice",
                "mode",
                f"Others on this machine can put files into {folder} (mode {mode:04o}).",
                f"chmod 700 '{folder}'",
            )
        )
    return found
