"""Instances in pieces that have none in common: each point is in one, and how a union is written doesn't matter."""

import random
from itertools import permutations, product

import pytest

from polyvolta.sched.loops.instances import added, instances
from polyvolta.sched.loops.parts.disjoint import _unmixed, disjoint
from polyvolta.sched.loops.parts.merging import together
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.state import State
from polyvolta.sets import Map, Set, var

SIDE = range(-3, 10)


def parts(texts):
    union = Set(f"[N] -> {{ {'; '.join(f'[i] : {t}' for t in texts)} }}")
    ((space, conjuncts),) = union.parts
    return [Set._of(("N",), [(space, (c,))]) for c in disjoint(union, space, conjuncts)]


@pytest.mark.parametrize("seed", range(4))
def test_each_point_is_in_one_piece(seed):
    rng = random.Random(seed)
    for _ in range(4):
        texts = []
        for _ in range(rng.choice([2, 3, 3])):
            rows = [f"{rng.choice([1, 1, 2, 3])}i {way} {rng.choice(['', 'N + ', '2N + '])}{rng.randint(0, 5)}"
                    for way in (">=", "<=")]  # fmt: skip
            rows.append(rng.choice(["N >= 2", "N <= 6", "i mod 2 = 0"]))
            texts.append(" and ".join(rows[: rng.choice([2, 2, 3])]))
        found = parts(texts)
        ways = [Set(f"[N] -> {{ [i] : {t} }}") for t in texts]
        for n, i in product(SIDE, SIDE):
            here = any(w.contains((i,), N=n) for w in ways)
            assert sum(p.contains((i,), N=n) for p in found) == here


def test_as_few_pieces_in_whatever_order_they_are_written():
    """0 <= i <= N has all of 4 <= i <= (N + 5)/2 but i = 4 at N = 3; cut the other way there are three pieces."""
    texts = "0 <= i <= N", "4 <= i and 2i <= N + 5", "i = -3 and N > 5"
    for some in (texts[:2], texts):
        assert {len(parts(order)) for order in permutations(some)} == {len(some)}


def test_of_more_than_three_the_one_that_asks_for_the_least_is_whole():
    """Four ways to be in 0 <= i <= 3 are one part each beside 0 <= 2i <= N + 1, and cut it up in front of it."""
    sizes = "N >= 5", "N = 3", "-1 <= N <= 1 and i >= 1", "N <= -3"
    texts = [f"{some} and 0 <= i <= 3" for some in sizes]
    for order in ([*texts, "0 <= 2i <= N + 1"], ["0 <= 2i <= N + 1", *texts]):
        found = parts(order)
        assert len(found) <= len(order)
        for n, i in product(SIDE, SIDE):
            here = any(Set(f"[N] -> {{ [i] : {t} }}").contains((i,), N=n) for t in order)
            assert sum(p.contains((i,), N=n) for p in found) == here


@pytest.mark.parametrize(
    "plain, periodic, pieces",
    [
        ("0 <= 2i <= N + 1", "N <= 2i <= N + 6 and (i - floor(i/4)) mod 3 = 0", 3),  # 2 where the first one is cut
        ("1 <= i and N <= 2i <= N + 5", "0 <= i <= N and (i + 1) mod 3 >= 1", 4),  # 3
    ],
)
def test_what_has_no_floor_is_not_cut_by_others_floors_into_fewer_pieces(plain, periodic, pieces):
    whole = Set(f"[N] -> {{ [i] : {plain} }}")
    for order in ((plain, periodic), (periodic, plain)):
        found = parts(order)
        assert len(found) == pieces
        assert sum(p == whole for p in found) == 1


@pytest.mark.parametrize(
    "at_least, extension, pieces",
    [
        (-99, "a mod 3 = 0 and -5 <= a <= 25", 1),  # where U has instances, others may have some, too
        (-99, "a mod 3 = 0 and -5 <= a <= 27", 6),  # at 27 there is one of S alone, where N is 28 or more
        (-99, "0 <= a < N; a mod 3 = 0 and -5 <= a <= 25", 3),
        (21, "a mod 2 = 0 and -3 <= a <= 20; a mod 3 = 0 and -5 <= a <= 25", 1),  # of T, which ends before, is none
    ],
)
def test_what_is_added_is_cut_by_nothing_that_is_not_here(at_least, extension, pieces):
    columns = Columns(["N"], ["N"])
    col, rows = columns.loop(0), System()
    rows.ge(((col, 1),), -at_least)
    domain = "S[i] : 0 <= i < N; T[i] : i mod 2 = 0 and -3 <= i <= 20; U[i] : i mod 3 = 0 and -5 <= i <= 25"
    here = list(instances(columns, Set(f"[N] -> {{ {domain} }}")))
    for piece in here:
        piece.equate(col, var("i"))
    state = State(tuple(here), Known(columns).given(rows), (var("c0"),))
    added_here = Map(f"[N] -> {{ {'; '.join(f'[a] -> X[x] : 0 <= x <= 3 and {c}' for c in extension.split('; '))} }}")
    assert len(list(added(columns, added_here, state))) == pieces


