"""Fit the likelihood that a search has found an answer: `python tests/bench/closeness.py EVAL_DIR`.

Each question of the development sets is put to its store as it is and without its answers; where
the answer has a session, also within that session, for what can be said of few candidates. Prints
the weights for `memai/ranking/closeness.py` and what they are worth on questions left out.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
from evaluation import DEVELOPMENT, Collection, Question, collections, fill, opened
from measures import roc_auc
from numpy.typing import NDArray
from retrieval import store_path, undone

from memai import queries, when
from memai.operations import routes
from memai.operations.understanding import Asked
from memai.ranking import closeness
from memai.ranking.closeness import Evidence
from memai.records import Where
from memai.store import Store

Array = NDArray[np.float64]


class Case(NamedTuple):
    """What was known of the best hit of one search."""

    set: int
    question: int
    answered: bool
    evidence: Evidence


def cases(folder: str, stores: str) -> Iterator[tuple[Case, Case | None]]:
    """Yield each search of a whole store, and of the session of its answer."""
    number = 0
    for place, name in enumerate(DEVELOPMENT):
        for part in collections(folder, name):
            uids = fill(store_path(stores, name, part), part.items)
            by_id = {id: uid for uid, id in uids.items()}
            store = opened(store_path(stores, name, part))
            for question in part.questions:
                number += 1
                where = session_of(part, question)
                yield searched(store, question, where, place, number, answered=True)
                with undone(store):
                    for id in question.gold:
                        store.remove(by_id[id], when.now())
                    found = searched(store, question, where, place, number, answered=False)
                yield found
            store.close()
        sys.stderr.write(f"{name}\n")


def session_of(part: Collection, question: Question) -> Where | None:
    """Return the scope of a session that holds an answer, None if there is none."""
    sessions = [item.session for item in part.items if item.id in question.gold and item.session]
    return Where(session=sessions[0]) if sessions else None


def searched(
    store: Store,
    question: Question,
    where: Where | None,
    place: int,
    number: int,
    *,
    answered: bool,
) -> tuple[Case, Case | None]:
    """Return what is known of the best hit in the whole store and in a scope."""

    def case(scope: Where) -> Case:
        asked = Asked(queries.word_query(question.text), scope)
        return Case(place, number, answered, routes.ask(store, asked, 1).evidence)

    return case(Where()), case(where) if where else None


def fit(features: Array, answered: Array, ridge: float = 1.0) -> Array:
    """Return weights and bias of a logistic regression, by Newton's method."""
    padded = np.c_[features, np.ones(len(features))]
    weights = np.zeros(padded.shape[1])
    for _ in range(12):
        chance = 1 / (1 + np.exp(-padded @ weights))
        slope = padded.T @ (chance - answered) + ridge * weights
        curve = (padded * (chance * (1 - chance))[:, None]).T @ padded
        weights -= np.linalg.solve(curve + ridge * np.eye(len(weights)), slope)
    return weights


def left_out(features: Array, answered: Array, groups: NDArray[Any]) -> Array:
    """Return scores where each group was scored by weights fitted on the others."""
    scores = np.zeros(len(answered))
    for group in np.unique(groups):
        inside = groups == group
        weights = fit(features[~inside], answered[~inside])
        scores[inside] = features[inside] @ weights[:-1]
        scores[inside] += weights[-1]
    return scores


def report(title: str, found: list[Case], columns: slice) -> None:
    """Print the weights of some features and how they do."""
    raw = np.array([case.evidence for case in found], float)[:, columns]
    answered = np.array([case.answered for case in found], float)
    middle, spread = raw.mean(0), raw.std(0) + 1e-9
    features = (raw - middle) / spread
    weights = fit(features, answered)
    plain = weights[:-1] / spread
    bias = weights[-1] - float(plain @ middle)

    def auc(scores: Array, chosen: NDArray[Any]) -> float:
        yes = answered == 1
        return roc_auc(scores[chosen & yes].tolist(), scores[chosen & ~yes].tolist())

    every = np.ones(len(found), bool)
    sets = np.array([case.set for case in found])
    folds = np.array([case.question % 5 for case in found])
    own = features @ weights[:-1]
    print(f"\n{title}: {len(found)} searches")
    names = Evidence._fields[columns]
    print("weights", {n: round(float(w), 4) for n, w in zip(names, plain, strict=True)})
    print("bias", round(float(bias), 4))
    print(f"ROC AUC as fitted {auc(own, every):.4f}", end="")
    print(f", folds left out {auc(left_out(features, answered, folds), every):.4f}", end="")
    print(f", sets left out {auc(left_out(features, answered, sets), every):.4f}")
    close = own + weights[-1] >= 0
    shares = [close[answered == side].mean() for side in (1, 0)]
    print(f"close with an answer {shares[0]:.0%}, without {shares[1]:.0%}")


def main() -> None:
    """Read the command line and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="the folder of the evaluation sets")
    parser.add_argument("--stores", help="keep the stores in this folder, and use those in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = list(cases(options.folder, options.stores or temporary))
    whole = [one for one, _ in found if one.evidence.hits >= closeness.FEW]
    few = [one for _, one in found if one and 0 < one.evidence.hits < closeness.FEW]
    report("Many candidates", whole, slice(0, 7))
    report("Few candidates", few, slice(0, 1))


if __name__ == "__main__":
    main()
