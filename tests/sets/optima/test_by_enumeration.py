"""Optima of drawn unions, each against the points that satisfy its constraints, one by one in Python.

A piece is a box around the dimensions that are optimised, half-spaces and congruences. Each is drawn as a text and as
what it says of a point, so that the tests share no code with what they hold to it.
"""

import random
from itertools import product

import pytest

from polyvolta.sets import EmptySet, Map, OutsideDomain, Set, Unbounded
from polyvolta.sets.engine import lexopt
from polyvolta.sets.engine.rows import combine, evaluate
from polyvolta.sets.optima import backwards, lexrel, triangular
from polyvolta.sets.optima.extent import least_value

LOW, HIGH = -3, 4  # the box around each dimension that is optimised
INPUTS = range(-4, 6)
BOTH = [(-1, min), (1, max)]


def form(rng, names):
    """An affine form in a few of the names, as text and value."""
    coefficients = [rng.choice((0, 1, -1, 1, -1, 2, -2, 3)) for _ in names]
    const = rng.randint(-5, 5)
    text = " + ".join([f"{c}{name}" for c, name in zip(coefficients, names, strict=True)] + [str(const)])
    return text, lambda point: sum(c * x for c, x in zip(coefficients, point, strict=True)) + const


def constraint(rng, names):
    """A half-space, a congruence, or that a form is a multiple: `exists e` with a coefficient."""
    text, value = form(rng, names)
    kind, m = rng.choice(("half", "half", "mod", "multiple")), rng.randint(2, 4)
    if kind == "half":
        return f"{text} >= 0", lambda p: value(p) >= 0
    if kind == "mod":
        r = rng.randint(0, m - 1)
        return f"({text}) mod {m} = {r}", lambda p: value(p) % m == r
    return f"(exists e : {m}e <= {text} <= {m}e + 1)", lambda p: value(p) % m <= 1


def piece(rng, names, boxed):
    """A conjunction of up to three constraints, within the box of the dimensions `boxed`."""
    drawn = [constraint(rng, names) for _ in range(rng.randint(0, 3))]
    text = " and ".join([f"{LOW} <= {x} <= {HIGH}" for x in boxed] + [t for t, _ in drawn])
    return f"({text})", lambda p: all(says(p) for _, says in drawn)


def union(rng, names, boxed, most):
    """Several pieces: their text, and whether one of them has a point, which is in the box."""
    pieces = [piece(rng, names, boxed) for _ in range(rng.randint(1, most))]
    return " or ".join([t for t, _ in pieces]), lambda p: any(says(p) for _, says in pieces)


def box(n):
    return product(range(LOW, HIGH + 1), repeat=n)


def optimum(relation, sign):
    return relation.lexmin() if sign < 0 else relation.lexmax()


@pytest.mark.parametrize("seed", range(40))
def test_the_first_and_the_last_point(seed):
    rng = random.Random(seed)
    text, holds = union(rng, "xyz", "xyz", 3)
    points = [p for p in box(3) if holds(p)]
    for sign, choose in BOTH:
        assert list(optimum(Set(f"{{ [x, y, z] : {text} }}"), sign).points()) == ([choose(points)] if points else [])


@pytest.mark.parametrize("seed", range(20))
def test_the_first_and_the_last_output_of_each_input(seed):
    """For each size and each input there is one output, the best, where the union has one, and else none."""
    rng = random.Random(104 + seed)
    text, holds = union(rng, "Nixy", "xy", 3)
    whole = Map(f"[N] -> {{ [i] -> [x, y] : {text} }}")
    nearby = Set(f"{{ [i] : {INPUTS[0]} <= i <= {INPUTS[-1]} }}")
    for sign, choose in BOTH:
        best = optimum(whole, sign).intersect_domain(nearby)
        for n in INPUTS:
            found = sorted(best.fix(N=n).points())
            outputs = [(i, [p for p in box(2) if holds((n, i, *p))]) for i in INPUTS]
            assert found == [(i, *choose(ps)) for i, ps in outputs if ps], n


