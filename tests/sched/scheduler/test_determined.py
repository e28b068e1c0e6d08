"""Iterators that the others determine have no member; what is determined is compared with a table of the points."""

import itertools

import pytest

from polyvolta.sched import run, scan, schedule
from polyvolta.sched.scheduler.determined import determined
from polyvolta.sets import Map, Set

ONE = [  # instances, the only member of their band
    ("[M] -> { S[a, b] : 0 <= a <= 99 and M <= 2b <= 1 + M }", "a"),
    ("{ S[a, floor(a/2), floor(a/4)] : 0 <= a <= 9 }", "a"),
    ("{ S[0, a, floor(a/2), floor(a/4)] : 0 <= a <= 9 }", "a"),
    ("{ S[a, b] : b >= 0 and a - 10b >= 0 and -a + b + 9 >= 0 }", "a"),
    ("[N] -> { S[t, i] : 0 <= i < N and 32t <= i < 32t + 32 }", "i"),
]


@pytest.mark.parametrize(("domain", "member"), ONE)
def test_one_member_is_enough(domain, member):
    tree = schedule(Set(domain))
    (e,) = [e for m in tree.band(tree.bands()[0]).members for _, e in m.exprs]
    assert str(e) == member
    assert len(schedule(Set(domain), narrow=False).band((0,)).members) > 1


@pytest.mark.parametrize("domain", [
    "{ S[i, j] : 0 <= j <= i <= 9 }", "[N] -> { S[i, j] : 0 <= i < N and i <= j <= i + 1 }",
    "{ S[i, j] : 0 <= i <= 9 and j = 0; S[i, j] : j = i and 0 < i <= 9 }",
    "{ S[k, i, j] : 0 < k <= 5 and j = k and k < i < 9; S[k, i, j] : 0 < k <= 5 and i = k and k <= j < 9 }",
])  # fmt: skip
def test_what_has_several_values_has_its_member(domain):
    (band,) = [tree.band(p) for tree in [schedule(Set(domain))] for p in tree.bands()]
    assert len(band.members) == len(Set(domain).dims())


def test_determined_as_a_table_of_the_points_says():
    floors, strips = "0 <= i <= 5 and {a}j <= i + {c} <= {a}j + {b}", "0 <= j <= 3 and {b} <= {a}i + j <= {b} + {c}"
    asked = 0
    for shape, a, b, c in itertools.product((floors, strips), (1, 2, 3), (0, 1, 2, 4), (0, 1, 3)):
        s = Set(f"{{ S[i, j] : {shape.format(a=a, b=b, c=c)} }}")
        points = [*s.points()]
        if len(s.pieces) != 1 or not points:
            continue
        asked += 1
        of_i = len({i for i, _ in points}) == len(points)
        of_j = len({j for _, j in points}) == len(points)
        assert determined(s) == ((1,) if of_i else (0,) if of_j else ()), s
    assert asked > 40


def test_dependences_are_respected_without_what_is_determined():
    domain = Set("[N] -> { S[a, b] : 0 <= a < N and 2b <= a <= 2b + 1; T[a] : 0 <= a < N }")
    flow = Map("{ S[a, b] -> T[a'] : a' = 2b + 1; S[a, b] -> S[a + 3, b'] }")
    tree = schedule(domain, validity=flow)
    seen = [(name, *point) for name, point in run(scan(tree), N=9)]
    assert sorted(seen) == sorted([("S", a, a // 2) for a in range(9)] + [("T", a) for a in range(9)])
    at = {x: k for k, x in enumerate(seen)}
    for a in range(9):
        if 2 * (a // 2) + 1 < 9:
            assert at["S", a, a // 2] < at["T", 2 * (a // 2) + 1]
        if a + 3 < 9:
            assert at["S", a, a // 2] < at["S", a + 3, (a + 3) // 2]


def test_what_only_the_determined_tells_apart():
    """Odd ones run before even ones, which no row of `a` says: the band is of both."""
    domain = Set("{ S[a, b] : 0 <= a <= 9 and 2b <= a <= 2b + 1 }")
    tree = schedule(domain, validity=Map("{ S[a, b] -> S[a', b'] : a = 2b + 1 and a' = 2b' }"))
    seen = [point[0] for _, point in run(scan(tree))]
    assert sorted(seen) == list(range(10)) and {a % 2 for a in seen[:5]} == {1}
