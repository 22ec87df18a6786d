"""Durable writes a second: notes by one and several processes, against raw inserts of such rows.

One writer, in a process of its own: `python writes.py note|raw STORE SECONDS SEED`.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import apsw
from figures import Figure, Target, figure
from stores import memories
from timing import environment

from memai import open_store, operations
from memai.operations import embedding_policy
from memai.records import Caller
from memai.store import schema
from memai.store.driver import connect, use_journal

PROCESSES = (1, 4, 8)
RAW = "raw inserts"
TARGETS = (
    Target("writes", "notes on disk, 1 process", RAW, 0.9, least=True),
    Target("writes", "a note in memory", "median", 2.5),
)
_COPIED = ("memories", "passages", "vectors")  # tables a note writes rows to


def note(path: str, seconds: float, seed: int) -> list[float]:
    """Write notes for so long; return what each took, in milliseconds."""
    store = open_store(path, caller=Caller(agent="bench"))
    texts = (f"{memory.content} {seed}" for memory, _ in memories(100_000))
    took = []
    # What is loaded once does not count: after 60,000 characters numpy and tokenizers are, too.
    for text in islice(texts, 250):
        operations.note(store, text, domain="bench", tags=("durable",))
    ends = time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        operations.note(store, next(texts), domain="bench", tags=("durable",))
        took.append((time.perf_counter() - began) * 1000)
    store.close()
    return took


def raw(path: str, seconds: float, seed: int) -> list[float]:
    """Insert ready-made rows of notes for so long, one transaction each, with the same settings."""
    rows = _rows(seed)
    connection = connect(path, 30)
    inserts = {}
    for table in _COPIED:
        columns = len(rows[0][table])
        inserts[table] = f"INSERT INTO {table} VALUES({', '.join('?' * columns)})"
    count = "UPDATE meta SET value = value + 1 WHERE name = 'changes'"
    took: list[float] = []
    ends = time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        row = rows[len(took) % len(rows)]
        number = seed * 1_000_000 + len(took)
        memory = [number, f"{number:010d}", *row["memories"][2:]]
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(inserts["memories"], memory)
        connection.execute(inserts["passages"], [number, number, *row["passages"][2:]])
        connection.execute(inserts["vectors"], [number, *row["vectors"][1:]])
        connection.execute(count)
        connection.execute("COMMIT")
        took.append((time.perf_counter() - began) * 1000)
    connection.close()
    return took


def _rows(seed: int) -> list[dict[str, list[object]]]:
    """Return the rows of some notes, as memai has written them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"{folder}/rows.db", caller=Caller(agent="bench"))
        made = random.Random(seed).sample([memory for memory, _ in memories(2000)], 200)
        made = [memory._replace(tags=("durable",), domain="bench") for memory in made]
        with store.writing():
            embedded = embedding_policy.embed(embedding_policy.embedder(store), made)
            for memory, vectors in zip(made, embedded, strict=True):
                store.insert(memory, vectors)
        store.close()
        read = apsw.Connection(f"{folder}/rows.db")
        for (id,) in read.execute("SELECT memory_id FROM passages GROUP BY 1 HAVING count(*) = 1"):
            tables = {
                "memories": "SELECT * FROM memories WHERE id = ?",
                "passages": "SELECT * FROM passages WHERE memory_id = ?",
                "vectors": "SELECT v.* FROM vectors v JOIN passages p ON p.id = v.passage_id"
                " WHERE p.memory_id = ?",
            }
            found.append({name: list(*read.execute(sql, (id,))) for name, sql in tables.items()})
        read.close()
    return found


def prepared(kind: str, path: str) -> None:
    """Make the store that writers of a kind write to."""
    if kind == "note":
        store = open_store(path, caller=Caller(agent="bench"))
        operations.note(store, "The first.")
        store.close()
        return
    connection = apsw.Connection(path)
    use_journal(connection, "wal", 30)
    for step in schema.STEPS:
        connection.execute(step)
    connection.execute("INSERT INTO spaces VALUES(1, 'bench', '', 256, '')")
    connection.execute("INSERT INTO meta(name, value) VALUES('changes', '0')")
    connection.close()


def run(kind: str, folder: str, processes: int, seconds: float) -> tuple[float, list[float]]:
    """Return writes a second of all processes together, and what each write took."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = f"{place}/writes.db"
        prepared(kind, path)
        started = [
            subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), kind, path, str(seconds), str(seed)],
                env=environment(),
                stdout=subprocess.PIPE,
            )
            for seed in range(1, processes + 1)
        ]
        took = [json.loads(process.communicate()[0]) for process in started]
    return sum(map(len, took)) / seconds, [one for each in took for one in each]


def measured(folder: str, rounds: int, seconds: float = 3.0) -> Iterator[Figure]:
    """Yield rates of durable writes to a disk, and what one takes where waiting costs nothing."""
    for processes in PROCESSES:
        rates: dict[str, list[float]] = {"note": [], "raw": []}
        for round in range(rounds):
            # In turns, so that a machine's moods fall on both.
            for kind in ("note", "raw") if round % 2 else ("raw", "note"):
                rates[kind].append(run(kind, folder, processes, seconds)[0])
        several = f"{processes} process{'es' if processes > 1 else ''}"
        floor = figure("writes", f"{RAW} on disk, {several}", 0, "/s", rates["raw"])
        yield floor
        against = {RAW: floor.median}
        yield figure("writes", f"notes on disk, {several}", 0, "/s", rates["note"], against)
    memory = "/dev/shm"
    if os.path.isdir(memory):
        inserts = run("raw", memory, 1, seconds)[1]
        yield figure("writes", "raw inserts in memory", 0, "ms", inserts)
        against = {RAW: sorted(inserts)[len(inserts) // 2]}
        notes = run("note", memory, 1, seconds)[1]
        yield figure("writes", "a note in memory", 0, "ms", notes, against)


if __name__ == "__main__":
    writer = {"note": note, "raw": raw}[sys.argv[1]]
    print(json.dumps(writer(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))))
