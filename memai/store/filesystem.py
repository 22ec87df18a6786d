"""The file and its folder: made private before SQLite opens it, refused where WAL is not safe."""

import os
import sys

from memai.errors import NetworkFilesystem, NotWritable
from memai.settings import Settings

# Filesystems whose shared memory does not reach other hosts, or whose locks are advice only.
_NETWORK = frozenset(
    "nfs nfs4 cifs smb smb2 smb3 smbfs 9p afs ncpfs fuse.sshfs fuse.rclone fuse.glusterfs "
    "fuse.s3fs ceph lustre beegfs webdav davfs".split()
)
_SYNCED = ("dropbox", "onedrive", "google drive", "mobile documents", "nextcloud", "icloud")


def make(settings: Settings) -> None:
    """Create folder (0700) and file (0600) where they are missing, whatever the umask.

    Raises NotWritable.
    """
    folder = os.path.dirname(settings.path)
    try:
        made = not os.path.isdir(folder)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if made:
            os.chmod(folder, 0o700)
        create_private(settings.path)
    except OSError as error:
        raise NotWritable(path=settings.path, reason=error.strerror or str(error)) from None


def create_private(path: str) -> None:
    """Create an empty file that only its owner can read; one that is there is left alone.

    SQLite gives its -wal and -shm files the mode of the database.
    """
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


def check(settings: Settings) -> None:
    """Refuse a store on a network filesystem unless that was allowed; raises NetworkFilesystem."""
    if os.path.isdir(settings.path):
        raise NotWritable(path=settings.path, reason="it is a folder; name a file")
    kind = type_of(settings.path)
    if kind in _NETWORK and not settings.allow_network_fs:
        raise NetworkFilesystem(path=settings.path, kind=kind)


def is_network(path: str) -> bool:
    """Whether the file lies on a network filesystem."""
    return type_of(path) in _NETWORK


def is_synced(path: str) -> bool:
    """Whether a cloud service seems to carry the file about."""
    lowered = path.lower()
    return any(name in lowered for name in _SYNCED)


def type_of(path: str) -> str:
    """Return the type of the filesystem a path lies on, from the mount table; '' if unknown."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            table = [line.split(" ")[1:3] for line in mounts]
    except OSError:
        return ""
    real = os.path.realpath(path)
    best = ("", "")
    for place, kind in table:
        point = place.replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]