@pytest.mark.parametrize(
    "first, extension, pieces",
    [
        (0, "a mod 2 = 0 -> a; 2*floor(a/4) <= floor((a + 1)/2) -> a", 1),  # of all values here, if not of -2
        (0, "a mod 2 = 0 -> a; 2*floor(a/4) <= floor((a + 1)/2) -> a + 1", 2),  # other instances
        (-8, "a mod 2 = 0 and a <= N -> a; 0 <= a <= N + 9 -> a", 2),
        (0, "a mod 2 = 0 -> a; a mod 2 = 1 -> a; a <= N + 2 -> a", 1),
        (
            0,
            "a mod 3 = 0 -> 2*floor(a/2); a <= N + 2 -> a",
            2,
        ),  # the same instance at some places: cut as they are written
    ],
)
def test_one_that_holds_wherever_this_runs_is_all_that_is_added(first, extension, pieces):
    columns = Columns(["N"], ["N"])
    here = list(instances(columns, Set(f"[N] -> {{ S[i] : {first} <= i <= N }}")))
    rows = System()
    for piece in here:
        piece.equate(columns.loop(0), var("i"))
        rows.add(piece.system)
    state = State(tuple(here), Known(columns).given(rows), (var("c0"),))
    cases = [case.split(" -> ") for case in extension.split("; ")]
    texts = [f"[a] -> X[{value}] : -20 <= a <= N + 20 and {where}" for where, value in cases]
    found = list(added(columns, Map(f"[N] -> {{ {'; '.join(texts)} }}"), state))
    assert len(found) == pieces


@pytest.mark.parametrize(
    "texts, pieces",
    [
        (("1 <= j <= 2 and -1 <= i <= 4", "j = 3 and i mod 2 = 0 and 2 <= i <= 6"), 2),
        (("0 <= j < N and 0 <= i <= N", "j = N and i mod 3 = 0 and 0 <= i <= N"), 2),
        (("i mod 2 = 1 and 0 <= i <= 3 and 0 <= j <= 5", "(j + 3) mod 4 >= 2 and 0 <= i <= 3 and 0 <= j <= 5"), 2),
        (("0 <= i <= 5 and j = 0", "6 <= i <= 9 and j = 0"), 1),
        (("0 <= i <= N and N mod 4 = 1 and j = 0", "0 <= i <= N and N mod 4 = 2 and j = 0"), 1),  # a floor of sizes
        (("N <= 2i <= N + 5 and i <= j <= i + 1", "N <= 2i <= N + 6 and 0 <= j <= 4 and 2*floor(j/2) - 1 <= 3j"), 3),
    ],
)
def test_pieces_have_no_floors_beside_other_iterators_than_those_that_are_written(texts, pieces):
    """Of two conjuncts that are one by a remainder of i in a bound of j, and of one that has most of another one."""
    for some in permutations(texts):
        union = Set(f"[N] -> {{ {'; '.join(f'[i, j] : {t}' for t in some)} }}")
        ((space, conjuncts),) = union.parts
        found = [Set._of(("N",), [(space, (c,))]) for c in disjoint(union, space, conjuncts)]
        assert len(found) == pieces
        for n, i, j in product((-2, 1, 4, 6), SIDE, SIDE):
            assert sum(p.contains((i, j), N=n) for p in found) == union.contains((i, j), N=n)


def test_two_pieces_are_one_by_the_instances_of_both_whatever_columns_these_have():
    """2i = 3j + 2 is solved in the columns that i and j have in the other piece: i = 3c - 2, where c was i."""
    columns = Columns([])
    (whole,) = instances(columns, Set("{ S[i, j] : -9 <= i <= 9 and -9 <= j <= 9 }"))
    (((i, _),), _, _), (((j, _),), _, _) = whole.images.values()
    low, high, line = System(), System(), whole.copy()
    for key, const in ((((i, 1),), -2), (((j, 1),), 0), (((i, 1), (j, -1)), -1)):
        high.ge(key, const)
    low.ge(((i, -1),), 1)
    many = whole.copy()
    many.restrict(high)
    line.restrict(low)
    line.system.eq(((i, 2), (j, -3)), -2)
    line.settle()
    assert i in line.locals()
    for some in permutations((many, line)):
        assert len(together(Known(columns), some, lambda *_: True)) == 2
    beside = whole.copy()
    rows = System()
    rows.ge(((i, -1),), 1)
    beside.restrict(rows)
    left = whole.copy()
    rows = System()
    rows.ge(((i, 1),), -2)
    left.restrict(rows)
    (both,) = together(Known(columns), [left, beside], lambda *_: True)
    assert both.system.ineqs == whole.system.ineqs


def test_what_was_merged_is_taken_apart_where_that_is_all_of_it():
    """A conjunct in another one makes room for no rest: of 0 <= i <= 5 and i = 2 there is not 0 <= i <= 9."""
    (merged,), (first,), (second,) = (
        Set(text).parts[0][1] for text in ("{ [i] : 0 <= i <= 9 }", "{ [i] : 0 <= i <= 5 }", "{ [i] : i = 2 }")
    )
    assert _unmixed(merged, [first, second], 1) == [merged]
    (rest,) = Set("{ [i] : 6 <= i <= 9 }").parts[0][1]
    assert _unmixed(merged, [first, rest], 1) == [first, rest]


def test_what_has_no_instances_has_none_once_equalities_are_looked_for():
    columns = Columns([])
    (piece,) = instances(columns, Set("{ S[i, j] : 0 <= i <= 3 and 0 <= j <= i }"))
    (((i, _),), _, _), (((j, _),), _, _) = piece.images.values()
    piece.system.eq(((i, 2), (j, 1)), -2)
    piece.settle()
    piece.system.ge((), -1)
    assert piece.system.empty
    piece.flatten(True, {})
    assert piece.system.empty
