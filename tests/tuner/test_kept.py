"""Timers that stay between tasks: whose they are, and when they are closed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from polyvolta.tuner.processes.kept import Kept


class Made:
    """A timer that notes what happens to it."""

    def __init__(self, spec, factory):
        self.spec, self.factory, self.started, self.closed, self.holds = spec, factory, False, threading.Event(), True

    def start(self):
        self.started = True
        return self

    def close(self):
        self.closed.set()


@pytest.fixture
def kept():
    here = Kept(60.0, 60.0, Made)
    yield here
    here.close()


def test_the_next_task_of_a_computation_gets_the_same_one(kept):
    with kept.timer("one", len) as first:
        assert first.started
    with kept.timer("one", len) as second:
        assert second is first
        with kept.timer("one", len) as beside:  # a task at the same time has one of its own
            assert beside is not first
    assert not first.closed.is_set() and not beside.closed.is_set()


@pytest.mark.parametrize("other", [("two", len), ("one", max)])
def test_one_of_another_computation_is_closed_before_the_next_begins(kept, other):
    with kept.timer("one", len) as first:
        pass
    with kept.timer(*other) as second:
        assert first.closed.is_set() and second is not first


def test_a_task_that_fails_leaves_none(kept):
    with pytest.raises(ChildProcessError), kept.timer("one", len) as first:
        raise ChildProcessError
    assert first.closed.is_set()
    with kept.timer("one", len) as second:
        assert second is not first


def test_one_that_nobody_asks_for_is_closed():
    here = Kept(0.02, 60.0, Made)
    with here.timer("one", len) as first:
        pass
    assert first.closed.wait(10)
    with here.timer("one", len) as second:
        assert second is not first
    here.close()
    assert second.closed.is_set()


def test_one_that_holds_no_gpu_stays_longer():
    here = Kept(0.02, 60.0, Made)
    with here.timer("one", len) as first:
        first.holds = False
    assert not first.closed.wait(0.2)
    here.close()
    assert first.closed.is_set()


@pytest.mark.parametrize("workers", [1, 6])
def test_workers_that_share_a_gpu_wait_for_no_idle_one(workers):
    """More workers than GPUs: what an idle timer holds is given up before long, and nobody holds one for nothing."""
    gpu = threading.Lock()

    class Holding(Made):
        def __init__(self, spec, factory):
            super().__init__(spec, factory)
            self.holds = False

        def take(self):
            if not self.holds:
                gpu.acquire()
                self.holds = True

        def close(self):
            if self.holds:
                gpu.release()
                self.holds = False
            super().close()

    here = Kept(0.05, 60.0, Holding)

    def task():
        with here.timer("one", len) as timer:
            timer.take()
            time.sleep(0.01)

    def ready():
        with here.timer("one", len):
            pass

    with ThreadPoolExecutor(workers) as pool:
        for f in [pool.submit(ready) for _ in range(workers)] + [pool.submit(task) for _ in range(12)]:
            f.result(timeout=60)  # an idle one is waited for 50 ms, by each of the workers once or twice
    here.close()
    assert not gpu.locked()
