"""Operations on sets of rational points against formulas that are evaluated in Fractions, at points and by themselves.

A formula is a tree of comparisons, drawn with its text. Whether a number exists that makes one true is decided without
the library: between the places where some comparison changes, nothing does, so the places and one number in each gap
are all that there is to try.
"""

from fractions import Fraction
from itertools import combinations, product
from operator import eq, ge, gt, le, lt, ne
from random import Random
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import RationalSet, Set
from polyvolta.sets.rationals import polyhedron
from tests.sets.brute import examples

COMPARE = {"<=": le, "<": lt, ">=": ge, ">": gt, "=": eq, "!=": ne}
LINE = sorted({Fraction(k, d) for d in range(1, 7) for k in range(-3 * d, 3 * d + 1)})
COARSE = [Fraction(k, 2) for k in range(-5, 6)] + [Fraction(-4, 3), Fraction(1, 3), Fraction(5, 3)]
GRID = {1: [(x,) for x in LINE], 2: list(product(COARSE, COARSE))}
NAMES = ("i", "j")
SEEDS = st.integers(0, 2**32)


class Drawn:
    """A formula over `n` dimensions: its text, its truth at a point, its rows."""

    def __init__(self, random, n, depth=2, operators="<= < >= > = !=", box=False):
        self.n, self.rows = n, []
        self.text, self.at = self.tree(random, depth, operators.split())
        if box:
            inside = " and ".join(f"-2 <= {x} <= 2" for x in NAMES[:n])
            self.rows += [([int(k == j) for j in range(n)], c) for k in range(n) for c in (2, -2)]
            self.text, truth = f"({self.text}) and {inside}", self.at
            self.at = lambda p: all(-2 <= v <= 2 for v in p) and truth(p)

    def tree(self, random, depth, operators):
        kind = random.choice(["row", "and", "or", "not"]) if depth else "row"
        if kind == "row":
            return self.row(random, random.choice(operators))
        if kind == "not":
            text, at = self.tree(random, depth - 1, operators)
            return f"not ({text})", lambda p: not at(p)
        parts = [self.tree(random, depth - 1, operators) for _ in range(2)]
        both = all if kind == "and" else any
        return "(" + f" {kind} ".join(t for t, _ in parts) + ")", lambda p: both([at(p) for _, at in parts])

    def row(self, random, op):
        coefficients = [random.randint(-3, 3) for _ in range(self.n)]
        const = random.randint(-4, 4)
        self.rows.append((coefficients, const))
        left = " + ".join(f"{c}{x}" for c, x in zip(coefficients, NAMES))
        compare = COMPARE[op]
        return f"{left} + {const} {op} 0", lambda p: compare(value(coefficients, const, p), 0)

    def set(self):
        return RationalSet(f"{{ rat: [{', '.join(NAMES[: self.n])}] : {self.text} }}")


def value(coefficients, const, point):
    return sum(c * x for c, x in zip(coefficients, point)) + const


def to_try(places):
    """The places, one number between each two that are neighbours, one below and one above all."""
    places = sorted(set(places)) or [Fraction(0)]
    between = [(a + b) / 2 for a, b in zip(places, places[1:])]
    return sorted([places[0] - 1, *places, *between, places[-1] + 1])


def second(f, x):
    """The numbers to try for the second dimension, the first one being x."""
    return to_try(-Fraction(c + a * x, b) for (a, b), c in f.rows if b)


def first(f):
    """The numbers to try for the first dimension: where rows cross, or speak of it alone."""
    places = [-Fraction(c, a) for (a, b), c in f.rows if a and not b]
    for ((a, b), c), ((d, e), g) in combinations(f.rows, 2):
        if a * e - b * d:
            places.append(Fraction(b * g - c * e, a * e - b * d))
    return to_try(places)


def above(f, x):
    """Whether there is a point above x."""
    return any(f.at((x, y)) for y in second(f, x))


def drawn(seed, many=1, n=None, **shape):
    random = Random(seed)
    n = n or random.choice((1, 2))
    return [Drawn(random, n, **shape) for _ in range(many)]


def agree(s, truth, n):
    """At some points of the grid, other ones for each set."""
    for p in Random(str(s)).sample(GRID[n], 50):
        assert s.contains(p) is truth(p), (p, s)


@given(SEEDS)
@examples(600)
def test_a_text_has_the_points_that_it_says(seed):
    (f,) = drawn(seed)
    s = f.set()
    agree(s, f.at, f.n)
    assert RationalSet(str(s)) == s and Set(str(s)).is_equal(s)
    if s.is_empty():
        assert not any(f.at((x,)) if f.n == 1 else above(f, x) for x in (tried(f) if f.n == 1 else first(f)))
    else:
        assert f.at(s.sample_point())


