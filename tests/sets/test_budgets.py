"""Inputs built to blow up: each is answered rightly, by an argument that shares no code, or ends in BudgetExceeded.

Limits are on steps, which are the same on every machine; the alarm only turns a hang into a failure.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import random
import signal
from functools import _lru_cache_wrapper
from inspect import isfunction

import numpy as np
import pytest

import polyvolta.sets
from polyvolta.sets import (
    BudgetExceeded,
    Layout,
    Map,
    MultiPwAff,
    PwAff,
    PwQPolynomial,
    Set,
    SpaceMismatch,
    budget,
    var,
)
from polyvolta.sets.budgets import bounded, metered, spend
from polyvolta.sets.engine.integer import is_empty, sample
from polyvolta.sets.engine.simplex import Tableau

HUGE = 10**100 + 267


@pytest.fixture(autouse=True)
def guard():
    """No test here may take a minute."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_):
        raise TimeoutError("a budget did not stop this")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def holds(eqs, ineqs, point):
    at = lambda r: r[0] + sum(c * x for c, x in zip(r[1:], point, strict=True))  # noqa: E731
    return all(at(r) == 0 for r in eqs) and all(at(r) >= 0 for r in ineqs)


def attempt(f, steps):
    """The answer, or None when it takes more than so many steps."""
    try:
        with budget(steps):
            return f()
    except BudgetExceeded:
        return None


# ---- integer programs


