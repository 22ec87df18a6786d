"""Measure search on the evaluation sets: `python tests/bench/retrieval.py EVAL_DIR`.

The real program over every set, memories stored with their sessions and times, beside two
baselines in the same run. Prints Markdown.
"""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from baselines import Baselines
from evaluation import DEVELOPMENT, LANGUAGES, Collection, Question, collections, fill, opened, read
from measures import interval, mean, ndcg, recall, reciprocal_rank, roc_auc

from memai import operations, when
from memai.store import Store

SYSTEMS = ("memai", "BM25", "reference")


class Result(NamedTuple):
    """How one question went: the ranking of each system, and the text of what was found."""

    question: Question
    rankings: dict[str, list[str]]


class Undo(Exception):
    """Ends a transaction whose changes are not to stay."""


@contextmanager
def undone(store: Store) -> Iterator[None]:
    """Let a block change a store, and take it all back at its end."""
    with suppress(Undo), store.writing():
        yield
        raise Undo


def measure(
    name: str, found: list[Collection], stores: str, most: int, systems: tuple[str, ...]
) -> list[Result]:
    """Put the questions of a set to every system."""
    results = []
    for part, asked in chosen(found, most):
        uids = fill(store_path(stores, name, part), part.items)
        store = opened(store_path(stores, name, part))
        baselines = Baselines([item.text for item in part.items]) if len(systems) > 1 else None
        ids = [item.id for item in part.items]
        for question in asked:
            hits = operations.search(store, question.text, limit=10, max_bytes=10**9).hits
            rankings = {"memai": [uids[hit.uid] for hit in hits]}
            if baselines is not None:
                rankings["BM25"] = [ids[n] for n in baselines.bm25(question.text, 10)]
                rankings["reference"] = [ids[n] for n in baselines.reference(question.text, 10)]
            results.append(Result(question, rankings))
        store.close()
    return results


def chosen(found: list[Collection], most: int) -> list[tuple[Collection, list[Question]]]:
    """Return each part of a set with those of its questions that are put, `most` in all."""
    every = [(n, question) for n, part in enumerate(found) for question in part.questions]
    if most and len(every) > most:
        every = random.Random(1).sample(every, most)
    return [
        (part, [question for place, question in every if place == n])
        for n, part in enumerate(found)
    ]


def store_path(stores: str, name: str, part: Collection) -> str:
    """Return where the store of a part of a set is."""
    return os.path.join(stores, f"{name} {part.name}".replace("/", "-") + ".db")


def close_scores(
    name: str, found: list[Collection], stores: str, most: int
) -> tuple[list[tuple[float, bool]], list[tuple[float, bool]]]:
    """Return (best score, close) of each question, with its answers in the store and without."""
    present, absent = [], []
    for part, asked in chosen(found, most):
        uids = fill(store_path(stores, name, part), part.items)
        by_id = {id: uid for uid, id in uids.items()}
        store = opened(store_path(stores, name, part))
        for question in asked:
            present.append(best(store, question.text))
            with undone(store):
                for id in question.gold:
                    store.remove(by_id[id], when.now())
                absent.append(best(store, question.text))
        store.close()
    return present, absent


def best(store: Store, text: str) -> tuple[float, bool]:
    """Return the score of the best hit and whether it is called close."""
    answer = operations.search(store, text, limit=1)
    return (answer.hits[0].score if answer.hits else -1.0), answer.close


def newer_first(folder: str, stores: str) -> tuple[int, int]:
    """Return how often the newer version of a fact comes first, and of how many.

    Questions that ask for the earlier state are left out.
    """
    (part,) = collections(folder, "longmemeval")
    uids = fill(store_path(stores, "longmemeval", part), part.items)
    store = opened(store_path(stores, "longmemeval", part))
    first = count = 0
    for row in read(os.path.join(folder, "longmemeval", "knowledge-update-pairs.jsonl")):
        if row["asks_earlier"]:
            continue
        hits = operations.search(store, row["question"], limit=50, max_bytes=10**9).hits
        ranked = [uids[hit.uid] for hit in hits]
        older, newer = (
            min((ranked.index(id) for id in row[age]["ids"] if id in ranked), default=99)
            for age in ("older", "newer")
        )
        count += 1
        first += newer < older
    store.close()
    return first, count


def table(sets: dict[str, list[Result]]) -> dict[str, list[list[float]]]:
    """Print the measures of every set and system; return nDCG of each question by system."""
    print("| set | questions | " + " | ".join(f"{s} nDCG@10 / R@10 / MRR" for s in SYSTEMS) + " |")
    print("|" + "---|" * (2 + len(SYSTEMS)))
    scores: dict[str, list[list[float]]] = {system: [] for system in SYSTEMS}
    macro: dict[str, list[tuple[float, ...]]] = {system: [] for system in SYSTEMS}
    for name, results in sets.items():
        cells = []
        for system in SYSTEMS:
            pairs = [(result.rankings[system], result.question.gold) for result in results]
            scores[system].append([ndcg(*pair) for pair in pairs])
            row = tuple(
                100 * mean([f(*pair) for pair in pairs]) for f in (ndcg, recall, reciprocal_rank)
            )
            macro[system].append(row)
            cells.append(" / ".join(f"{value:.1f}" for value in row))
        print(f"| {name} | {len(results)} | " + " | ".join(cells) + " |", flush=True)
    cells = [
        " / ".join(f"**{mean(column):.2f}**" for column in zip(*macro[system], strict=True))
        for system in SYSTEMS
    ]
    print("| **macro** | | " + " | ".join(cells) + " |")
    return scores


