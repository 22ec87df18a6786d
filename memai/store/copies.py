"""Copies of a store: written under another name, verified, and only then given their own.

What has the name of a backup is one. Beside each lies a manifest, `<name>.json`, with its SHA-256.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import apsw

from memai.errors import Damaged
from memai.store import filesystem
from memai.store.driver import Translating, connect, rows, value

_COUNTED = ("memories", "passages", "vectors", "edits", "relations", "tombstones")


def stamp() -> str:
    """Return the time with microseconds for the name of a file."""
    now = time.time_ns() // 1000
    seconds, micros = divmod(now, 1_000_000)
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds)) + f".{micros:06d}Z"


def write(
    source: apsw.Connection, target: str, verify: Callable[[str], None], **more: Any
) -> dict[str, Any]:
    """Write a copy of an open store to a new file and return its manifest.

    A snapshot that blocks nobody and holds no deleted bytes (VACUUM INTO). `verify` gets the path
    of the copy and raises if it is not good. Nothing is overwritten. Raises the driver's errors,
    OSError, Damaged.
    """
    partial = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.partial"
    try:
        filesystem.create_private(partial)
        source.execute("VACUUM INTO ?", (partial,))
        verify(partial)
        manifest = {**describe(partial), **more}
        filesystem.sync(partial)
        publish(partial, target, manifest)
    finally:
        discard(partial)
    return manifest


def publish(partial: str, target: str, manifest: dict[str, Any]) -> None:
    """Give a finished copy its name, with its manifest in place before it."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} is there already")
    aside = partial + ".json"
    try:
        filesystem.create_private(aside)
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=2, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target + ".json")
    finally:
        discard(aside)
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
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "sha256": sha256(path),
        "bytes": os.stat(path).st_size,
        "schema": version,
        "rows": counted,
        "space": dict(zip(names, space[0], strict=True)) if space else None,
        "store": meta.get("store"),
        "sqlite": apsw.sqlite_lib_version(),
        "verified": True,
    }


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
