"""Warm searches: what one costs in a process that has searched before, as a library and over MCP.

Each part is measured in a process of its own: `python warm.py library|first|floors STORE ROUNDS`.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from figures import Figure, Target, figure
from serving import INITIALIZE, served
from stores import SMALL, store, vocabulary
from timing import environment, program

from memai import numeric, open_store, operations, queries
from memai.operations import embedding_policy, tokens
from memai.records import Where
from memai.store.columns import condition
from memai.store.words import match_expression

WORDS, PRODUCT = "one FTS5 query", "one matrix product"
# Where in the order of how common they are the words of a query come from.
KINDS = {
    "rare": ((15_000, 27_000),) * 2,
    "mixed": ((0, 300), (0, 300), (1000, 6000), (1000, 6000), (15_000, 27_000)),
    "all-common": ((0, 40),) * 5,
}
SCOPES: dict[str, dict[str, str]] = {
    "all memories": {},
    "a domain of 500": {"domain": SMALL},
    "a seventh of them": {"domain": "team3"},
}
WIDE = "mixed words in all memories"
LATE = "of it late interaction"
_TARGETS = (
    (WIDE, "median", {10_000: 5, 100_000: 20, 1_000_000: 120}),
    (WIDE, "p95 / p50", 2.5),
    ("rare words in all memories", "median", {10_000: 5, 100_000: 20, 1_000_000: 120}),
    ("all-common words in all memories", "median", {1_000_000: 120}),
    ("mixed words in a domain of 500", "median", {1_000_000: 10}),
    ("all-common words in a domain of 500", "median", {1_000_000: 25}),
)
TARGETS = (
    *(Target(face, *target) for face in ("library", "mcp") for target in _TARGETS),
    Target("library", "opening a store", "median", 1),
    Target("library", LATE, "median", 15),
    Target("library", f"{LATE}, first search", "median", 35),
    Target("library", "vectors as by brute force", "median", 100, least=True),
    Target("library", "words as by plain BM25", "median", 100, least=True),
)
_CHECKED = 20  # queries that are compared with brute force
_LEADING = 10  # hits of each


def query(chance: random.Random, kind: str) -> str:
    """Return a query of a kind that was probably not asked before."""
    return " ".join(_telling()[chance.randrange(*span)] for span in KINDS[kind])


@cache
def _telling() -> list[str]:
    """Return words that are looked for; once, for to go through all of them empties caches."""
    return [word for word in vocabulary() if word not in queries.STOP_WORDS]


def repeated(ask: Callable[[str, dict[str, str]], Any], rounds: int) -> dict[str, list[float]]:
    """Return milliseconds of searches of every kind in every scope, in shuffled order."""
    chance = random.Random(3)
    cases = [(kind, scope) for scope in SCOPES for kind in KINDS]
    found: dict[str, list[float]] = {_name(*case): [] for case in cases}
    for round in range(rounds + 3):
        chance.shuffle(cases)
        for kind, scope in cases:
            text = query(chance, kind)
            began = time.perf_counter()
            ask(text, SCOPES[scope])
            took = (time.perf_counter() - began) * 1000
            if round >= 3:  # warm by then
                found[_name(kind, scope)].append(took)
    return found


def _name(kind: str, scope: str) -> str:
    return f"{kind} words in {scope}"


def library(path: str, rounds: int) -> dict[str, list[float]]:
    """Search through the library."""
    openings = []
    opened = open_store(path)
    opened.settle()  # who opens a file first reads the log that writers left: 0.2 ms a megabyte
    opened.close()
    for _ in range(20):
        began = time.perf_counter()
        opened = open_store(path)
        opened.exists()
        openings.append((time.perf_counter() - began) * 1000)
        opened.close()
    opened = open_store(path)
    said: list[bool] = []
    late: list[float] = []

    with late_interaction() as spent:  # once: to begin and to end it takes 0.3 ms

        def ask(text: str, scope: dict[str, str]) -> None:
            spent.clear()
            found = operations.search(opened, text, domain=scope.get("domain"))
            if not scope:
                said.append(bool(found.notes))
                late.append(sum(spent))

        found = repeated(ask, rounds)
    opened.close()
    found[LATE] = late
    found["opening a store"] = openings
    found["answers that say a budget cut in"] = [100 * sum(said) / len(said)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found["peak memory of searching"] = [peak / (1e6 if sys.platform == "darwin" else 1e6 / 1024)]
    return found


def first(path: str, rounds: int) -> dict[str, list[float]]:
    """Search once, as a command does; `rounds` seeds the query."""
    opened = open_store(path)
    with late_interaction() as spent:
        operations.search(opened, query(random.Random(rounds), "mixed"))
    opened.close()
    return {f"{LATE}, first search": [sum(spent)]}


@contextmanager
def late_interaction() -> Iterator[list[float]]:
    """Give a list of the milliseconds that calls of late interaction take meanwhile."""
    spent: list[float] = []

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given)
            finally:
                spent.append((time.perf_counter() - began) * 1000)

        return run

    with ExitStack() as patches:
        for owner, name in (
            (tokens, "read"),
            (tokens.Reading, "scores"),
            (tokens.Reading, "heads"),
        ):
            patches.enter_context(mock.patch.object(owner, name, timed(getattr(owner, name))))
        yield spent


def floors(path: str, rounds: int) -> dict[str, list[float]]:
    """Time the least that a search could do, and compare both sides with brute force."""
    numeric.prepare()
    import numpy as np

    opened = open_store(path)
    model = embedding_policy.embedder(opened)
    assert not isinstance(model, embedding_policy.NoModel)
    found: dict[str, list[float]] = {WORDS: [], PRODUCT: []}
    owners, parts = [], []
    for id, vector in opened.vectors(Where()):
        owners.append(id)
        parts.append(np.frombuffer(vector, dtype="<f4"))
    matrix = np.stack(parts)
    del parts
    raw = opened.raw()  # type: ignore[attr-defined]
    current, values = condition(Where())
    chance = random.Random(4)
    same_vectors: list[bool] = []
    same_words: list[bool] = []
    for round in range(max(rounds, _CHECKED)):
        text = query(chance, "mixed")
        asked = queries.word_query(text)
        vector = model.embed(asked.text)
        began = time.perf_counter()
        plain = raw.execute(
            "SELECT m.id, -bm25(word_index, 1, 1, 1) AS score FROM word_index"
            " JOIN memories m ON m.id = word_index.rowid"
            f" WHERE word_index MATCH :match AND {current} ORDER BY score DESC, m.id LIMIT 100",
            {**values, "match": match_expression(asked)},
        ).fetchall()
        found[WORDS].append((time.perf_counter() - began) * 1000)
        if vector is None:
            continue
        began = time.perf_counter()
        cosines = matrix @ np.frombuffer(vector, dtype="<f4")
        found[PRODUCT].append((time.perf_counter() - began) * 1000)
        if round < _CHECKED:
            order = np.argsort(-cosines, kind="stable")[: 4 * _LEADING].tolist()
            nearest = list(dict.fromkeys(owners[place] for place in order))[:_LEADING]
            got = [one.id for one in opened.by_meaning(vector, Where(), _LEADING)]
            same_vectors.append(got == nearest)
            if not operations.search(opened, text).notes:  # no budget cut in
                ours = [one.id for one in opened.by_words(asked, Where(), 100)]
                same_words.append(ours[:_LEADING] == [row[0] for row in plain[:_LEADING]])
    opened.close()
    found["vectors as by brute force"] = [100 * sum(same_vectors) / len(same_vectors)]
    if same_words:
        found["words as by plain BM25"] = [100 * sum(same_words) / len(same_words)]
    return found


def over_mcp(path: str, rounds: int) -> dict[str, list[float]]:
    """Search through a server, timed by its client."""
    with (
        tempfile.TemporaryDirectory() as home,
        served([*program(), "serve-mcp", "--db", path], home) as wire,
    ):
        wire.ask("initialize", **INITIALIZE)

        def ask(text: str, scope: dict[str, str]) -> None:
            wire.ask("tools/call", name="search", arguments={"query": text, **scope})

        found = repeated(ask, rounds)
        status = Path(f"/proc/{wire.process.pid}/status")
        if status.exists():
            peak = status.read_text().partition("VmHWM:")[2].split()[0]
            found["peak memory of searching"] = [int(peak) * 1024 / 1e6]
    return found


def measured(folder: str, sizes: Sequence[int], rounds: int) -> Iterator[Figure]:
    """Yield what searches take in stores of these sizes."""
    for size in sizes:
        path, _ = store(folder, size)
        least = _alone("floors", path, rounds)
        medians = {name: median(least[name]) for name in (WORDS, PRODUCT)}
        for name, runs in least.items():
            yield figure("library", name, size, _unit(name), runs)
        cold = [_alone("first", path, seed) for seed in range(rounds // 2)]
        for name in cold[0]:
            runs = [run for found in cold for run in found[name]]
            yield figure("library", name, size, _unit(name), runs)
        for face, found in (
            ("library", _alone("library", path, rounds)),
            ("mcp", over_mcp(path, rounds)),
        ):
            for name, runs in found.items():
                against = medians if " words in all" in name else None
                yield figure(face, name, size, _unit(name), runs, against)


def _unit(name: str) -> str:
    if name.startswith("peak"):
        return "MB"
    return "%" if " as by " in name or name.startswith("answers") else "ms"


def _alone(part: str, path: str, rounds: int) -> dict[str, list[float]]:
    """Return what a part measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__), part, path, str(rounds)],
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    part = {"library": library, "first": first, "floors": floors}[sys.argv[1]]
    print(json.dumps(part(sys.argv[2], int(sys.argv[3]))))
