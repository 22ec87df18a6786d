"""Fit the likelihood that a search has found an answer: `python tests/bench/closeness.py EVAL_DIR`.

Each question of the development sets is put to its store as it is and without its answers, each
time with the model and by words alone; where the answer has a session, also within that session,
for what can be said of few candidates. Prints the weights for `memai/ranking/closeness.py` and what
they are worth on questions left out.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
from evaluation import DEVELOPMENT, Collection, Question, collections, fill, opened
from measures import roc_auc
from numpy.typing import NDArray
from retrieval import store_path, undone

from memai import queries, when
from memai.embedding import NoModel
from memai.operations import routes
from memai.operations.understanding import Asked
from memai.ranking.closeness import FEW, Evidence, terms
from memai.records import Where
from memai.store import Store

Array = NDArray[np.float64]


class Case(NamedTuple):
    """What was known of the best hit of one search; `scoped` is one within a session."""

    set: int
    question: int
    answered: bool
    scoped: bool
    evidence: Evidence


def cases(folder: str, stores: str) -> Iterator[Case]:
    """Yield each search of a whole store, by words alone, and of the session of its answer."""
    number = 0
    for place, name in enumerate(DEVELOPMENT):
        for part in collections(folder, name):
            uids = fill(store_path(stores, name, part), part.items)
            by_id = {id: uid for uid, id in uids.items()}
            store = opened(store_path(stores, name, part))
            for question in part.questions:
                number += 1
                scope = session_of(part, question)
                for scoped, found in searched(store, question, scope):
                    yield Case(place, number, True, scoped, found)
                with undone(store):
                    for id in question.gold:
                        store.remove(by_id[id], when.now())
                    without = searched(store, question, scope)
                for scoped, found in without:
                    yield Case(place, number, False, scoped, found)
            store.close()
        sys.stderr.write(f"{name}\n")


def session_of(part: Collection, question: Question) -> Where | None:
    """Return the scope of a session that holds an answer, None if there is none."""
    sessions = [item.session for item in part.items if item.id in question.gold and item.session]
    return Where(session=sessions[0]) if sessions else None


def searched(store: Store, question: Question, scope: Where | None) -> list[tuple[bool, Evidence]]:
    """Return what is known of the best hit in the whole store, by words alone, and in a scope."""

    def known(where: Where) -> tuple[bool, Evidence]:
        return where == scope, routes.ask(
            store, Asked(queries.word_query(question.text), where), 1
        ).evidence

    with mock.patch.object(routes, "_model", return_value=NoModel("", "words alone")):
        alone = known(Where())
    found = [known(Where()), alone]
    return [*found, known(scope)] if scope else found


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


def report(title: str, found: list[Case]) -> None:
    """Print the weights of the features of some searches and how they do."""
    weighed, _ = terms(found[0].evidence)
    raw = np.array([[term.value(case.evidence) for term in weighed] for case in found])
    answered = np.array([case.answered for case in found], float)
    middle, spread = raw.mean(0), raw.std(0) + 1e-9
    scaled = (raw - middle) / spread
    weights = fit(scaled, answered)
    plain = weights[:-1] / spread
    bias = weights[-1] - float(plain @ middle)

    def auc(scores: Array) -> float:
        yes = answered == 1
        return roc_auc(scores[yes].tolist(), scores[~yes].tolist())

    sets = np.array([case.set for case in found])
    folds = np.array([case.question % 5 for case in found])
    own = scaled @ weights[:-1]
    print(f"\n{title}: {len(found)} searches")
    for term, weight in zip(weighed, plain.tolist(), strict=True):
        print(f"    {tuple(term._replace(weight=float(f'{weight:.3g}')))},")
    print(f"bias {bias:.3g}")
    print(f"ROC AUC as fitted {auc(own):.4f}", end="")
    print(f", folds left out {auc(left_out(scaled, answered, folds)):.4f}", end="")
    print(f", sets left out {auc(left_out(scaled, answered, sets)):.4f}")
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
    whole = [one for one in found if one.evidence.hits >= FEW and not one.scoped]
    report("Read by a model", [one for one in whole if one.evidence.read])
    report("Words alone", [one for one in whole if not one.evidence.read])
    report("Few candidates", [one for one in found if one.scoped and 0 < one.evidence.hits < FEW])


if __name__ == "__main__":
    main()
