"""Processes that hang and die: with objects of Python's own, so that they start in no time."""

import collections
import operator
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest

from polyvolta.tuner import errors
from polyvolta.tuner.errors import Died, Foreign, Hangs
from polyvolta.tuner.processes.children import Child


def test_a_child_holds_an_object_and_answers():
    with Child(collections.Counter, "abca") as child:
        assert child.ask("most_common", 1, limit=20) == [("a", 2)]
        with pytest.raises(Foreign, match="AttributeError"):
            child.ask("nothing", limit=20)
        assert child.ask("total", limit=20) == 4  # an error is no end
        assert child.alive
    assert not child.alive


def test_a_child_that_hangs_is_ended_and_one_that_is_ended_has_died():
    child = Child(threading.Event)
    child.ready()
    start = time.monotonic()
    with pytest.raises(Hangs, match=r"wait took longer than 0.1 s"):
        child.ask("wait", limit=0.1)
    assert time.monotonic() - start < 10
    for _ in range(2):
        with pytest.raises(Died):
            child.ask("set", limit=20)


def test_a_child_that_dies_says_how():
    with Child(os._exit, 3) as child, pytest.raises(Died, match="ended with 3 amid start"):
        child.ready()
    with Child(operator.methodcaller, "x") as child:
        with pytest.raises(Died, match="ended with -9 amid"):
            os.kill(child.ready().pid, 9)
            child.ask("__call__", limit=20)


def test_an_answer_that_can_not_be_sent_is_an_error():
    with Child(threading.Event) as child, pytest.raises(Foreign, match="pickle"):
        child.ask("__getstate__", limit=20)


def test_what_a_child_prints_is_no_answer():
    with Child(print, "text") as child, pytest.raises(Foreign, match="'NoneType' object has no attribute 'x'"):
        child.ask("x", limit=20)


PARENT = """
import os, threading
from polyvolta.tuner.processes.children import Child
child = Child(threading.Event).ready()
print(child.pid, flush=True)
threading.Timer(0.2, lambda: os.kill(os.getpid(), 9)).start()
child.ask("wait", limit=100)
"""


def test_a_child_ends_with_its_parent_even_amid_a_call():
    done = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, timeout=60)
    pid, end = int(done.stdout), time.monotonic() + 20
    while time.monotonic() < end and os.path.exists(f"/proc/{pid}") and "Z" not in _state(pid):
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{pid}") or "Z" in _state(pid)


def _state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("kind", [c for c in vars(errors).values() if isinstance(c, type)])
def test_errors_travel(kind):
    there = pickle.loads(pickle.dumps(kind("what", where="there", hint="so")))
    assert (type(there), str(there)) == (kind, str(kind("what", where="there", hint="so")))
