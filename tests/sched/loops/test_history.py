"""Loops are the same whatever was scanned before: what is remembered costs searches of few steps what it cost once."""

import gc
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import _lru_cache_wrapper
from threading import Barrier
from time import sleep

import pytest

from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import BudgetExceeded, Set, budget
from polyvolta.sets.budgets import bounded, left, metered, remembered, spend
from tests.sched.campaign import data_of
from tests.sched.loops.draw import tree

STEPS = 4000  # a tenth of a second; where loops take more the error is the same


def forget():
    """As in a new process: nothing is remembered."""
    for memo in MEMOS:
        memo.cache_clear()


def text(schedule, steps: int | None = STEPS):
    """The loops, or why there are none, and the steps that this took."""
    with budget(steps):
        try:
            found = str(scan(schedule))
        except (NotScannable, BudgetExceeded) as error:
            found = str(error)
        return found, left()


@pytest.fixture(autouse=True, scope="module")
def memos():
    global MEMOS
    gc.unfreeze()  # what was there when tests were collected is frozen, and not listed
    MEMOS = [f for f in gc.get_objects() if isinstance(f, _lru_cache_wrapper)]
    gc.freeze()
    MEMOS = [f for f in MEMOS if (f.__module__ or "").startswith("polyvolta.s")]
    assert MEMOS


@pytest.mark.parametrize("first", [200, 150, 250])
def test_loops_of_many_trees_are_the_same_in_any_order(first):
    """By steps, too: each where nothing is remembered, forwards and backwards where all others are."""
    numbers, alone, trees = range(first, first + 50), {}, {}
    for number in numbers:
        forget()
        trees[number] = tree(data_of(1031005, number), True).schedule
        alone[number] = text(trees[number])
    assert {n: text(tree(data_of(1031005, n), True).schedule) for n in numbers} == alone
    assert {n: text(trees[n])[0] for n in reversed(numbers)} == {n: found for n, (found, _) in alone.items()}


@pytest.mark.parametrize("steps", [100, 300, 1000, 3000, 10_000, None])
def test_a_budget_ends_in_the_same_place_where_more_was_remembered(steps):
    made = """{ domain: "[N] -> { S[i, j] : 0 <= i <= N and i <= 3j <= N + i + 4; T[i] : 0 <= 5i <= N }", child: {
                schedule: "[{ S[i, j] -> [(floor((2i + j)/3))]; T[i] -> [(i)] },
                            { S[i, j] -> [((i + 2j) mod 5)]; T[i] -> [(0)] }]" } }"""
    forget()
    alone = text(Schedule.parse(made), steps)
    text(Schedule.parse(made), None)
    assert text(Schedule.parse(made), steps) == alone


@remembered(16)
def inner(n):
    spend(n)
    return n


@remembered(16)
def outer(n):
    return inner(n) + inner(n) + inner(1)


def test_a_value_is_paid_for_once_by_who_asks_for_it():
    """`outer` asks twice for what takes n steps, which who has asked for either has paid."""
    for _ in range(2):
        with budget(100):
            assert (outer(10), left(), outer(10), left()) == (21, 89, 21, 89)
            assert (inner(10), left(), inner(8), left()) == (10, 89, 8, 81)
            assert (outer(8), left()) == (17, 81)
    for _ in range(2):
        with budget(20):
            assert (inner(10), left()) == (10, 10)
            with pytest.raises(BudgetExceeded):  # 11 steps, of which it would pay one
                outer(10)
    with budget(100), budget(50):
        assert (outer(10), left()) == (21, 39)
    with budget(None):
        assert outer(10) == 21 and left() == float("inf")
    with budget(20), budget(None):
        assert (outer(10), left()) == (21, 9)


def test_what_was_found_where_no_steps_are_counted_is_paid_for_where_they_are():
    assert outer(7) == 15
    for _ in range(2):
        with budget(100):
            assert (outer(7), left()) == (15, 92)


@pytest.mark.parametrize("known", [False, True])
def test_a_search_ends_where_a_remembered_value_is_too_dear(known):
    if known:
        outer(13)
    with budget(100):
        with pytest.raises(BudgetExceeded):
            bounded(13, outer, 13)
        assert left() == 87
        assert (bounded(14, outer, 13), left()) == (27, 73)
    with budget(13):
        with pytest.raises(BudgetExceeded):
            bounded(1000, outer, 13)
        with pytest.raises(BudgetExceeded):
            spend(0)


def test_a_value_that_a_budget_ended_is_not_kept():
    @remembered(16)
    def at_most(n):
        try:
            return bounded(50, inner, n)
        except BudgetExceeded:
            return -1

    with budget(20), pytest.raises(BudgetExceeded):
        at_most(40)
    with budget(200):
        assert (at_most(40), at_most(60), left()) == (40, -1, 110)


def test_values_of_calls_with_one_hash_are_paid_for_each():
    """-1 and -2 have one hash."""

    @remembered(16)
    def dear(some):
        spend(10 if some == (-1,) else 100)
        return some

    assert hash((-1,)) == hash((-2,))
    with budget(50):
        assert (dear((-1,)), left()) == ((-1,), 40)
        with pytest.raises(BudgetExceeded):
            dear((-2,))


def test_a_value_that_was_dropped_is_found_again_within_what_is_left():
    @remembered(1)
    def half(n):
        return left()

    @remembered(1)
    def dear(n):
        spend(60)
        return n

    with budget(100):
        assert (half(1), half(2), half(1)) == (100, 100, 100)
        assert (dear(1), left()) == (1, 40)
        with pytest.raises(BudgetExceeded):
            bounded(10, dear, 2)
        assert (dear(1), left()) == (1, 30)  # it was paid for


def test_threads_of_one_operation_count_what_each_finds():
    """What a value takes is what it takes alone, though others spend of the same steps meanwhile."""
    begun = Barrier(8)

    @remembered(64)
    def found(n):
        begun.wait(10)
        for _ in range(200):
            spend(1)
            sleep(0)
        return n

    with budget(10_000), ThreadPoolExecutor(8) as pool:
        each = [pool.submit(copy_context().run, found, n) for n in range(8)]
        assert [one.result() for one in each] == [*range(8)]
    for n in range(8):
        with budget(500):
            assert (found(n), left()) == (n, 300)


def test_a_long_chain_of_values_is_paid_for():
    @remembered(1 << 12)
    def chain(n):
        spend(1)
        return chain(n - 1) + 1 if n else 0

    for n in range(2000):
        with budget(None):
            chain(n)
    with budget(5000):
        assert (chain(1999), left()) == (1999, 3000)


def test_an_operation_pays_for_what_another_one_found():
    s = "[N] -> { [i, j] : exists a : 0 <= i <= N and 3a <= i + 2j <= 3a + 1 and 0 <= j <= 7 }"

    @metered
    def steps():
        before = left()
        found = str(Set(s).project_out("j").coalesce())
        return found, before - left()

    forget()
    assert steps() == steps() == steps()


def test_loops_are_the_same_without_a_limit():
    for number in range(3100, 3112):
        made = tree(data_of(4242, number), True).schedule
        assert text(made, None)[0] == text(made, 400_000)[0]
