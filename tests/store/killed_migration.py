"""Kill a migration at its first statement, its second, and so on: `killed_migration.py DB`.

A program of its own, because it forks. It prints how often it killed, which schemas it found
afterwards, and what was wrong with what it found.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import apsw
from durability.workload import opened, stale_vectors, use_small_models

from memai import operations
from memai.store import connection, schema


def main(db: str) -> None:
    """Do it all."""
    sys.path.insert(0, str(Path(__file__).parent))
    use_small_models()
    original = db + ".original"
    os.rename(db, original)
    before = [json.dumps(line) for line in _export(_laid(original, db))]
    steps = (*schema.STEPS, *_later())
    schema.STEPS, schema.VERSION = steps, len(steps)
    killed, found, wrong = 0, set(), []
    while True:
        _laid(original, db)
        if not _killed(db, killed + 1):
            break
        killed += 1
        if os.path.exists(db):
            found.add(_version(db))
        store = opened(db)
        after = [json.dumps(line) for line in operations.export(store)]
        faults = [f.message for f in store.check(deep=True)] + stale_vectors(store)
        if after != before:
            faults.append("the memories are not what they were")
        copies = [copy for copy in operations.backups(store).backups if copy.schema != len(steps)]
        if not copies or any(copy.state != "verified" for copy in copies):
            faults.append("there is no backup from before")
        wrong += [f"statement {killed}: {fault}" for fault in faults]
        store.close()
    sys.stdout.write(json.dumps({"killed": killed, "found": sorted(found), "wrong": wrong}))


def _later() -> tuple[str, ...]:
    import test_migrations  # type: ignore[import-not-found]

    steps: tuple[str, ...] = test_migrations.STEPS
    return steps


def _laid(original: str, db: str) -> str:
    """Lay the old store again."""
    for path in Path(db).parent.glob("memories*"):
        if str(path) != original:
            path.unlink()
    shutil.copy2(original, db)
    return db


def _export(db: str) -> list[object]:
    store = opened(db)
    lines: list[object] = list(operations.export(store))
    store.close()
    return lines


def _version(db: str) -> int:
    """Return the schema of a file as it was left."""
    left = apsw.Connection(db)
    version = left.pragma("user_version")
    left.close()
    return int(version)


def _killed(db: str, at: int) -> bool:
    """Open a store in a process that is killed at a statement; false if it came to its end."""
    process = os.fork()
    if process == 0:
        counted = 0
        connect = connection.connect

        def strike(*_: object) -> bool:
            nonlocal counted
            counted += 1
            if counted == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return True

        def watched(path: str, seconds: float) -> apsw.Connection:
            made = connect(path, seconds)
            made.exec_trace = strike
            return made

        connection.connect = watched
        opened(db).schema_version()
        os._exit(0)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    main(sys.argv[1])
