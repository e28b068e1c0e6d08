"""Steps of roles: the next one of any, where each stands, and what it waits for."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.machine.errors import BadCopies, Deadlock
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.sets import UnknownName

M, N, K = pv.sizes("M N K")
TILES = pv.Options(block_tile=(128, 64, 64), warp_tile=(64, 64, 64), macro_mma="m64n64k16", buffers=3, group=1)
ROLES = ("consumer 0", "consumer 1", "producer")


@cache
def kernel():
    a, b = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
    return pv.compile(a @ b, target=SM_90A, options=TILES)


def steps_of(made, k=320, **more):
    return made.trace(np.ones((128, k), "f2"), np.ones((k, 64), "f2", order="F"), **more)


def alone(role, **more):
    return [s.title.split("  ", 1)[1] for s in steps_of(kernel(), **more) if s.role == role]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("copies", ["lazy", "eager", 4])
def test_the_next_steps_of_a_role_are_its_program(role, copies):
    """All of them, in its order, whoever else is asked for; others go on only where it waits."""
    steps, found, passed = steps_of(kernel(), copies=copies), [], []
    while True:
        try:
            found.append(steps.next(role))
        except StopIteration:
            break
        passed += steps.passed
        assert all(s.role != role for s in steps.passed)
    assert [s.title.split("  ", 1)[1] for s in found] == alone(role)
    numbers = sorted(s.number for s in (*found, *passed, *steps.passed))
    assert numbers == list(range(len(numbers)))
    (end,) = [s for s in steps.standing if s.role == role]
    assert end.ended and str(end) == f"{role} has ended"
    assert [s.number for s in steps][: len(numbers)] == numbers  # what was made stays, the rest comes behind it
    assert len(steps) == len(steps_of(kernel())) > len(numbers)
    assert all(s.ended for s in steps.standing)


def test_where_each_role_stands():
    steps = steps_of(kernel())
    assert steps.roles == ROLES and steps.standing == ()
    first = steps.next("consumer 1")
    assert (first.statement, first.loops) == ("full", {"c2": 0})
    assert [s.statement for s in steps.passed][:6] == [
        "init", "sync_init", "await_grids", "release_grids", "empty", "expect"]  # fmt: skip
    one, two, three = map(str, steps.standing)
    assert one == "consumer 0 is at full, c2 = 0, and can go on"
    assert two == "consumer 1 is behind full, c2 = 0"
    assert three == ("producer is at empty, c2 = 3, and waits for phase 0 of empty[0], which misses 2 of 2 arrivals")
    assert steps.standing[2].place.line == next(
        n for n, line in enumerate(kernel().source.split("\n"), 1) if "await_phase(empty" in line)  # fmt: skip
    steps.next("producer")  # both consumers release tile 0
    assert "release" in [s.statement for s in steps.passed]
    assert str(steps.standing[2]) == "producer is behind empty, c2 = 3"


def test_roles_stand_at_their_beginnings():
    steps = steps_of(kernel())
    assert steps.next("producer").statement == "empty"
    assert "consumer 1 is at its beginning" in map(str, steps.standing)


def test_results_are_the_same_whose_turn_it_may_be():
    titles = [sorted(s.title.split("  ", 1)[1] for s in steps_of(kernel(), copies=c)) for c in ("lazy", "eager", 9)]
    assert titles[0] == titles[1] == titles[2]


def test_what_nobody_can_take_is_said():
    with pytest.raises(UnknownName, match="no role 'producers'(.|\n)*did you mean 'producer'"):
        steps_of(kernel()).next("producers")
    with pytest.raises(BadCopies):
        steps_of(kernel(), copies="soon")
    plain = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    steps = steps_of(plain)
    assert steps.roles == () and next(steps).number == 0 and steps.standing == ()
    with pytest.raises(UnknownName, match="its roles are none"):
        steps.next("consumer")
    steps = steps_of(broken(kernel(), "slots are not released"))
    with pytest.raises(Deadlock):
        for _ in range(40):
            steps.next("producer")
    assert all(s.waits for s in steps.standing)
