"""Fill a small disk to the brim: `full_disk.py FOLDER`, on a tmpfs of 3 MiB that is its own.

It prints how much was acknowledged, the exit codes of what was refused, and what was wrong.
"""

import json
import os
import subprocess
import sys

from durability.workload import EVERYTHING, fingerprint, opened, use_small_models

from memai import operations
from memai.errors import MemaiError


def main(folder: str) -> None:
    """Do it all."""
    use_small_models()
    os.environ["MEMAI_HOME"] = folder
    db = os.path.join(folder, "memories.db")
    store = opened(db)
    kept: dict[str, str] = {}
    refused: set[int] = set()
    number = 0
    for size in (20, 1):  # large ones, then small ones into what is left
        failures = 0
        while failures < 3:
            content = f"memory {number} fills the disk " * size
            number += 1
            try:
                uid = operations.note(store, content).uid
            except MemaiError as error:
                failures += 1
                refused.add(error.exit_code)
            else:
                kept[uid] = fingerprint(content)
    wrong = _compare(db, kept)
    some = next(iter(kept))
    for act in (
        lambda: operations.edit(store, some, "another text " * 400),
        lambda: operations.backup(store),
    ):
        try:
            act()
            wrong.append("there was space left")
        except MemaiError as error:
            refused.add(error.exit_code)
    wrong += _compare(db, kept)
    copies = os.path.join(folder, "backups")
    left = os.listdir(copies) if os.path.exists(copies) else []
    wrong += [f"{name} was left behind" for name in left]
    subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
    kept[operations.note(store, "there is space again").uid] = fingerprint("there is space again")
    operations.backup(store)
    store.close()
    wrong += _compare(db, kept)
    sys.stdout.write(
        json.dumps({"acknowledged": len(kept), "refused": sorted(refused), "wrong": wrong})
    )


def _compare(db: str, kept: dict[str, str]) -> list[str]:
    """Return what a fresh look at the store finds wrong."""
    store = opened(db)
    have = {m.uid: fingerprint(m.content) for m, _, _ in store.export(EVERYTHING)}
    wrong = [f.message for f in store.check(deep=True)]
    if have != kept:
        wrong.append(f"{len(kept.keys() - have.keys())} lost, {len(have.keys() - kept.keys())} new")
    store.close()
    return wrong


if __name__ == "__main__":
    main(sys.argv[1])
