"""Back substitution against a search of all points: at some parameters the first one in the order asked for."""

import random

import pytest

from polyvolta.sets.optima import triangular

N_PARAM = 2
HERE = tuple((p, q) for p in range(-5, 8, 2) for q in range(-4, 8, 3)) + ((100, -3), (41, 60), (-7, 52))


def value(row, point):
    return row[0] + sum(a * x for a, x in zip(row[1:], point, strict=False))


def first(rows, n_var, point, sign):
    """The least (sign -1) or greatest values of the variables behind the values that are given; None without any."""
    end = len(point) + 1
    if any(value(r, point) < 0 for r in rows if not any(r[end:])):
        return None
    if end > N_PARAM + n_var:
        return point[N_PARAM:]
    bounds = [r for r in rows if r[end] and not any(r[end + 1 :])]
    low = max(-(value(r, point) // r[end]) for r in bounds if r[end] > 0)
    high = min(value(r, point) // -r[end] for r in bounds if r[end] < 0)
    for x in range(low, high + 1) if sign < 0 else range(high, low - 1, -1):
        found = first(rows, n_var, (*point, x), sign)
        if found is not None:
            return found
    return None


def sides(rng, k, width, floors):
    """A lower and an upper bound of variable k by what comes before it."""
    low, high = [0] * width, [0] * width
    at = 1 + N_PARAM + k
    low[at], high[at] = rng.choice([1, 1, 1, 2, 3]), -rng.choice([1, 1, 1, 2, 3])
    for row in (low, high):
        for _ in range(rng.choice([0, 1, 1, 2])):
            row[rng.randrange(1, at)] += rng.choice([1, 1, -1, 2, -2])
    low[0], high[0] = rng.randint(-2, 4), rng.randint(0, 7)
    if rng.random() < floors:  # x is a floor, or there is room for a few multiples
        low[at] = rng.choice([2, 3, 4, 5])
        high = [-v for v in low]
        high[0] += low[at] + rng.choice([-2, -1, -1, -1, 0, 3])
    return [tuple(low), tuple(high)]


def system(rng):
    """Equalities and inequalities, of which each variable has bounds by those before it, and how many are wanted."""
    floors = rng.choice([0, 0.3, 0.8])
    n_var = rng.choice([1, 2, 2, 3, 3, 4])
    width = 1 + N_PARAM + n_var
    eqs, ineqs = [], []
    n_wanted = rng.randint(1, n_var)
    for k in range(n_var):
        if k and rng.random() < 0.3:
            row = [rng.randint(-2, 2), *[rng.choice([0, 0, 0, 1, -1, 2]) for _ in range(width - 1)]]
            row[1 + N_PARAM + k :] = [0] * (n_var - k)
            row[1 + N_PARAM + rng.randrange(k)] = rng.choice([1, -1, 1, -1, 0])
            row[1 + N_PARAM + k] = rng.choice([1, -1, 2, -2, 3, -4])
            eqs.append(tuple(row))
            if rng.random() < 0.6:
                continue
        ineqs += sides(rng, k, width, floors)
    for _ in range(rng.choice([0, 0, 1, 2])):
        ineqs.append((rng.randint(-2, 6), *[rng.choice([0, 0, 0, 1, -1, 2, -3]) for _ in range(width - 1)]))
    if rng.random() < 0.15:
        eqs.append((rng.randint(-1, 1), *rng.choice([(1, 1), (1, -2), (2, 0), (2, -4)]), *[0] * n_var))
    rng.shuffle(ineqs)
    rng.shuffle(eqs)
    return n_var, eqs, ineqs, n_wanted


def rounded(rng):
    """Bounds by parameters alone that are quotients, some of the same dividend, and a variable tied to this one."""
    x, y = rng.sample([3, 4], 2)
    low, high = rng.sample([(0, 1, 0), (1, 1, 0), (-2, 0, 1), (0, 1, -1)], 2)
    rows = []
    for side, sign in ((low, 1), (high, -1)):
        for _ in range(rng.choice([1, 2])):
            row = [-sign * v for v in side] + [0, 0]
            row[0] += rng.choice([0, 0, 0, 5])
            row[y] = sign * rng.choice([1, 2, 3, 4])
            rows.append(tuple(row))
    for sign in (1, -1):
        for _ in range(rng.choice([1, 1, 2])):
            row = [rng.randint(0, 3), *rng.choice([(0, 0), (0, 0), (1, 0), (0, -1)]), 0, 0]
            row[x], row[y] = sign * rng.choice([1, 1, 2]), -sign * rng.choice([2, 3, 4])
            rows.append(tuple(row))
    return 2, [], [*rows, (40, 0, 0, 1, 0), (40, 0, 0, -1, 0)], rng.choice([1, 2])


def told(piece, params):
    """The parameters and the floors of a piece; None outside of its domain."""
    point = [*params]
    for den, row in piece.divs:
        assert len(row) == len(point) + 1
        point.append(value(row, point) // den)
    rows = [*piece.eqs, *piece.ineqs]
    assert all(len(r) == len(point) + 1 for r in (*rows, *piece.values))
    inside = all(value(r, point) == 0 for r in piece.eqs) and all(value(r, point) >= 0 for r in piece.ineqs)
    return point if inside else None


@pytest.mark.parametrize("kind", [system, rounded])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("seed", range(3))
def test_the_first_point(seed, sign, kind):
    rng = random.Random(seed)
    answered = with_floors = together = 0
    for _ in range(50):
        n_var, eqs, ineqs, n_wanted = kind(rng)
        rows = [*ineqs, *eqs, *[tuple(-v for v in r) for r in eqs]]
        given = [(rng.randint(0, 3), *rng.choice([(1, 0), (0, 1), (1, -1)]))] * rng.choice([0, 0, 1])
        found = triangular.optimum(N_PARAM, n_var, eqs, ineqs, given, n_wanted, sign)
        whole = triangular.folded(N_PARAM, n_var, eqs, ineqs, given, n_wanted, sign)
        if found is None and whole is None:
            continue
        answered += found is not None
        with_floors += any(p.divs for p in found or ())
        for params in HERE:
            if any(value(g, params) < 0 for g in given):
                continue
            point = first(rows, n_var, params, sign)
            right = [] if point is None else [point[:n_wanted]]
            if found is not None:
                inside = [(p, at) for p in found if (at := told(p, params)) is not None]
                assert [tuple(value(v, at) for v in p.values) for p, at in inside] == right
            for piece, options in whole or ():
                at = told(piece, params)
                assert (at is not None) == bool(right)
                if at is not None:
                    best = max if sign < 0 else min
                    assert tuple(best(value(v, at) for v in values) for values in options) == right[0]
                    together += 1
    assert answered >= 15 and with_floors >= 3 and together > 100


def values(pieces, params):
    return [tuple(value(v, at) for v in p.values) for p in pieces if (at := told(p, params)) is not None]


def test_equalities_that_contradict_one_another_and_such_as_say_the_same():
    two, three = (-2, 0, 1), (-3, 0, 1)
    for eqs in (two, three), (three, two), ((1, 0, 0), two), (two, (-5, 0, 2)):
        assert triangular.optimum(1, 1, eqs, (), (), 1, -1) == []
    (piece,) = triangular.optimum(1, 1, (two, two), (), (), 1, -1)
    assert piece.values == ((2, 0),)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("a", [2, 3, 7])
def test_a_floor_of_what_is_asked_for_is_no_obstacle(a, sign):
    """0 <= x <= N with q = floor(x/a), and where x mod a is at most a - 2 there is a step of the simplex."""
    box = (0, 0, 1, 0), (0, 1, -1, 0)
    found = triangular.optimum(1, 2, (), (*box, (0, 0, 1, -a), (a - 1, 0, -1, a)), (), 1, sign)
    assert [values(found, (n,)) for n in range(-2, 0)] == [[], []]
    assert [values(found, (n,)) for n in range(9)] == [[(n if sign > 0 else 0,)] for n in range(9)]
    assert triangular.optimum(1, 2, (), (*box, (0, 0, 1, -a), (a - 2, 0, -1, a)), (), 1, sign) is None


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_bound_that_others_imply_is_no_obstacle(sign):
    """1 <= x <= N with q = floor(x/4): that 4q is at most N, and at most N + x, follows."""
    rows = [(-1, 0, 1, 0), (0, 1, -1, 0), (-1, 1, 0, 0), (0, 0, 1, -4), (3, 0, -1, 4), (0, 1, 0, -4), (0, 1, 1, -4)]
    for wanted in (1, 2):
        (piece,) = triangular.optimum(1, 2, (), rows, (), wanted, sign)
        assert piece.ineqs == ((-1, 1, *[0] * len(piece.divs)),)
        best = [(1, 0) if sign < 0 else (n, n // 4) for n in range(1, 12)]
        assert [values([piece], (n,)) for n in range(1, 12)] == [[v[:wanted]] for v in best]


def test_values_of_several_options_are_told_where_no_bound_mentions_them():
    a, b, c = (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
    rows = [(*(-v for v in r), *unit) for r, unit in ((a, (1, 0, 0)), (b, (1, 0, 0)), (c, (0, 1, 0)))]
    after = (0, 0, 0, 0, 0, -1, 1)  # z >= y
    ((_, options),) = triangular.folded(3, 3, (), (*rows, after), (), 3, -1)
    assert options == [(a, b), (c,), (c,)]
    assert triangular.folded(3, 3, (), (*rows, (0, 0, 0, 0, -1, 0, 1)), (), 3, -1) is None  # z >= x