def tried(f):
    return to_try(-Fraction(c, a) for (a,), c in f.rows if a)


@given(SEEDS)
@examples(400)
def test_boolean_algebra(seed):
    f, g = drawn(seed, 2)
    a, b = f.set(), g.set()
    agree(a & b, lambda p: f.at(p) and g.at(p), f.n)
    agree(a | b, lambda p: f.at(p) or g.at(p), f.n)
    agree(a - b, lambda p: f.at(p) and not g.at(p), f.n)
    agree(~a, lambda p: not f.at(p), f.n)
    agree(a ^ b, lambda p: f.at(p) is not g.at(p), f.n)
    assert (a & ~a).is_empty() and (a | ~a).is_equal(RationalSet(f"{{ rat: [{', '.join(NAMES[: f.n])}] }}"))


@given(SEEDS)
@examples(400)
def test_comparisons_have_witnesses(seed):
    f, g = drawn(seed, 2, depth=1)
    a, b = f.set(), g.set()
    if a.is_subset(b):
        assert not any(f.at(p) and not g.at(p) for p in GRID[f.n])
    else:
        p = (a - b).sample_point()
        assert f.at(p) and not g.at(p)
    if a.is_disjoint(b):
        assert not any(f.at(p) and g.at(p) for p in GRID[f.n])
    else:
        p = (a & b).sample_point()
        assert f.at(p) and g.at(p)
    assert a.is_equal(b) is (a.is_subset(b) and b.is_subset(a)) and (a < b) is (a <= b and not b <= a)
    assert a.is_equal(~~a) and (a | b).is_equal(~(~a & ~b))


@given(SEEDS)
@examples(400)
def test_coalescing_keeps_the_points(seed):
    f, g = drawn(seed, 2)
    s = f.set() | g.set()
    c = s.coalesce()
    agree(c, lambda p: f.at(p) or g.at(p), f.n)
    assert len(c.pieces) <= len(s.pieces) and c.is_equal(s)
    pieces = c.pieces
    assert not any(a <= b for a in pieces for b in pieces if a is not b)


@given(SEEDS)
@examples(400)
def test_intervals_that_touch_become_one(seed):
    (f,) = drawn(seed, n=1, depth=3)
    c = f.set().coalesce()
    inside = [f.at((x,)) for x in tried(f)]
    runs = sum(now and not before for before, now in zip([False, *inside], inside))
    assert len(c.pieces) == runs


@given(SEEDS)
@examples(400)
def test_projections_are_over_rational_numbers(seed):
    (f,) = drawn(seed, n=2)
    s = f.set()
    shadow = s.project_out("j")
    asked = RationalSet(f"{{ rat: [i] : exists (j : {f.text}) }}")
    never = RationalSet(f"{{ rat: [i] : not (exists j : {f.text}) }}")
    assert shadow.is_equal(asked) and shadow.is_equal(~never)
    wide = s.eliminate("j")
    for x in {*LINE[::5], *first(f)}:
        assert shadow.contains(x) is above(f, x)
        assert wide.contains((x, 7)) is above(f, x)
    with patch.object(polyhedron, "MANY", -9):
        assert s.project_out("j") == shadow and s.eliminate("j") == wide
    param = s.move_dims("i", to="params")
    assert param.project_out_param("i").is_equal(s.project_out("i"))


@given(SEEDS)
@examples(200)
def test_projections_by_two_methods(seed):
    random = Random(seed)
    n = random.choice((3, 4))
    names = ["v", "w", "x", "y"][:n]
    rows = [
        " + ".join(f"{random.randint(-3, 3)}{x}" for x in names)
        + f" + {random.randint(-2, 6)} {random.choice(['>=', '>=', '>', '>', '='])} 0"
        for _ in range(random.randint(2, 7))
    ]
    s = RationalSet(f"{{ rat: [{', '.join(names)}] : {' and '.join(rows)} }}")
    gone = random.sample(names, random.randint(1, n - 1))
    shadow = s.project_out(*gone)
    with patch.object(polyhedron, "MANY", -9):
        other = s.project_out(*gone)
    assert shadow.is_equal(other) and s.is_empty() is shadow.is_empty()
    if not s.is_empty():
        lifted = s.fix(dict(zip(other.dims(), other.sample_point())))
        assert not lifted.is_empty()


