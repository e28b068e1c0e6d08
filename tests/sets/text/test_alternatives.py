"""Disjunctions of a formula are multiplied out without what has no rational point: beside islpy and by enumeration."""

import random
from itertools import product
from math import factorial

import pytest

from polyvolta.sets import BudgetExceeded, Set, budget
from polyvolta.sets.values import alternatives

isl = pytest.importorskip("islpy")


def different(n, most):
    """The places of n things of which no two are at one."""
    names = [f"x{k}" for k in range(n)]
    pairs = [f"{a} != {b}" for k, a in enumerate(names) for b in names[:k]]
    return f"{{ [{', '.join(names)}] : 1 <= {', '.join(names)} <= {most} and {' and '.join(pairs)} }}"


def queens(n):
    rows = [f"x{i} != x{j} and x{i} - x{j} != {i - j} and x{j} - x{i} != {i - j}" for i in range(n) for j in range(i)]
    names = ", ".join(f"x{k}" for k in range(n))
    return f"{{ [{names}] : 1 <= {names} <= {n} and {' and '.join(rows)} }}"


@pytest.mark.parametrize(("n", "most"), [(3, 3), (4, 4), (4, 7), (5, 5), (5, 8)])
def test_only_orders_that_can_be_live(n, most):
    s = Set(different(n, most))
    assert len(s.pieces) == factorial(n) == isl.Set(different(n, most)).n_basic_set()
    assert s.count() == factorial(most) // factorial(most - n)


@pytest.mark.parametrize(("n", "solutions"), [(3, 0), (4, 2), (5, 10)])
def test_queens(n, solutions):
    assert Set(queens(n)).count() == solutions


def test_a_chain_of_comparisons_is_multiplied_out_comparison_by_comparison():
    s = Set("{ [a, b, c] : 0 <= a, b, c < 4 and a, b, c != 1, 2, 1 }")
    values = range(4)
    wanted = {p for p in product(values, repeat=3) if not {1, 2} & set(p)}
    assert set(s.points()) == wanted
    assert len(s.pieces) <= 8


def test_what_lives_is_limited():
    with pytest.raises(BudgetExceeded, match="4096 alternatives"):
        Set(f"{{ [{', '.join(f'x{k}' for k in range(13))}] : {' and '.join(f'x{k} != 0' for k in range(13))} }}")


def drawn(rng):
    """A formula of a few disjunctions of bounds, differences and remainders."""

    def comparison():
        form = rng.choice(
            ["a", "b", "c", "a - b", "b - c", "a + 2c", "2a - 3b", "a mod 3", "(b + c) mod 2", "floor(a/2)"]
        )
        return f"{form} {rng.choice(['<=', '>=', '=', '!=', '<'])} {rng.randint(-1, 3)}"

    def either():
        return " or ".join(
            " and ".join(comparison() for _ in range(rng.choice([1, 1, 2]))) for _ in range(rng.randint(1, 3))
        )

    parts = [f"{rng.choice(['', '', 'not '])}({either()})" for _ in range(rng.randint(2, 4))]
    return "{ [a, b, c] : 0 <= a, b, c <= 4 and " + " and ".join(parts) + " }"


@pytest.mark.parametrize("seed", range(8))
def test_formulas_mean_what_isl_reads(seed):
    rng = random.Random(seed)
    for _ in range(15):
        text = drawn(rng)
        assert isl.Set(text).is_equal(isl.Set(str(Set(text)))), text
        assert Set(text).count() == isl.Set(text).count_val().to_python(), text


def test_unions_of_many_orders_are_compared():
    names = [f"x{k}" for k in range(5)]
    there = f"[{', '.join(names)}]"
    box = Set(f"{{ {there} : 1 <= {', '.join(names)} <= 5 }}")
    left = both = box
    for k, a in enumerate(names):
        for b in names[:k]:
            left, both = left - Set(f"{{ {there} : {a} = {b} }}"), both & Set(f"{{ {there} : {a} != {b} }}")
    assert len(left.pieces) == len(both.pieces) == 120
    assert left.is_equal(both)
    assert left.is_equal(Set(different(5, 5)))
    assert not left.is_subset(both - Set("{ [1, 2, 3, 4, 5] }"))


def test_a_plane_without_many_points():
    """Alternatives that meet are made disjoint, as half planes are, of which each point leaves four."""
    holes = [(2 * k + 1, 7 * k % 11) for k in range(60)]
    without = " and ".join(f"(i != {a} or j != {b})" for a, b in holes)
    s = Set(f"{{ [i, j] : 0 <= i < 130 and 0 <= j < 11 and {without} }}")
    assert len(s.pieces) <= 4 * 60 + 1
    assert set(s.points()) == {(i, j) for i in range(130) for j in range(11)} - {*holes}


def test_alternatives_that_are_made_disjoint_have_the_same_points(monkeypatch):
    rng, apart = random.Random(3), 0
    sums, signs = ["i", "j", "i + j", "i - 2j", "floor(i/2)", "n - i", "j mod 3"], ["<", "<=", ">", ">=", "=", "!="]

    def atom():
        return f"{rng.choice(sums)} {rng.choice(signs)} {rng.randint(-3, 4)}"

    for _ in range(150):
        cases = [[" and ".join(atom() for _ in range(rng.randint(1, 2))) for _ in range(rng.randint(2, 3))]
                 for _ in range(rng.randint(3, 5))]  # fmt: skip
        text = f"[n] -> {{ [i, j] : {' and '.join('(' + ' or '.join(c) + ')' for c in cases)} }}"
        whole = Set(text)
        with monkeypatch.context() as m:
            m.setattr(alternatives, "MOST_CLAUSES", 12)
            try:
                s = Set(text)
            except BudgetExceeded:
                continue
        apart += len(whole.pieces) > 12
        assert isl.Set(str(s)).is_equal(isl.Set(text)), text
    assert apart > 2


@pytest.mark.parametrize("text", [
    "{ [i] : " + " and ".join(f"i != {c}" for c in range(1, 1200, 4)) + " }",
    "{ [i] : not (" + " or ".join(f"{4 * c} <= i <= {4 * c + 2}" for c in range(200)) + ") }",
    "[n] -> { [i, j] : " + " and ".join(f"(i + j < {4 * c} or i + j > n + {4 * c})" for c in range(40)) + " }",
])  # fmt: skip
def test_alternatives_that_bounds_decide_take_no_linear_program(text):
    with budget(9000):  # where each pair of a piece and a disequality took one: 50,000
        mine = Set(text)
    theirs = isl.Set(text)
    assert len(mine.pieces) <= theirs.n_basic_set()
    assert isl.Set(str(mine)).is_equal(theirs)