def needles(n, big):
    """A chain of thin triangles: each pair of neighbours lies in a needle without small points."""
    rows = [(0, 1, *[0] * (n - 1))]
    for k in range(n - 1):
        tail = [0] * (n - 2 - k)
        rows.append((-(big // 3), *[0] * k, big, 1 - big, *tail))
        rows.append((2 * big // 3, *[0] * k, -big, big - 2, *tail))
    return rows


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("big", [300_000, HUGE])
def test_chains_of_needles(n, big):
    rows = needles(n, big)
    with budget(20_000):
        point = sample(n, (), rows)
    assert holds((), rows, point)
    text = " and ".join(" + ".join([str(r[0]), *(f"{c}*x{k}" for k, c in enumerate(r[1:]))]) + " >= 0" for r in rows)
    names = ", ".join(f"x{k}" for k in range(n))
    with budget(20_000):
        (least,) = Set(f"{{ [{names}] : {text} }}").lexmin().points()
    assert holds((), rows, least) and least <= point


@pytest.mark.parametrize("digits", [3, 30, 100])
def test_the_frobenius_number_of_two_coins(digits):
    """Sylvester: a*b - a - b is the largest sum that coins a and b, without a common factor, cannot pay."""
    a, b = 10**digits + 1, 10**digits + 2
    coins = [(0, 1, 0), (0, 0, 1)]
    last = a * b - a - b
    with budget(20_000):
        assert is_empty(2, ((-last, a, b),), coins)
        for paid in (last + 1, last + 2, a * b):
            assert holds(((-paid, a, b),), coins, sample(2, ((-paid, a, b),), coins))


@pytest.mark.parametrize("seed", range(6))
def test_knapsacks_with_coefficients_of_100_digits(seed):
    """One equality with a solution that is planted; without it a point would have to be proved absent."""
    draw = random.Random(seed)
    coins = [draw.randrange(10**99, 10**100) for _ in range(5)]
    planted = [draw.randrange(50) for _ in coins]
    eq = (-sum(c * x for c, x in zip(coins, planted, strict=True)), *coins)
    ineqs = [(0, *[int(j == k) for j in range(5)]) for k in range(5)]
    point = attempt(lambda: sample(5, (eq,), ineqs), 50_000)
    assert point is None or holds((eq,), ineqs, point)


@pytest.mark.parametrize("n", [8, 16, 40])
def test_klee_minty_cubes(n):
    """The maximum of sum 2^(n-1-j) x_j is 5^n, at the last corner that a greedy simplex visits."""
    tab = Tableau(n)
    units = [[int(j == k) for j in range(n)] for k in range(n)]
    for unit in units:
        tab.add_ineq((0, *unit))
    for k in range(n):
        tab.add_ineq((5 ** (k + 1), *[-(2 ** (k - j + 1)) for j in range(k)], -1, *[0] * (n - 1 - k)))
    top = attempt(lambda: tab.maximum((0, *[2 ** (n - 1 - j) for j in range(n)])), 50_000)
    assert top in (None, (5**n, 1))


@pytest.mark.parametrize("holes", [3, 4, 5])
def test_pigeonholes(holes):
    """Each of h + 1 pigeons in one of h holes, no two in one: every rational bound holds, no integer point does."""

    def house(pigeons):
        n = pigeons * holes
        row = lambda c, cells, sign: (c, *[sign * (k in cells) for k in range(n)])  # noqa: E731
        rows = [row(0, {k}, 1) for k in range(n)]
        rows += [row(-1, {p * holes + h for h in range(holes)}, 1) for p in range(pigeons)]
        rows += [row(1, {p * holes + h for p in range(pigeons)}, -1) for h in range(holes)]
        return n, rows

    n, rows = house(holes)
    assert holds((), rows, sample(n, (), rows))
    assert attempt(lambda: is_empty(*house(holes + 1)[:1], (), house(holes + 1)[1]), 50_000) in (True, None)


def test_every_pigeon_by_formula():
    """The same as a conjunction of disjunctions: four holes, five pigeons."""
    somewhere = [" or ".join(f"x{p} = {h}" for h in range(4)) for p in range(5)]
    apart = [f"x{p} != x{q}" for p in range(5) for q in range(p)]
    text = " and ".join([*(f"({s})" for s in somewhere), *apart])
    empty = attempt(lambda: Set(f"{{ [x0, x1, x2, x3, x4] : {text} }}").is_empty(), 50_000)
    assert empty in (True, None)


# ---- existentials and floors


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("relation", ["<=", "="])
def test_twenty_knotted_existentials(seed, relation):
    """Random couplings that hold at a planted point: it is found in the set, whatever form that takes."""
    draw = random.Random(seed)
    value = {f"e{k}": draw.randint(-9, 9) for k in range(20)} | {"i": draw.randint(0, 9), "j": draw.randint(0, 9)}
    rows = []
    for _ in range(24 if relation == "<=" else 10):
        form = {e: draw.choice([-15, -10, -6, 6, 10, 15, 2, 3]) for e in draw.sample(sorted(value), 4)}
        total = sum(c * value[e] for e, c in form.items())
        rows.append(" + ".join(f"{c}*{e}" for e, c in form.items()) + f" {relation} {total}")
    names = ", ".join(f"e{k}" for k in range(20))
    box = " and ".join(f"-20 <= e{k} <= 20" for k in range(20))
    text = f"{{ [i, j] : exists {names} : {' and '.join(rows)} and {box} and 0 <= i, j <= 9 }}"
    found = attempt(lambda: Set(text).fix(i=value["i"], j=value["j"]).is_empty(), 20_000)
    assert found in (False, None)
    pieces = attempt(lambda: Set(text).known_divs(), 10_000)
    assert pieces is None or not pieces.fix(i=value["i"], j=value["j"]).is_empty()


def test_elimination_that_squares_its_rows():
    draw = random.Random(4)
    value = {f"e{k}": draw.randint(-5, 5) for k in range(8)} | {"i": 1, "j": 2}
    rows = []
    for _ in range(40):
        form = {e: draw.choice([-1, 1]) for e in (*draw.sample(sorted(value), 5), "i", "j")}
        total = sum(c * value[e] for e, c in form.items())
        rows.append(" + ".join(f"{c}*{e}" for e, c in form.items()) + f" <= {total + draw.randint(0, 20)}")
    text = f"{{ [i, j] : exists {', '.join(f'e{k}' for k in range(8))} : {' and '.join(rows)} }}"
    found = attempt(lambda: Set(text).fix(i=1, j=2).is_empty(), 50_000)
    assert found in (False, None)


@pytest.mark.parametrize("depth", [5, 30])
def test_nested_floors_and_remainders(depth):
    floors = remainders = "i"
    for k in range(depth):
        floors = f"floor(({floors} + {k % 5})/{2 + k % 3})"
        remainders = f"(({remainders} + i) mod {7 + k % 5})"
    for i in (-1000, -1, 0, 17, 10**40):
        a = b = i
        for k in range(depth):
            a, b = (a + k % 5) // (2 + k % 3), (b + i) % (7 + k % 5)
        for text, value in ((floors, a), (remainders, b)):
            with budget(50_000):
                assert list(Set(f"{{ [i, j] : i = {i} and j = {text} }}").points()) == [(i, value)]


def test_floors_that_share_floors():
    """As expressions they are small, as trees they have a million leaves."""
    chain = [var("i"), var("i") + 1]
    for k in range(28):
        chain.append((3 * chain[-1] + 5 * chain[-2] + k) // 7)
    values = [12, 13]
    for k in range(28):
        values.append((3 * values[-1] + 5 * values[-2] + k) // 7)
    assert chain[-1].subs({"i": 12}).const == values[-1]


def test_floors_of_a_knotted_existential():
    """An existential under three moduli and a nested floor, negated: seconds without residue classes."""
    text = (
        "[N] -> { S[i, j] : -4 <= i <= 5 and -4 <= j <= 5 and not (exists e : -3 <= e <= 4 and "
        "(2*e + floor((3*j + floor((-2*i + 2)/2))/3) + 3 < -2*e - 3*i + 4 or "
        "3*e - 4*((-2*e + i + 4) mod 6) - 4 > j + e + ((5*e + i + 2) mod 4) - 2)) }"
    )

    def inside(i, j, e):
        first = 2 * e + (3 * j + (-2 * i + 2) // 2) // 3 + 3 < -2 * e - 3 * i + 4
        return first or 3 * e - 4 * ((-2 * e + i + 4) % 6) - 4 > j + e + (5 * e + i + 2) % 4 - 2

    with budget(60_000):
        found = list(Set(text).points(N=0))
    square = [(i, j) for i in range(-4, 6) for j in range(-4, 6)]
    assert found == [(i, j) for i, j in square if not any(inside(i, j, e) for e in range(-3, 5))]


def test_a_knotted_optimum_with_a_free_parameter():
    text = (
        "[N] -> { S[i] -> A[k] : -4 <= i <= 5 and -4 <= k <= 5 and ((i mod 2 = 1 and (k + i + (i mod 2) + 1) mod 3 = 0)"
        " and (i + ((-N - floor((-k + i - 3)/2)) mod 2) + 2) mod 6 = 0) }"
    )

    def holds_at(n, i, k):
        return i % 2 == 1 and (k + i + 2) % 3 == 0 and (i + (-n - (-k + i - 3) // 2) % 2 + 2) % 6 == 0

    with budget(30_000):
        least = Map(text).lexmin()
    for n in range(-3, 4):
        images = ((i, next((k for k in range(-4, 6) if holds_at(n, i, k)), None)) for i in range(-4, 6))
        assert list(least.points(N=n)) == [(i, k) for i, k in images if k is not None]


# ---- many pieces


def boxes(count, size, seed):
    draw = random.Random(seed)
    for _ in range(count):
        corners = [sorted(draw.randrange(size) for _ in range(2)) for _ in range(4)]
        yield [(a, b) for a, b in corners]


def union_of(found):
    pieces = [
        "[a, b, c, d] : " + " and ".join(f"{x} <= {v} <= {y}" for v, (x, y) in zip("abcd", box, strict=True))
        for box in found
    ]
    return Set("{ " + "; ".join(pieces) + " }")


@pytest.mark.parametrize("count", [20, 200])
def test_a_box_less_many_boxes(count):
    size = 12
    cells = np.ones((size,) * 4, bool)
    found = list(boxes(count, size, seed=count))
    for box in found:
        cells[tuple(slice(a, b + 1) for a, b in box)] = False
    whole, holes = union_of([[(0, size - 1)] * 4]), union_of(found)
    rest = attempt(lambda: whole.subtract(holes).count(), 60_000)
    assert rest in (int(cells.sum()), None)
    assert count > 20 or rest is not None


def test_the_error_names_the_outermost_operation_and_its_sizes():
    a, b = union_of(boxes(200, 100, 1)), union_of(boxes(100, 100, 2))
    with (
        pytest.raises(BudgetExceeded, match=r"is_equal of 200 pieces \(\d+ rows, 4 columns\) and 100 pieces"),
        budget(5),
    ):
        a.is_equal(b)
    with pytest.raises(BudgetExceeded, match=r"complement of 200 pieces"), budget(500):
        a.complement()
    with pytest.raises(BudgetExceeded, match=r"Set of a text of \d+ characters"), budget(1):
        Set("{ [i, j] : exists e : 3e <= 5i + 7j <= 11e and 2e >= 3j and 13i >= 1 }")


def test_the_negation_of_a_long_disjunction():
    draw = random.Random(1)
    c = lambda: draw.randint(-3, 3)  # noqa: E731
    clauses = [((c(), c(), c(), c()), (c(), c(), 0, c())) for _ in range(30)]
    say = lambda r: f"{r[0]}*x + {r[1]}*y + {r[2]}*z >= {r[3]}"  # noqa: E731
    body = " or ".join(f"({say(a)} and {say(b)})" for a, b in clauses)
    x, y, z = np.meshgrid(*[np.arange(-4, 5)] * 3)
    inside = lambda r: r[0] * x + r[1] * y + r[2] * z >= r[3]  # noqa: E731
    expected = int((~np.any([inside(a) & inside(b) for a, b in clauses], axis=0)).sum())
    text = f"{{ [x, y, z] : -4 <= x, y, z <= 4 and not ({body}) }}"
    assert attempt(lambda: Set(text).count(), 60_000) in (expected, None)


# ---- parametric optima


def test_the_maximum_of_eight_parameters():
    names = [f"p{k}" for k in range(8)]
    bounds = " and ".join(f"x >= {p}" for p in names)
    top = Set(f"[{', '.join(names)}] -> {{ [x, y] : {bounds} and 3y >= x }}")
    with budget(50_000):
        least = top.lexmin()
    draw = random.Random(0)
    for _ in range(10):
        values = {p: draw.randint(-20, 20) for p in names}
        x = max(values.values())
        assert list(least.points(**values)) == [(x, -(-x // 3))]


@pytest.mark.parametrize("seed", range(3))
def test_parametric_cuts(seed):
    """Random rows in five parameters: at parameters given beforehand the answer is that of the concrete programme."""
    draw = random.Random(seed)
    rows = [[draw.randint(2, 9), draw.randint(-5, 5), *[draw.randint(-2, 2) for _ in range(5)]] for _ in range(4)]
    text = " and ".join(f"{a}x + {b}y >= " + " + ".join(f"{c}*p{k}" for k, c in enumerate(p)) for a, b, *p in rows)
    of = Set("[p0, p1, p2, p3, p4] -> { [x, y] : " + text.replace("+ -", "- ") + " and 0 <= x, y <= 40 }")
    least = attempt(of.lexmin, 20_000)
    values = {f"p{k}": draw.randint(-9, 9) for k in range(5)}
    expected = next(
        (
            [(x, y)]
            for x in range(41)
            for y in range(41)
            if all(a * x + b * y >= sum(c * values[f"p{k}"] for k, c in enumerate(p)) for a, b, *p in rows)
        ),
        [],
    )
    assert least is None or list(least.points(**values)) == expected


# ---- budgets themselves


def test_nested_operations_share_the_outermost_budget():
    @metered
    def inner():
        spend(10)

    @metered
    def outer(times):
        for _ in range(times):
            inner()

    with pytest.raises(BudgetExceeded, match="outer used up its budget of 25 steps"), budget(25):
        outer(3)
    with budget(25):
        outer(2)
        with pytest.raises(BudgetExceeded, match="budget of 5 steps"), budget(100):
            inner()
    with budget(25), budget(None):
        outer(1)
        with pytest.raises(BudgetExceeded):
            outer(2)
    with budget(None):
        outer(100_000)


def test_a_generator_spends_a_budget_of_its_own():
    @metered
    def numbers():
        for k in range(5):
            spend(10)
            yield k

    with budget(35):
        found = numbers()
        assert [next(found) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(BudgetExceeded, match="numbers used up"):
            next(found)
    assert list(numbers()) == [0, 1, 2, 3, 4]


def test_what_ran_out_is_not_remembered():
    text = "{ [i, j] : exists e, f : 3e + 5f = i and 7e - 4f >= j and 0 <= e, f <= 11 and 0 <= i, j <= 50 }"
    with pytest.raises(BudgetExceeded), budget(2):
        Set(text)
    points = {(3 * e + 5 * f, j) for e in range(12) for f in range(12) for j in range(51) if j <= 7 * e - 4 * f}
    assert Set(text).count() == len({(i, j) for i, j in points if i <= 50})


@pytest.mark.parametrize("cls", [Set, Map, PwAff, MultiPwAff, PwQPolynomial, Layout])
def test_every_public_method_is_metered(cls):
    for base in cls.__mro__[:-1]:
        for name, f in vars(base).items():
            if isfunction(f) and not name.startswith("_"):
                assert hasattr(f, "__wrapped__") or hasattr(f, "meters_itself"), f"{base.__name__}.{name}"


def test_emptiness_meters_itself():
    needle = Set("{ [x, y] : 0 <= y and -299997y + 300000x >= 100000 and -300000x + 299996y + 200000 >= 0 }")
    with pytest.raises(BudgetExceeded, match="is_empty of 1 piece .* used up its budget of 3 steps"), budget(3):
        needle.is_empty()
    nothing = Set.empty("[x]")
    with budget(0):
        assert nothing.is_empty()
    assert not needle.is_empty()


def test_every_memo_is_bounded():
    for module in pkgutil.walk_packages(polyvolta.sets.__path__, "polyvolta.sets."):
        importlib.import_module(module.name)
    gc.unfreeze()  # what was there when tests were collected is frozen, and not listed
    memos = [f for f in gc.get_objects() if isinstance(f, _lru_cache_wrapper)]
    gc.freeze()  # again: each search for garbage would take a second or two
    memos = [f for f in memos if (f.__module__ or "").startswith("polyvolta.sets")]
    assert memos
    for f in memos:
        assert f.cache_parameters()["maxsize"] is not None, f.__qualname__


@pytest.mark.parametrize("steps", [-1, 1.5, 3.0, "x", float("nan"), float("inf"), True])
def test_a_budget_is_a_number_of_steps(steps):
    with pytest.raises(SpaceMismatch, match="a whole number of steps"), budget(steps):
        pass


@pytest.mark.parametrize("around", [None, 1000])
def test_a_function_within_some_of_the_steps(around):
    """It ends after its own steps, and what is around it has lost these alone."""
    with budget(around):
        with pytest.raises(BudgetExceeded):
            bounded(10, spend, 11)
        assert bounded(10, spend, 10) is None
        with pytest.raises(BudgetExceeded):
            bounded(10, spend, 11)
        spend(900)
        if around:
            with pytest.raises(BudgetExceeded):
                spend(100)
