"""Instances in pieces that have none in common: each point is in one, and how a union is written doesn't matter."""

import random
from itertools import permutations, product

import pytest

from polyvolta.sched.loops.instances import added, disjoint, instances
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
    here = list(instances(columns, Set(f"[N] -> {{ {domain} }}"), ()))
    for piece in here:
        piece.equate(col, var("i"))
    state = State(tuple(here), Known(columns).given(rows), (var("c0"),))
    added_here = Map(f"[N] -> {{ {'; '.join(f'[a] -> X[x] : 0 <= x <= 3 and {c}' for c in extension.split('; '))} }}")
    assert len(list(added(columns, added_here, state))) == pieces
