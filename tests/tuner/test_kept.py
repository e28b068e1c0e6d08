"""Timers that stay between tasks: whose they are, and when they are closed."""

from __future__ import annotations

import threading

import pytest

from polyvolta.tuner.processes.kept import Kept


class Made:
    """A timer that notes what happens to it."""

    def __init__(self, spec, factory):
        self.spec, self.factory, self.started, self.closed = spec, factory, False, threading.Event()

    def start(self):
        self.started = True
        return self

    def close(self):
        self.closed.set()


@pytest.fixture
def kept():
    here = Kept(60.0, Made)
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
    here = Kept(0.02, Made)
    with here.timer("one", len) as first:
        pass
    assert first.closed.wait(10)
    with here.timer("one", len) as second:
        assert second is not first
    here.close()
    assert second.closed.is_set()
