"""What is merged, vanishes and gets a sign has the solutions that the conditions have: a search of a small box."""

from itertools import product
from random import Random

import pytest

from polyvolta.sched.scheduler.unknowns import Unknowns

COUNT, ITERATORS = 5, (0, 1, 2)


def box(negative):
    return list(product(*[range(-2 if negative else 0, 3) if v in ITERATORS else range(3) for v in range(COUNT)]))


def value(row, point):
    return sum(c * point[v] for v, c in row.items())


def holds(point, eqs, ineqs):
    return all(value(row, point) == 0 for row in eqs) and all(const + value(row, point) >= 0 for const, row in ineqs)


def points(unknowns, box):
    """The points that are left: each unknown is what stands for it says, and has a sign."""
    tops = [unknowns.find(v) for v in range(COUNT)]
    assert all(unknowns.find(top) == (top, 1) for top, _ in tops)
    values = [(v, top, 0 if top in unknowns.zero else sign, unknowns.sign[top]) for v, (top, sign) in enumerate(tops)]
    some = [p for p in box if all(p[v] == sign * p[top] and known * p[top] >= 0 for v, top, sign, known in values)]
    return [p for p in some if holds(p, unknowns.eqs, unknowns.ineqs)]


def rows(random, count, most):
    """Combinations of few unknowns, as most of a scheduler's are."""
    found = []
    for _ in range(random.randrange(count + 1)):
        some = random.sample(range(COUNT), random.choice((1, 2, 2, 2, 3, 4)))
        found.append({v: random.choice([c for c in range(-most, most + 1) if c]) for v in some})
    return found + random.sample(found, len(found) // 2)  # which may come with another constant


@pytest.mark.parametrize("negative", [False, True])
def test_solutions_stay(negative):
    random = Random(f"unknowns {negative}")
    whole = box(negative)
    for _ in range(50):
        unknowns, expected = Unknowns(COUNT, ITERATORS, negative), whole
        for _ in range(random.choice((1, 1, 2, 3))):
            eqs = rows(random, 3, random.choice((1, 1, 2)))
            ineqs = [(random.choice((-2, -1, 0, 0, 0, 1)), row) for row in rows(random, 4, random.choice((1, 2, 3)))]
            before = unknowns.copy()
            left = unknowns.substitute(eqs, ineqs)
            assert points(before, whole) == expected  # a copy is not told
            expected = [p for p in expected if holds(p, eqs, ineqs)]
            if not left:
                assert not expected
                break
            assert points(unknowns, whole) == expected
            if not (left := unknowns.merge_cycles()):
                assert not expected
                break
            assert points(unknowns, whole) == expected
            for row in (*unknowns.eqs, *[row for _, row in unknowns.ineqs]):  # of what stands for something alone
                assert row and all(unknowns.find(v) == (v, 1) and v not in unknowns.zero and row[v] for v in row)


@pytest.mark.parametrize("negative", [False, True])
def test_what_nobody_wants_larger_is_zero(negative):
    """Unknowns that are no iterators become 0 only where each solution has one below it that has the same iterators."""
    random, whole, dropped = Random(f"idle {negative}"), box(negative), 0
    for _ in range(50):
        unknowns = Unknowns(COUNT, ITERATORS, negative)
        if not unknowns.substitute((), [(random.choice((-2, -1, 0, 0, 1)), row) for row in rows(random, 5, 2)]):
            continue
        before, gone = points(unknowns, whole), {*unknowns.zero}
        after = {*points(unknowns, whole)} if unknowns.drop_idle() else set()
        dropped += not unknowns.zero <= gone | {*ITERATORS}
        assert after <= {*before}
        for p in before:
            assert any((*p[:3], x, y) in after for x in range(p[3] + 1) for y in range(p[4] + 1))
    assert dropped > 8


CHAIN = [({0: 1, 1: 1}, {1: 1, 2: -1}, {2: 1, 3: 1}), ({2: 1, 3: 1}, {1: 1, 2: -1}, {0: 1, 1: 1})]


@pytest.mark.parametrize("eqs", CHAIN)
def test_a_chain_of_equal_unknowns(eqs):
    """x0 = -x1, x1 = x2, x2 = -x3, and x3 is not negative: so x0 is not, and x1 and x2 are not positive."""
    unknowns = Unknowns(COUNT, ITERATORS, True)
    assert unknowns.substitute(eqs, [(-4, {0: 1, 1: -1, 2: -2})])
    tops = {v: unknowns.find(v) for v in range(4)}
    assert len({top for top, _ in tops.values()}) == 1
    top, sign = tops[0]
    assert [s * sign for _, s in tops.values()] == [1, -1, -1, 1] and unknowns.sign[top] == sign
    assert unknowns.ineqs == [(-1, {top: sign})] and unknowns.eqs == []  # 4 x0 >= 4


def test_unknowns_that_are_at_least_the_next_are_equal():
    """x0 >= x1 + x2, x1 >= x3 and x3 >= x0: all but x2 are equal, and that is 0."""
    unknowns = Unknowns(COUNT, (), False)
    assert unknowns.substitute([], [(0, {0: 1, 1: -1, 2: -1}), (0, {1: 2, 3: -2, 4: -1}), (0, {3: 1, 0: -1})])
    assert not unknowns.zero and unknowns.merge_cycles()
    assert {unknowns.find(v) for v in (0, 1, 3)} == {(0, 1)} and unknowns.zero == {2, 4} and not unknowns.rows
    unknowns = Unknowns(3, (0,), True)  # the sign of x0 is open, so x1 may be more than x2
    assert unknowns.substitute([], [(0, {1: 1, 0: -1, 2: -1}), (0, {2: 1, 1: -1})])
    assert unknowns.merge_cycles() and unknowns.find(2) == (2, 1)
    unknowns = Unknowns(3, (0, 1), True)  # x0 <= 0 <= x1: -x0 >= x1 >= -x0
    assert unknowns.substitute([], [(0, {0: -1}), (0, {1: 1}), (0, {0: -1, 1: -1}), (0, {0: 1, 1: 1})])
    assert unknowns.merge_cycles() and unknowns.find(1) == (0, -1)


def test_what_cannot_be():
    assert not Unknowns(2, (), False).substitute([{0: 1}], [(-1, {0: 1})])
    assert not Unknowns(2, (0, 1), True).substitute([{0: 1, 1: -1}], [(-1, {0: 1, 1: -1})])
    unknowns = Unknowns(3, (0,), False)
    assert unknowns.substitute([{0: 1, 1: 1, 2: 2}], []) and unknowns.zero == {0, 1, 2}
    assert unknowns.substitute([], [(3, {0: -1, 1: 1})]) and unknowns.ineqs == []


def test_one_more_unknown_is_not_negative():
    unknowns = Unknowns(1, (0,), True)
    assert unknowns.add() == 1 and unknowns.find(1) == (1, 1) and unknowns.sign == [0, 1]
    assert unknowns.substitute([], [(0, {1: -1}), (0, {0: 1, 1: 1})])
    assert unknowns.zero == {1} and unknowns.sign[0] == 1
