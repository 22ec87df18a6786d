"""Work that two threads share comes out as one would do it."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memai.store import sharing
from memai.store.sharing import Shared


@given(st.lists(st.integers(), max_size=50), st.booleans())
def test_results_come_in_the_order_of_the_pieces(pieces, offered):
    """Whoever does which piece, each result stands where its piece stood."""
    work = Shared(lambda piece: (piece,), pieces)
    if offered:
        sharing.offer(work)
    assert work.results() == [(piece,) for piece in pieces]


def test_the_second_thread_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is offered is done before its results are asked for, by another thread."""
    monkeypatch.setattr(sharing, "cores", lambda: 2)
    done = threading.Semaphore(0)
    threads = []

    def work(piece: int) -> int:
        threads.append(threading.get_ident())
        done.release()
        return 2 * piece

    shared = Shared(work, [1, 2, 3])
    sharing.offer(shared)
    for _ in range(3):
        assert done.acquire(timeout=10)
    assert threading.get_ident() not in threads
    assert shared.results() == [2, 4, 6]


def test_nobody_waits_for_the_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece that the other thread does not get done is done by whoever wants it."""
    monkeypatch.setattr(sharing, "cores", lambda: 2)
    begun, held, mine = threading.Event(), threading.Event(), threading.get_ident()

    def work(piece: int) -> int:
        if threading.get_ident() != mine:
            begun.set()
            assert held.wait(10)
        return piece

    shared = Shared(work, [1, 2, 3])
    sharing.offer(shared)
    assert begun.wait(10)
    try:
        assert shared.results() == [1, 2, 3]
    finally:
        held.set()


def test_a_fault_reaches_whoever_wants_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the second thread goes on to take part in what comes after."""
    monkeypatch.setattr(sharing, "cores", lambda: 2)
    seen = threading.Event()

    def fails(_: int) -> int:
        seen.set()
        raise ZeroDivisionError

    broken = Shared(fails, [1])
    sharing.offer(broken)
    assert seen.wait(10)
    broken = Shared(fails, [1, 2])
    with pytest.raises(ZeroDivisionError):
        broken.results()
    test_the_second_thread_takes_part(monkeypatch)


def test_one_processor_shares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is but one processor a second thread would only be in the way."""
    monkeypatch.setattr(sharing, "cores", lambda: 1)
    mine: list[int] = []
    shared = Shared(lambda _: mine.append(threading.get_ident()) or 1, range(100))
    sharing.offer(shared)
    assert shared.results() == [1] * 100
    assert set(mine) == {threading.get_ident()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_has_a_second_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the parent began is not missed in the child."""
    test_the_second_thread_takes_part(monkeypatch)
    child = os.fork()
    if child == 0:
        try:
            test_the_second_thread_takes_part(monkeypatch)
        except BaseException:  # noqa: BLE001 - nothing of pytest's may run in the child
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
