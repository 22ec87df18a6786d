"""The file and its folder: made private before SQLite opens it, refused where WAL is not safe."""

import os
import sys

from memai.errors import NetworkFilesystem, NotWritable, UsageError
from memai.settings import Settings

# Filesystems whose shared memory does not reach other hosts, or whose locks are advice only.
_NETWORK = frozenset(
    "nfs nfs4 cifs smb smb2 smb3 smbfs 9p afs afpfs ncpfs coda ceph lustre beegfs gpfs webdav davfs"
    " vboxsf prl_fs vmhgfs fuse.vmhgfs-fuse fuse.sshfs fuse.rclone fuse.glusterfs fuse.s3fs"
    " fuse.gcsfuse fuse.davfs fuse.ceph fuse.juicefs fuse.goofys macfuse osxfuse".split()
)
_SYNCED = (
    "dropbox", "onedrive", "google drive", "googledrive", "mobile documents", "cloudstorage",
    "nextcloud", "owncloud", "icloud", "pcloud", "megasync", "syncthing",
)  # fmt: skip


def make(settings: Settings) -> None:
    """Create folder (0700) and file (0600) where they are missing, whatever the umask.

    Raises NotWritable.
    """
    try:
        place = os.path.realpath(settings.path)  # a link to a store that is not there yet
        folder = os.path.dirname(place)
        make_folder(folder)
        create_private(place)
        sync(folder)  # or a power cut takes the name of the file away
    except OSError as error:
        raise NotWritable(path=settings.path, reason=error.strerror or str(error)) from None


def make_folder(path: str) -> None:
    """Create a folder and those above it that are missing, each for its owner only."""
    if os.path.isdir(path):
        return
    make_folder(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:  # another process was faster
        return
    os.chmod(path, 0o700)
    sync(os.path.dirname(path))


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


def sync(path: str) -> None:
    """Wait until a file or folder is on disk; never used on a store that may be open."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check(settings: Settings) -> None:
    """Refuse a path that cannot be a store.

    Raises UsageError for one that is no text, NotWritable for a folder, NetworkFilesystem unless
    that was allowed.
    """
    try:
        settings.path.encode()
    except UnicodeEncodeError:
        raise UsageError(reason="The path of the store is not valid UTF-8.") from None
    if os.path.isdir(settings.path):
        raise NotWritable(path=settings.path, reason="it is a folder; name a file")
    if settings.allow_network_fs:
        return
    kind = type_of(settings.path)
    if kind in _NETWORK:
        raise NetworkFilesystem(path=settings.path, kind=kind)


def check_names(path: str) -> None:
    """Refuse to write a file that has several names; raises NotWritable.

    Each name has a log of its own: what is written by one is not seen by the other, and the first
    to fold its log in destroys what the other acknowledged.
    """
    try:
        names = os.stat(path).st_nlink
    except OSError:
        return
    if names > 1:
        raise NotWritable(
            path=path,
            reason=f"it has {names} names (hard links), and writing by two of them destroys it; "
            "remove the other names",
        )


def is_network(path: str) -> bool:
    """Whether the file lies on a network filesystem."""
    return type_of(path) in _NETWORK


def is_synced(path: str) -> bool:
    """Whether a cloud service seems to carry the file about."""
    lowered = os.path.realpath(path).lower()
    return any(name in lowered for name in _SYNCED)


def type_of(path: str) -> str:
    """Return the type of the filesystem a path lies on; '' if unknown."""
    real = os.path.realpath(path)
    if sys.platform == "darwin":
        return _type_on_macos(real)
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            table = [line.split(" ")[1:3] for line in mounts]
    except OSError:
        return ""
    best = ("", "")
    for place, kind in table:
        # The table writes blanks as \040 and the like.
        point = place if "\\" not in place else _unescaped(place)
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):  # of mounts on one place, the last is seen
            best = (point, kind)
    return best[1]


def _unescaped(place: str) -> str:
    """Return a path of the mount table as it is."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        place = place.replace(code, character)
    return place


def _type_on_macos(path: str) -> str:
    """Return the type of the filesystem of a path, or of the nearest folder above it."""
    # Home folders and the system's own disk are local; ctypes is loaded for other places only.
    if not path.startswith(("/Volumes/", "/Network/", "/net/", "/home/")):
        return ""
    import ctypes

    while path != "/" and not os.path.exists(path):
        path = os.path.dirname(path)
    library = ctypes.CDLL(None)
    # struct statfs with 64-bit inodes (man 2 statfs): f_fstypename is 16 bytes at 72.
    statfs = getattr(library, "statfs$INODE64", None) or library.statfs
    buffer = ctypes.create_string_buffer(4096)
    if statfs(os.fsencode(path), buffer) != 0:
        return ""
    return buffer.raw[72:88].split(b"\0")[0].decode(errors="replace")
