"""The quality of search on a small set of its own: what a change must not lower unnoticed.

The figures come from `tests/smoke.py` and say little beyond it; `tests/bench/retrieval.py` measures
on public sets.
"""

from collections.abc import Callable
from math import log2
from statistics import mean

import pytest
from smoke import MEMORIES, QUESTIONS

from memai import embedding, open_store, operations, ranking
from memai.operations import embedding_policy

# nDCG@10 of what each question should find. The program reaches 0.905.
LEAST = 0.895


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], float]:
    """Return what measures the search of the small set, as the program is then."""
    store = open_store(str(tmp_path_factory.mktemp("quality") / "smoke.db"))
    names = {operations.note(store, text).uid: name for name, text in MEMORIES.items()}

    def measured() -> float:
        gains = []
        for question, wanted in QUESTIONS.items():
            found = [names[hit.uid] for hit in operations.search(store, question).hits]
            gains.append(1 / log2(found.index(wanted) + 2) if wanted in found else 0.0)
        return mean(gains)

    return measured


def test_questions_find_their_answers(asked: Callable[[], float]) -> None:
    """Words, meaning, symbols and misspellings lead to what answers them."""
    assert asked() >= LEAST


@pytest.mark.parametrize("route", ["late", "meaning", "words"])
def test_a_search_by_one_route_is_noticed(
    asked: Callable[[], float], route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measure is fine enough: where one route alone decides, it is below what is allowed."""
    weights = {name: float(name == route) + 1e-9 for name in ranking.WEIGHTS}
    monkeypatch.setattr(ranking, "WEIGHTS", weights)
    assert asked() < LEAST


def test_a_search_by_words_alone_is_noticed(
    asked: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the model it is far below."""
    gone = embedding.NoModel("gone", "it is gone")
    monkeypatch.setattr(embedding_policy, "embedder", lambda _store: gone)
    assert asked() < LEAST - 0.2