def leads(names: list[str], scores: dict[str, list[list[float]]]) -> None:
    """Print by how much memai leads, with bootstrap intervals."""
    for system in SYSTEMS[1:]:
        differences = [
            [100 * (a - b) for a, b in zip(ours, theirs, strict=True)]
            for ours, theirs in zip(scores["memai"], scores[system], strict=True)
        ]
        low, high = interval(differences)
        lead = mean([mean(values) for values in differences])
        print(f"\nLead over {system}: **{lead:+.2f}** nDCG@10 (95 %: {low:+.2f} to {high:+.2f}); ")
        print(
            "by set: "
            + ", ".join(f"{n} {mean(d):+.1f}" for n, d in zip(names, differences, strict=True))
        )


def failures(sets: dict[str, list[Result]], count: int, stores: str, folder: str) -> None:
    """Print the questions that lose most against BM25, and why their hits are where they are."""
    worst = sorted(
        (
            (
                ndcg(r.rankings["memai"], r.question.gold)
                - ndcg(r.rankings["BM25"], r.question.gold)
            ),
            name,
            n,
        )
        for name, results in sets.items()
        for n, r in enumerate(results)
    )[:count]
    for lost, name, n in worst:
        question = sets[name][n].question
        print(f"\n### {name}: {question.text}  ({100 * lost:+.0f})")
        for part in collections(folder, name):
            if question in part.questions:
                uids = fill(store_path(stores, name, part), part.items)
                store = opened(store_path(stores, name, part))
                hits = operations.search(
                    store, question.text, limit=100, explain=True, max_bytes=10**9
                ).hits
                for place, hit in enumerate(hits, 1):
                    if place <= 3 or uids[hit.uid] in question.gold:
                        mark = "x" if uids[hit.uid] in question.gold else " "
                        said = ", ".join(f"{k} {v:g}" for k, v in hit.scores.items())
                        print(f"- [{mark}] {place}. {hit.snippet[:150]!r}\n  {said}")
                store.close()


def main() -> None:
    """Read the command line and run what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="the folder of the evaluation sets")
    parser.add_argument("--max", type=int, default=0, help="at most so many questions a set")
    parser.add_argument("--sets", help="only these, with commas")
    parser.add_argument("--stores", help="keep the stores in this folder, and use those in it")
    parser.add_argument("--explain-failures", type=int, default=0, metavar="N")
    parser.add_argument("--only", choices=("ranking", "languages", "close", "newer"))
    options = parser.parse_args()
    names = options.sets.split(",") if options.sets else list(DEVELOPMENT)
    with tempfile.TemporaryDirectory() as temporary:
        stores = options.stores or temporary
        if options.only in (None, "ranking"):
            sets = {
                name: measure(name, collections(options.folder, name), stores, options.max, SYSTEMS)
                for name in names
            }
            leads(names, table(sets))
            failures(sets, options.explain_failures, stores, options.folder)
        if options.only in (None, "languages") and not options.sets:
            print("\n| language | recall@10 |\n|---|---|")
            for name in LANGUAGES:
                found = collections(options.folder, name)
                results = measure(name, found, stores, options.max, SYSTEMS[:1])
                value = mean([recall(r.rankings["memai"], r.question.gold) for r in results])
                print(f"| {name} | {value:.3f} |", flush=True)
        if options.only in (None, "close"):
            report_close(options.folder, stores, names, options.max)
        if options.only in (None, "newer"):
            first, count = newer_first(options.folder, stores)
            print(f"\nNewer of two versions first: {first} of {count} ({first / count:.0%}).")


def report_close(folder: str, stores: str, names: list[str], most: int) -> None:
    """Print how well the best score tells questions with an answer from those without."""
    present, absent = [], []
    print("\n| set | ROC AUC of the best score | close with / without |\n|---|---|---|")
    for name in names:
        with_, without = close_scores(name, collections(folder, name), stores, most)
        present += with_
        absent += without
        report_auc(name, with_, without)
    report_auc("**pooled**", present, absent)


def report_auc(
    name: str, present: list[tuple[float, bool]], absent: list[tuple[float, bool]]
) -> None:
    """Print one line of that table."""
    auc = roc_auc([score for score, _ in present], [score for score, _ in absent])
    shares = [mean([float(close) for _, close in side]) for side in (present, absent)]
    print(f"| {name} | {auc:.3f} | {shares[0]:.0%} / {shares[1]:.0%} |", flush=True)


if __name__ == "__main__":
    main()
