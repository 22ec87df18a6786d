"""Kill `recover` at random moments: `killed_recover.py FOLDER ROUNDS SEED`.

A program of its own, because it forks. After each kill the store must be the old one or the one of
the backup; it prints how often it was which, and what was wrong.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from durability.workload import opened, stale_vectors, use_small_models

from memai import operations


def main(folder: str, rounds: int, seed: int) -> None:
    """Do it all."""
    use_small_models()
    dice = random.Random(seed)
    db = os.path.join(folder, "memories.db")
    os.environ["MEMAI_HOME"] = folder
    store = opened(db)
    uids = [operations.note(store, f"memory {n} " * dice.randrange(1, 60)).uid for n in range(60)]
    backup = operations.backup(store, os.path.join(folder, "the-backup.db")).path
    for uid in uids[:20]:
        operations.edit(store, uid, f"changed {uid} " * 30)
    for n in range(30):
        operations.note(store, f"later {n}")
    states = {"old": _export(db), "new": _export(backup)}
    store.close()
    lasted = _recover(db, backup, None)
    counted, wrong = {"old": 0, "new": 0}, []
    for number in range(rounds):
        _recover(db, backup, dice.uniform(0, 1.3 * lasted))
        now = _export(db)
        state = next((name for name, lines in states.items() if lines == now), None)
        if state is None:
            wrong.append(f"round {number}: neither the old store nor the new one")
        else:
            counted[state] += 1
        store = opened(db)
        wrong += [f"round {number}: {f.message}" for f in store.check(deep=True)]
        wrong += [f"round {number}: {fault}" for fault in stale_vectors(store)]
        if store.raw().pragma("journal_mode") != "wal":  # type: ignore[attr-defined]
            wrong.append(f"round {number}: the journal is another")
        # Back to the old one, for the next round; what it keeps first is not needed again.
        for kept in Path(folder, "backups").glob("memai-before-recover-*"):
            kept.unlink()
        if state == "new":
            for uid in uids[:20]:
                operations.edit(store, uid, f"changed {uid} " * 30)
            for n in range(30):
                operations.note(store, f"later {n}")
            states["old"] = _export(db)
        store.close()
    sys.stdout.write(json.dumps({**counted, "wrong": wrong}))


def _export(db: str) -> list[str]:
    store = opened(db)
    lines = [json.dumps(line) for line in operations.export(store)]
    store.close()
    return lines


def _recover(db: str, backup: str, seconds: float | None) -> float:
    """Recover in another process, which is killed after so many seconds; return how long it ran."""
    began = time.monotonic()
    process = os.fork()
    if process == 0:
        operations.recover(opened(db), backup)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return time.monotonic() - began


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
