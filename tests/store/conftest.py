"""The conformance suite runs on every engine and knows only the protocol."""

from collections.abc import Callable
from functools import partial

import pytest

from memai.store import Store, nearest, warm


@pytest.fixture(
    params=[
        "sqlite",
        "sqlite-without-its-extension",
        "sqlite in a long-lived process",
        "sqlite-without-its-extension in a long-lived process",
    ]
)
def engine(
    request: pytest.FixtureRequest, opener: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Store]:
    """Open stores of one engine after the other, cold and warm."""
    name, _, warmed = request.param.partition(" ")
    if warmed:
        monkeypatch.setattr(nearest, "_COLD", 0)
        monkeypatch.setattr(warm, "_LEAST", 0)
    return partial(opener, engine=name)


@pytest.fixture
def store(engine: Callable[..., Store]) -> Store:
    """Open a fresh store of each engine."""
    return engine()
