"""The conformance suite runs on every engine and knows only the protocol."""

from collections.abc import Callable
from functools import partial

import pytest

from memai.store import Store


@pytest.fixture(params=["sqlite", "sqlite-without-its-extension"])
def engine(request: pytest.FixtureRequest, opener: Callable[..., Store]) -> Callable[..., Store]:
    """Open stores of one engine after the other."""
    return partial(opener, engine=request.param)


@pytest.fixture
def store(engine: Callable[..., Store]) -> Store:
    """Open a fresh store of each engine."""
    return engine()
