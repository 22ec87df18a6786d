"""Copies of a store: written under another name, verified, and only then given their own.

What has the name of a backup is one. Beside each lies a manifest, `<name>.json`, with its SHA-256.
"""

import json
import os
import re
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, Literal

import apsw

from memai import when
from memai.errors import Damaged
from memai.records import Backup
from memai.store import filesystem
from memai.store.driver import Translating, connect, rows, value

State = Literal["verified", "unverified", "altered", "damaged"]

_COUNTED = ("memories", "passages", "vectors", "edits", "relations", "tombstones")


# What is not finished has the id of its process in its name. Processes of other containers cannot
# be seen, so only what is old is taken for abandoned.
_PARTIAL = re.compile(r"\.(\d+)-[0-9a-f]{8}\.partial")
_ABANDONED = 3600  # seconds


def partial_name(target: str) -> str:
    """Return a name beside a file for what is not finished yet."""
    return f"{target}.{os.getpid()}-{os.urandom(4).hex()}.partial"


def stamp() -> str:
    """Return the time with microseconds for the name of a file."""
    now = time.time_ns() // 1000
    seconds, micros = divmod(now, 1_000_000)
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds)) + f".{micros:06d}Z"


def write(source: apsw.Connection, target: str, verify: Callable[[str], None]) -> None:
    """Write a copy of an open store to a new file.

    A snapshot that blocks nobody and holds no deleted bytes (VACUUM INTO). `verify` gets the path
    of the copy and raises if it is not good. Nothing is overwritten. Raises the driver's errors,
    OSError, Damaged.
    """
    tidy(os.path.dirname(target))
    partial = partial_name(target)
    try:
        filesystem.create_private(partial)
        source.execute("VACUUM INTO ?", (partial,))
        verify(partial)
        filesystem.sync(partial)
        publish(partial, target, describe(partial))
    finally:
        discard(partial)


def write_pages(source: apsw.Connection, target: str) -> None:
    """Copy a store page by page, damage and all; its manifest says that nobody verified it."""
    partial = partial_name(target)
    try:
        filesystem.create_private(partial)
        with (
            closing(apsw.Connection(partial)) as copy,
            copy.backup("main", source, "main") as pages,
        ):
            while not pages.done:
                pages.step(-1)
        filesystem.sync(partial)
        publish(partial, target, {**_describe_file(partial), "verified": False})
    finally:
        discard(partial)


def write_bytes(source: str, target: str) -> None:
    """Copy a file that is no database any more, with its log, and say so in the manifest."""
    from shutil import copyfile

    for end in ("", "-wal"):
        if os.path.exists(source + end):
            filesystem.create_private(target + end)
            copyfile(source + end, target + end)
            filesystem.sync(target + end)
    write_manifest(target, {**_describe_file(target), "verified": False})


def publish(partial: str, target: str, manifest: dict[str, Any]) -> None:
    """Give a finished copy its name, with its manifest in place before it."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} is there already")
    write_manifest(target, manifest)
    try:
        os.link(partial, target)  # fails where the name is taken: nothing is overwritten
    except FileExistsError:
        raise
    except OSError:  # a filesystem without links
        filesystem.create_private(target)
        os.replace(partial, target)
    filesystem.sync(os.path.dirname(target))


def describe(path: str) -> dict[str, Any]:
    """Return what the manifest says of a file that nobody writes."""
    with closing(connect(path, 0)) as copy:
        version = value(copy, "PRAGMA user_version")
        counted = {name: value(copy, f"SELECT count(*) FROM {name}") for name in _COUNTED}
        meta = dict(rows(copy, "SELECT name, value FROM meta"))
        space = rows(
            copy,
            "SELECT model, sha256, dim, recipe FROM spaces WHERE id = ?",
            (meta.get("space"),),
        )
    names = ("model", "sha256", "dim", "recipe")
    return {
        **_describe_file(path),
        "schema": version,
        "rows": counted,
        "space": dict(zip(names, space[0], strict=True)) if space else None,
        "store": meta.get("store"),
        "verified": True,
    }


def _describe_file(path: str) -> dict[str, Any]:
    """Return what can be said of any file."""
    now = when.now()
    return {
        "created_at": now,
        "verified_at": now,
        "sha256": sha256(path),
        "bytes": os.stat(path).st_size,
        "sqlite": apsw.sqlite_lib_version(),
    }


def known(path: str) -> Backup:
    """Return what the manifest says of a copy, and whether the file can still be that."""
    size = os.stat(path).st_size
    manifest = read_manifest(path)
    state: State = "verified"
    reason: str | None = None
    if not manifest:
        state, reason = "unverified", "it has no manifest"
    elif not manifest.get("verified"):
        state, reason = "unverified", "it is a copy of a damaged store"
    elif manifest.get("bytes") != size:
        state, reason = "altered", "its size is not that of its manifest"
    elif os.path.exists(path + "-wal") and os.stat(path + "-wal").st_size:
        state, reason = "altered", "it was opened as a store and written to"
    rows = manifest.get("rows")
    modified = when.from_micros(os.stat(path).st_mtime_ns // 1000)
    return Backup(
        path=path,
        created_at=str(manifest.get("created_at") or modified),
        verified_at=manifest.get("verified_at") if state == "verified" else None,
        bytes=size,
        memories=rows.get("memories") if isinstance(rows, dict) else None,
        schema=manifest.get("schema"),
        store=manifest.get("store"),
        sha256=manifest.get("sha256"),
        state=state,
        reason=reason,
    )


def read_manifest(path: str) -> dict[str, Any]:
    """Return the manifest of a copy, empty if there is none that can be read."""
    try:
        with open(path + ".json", encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_manifest(path: str, manifest: dict[str, Any]) -> None:
    """Write the manifest of a copy, whole or not at all."""
    aside = partial_name(path) + ".json"
    try:
        filesystem.create_private(aside)
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=2, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path + ".json")
    finally:
        discard(aside)


def plain(source: apsw.Connection, target: str) -> None:
    """Copy a store of any schema, verified by SQLite alone; raises Damaged."""

    def verify(path: str) -> None:
        with closing(connect(path, 0)) as copy:
            found = value(copy, "PRAGMA integrity_check(1)")
            if found != "ok":
                raise Damaged(path=path, reason=found)
            if rows(copy, "PRAGMA foreign_key_check"):
                raise Damaged(path=path, reason="rows refer to rows that are gone")

    with Translating(target, 0):
        write(source, target, verify)


def tidy(folder: str) -> None:
    """Remove what copies that were killed have left in a folder."""
    with suppress(OSError):
        for name in os.listdir(folder):
            found = _PARTIAL.search(name)
            path = os.path.join(folder, name)
            if (
                found
                and not _runs(int(found[1]))
                and time.time() - os.stat(path).st_mtime > _ABANDONED
            ):
                os.unlink(path)


def _runs(process: int) -> bool:
    """Whether there is a process with this id, as far as can be seen."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def sha256(path: str) -> str:
    """Return the SHA-256 of a copy (never of a live store, whose locks that would drop)."""
    from hashlib import file_digest

    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def discard(path: str) -> None:
    """Remove a file that was not finished, with what SQLite may have laid beside it."""
    for name in (path, path + "-journal", path + "-wal", path + "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(name)
