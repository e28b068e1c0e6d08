"""Rows of a name of few values, against the values at which they hold."""

from random import Random

import pytest

from polyvolta.sched.loops.conditions import beyond, loosened
from polyvolta.sched.loops.few_values import of_few_values, united
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System


def rows(*ineqs, eqs=(), mods=()):
    out = System()
    for row in ineqs:
        out.ge(*row)
    for row in eqs:
        out.eq(*row)
    for row in mods:
        out.mod(*row)
    return out


def parts(system):
    return system.eqs, system.ineqs, system.mods


def length(system):
    return len(system.eqs) + len(system.ineqs) + len(system.mods)


def test_a_remainder_that_leaves_one_number():
    """3 <= N <= 5 and (N + 1) mod 4 >= 2, which is N + 1 - 4*floor((N + 1)/4), is N = 5; N = 4 is none of them."""
    columns = Columns(["N"], ["N"])
    n = columns.ids["N"]
    known = Known(columns).given(rows((((n, 1),), -3)))
    floor = columns.floor(4, ((n, 1),), 1)
    remainder = ((n, 1), (floor, -4)), -1
    found = of_few_values(known, rows((((n, -1),), 5), remainder))
    assert parts(found) == ([(((n, 1),), -5)], {}, [])
    assert of_few_values(known, rows((((n, -1),), 4), remainder)).empty
    many = rows((((n, -1),), 12), remainder)
    assert of_few_values(known, many) is many


def test_a_floor_and_a_bound_that_leave_one_number():
    """floor((N + 3)/4) = 1 and N <= 1 is N = 1; where N >= 1 is known the floor says N <= 4."""
    columns = Columns(["N"], ["N"])
    n = columns.ids["N"]
    floor = rows((((n, -1),), 1), eqs=[(((columns.floor(4, ((n, 1),), 3), 1),), -1)])
    assert parts(beyond(Known(columns), floor)) == ([(((n, -1),), 1)], {}, [])
    known, alone = Known(columns).given(rows((((n, 1),), -1))), rows(eqs=floor.eqs)
    assert parts(beyond(known, alone)) == ([], {((n, -1),): 4}, [])


def test_cases_in_a_row_are_bounds():
    """N = 2 or N = 3 is N >= 2 where 1 <= N <= 3, and 2 <= N <= 3 elsewhere; N = 1 or N = 3 are two cases."""
    columns = Columns(["N"], ["N"])
    n = columns.ids["N"]
    one, two, three = (rows(eqs=[(((n, 1),), -v)]) for v in (1, 2, 3))
    within = Known(columns).given(rows((((n, 1),), -1), (((n, -1),), 3)))
    assert [parts(s) for s in united(within, [two, three, two])] == [([], {((n, 1),): -2}, [])]
    assert [parts(s) for s in united(Known(columns), [two, three])] == [([], {((n, 1),): -2, ((n, -1),): 3}, [])]
    assert united(within, [one, three]) == [one, three]


def test_an_equality_that_others_make_up_for_on_both_sides_is_not_said():
    """M <= 1 or M >= 3 or (M = 2 and N >= 3) is M <= 1 or M >= 3 or N >= 3; M = 2 stays where one side is missing."""
    columns = Columns(["N", "M"], ["N", "M"])
    n, m = columns.ids["N"], columns.ids["M"]
    low, high, case = rows((((m, -1),), 1)), rows((((m, 1),), -3)), rows((((n, 1),), -3), eqs=[(((m, 1),), -2)])
    assert [parts(s) for s in loosened(Known(columns), [low, high, case])][2] == ([], {((n, 1),): -3}, [])
    (_, one) = loosened(Known(columns), [high, case])
    assert parts(one) == parts(case)


@pytest.mark.parametrize("seed", range(20))
def test_looser_systems_have_the_same_union(seed):
    rng = Random(seed)
    columns = Columns(["N", "M"], ["N", "M"])
    n, m = columns.ids["N"], columns.ids["M"]
    for _ in range(10):
        some = []
        for _ in range(rng.randint(2, 4)):
            drawn = [
                (((c, rng.choice((1, -1))),), rng.randint(-3, 3)) for c in rng.choices((n, m), k=rng.randint(1, 3))
            ]
            eqs = drawn[:1] if rng.random() < 0.5 else []
            some.append(rows(*drawn[len(eqs) :], eqs=eqs))
        some = [s for s in some if not s.empty]
        around = Known(columns).given(rows((((n, 1),), 1)))
        found = loosened(around, some)
        for at in ({n: v, m: w} for v in range(-1, 6) for w in range(-6, 7)):
            assert any(holds(s, at) for s in some) == any(holds(s, at) for s in found), (at, some, found)


def holds(s, at):
    """Whether a system holds at values of its columns."""
    value = lambda key, const: const + sum(v * at[c] for c, v in key)  # noqa: E731
    return not s.empty and all(value(*row) >= 0 for row in s.ineqs.items()) and not any(value(*row) for row in s.eqs)


@pytest.mark.parametrize("seed", range(20))
def test_rows_hold_at_the_same_numbers(seed):
    rng = Random(seed)
    columns = Columns(["N"], ["N"])
    n = columns.ids["N"]
    for _ in range(10):
        den, shift = rng.choice((2, 3, 4)), rng.randint(-3, 3)
        floor = columns.floor(den, ((n, 1),), shift)
        low = rng.randint(-4, 4)
        known = Known(columns).given(rows((((n, 1),), -low), (((n, -1),), low + rng.randint(0, 9))))
        system = rows((((n, rng.choice((1, -1))),), rng.randint(-4, 6)))
        a, b, c = rng.randint(-2, 2), rng.randint(-3, 3) or 1, rng.randint(-4, 4)
        key = tuple((col, v) for col, v in ((n, a), (floor, b)) if v)
        getattr(system, rng.choice(("ge", "eq")))(key, c)
        if rng.random() < 0.4:
            system.mod(((n, 1),), rng.randint(0, 2), 3)
        before = length(system)
        found = beyond(known, system)
        assert length(found) <= before

        def holds(s, v, floors=((floor, den, shift),)):
            value = {n: v, **{f: (v + by) // d for f, d, by in floors}}
            at = lambda key, const: const + sum(w * value[col] for col, w in key)  # noqa: E731
            return (
                not s.empty
                and all(at(*row) >= 0 for row in s.ineqs.items())
                and not any(at(*row) for row in s.eqs)
                and not any(at(key, const) % d for key, const, d in s.mods)
            )

        for v in range(known.low[n], known.high[n] + 1):
            assert holds(found, v) == holds(system, v)