@given(SEEDS)
@examples(300)
def test_least_and_greatest_points(seed):
    (f,) = drawn(seed, n=2, box=True)
    low, high = f.set().lexmin(), f.set().lexmax()
    assert len(low.coalesce().pieces) <= 1 and (low.is_empty() or f.at(low.sample_point()))
    for found, better in ((low, lt), (high, gt)):
        beats = lambda a, b, better=better: better(a, b)  # noqa: E731
        columns = [x for x in first(f) if above(f, x)]
        points = [(x, y) for x in columns for y in second(f, x) if f.at((x, y))]
        best = [p for p in points if not any(beats(q, p) for q in points)]
        attained = (
            best
            and not any(beats(x, best[0][0]) and above(f, x) for x in gap(first(f), best[0][0], better))
            and not any(f.at((best[0][0], y)) for y in gap(second(f, best[0][0]), best[0][1], better))
        )
        assert found.is_empty() is not bool(attained), (f.text, found)
        if attained:
            assert found.contains(best[0])


def gap(numbers, at, better):
    """Numbers close to `at` on its better side, before any other number to try."""
    other = [x for x in numbers if better(x, at)]
    nearest = (max if better is lt else min)(other, default=at - 1 if better is lt else at + 1)
    return [(nearest + at) / 2]


@given(SEEDS)
@examples(300)
def test_parametric_optima(seed):
    (f,) = drawn(seed, n=2, box=True)
    s = f.set().move_dims("i", to="params")
    low, high = s.lexmin(), s.lexmax()
    for x in {*COARSE, *first(f)}:
        for found, better in ((low, lt), (high, gt)):
            numbers = second(f, x)
            inside = [y for y in numbers if f.at((x, y))]
            best = [y for y in inside if not any(better(z, y) for z in inside)]
            best = [y for y in best if not f.at((x, gap(numbers, y, better)[0]))]
            slice_ = found.fix(i=x)
            assert slice_.is_empty() is not best
            assert not best or (found.contains((best[0],), i=x) and slice_.sample_point() == (best[0],))


@given(SEEDS)
@examples(300)
def test_integer_points_and_constraints(seed):
    (f,) = drawn(seed)
    s = f.set()
    whole = s.integer_points()
    numbers = range(-4, 5)
    for p in product(numbers, repeat=f.n):
        assert whole.contains(p) is f.at(p)
    agree(s.fix(i=Fraction(1, 2)), lambda p: p[0] == Fraction(1, 2) and f.at(p), f.n)
    agree(s.lower_bound(0, Fraction(-1, 3)), lambda p: p[0] >= Fraction(-1, 3) and f.at(p), f.n)
    agree(s.upper_bound("i", "5/3"), lambda p: p[0] <= Fraction(5, 3) and f.at(p), f.n)
    agree(s.equate("i", f.n - 1), lambda p: p[0] == p[-1] and f.at(p), f.n)


@given(SEEDS)
@examples(300)
def test_beside_sets_of_integers(seed):
    f, g = drawn(seed, 2, box=True)
    a, b = f.set(), Set(f"{{ [{', '.join(NAMES[: g.n])}] : {g.text} }}")
    points = list(product(range(-3, 4), repeat=f.n))
    both = {p for p in points if f.at(p) and g.at(p)}
    assert {*(a & b).points()} == both == {*(b & a).points()}
    assert {*(b - a).points()} == {p for p in points if g.at(p)} - both
    assert b.is_subset(a) is (a >= b) is all(f.at(p) for p in points if g.at(p))
    assert a.is_disjoint(b) is b.is_disjoint(a) is (not both)
    inside = a.is_subset(b)
    assert inside is (b >= a) and b.is_equal(a) is a.is_equal(b) is (inside and b <= a)
    alone = a
    for p in both:
        alone = alone - RationalSet(f"{{ rat: [{', '.join(map(str, p))}] }}")
    assert inside is alone.is_empty()


@given(SEEDS)
@examples(300)
def test_coefficients_are_those_of_valid_constraints(seed):
    f, g = drawn(seed, 2, depth=1)
    s = f.set()
    dual = s.coefficients()
    coefficients, const = g.rows[0]
    below = s & RationalSet(f"{{ rat: [{', '.join(NAMES[: f.n])}] : {value_text(coefficients, const)} < 0 }}")
    assert dual.contains((const, *coefficients)) is below.is_empty()
    if not below.is_empty():
        p = below.sample_point()
        assert f.at(p) and value(coefficients, const, p) < 0
    back = dual.solutions()
    assert s.is_subset(back) and (not s.is_empty() or back.is_empty())
    assert back.coefficients().is_equal(dual) and len(back.pieces) <= 1
    if len(s.pieces) == 1 and not any(op in str(s).replace("<=", "").replace(">=", "") for op in "<>"):
        assert back.is_equal(s)


def value_text(coefficients, const):
    return " + ".join(f"{c}{x}" for c, x in zip(coefficients, NAMES)) + f" + {const}"
