"""The least point against a search of a small box."""

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sched.scheduler import ilp
from polyvolta.sched.scheduler.ilp import lexmin

SIDE = range(6)

rows = st.tuples(st.integers(-8, 8), st.tuples(*[st.integers(-3, 3)] * 3)).map(
    lambda r: (r[0], tuple([(v, c) for v, c in enumerate(r[1]) if c]))
)
box = [(5, ((v, -1),)) for v in range(3)]


def holds(constraint, point):
    const, terms = constraint
    return const + sum(c * point[v] for v, c in terms) >= 0


@given(st.lists(rows, max_size=5))
@settings(max_examples=150, deadline=None)
def test_it_is_the_first_of_all_points_in_lexicographic_order(system):
    found = lexmin(3, [*system, *box])
    expected = next((p for p in product(SIDE, repeat=3) if all(holds(r, p) for r in system)), None)
    assert found == expected


@given(st.lists(rows, max_size=3), st.lists(st.lists(rows, min_size=1, max_size=2), min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_one_of_several_alternatives_holds(system, choices):
    def branch(point, den):
        for choice in choices:
            if not any(c * den + sum(a * point[v] for v, a in terms) >= 0 for c, terms in choice):
                return [[row] for row in choice]
        return None

    found = lexmin(3, [*system, *box], branch)
    good = (
        p
        for p in product(SIDE, repeat=3)
        if all(holds(r, p) for r in system) and all(any(holds(r, p) for r in choice) for choice in choices)
    )
    assert found == next(good, None)


def test_unbounded_directions_are_no_trouble():
    assert lexmin(2, [(-7, ((0, 2), (1, -3)))]) == (4, 0)
    assert lexmin(2, [(-1, ((0, 1), (1, -1))), (-1, ((0, -1), (1, 1)))]) is None


def test_the_first_unknowns_grow_where_no_integer_has_them():
    """With the first two at 0 and 1 there are rational points only, all along a ray: cuts alone would go on forever."""
    sums = {0: ((3, 1),), 2: ((4, 1), (5, 1), (6, 1), (7, 1), (8, 1))}
    rows = [
        (0, ((1, 1), (3, 3), (4, 2), (5, -2), (6, -1), (7, 1), (8, -2))),
        (0, ((4, -2), (5, 2), (6, 1), (7, -1), (8, 2))),
        (0, ((1, 1), (3, 3), (4, 2), (5, -2), (6, 1), (7, -1), (8, -1))),
        (0, ((4, -2), (5, 2), (6, -1), (7, 1), (8, 1))),
        (0, ((1, 1), (3, 2), (8, -1))),
        (-1, ((4, 1), (5, 1), (6, 1), (7, 1), (8, 1))),
        (-1, ((8, 1),)),
    ]
    points = ((x[0], w, sum(x[1:]), *x) for x in product(range(3), repeat=6) for w in range(4))
    found = lexmin(9, rows, None, sums)
    assert found == min(p for p in points if all(holds(r, p) for r in rows))


def form(random, count, most):
    some = random.sample(range(count), random.randrange(1, count + 1))
    return tuple([(v, random.choice([c for c in range(-most, most + 1) if c])) for v in sorted(some)])


@pytest.mark.parametrize("cuts", [1, 2, 3, 32])
def test_sums_and_alternatives_whenever_integers_are_asked_for(cuts, monkeypatch):
    """After however many cuts it is asked whether the first unknowns can stay, the answer is the first point."""
    monkeypatch.setattr(ilp, "CUTS", cuts)
    random, none = Random(f"sums {cuts}"), 0
    for _ in range(60):
        n, weights = 5, {v: random.randrange(1, 4) for v in random.sample((2, 3, 4), random.choice((1, 2, 3)))}
        sums = {0: tuple(weights.items())}
        if random.random() < 0.5:
            sums[1] = tuple([(v, 1) for v in random.sample((2, 3, 4), 2)])
        most = random.choice((2, 3, 5))
        system = [(random.randrange(-9, 6), form(random, n, most)) for _ in range(random.randrange(1, 5))]
        system += [(3, ((v, -1),)) for v in range(n) if v not in sums]
        for row in [(random.randrange(-2, 3), form(random, n, most)) for _ in range(random.choice((0, 0, 1)))]:
            system += [row, (-row[0], tuple([(v, -c) for v, c in row[1]]))]
        choices = [[form(random, n, 2) for _ in range(2)] for _ in range(random.choice((0, 0, 1, 2)))]

        def branch(point, den, choices=choices):
            for choice in choices:
                if not any(sum(c * point[v] for v, c in terms) for terms in choice):
                    return [[(-1, tuple([(v, s * c) for v, c in terms]))] for terms in choice for s in (1, -1)]
            return None

        def good(point, choices=choices, system=system):
            return all(holds(r, point) for r in system) and all(
                any(sum(c * point[v] for v, c in terms) for terms in choice) for choice in choices
            )

        free = [v for v in range(n) if v not in sums]
        points = []
        for values in product(range(4), repeat=len(free)):
            known = dict(zip(free, values))
            points.append(tuple([known[v] if v in known else sum(c * known[x] for x, c in sums[v]) for v in range(n)]))
        expected = min(filter(good, points), default=None)
        none += expected is None
        assert lexmin(n, system, branch, sums) == expected
    assert 5 < none < 50


@pytest.mark.parametrize("cuts", [1, 2])
def test_whether_the_first_unknowns_can_stay_is_told(cuts, monkeypatch):
    """Equalities with large coefficients take many cuts that leave the first unknowns as they are."""
    monkeypatch.setattr(ilp, "CUTS", cuts)
    random, sums = Random(f"knapsacks {cuts}"), {1: ((2, 1), (3, 2))}
    for _ in range(60):
        large = tuple([(v, random.choice((-1, 1)) * random.randrange(2, 12)) for v in (2, 3, 4)])
        total = random.randrange(-20, 20)
        system = [(total, large), (-total, tuple([(v, -c) for v, c in large])), (-1, ((0, 2), (4, -1)))]
        system += [(-random.randrange(4), ((2, 2), (3, -1), (4, 1))), *[(5, ((v, -1),)) for v in (2, 3, 4)]]
        points = ((x, a + 2 * b, a, b, c) for x, a, b, c in product(range(4), SIDE, SIDE, SIDE))
        assert lexmin(5, system, None, sums) == min(
            (p for p in points if all(holds(r, p) for r in system)), default=None
        )
