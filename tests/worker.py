"""A process that works on a store: `worker.py DB NAME SECONDS [search]`.

It says "ready", waits for a line, works until the seconds are over (0: once), and prints the uid of
each memory as soon as it is acknowledged, or the number of hits of each search.
"""

import sys
import time

from memai import open_store, operations
from memai.records import Caller


def main(db: str, name: str, seconds: str, what: str = "write") -> None:
    """Do one thing again and again."""
    store = open_store(db, caller=Caller(agent=name))
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + float(seconds)
    number = 0
    while True:
        if what == "search":
            print(len(operations.search(store, "the walrus").hits), flush=True)
        else:
            text = f"Memory {number} of {name}: the walrus polishes its tusks."
            print(operations.note(store, text, tags=(name,)).uid, flush=True)
        number += 1
        if time.monotonic() >= until:
            break
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