def test_the_best_of_what_each_value_of_a_variable_gives(monkeypatch):
    """Asked for after the first cut: one piece for each input that has an output; None where it takes too long."""
    monkeypatch.setattr(lexopt, "_LONG", 1)
    monkeypatch.setattr(lexrel, "MOST_SLICES", 8)
    sliced, answers = lexrel._sliced, []
    monkeypatch.setattr(lexrel, "_sliced", lambda *args: answers.append(sliced(*args)) or answers[-1])
    for seed in range(12):
        monkeypatch.setattr(lexrel, "FOR_SLICES", 1 if seed % 5 == 1 else 2_000)
        rng = random.Random(600 + seed)
        drawn = [piece(rng, "Nixy", "xy") for _ in range(2)]
        cs = [c for _, cs in Map(f"[N] -> {{ [i] -> [x, y] : {' and '.join(t for t, _ in drawn)} }}").parts for c in cs]
        for c, (sign, choose) in product(cs if len(cs) == 1 else (), BOTH):
            pieces = lexrel.conjunct_optimum(c, 2, sign)
            for at in rng.sample([*product(INPUTS, INPUTS)], 8):
                found = []
                for divs, values, p in pieces:
                    x = [*at]
                    for den, row in divs:
                        x.append(evaluate(row, x) // den)
                    if not any(evaluate(r, x) for r in p.eqs) and all(evaluate(r, x) >= 0 for r in p.ineqs):
                        found.append(tuple(evaluate(v, x) for v in values))
                outputs = [p for p in box(2) if all(says((*at, *p)) for _, says in drawn)]
                assert found == ([choose(outputs)] if outputs else []), (seed, at)
    assert len(answers) > 8 and 0 < sum(map(bool, answers)) < len(answers)


@pytest.mark.parametrize("seed", range(40))
def test_the_least_and_the_greatest_value(seed):
    rng = random.Random(200 + seed)
    text, holds = union(rng, "xyz", "xyz", 3)
    expression, value = form(rng, "xyz")
    whole, values = Set(f"{{ [x, y, z] : {text} }}"), [value(p) for p in box(3) if holds(p)]
    if not values:
        with pytest.raises(EmptySet):
            whole.min(expression)
        return
    assert (whole.min(expression), whole.max(expression)) == (min(values), max(values))


@pytest.mark.parametrize("seed", range(30))
def test_the_least_and_the_greatest_value_at_each_size(seed):
    rng = random.Random(300 + seed)
    text, holds = union(rng, "Nxy", "xy", 2)
    expression, value = form(rng, "Nxy")
    whole = Set(f"[N] -> {{ [x, y] : {text} }}")
    for best, choose in ((whole.min(expression), min), (whole.max(expression), max)):
        for n in INPUTS:
            values = [value((n, *p)) for p in box(2) if holds((n, *p))]
            try:
                found = best.eval((), N=n)
            except OutsideDomain:
                found = None
            assert found == (choose(values) if values else None), n


@pytest.mark.parametrize("seed", range(30))
def test_a_dimension_without_an_end(seed):
    """`y <= 4` alone, with congruences: no least y where there is a point, the greatest as within the box."""
    rng = random.Random(400 + seed)
    fixed, modulus = rng.choice("xz"), rng.randint(2, 3)
    text, holds = piece(rng, "xz", "xz")
    whole = Set(f"{{ [x, y, z] : y <= {HIGH} and (y + {fixed}) mod {modulus} = 0 and {text} }}")
    points = [
        (x, y, z) for x, y, z in box(3) if holds((x, z)) and (y + {"x": x, "z": z}[fixed]) % modulus == 0
    ]  # the box is as wide as any modulus, and so has the greatest y of each x and z
    assert list(whole.lexmax().points()) == ([max(points)] if points else [])
    if points:
        assert whole.max("y - 9x") == max(y - 9 * x for x, y, z in points)
        for ask in (whole.lexmin, lambda: whole.min("y + x - z"), lambda: whole.max("x - y")):
            with pytest.raises(Unbounded):
                ask()
    else:
        assert whole.lexmin().is_empty()


@pytest.mark.parametrize("seed", range(60))
def test_the_least_value_of_rows(seed):
    """Of rows as they are drawn, which no normal form has seen: None where they have no integer point."""
    rng = random.Random(500 + seed)
    drawn = [tuple(rng.randint(-7, 7) for _ in range(3)) for _ in range(rng.randint(0, 4))]
    eqs, rows, row = drawn[:1] if seed % 3 == 0 else [], drawn[1:], tuple(rng.randint(-3, 3) for _ in range(3))
    at = lambda r, p: r[0] + r[1] * p[0] + r[2] * p[1]  # noqa: E731
    values = [at(row, p) for p in box(2) if all(at(r, p) == 0 for r in eqs) and all(at(r, p) >= 0 for r in rows)]
    bounds = [(-LOW, 1, 0), (HIGH, -1, 0), (-LOW, 0, 1), (HIGH, 0, -1)]
    assert least_value(2, eqs, [*rows, *bounds], row) == min(values, default=None)


def test_the_first_corner_may_lie_between_points():
    """At x = 0 there are rationals y, no integer; at x = 1 there is one. At x = 3 alone there is none."""
    assert list(Set("{ [x, y] : 0 <= x <= 3 and x + 1 <= 3y <= x + 2 }").lexmin().points()) == [(1, 1)]
    assert list(Set("{ [x, y] : 0 <= x <= 3 and x + 1 <= 3y <= x + 2 }").lexmax().points()) == [(2, 1)]
    assert Set("{ [x, y] : x = 3 and x + 1 <= 3y <= x + 2 }").lexmin().is_empty()
    hole = [(-1, -1, 3), (2, 1, -3)]  # x + 1 <= 3y <= x + 2
    assert least_value(2, [(0, 1, 0)], hole, (0, 0, 1)) is None
    assert least_value(2, [], [*hole, (0, 1, 0)], (5, 1, 0)) == 6


@pytest.mark.parametrize("sign", [-1, 1])
def test_no_end_and_no_point_is_no_answer(sign):
    """Rationals are in each, without end: an odd number is even, and 3 | 2 with x between."""
    for text in ("2x = 2y + 1", "exists e : 4e + 2 = 2x and 4y = 2x", "3x >= 3y + 1 and 3x <= 3y + 2"):
        assert optimum(Set(f"{{ [x, y] : {text} }}"), sign).is_empty()
        assert optimum(Map(f"[N] -> {{ [x] -> [y] : {text} and N >= x }}"), sign).is_empty()


def test_one_output_alone_has_no_least():
    """Of i < 0 there is an end, of i = 7 none: the whole has no optimum, its part has."""
    m = Map("[N] -> { [i] -> [j] : i < 0 and j >= N + i; [i] -> [j] : i = 7 and j <= N }")
    with pytest.raises(Unbounded):
        m.lexmin()
    least = m.intersect_domain(Set("{ [i] : i < 0 }")).lexmin()
    assert sorted(least.fix(N=3).intersect_domain(Set("{ [i] : i >= -2 }")).points()) == [(-2, 1), (-1, 2)]


def test_an_elimination_of_many_rows_is_given_up_at_once(monkeypatch):
    """Of 200 lower and 200 upper bounds not all 40,000 combinations are made before there are too many rows."""
    made = []
    monkeypatch.setattr(backwards, "combine", lambda *args: made.append(combine(*args)) or made[-1])
    rng = random.Random(1)
    rows = [(0, *[rng.randint(-50, 50) for _ in range(4)], sign) for sign in (1, -1) for _ in range(200)]
    assert triangular.optimum(4, 1, (), rows, (), 1, -1) is None
    assert backwards.MOST_ROWS < len(made) <= 400
