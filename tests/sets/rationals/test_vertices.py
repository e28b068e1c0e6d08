"""Vertices and cells of sets against all choices of constraints, solved in Fractions for values of the parameters."""

from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest

import polyvolta.isl as isl
from polyvolta.sets import NotSupported, Set
from polyvolta.sets.rationals.polyhedron import conjoin


def corners(rows, dims):
    """The points at which rows (const, coefficient of each dimension) are 0 that determine it, all being at least 0."""
    found = set()
    for chosen in combinations(rows, dims):
        point = solved(chosen, dims)
        if point and all(r[0] + sum(c * x for c, x in zip(r[1:], point)) >= 0 for r in rows):
            found.add(tuple(point))
    return found


def solved(rows, dims):
    """The one point at which all rows are 0, by Gauss; None where there is none or another."""
    rows = [[Fraction(x) for x in (*r[1:], -r[0])] for r in rows]
    for k in range(dims):
        pivot = next((r for r in rows[k:] if r[k]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        rows.insert(k, [x / pivot[k] for x in pivot])
        rows = [r if j == k else [x - r[k] * y for x, y in zip(r, rows[k])] for j, r in enumerate(rows)]
    return [r[-1] for r in rows]


def value(f, params):
    """The value of a function of the parameters, a quotient or not."""
    terms = [f.get_coefficient_val(isl.dim_type.param, k) for k in range(len(params))]
    return sum((Fraction(str(c)) * p for c, p in zip(terms, params)), Fraction(str(f.get_constant_val())))


def drawn(random, params, dims, more=""):
    """The text of a set of random rows, and of some more."""
    names = ["N", "M"][:params] + ["i", "j", "k"][:dims]
    most = [1] * params + [2] * dims
    rows = [
        [random.randint(-4, 6), *(random.randint(-c, c) for c in most)] for _ in range(random.randint(dims, dims + 4))
    ]
    said = " and ".join(" + ".join([f"{c}*{n}" for c, n in zip(r[1:], names)] + [str(r[0])]) + " >= 0" for r in rows)
    return f"[{', '.join(names[:params])}] -> {{ S[{', '.join(names[params:])}] : {said}{more} }}"


@pytest.mark.parametrize("seed", range(40))
def test_at_each_value_of_the_parameters(seed):
    random = Random(seed)
    params, dims = random.randint(0, 2), random.randint(1, 2 if seed % 6 else 3)
    values = list(product(range(-5, 9), repeat=params))
    compare(Set(drawn(random, params, dims)), params, dims, random.sample(values, min(30, len(values))))


@pytest.mark.parametrize("seed", range(16))
def test_where_equalities_tie_parameters_and_dimensions(seed):
    random = Random(seed)
    way, const, signs, c = random.choice([-1, 1]), random.randint(-2, 2), random.choices([-1, 1], k=3), seed % 3 - 1
    more = f" and N = {way}M + {const} and {signs[0]}i + {signs[1]}j + {c * signs[2]}N = 1"
    compare(Set(drawn(random, 2, 2 + seed % 2, more)), 2, 2 + seed % 2, [(way * m + const, m) for m in range(-5, 9)])


def compare(s, params, dims, values):
    """The corners of each cell at some values of the parameters, and those that are in no cell, against all choices."""
    if s.is_empty():
        assert s.compute_vertices().get_n_vertices() == 0
        return
    (piece,) = s.parts[0][1]  # its rows are tighter than those that were drawn: a Set is of integer points
    rows = [*piece.ineqs, *piece.eqs, *([-x for x in r] for r in piece.eqs)]
    found = s.compute_vertices()
    cells = found.cells
    for p in values:
        at = [(r[0] + sum(c * x for c, x in zip(r[1:], p)), *r[1 + params :]) for r in rows]
        here = [cell for cell in cells if cell.get_domain().contains((), **dict(zip("NM", p)))]
        for cell in here:
            seen = {tuple(value(v.get_expr().get_aff(k), p) for k in range(dims)) for v in cell.vertices}
            assert seen == corners(at, dims)
        if not here:
            assert not corners(at, dims)
    inner = [cell.get_domain().parts[0][1][0] for cell in cells]
    for one, other in combinations(inner, 2):
        both = conjoin(one, other)
        assert both is None or len(both.eqs) > len(one.eqs)


def test_as_isl_has_them():
    """The vertices of isl's own example, and those whose domain is a face only are left out."""
    s = isl.BasicSet("[n, m] -> { [a, b, c] : b <= a <= n and 0 < b <= c <= m and 0 < m <= n }")
    seen = []
    s.compute_vertices().foreach_vertex(lambda v: seen.append(str(v.get_expr()).partition("{ ")[2]))
    names = "n m m, n 1 m, n 1 1, m m m, 1 1 m, 1 1 1".split(", ")
    assert sorted(seen) == sorted(f"[({a}), ({b}), ({c})] }}" for a, b, c in map(str.split, names))
    one = isl.BasicSet("[N, M] -> { [a, b] : M >= 3 and 9 + 3M <= a <= 29 + 2N + 11M and 2b >= M + a and "
                       "5 - 2N - M + a <= 2b <= 3 + a and 3b >= 15 + a }")  # fmt: skip
    found = [str(v.get_expr()).partition("{ ")[2] for v in one.compute_vertices().vertices]
    assert sorted(found) == ["[(2*N + 61), (N + 32)] }", "[(21), (12)] }"]  # M is 3, so that a is odd


def test_fractions():
    found = Set("[N] -> { A[i, j] : 0 <= i <= N and 2j = i }").compute_vertices()
    texts = [str(v.get_expr()) for v in found.vertices]
    assert texts == ["[N] -> { A[(N), (N)/2] }", "[N] -> { A[(0), (0)] }"]
    at = found.vertices[0].get_expr()
    assert (at.size(), str(at.get_at(1)), at.get_at(0).get_coefficient_val(isl.dim_type.param, 0)) == (
        2,
        "[N] -> { [(N)/2] }",
        1,
    )


@pytest.mark.parametrize(
    "text",
    [
        "{ [i] : 0 <= i <= 3 or 5 <= i <= 7 }",
        "{ [i] : i mod 2 = 0 and 0 <= i <= 9 }",
        "{ [i] : 0 <= i and floor(i/3) <= 5 + floor(i/7) }",
    ],
)
def test_not_of(text):
    with pytest.raises(NotSupported, match="vertices are of"):
        Set(text).compute_vertices()
