"""Hulls: they contain the points and are no larger than they say."""

import itertools
import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import BudgetExceeded, Map, Set, Unbounded, budget
from polyvolta.sets.conjuncts import lattice
from polyvolta.sets.engine import cone
from polyvolta.sets.engine.floors import defined
from polyvolta.sets.engine.integer import solve_equalities
from polyvolta.sets.engine.rows import evaluate
from tests.sets.brute import examples
from tests.sets.draw import Source
from tests.sets.laws import LENGTH, one, same
from tests.sets.tables import WINDOW, points, table

DATA = st.binary(min_size=LENGTH, max_size=LENGTH)


def drawn(data, **shape):
    return one(Source(data), **shape)


def around(hull, truth):
    """Check that one conjunct contains the points of a table; returns the hull's table."""
    assert len(hull.pieces) <= 1
    found = table(hull) if hull.pieces else np.zeros_like(truth)
    assert found[truth].all(), f"points outside: {hull}"
    return found


@given(DATA)
@examples(60)
def test_every_hull_contains_the_points(data):
    a = drawn(data)
    simple, unshifted = a.r.simple_hull(), a.r.unshifted_simple_hull()
    around(simple, a.t)
    around(unshifted, a.t)
    assert simple.is_subset(unshifted)
    affine, convex = a.r.affine_hull(), a.r.convex_hull()
    same(a.r.polyhedral_hull(), around(affine, a.t) & around(convex, a.t))


@given(DATA)
@examples(60)
def test_the_affine_hull_has_the_rank_of_the_points(data):
    a = drawn(data, params=())
    hull = a.r.affine_hull()
    around(hull, a.t)
    if a.t.any():
        at = np.argwhere(a.t)
        ((_, (c,)),) = hull.parts
        assert len(lattice.of_conjunct(c)[1]) == np.linalg.matrix_rank(at - at[0])


@given(DATA)
@examples(40)
def test_the_convex_hull_of_points_is_what_half_planes_cut_out(data):
    a = drawn(data, params=())
    corners = points(a.t)
    if corners:
        union = Set("{ " + "; ".join(f"S[{x}, {y}]" for x, y in corners) + " }")
        same(union.convex_hull(), inside(np.array(corners)))
        same(a.r.convex_hull() & union.convex_hull(), inside(np.array(corners)))


def test_the_convex_hull_starts_from_bounds_that_are_values_on_the_grid():
    """4i = 5j + 6 and i even leaves i = 4 from -4 to 4, whatever bound is written; isl says so as well."""
    point = Set("{ [i, j] : -3 <= i <= 4 and -3 <= j <= 4 and 4i = 5j + 6 and i mod 2 = 0 }")
    assert point.convex_hull().is_equal(Set("{ [4, 2] }"))
    around = (point | Set("{ [i, j] : -3 <= i <= 0 and -3 <= j <= 4 }")).convex_hull()
    assert around.is_equal(Set("{ [i, j] : i >= -3 and -3 <= j <= 4 and 2j <= 8 - i and 4j >= -12 + 5i }"))
    grid = Set("[N] -> { [N] : -5 <= N <= 9 and exists a: N = 6a + 1 }")
    assert grid.convex_hull().is_equal(Set("[N] -> { [N] : -5 <= N <= 7 }"))


def inside(corners):
    """The table of the convex hull of points of the plane: every half-plane through two of them that holds all."""
    x, y = np.meshgrid(np.array(WINDOW), np.array(WINDOW), indexing="ij")
    low, high = corners.min(axis=0), corners.max(axis=0)
    found = (low[0] <= x) & (x <= high[0]) & (low[1] <= y) & (y <= high[1])
    for a in corners:
        for d in corners - a:
            if d.any() and (d[0] * (corners[:, 1] - a[1]) >= d[1] * (corners[:, 0] - a[0])).all():
                found &= d[0] * (y - a[1]) >= d[1] * (x - a[0])
    return found


@given(DATA)
@examples(40)
def test_tidying_keeps_the_points(data):
    a = drawn(data)
    same(a.r.detect_equalities(), a.t)
    same(a.r.remove_redundancies(), a.t)


# ---- each hull on sets that a person can check

SAMPLES = [
    "{ [0]; [2] }",
    "{ [i] : i mod 4 = 1; [i] : i mod 4 = 3 }",
    "{ [x, y] : 3x - 3y + 2 >= 0 and -3x + 3y + 1 >= 0 }",
    "{ [x, y] : 0 <= x <= 2 and 2y = x and x != 0 }",
    "{ [i, j] : j = i + 1 and i <= 9; [20, 21] }",
    "[N] -> { [i] : N <= i <= N and i >= 3; [i] : i = N and i < 0 }",
    "[N] -> { [i, j] : i = 2j and 0 <= j < N; [i, j] : i = 2j and j > 2N }",
    "{ [x, y] : 0 <= y and 200000x - 199999y >= 100000 and -200000x + 199998y + 100000 >= 0 }",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_the_affine_hull_is_within_isls(text):
    isl = pytest.importorskip("islpy")
    ours = isl.Set(str(Set(text).affine_hull()))
    theirs = isl.Set(text).affine_hull()
    assert isl.Set(text).is_subset(ours) and ours.is_subset(isl.Set.from_basic_set(theirs))


@pytest.mark.parametrize("text", SAMPLES)
def test_the_other_hulls_are_within_isls(text):
    isl = pytest.importorskip("islpy")
    points, ours = isl.Set(text), isl.Set(str(Set(text).simple_hull()))
    assert points.is_subset(ours) and ours.is_subset(isl.Set.from_basic_set(points.unshifted_simple_hull()))


def test_thin_polyhedra_have_thin_hulls():
    needle = Set("{ [x, y] : 1 <= 3x - 2y <= 1 and 0 <= x <= 9 or 2 <= 6x - 4y <= 3 }")
    assert needle.affine_hull().is_equal(Set("{ [x, y] : 3x - 2y = 1 }"))
    tetrahedron = Set("{ [x, y, z] : x >= 0 and y >= 0 and 3z >= 0 and 2z <= 1 and x + y <= 5 }")
    assert str(tetrahedron.detect_equalities().affine_hull()) == "{ [x, y, 0] }"


def test_bounds_beside_a_stride_are_bounds_of_the_simple_hull():
    """`x <= 1` is one of the text beside a stride, too, where pieces of another stride meet it; isl's answers."""
    striding = Set("[n, m] -> { [y, x] : -1 <= x <= 1 and (x + n) mod 2 = 0 }")
    bounded = striding | Set("[n, m] -> { [y, x] : y = x + m + 1 and 0 <= x <= 1 and x <= m }")
    for hull in (bounded.simple_hull(), bounded.unshifted_simple_hull()):
        assert hull.is_equal(Set("[n, m] -> { [y, x] : -1 <= x <= 1 }"))
    shifted = Set("{ [n, x] : -1 <= x <= 1 and (exists e : x + n = 2e) and n >= 3; [5, 7] }").simple_hull()
    assert shifted.is_equal(Set("{ [n, x] : (n + x) mod 2 = 0 and n >= 3 and -1 <= x <= 7 }"))


def test_the_simple_hull_shifts_and_the_other_does_not():
    union = Set("{ [i, j] : i = 0 and 0 <= j <= 4; [i, j] : i = 3 and 1 <= j <= 2 }")
    assert union.simple_hull().is_equal(Set("{ [i, j] : 0 <= i <= 3 and 0 <= j <= 4 and i mod 3 = 0 }"))
    assert union.convex_hull().is_equal(Set("{ [i, j] : 0 <= i <= 3 and i <= 3j <= 12 - 2i }"))
    # isl has i <= 5; the rows of a piece are those that its grid makes of them
    even = Set("{ [i] : i <= 3; [i] : i <= 5 and i mod 2 = 0 }")
    assert even.unshifted_simple_hull().is_equal(Set("{ [i] : i <= 4 }"))


def test_hulls_of_nothing_and_of_several_spaces():
    nothing = Set("{ [i] : i > 3 and i < 2 }")
    hulls = ("affine_hull", "simple_hull", "unshifted_simple_hull", "convex_hull", "polyhedral_hull", "bounding_box")
    for hull in hulls:
        assert getattr(nothing, hull)().is_empty()
        assert len(getattr(Set("{ A[1]; A[3]; B[i] : 2 <= i <= 4 }"), hull)().pieces) == 2
    assert len(Map("{ A[i] -> B[i + 1] : i < 4; A[i] -> B[i + 1] : i > 8 }").affine_hull().pieces) == 1


def test_generators_and_rows_are_dual():
    square = [(0, 1, 0), (0, 0, 1), (4, -1, 0), (4, 0, -1)]
    lines, rays = cone.of_polyhedron(2, [], square)
    assert lines == [] and sorted(rays) == [(1, 0, 0), (1, 0, 4), (1, 4, 0), (1, 4, 4)]
    eqs, ineqs = cone.to_polyhedron(2, lines, rays)
    assert eqs == [] and sorted(ineqs) == sorted(square)


def test_a_cross_polytope_of_many_dimensions_spends_its_budget():
    n = 12
    ends = [[k == at and sign for at in range(n)] for k in range(n) for sign in (-1, 1)]
    union = Set("{ " + "; ".join(f"[{', '.join(str(int(v)) for v in p)}]" for p in ends) + " }")
    start = time.process_time()
    with budget(20_000), pytest.raises(BudgetExceeded):
        union.convex_hull()
    assert time.process_time() - start < 20


# ---- extents


def test_what_is_bounded():
    assert Set("[N] -> { [i, j] : 0 <= i < N and i <= j <= 2i }").is_bounded()
    assert not Set("[N] -> { [i, j] : 0 <= i < N and i <= j }").is_bounded()
    assert Set("{ [i] : i >= 0 and i < 0 }").is_bounded()
    assert Set("{ [i] : exists e : 3e <= i <= 3e + 1 and 0 <= i <= 9 }").is_bounded()
    assert not Set("{ [i] : i mod 4 = 0 }").is_bounded()
    with pytest.raises(Unbounded, match="there is no bound on j"):
        Set("{ [i, j] : 0 <= i <= 3 and j >= i }").bounding_box()


def test_a_bounding_box_is_exact_over_the_integers():
    thin = Set("{ [i, j] : 1 <= 3i - 3j + 1 <= 2 and 1 <= 2i <= 9 and 7j >= 10 }")
    assert str(thin.bounding_box()) == "{ [i, j] : 2 <= i <= 4 and 2 <= j <= 4 }"
    assert not thin.is_box() and Set("{ [i, j] : 2 <= i <= 4 and 3j = 6 }").is_box()
    assert Set("{ [i] : 5 < 2i < 8 }").is_singleton() and not Set("{ [i] : 5 < 2i < 9 }").is_singleton()


@pytest.mark.parametrize(
    ("text", "single", "box"),
    [
        ("{ [i] : false }", True, False),
        ("[N] -> { [i] : i = N }", True, True),
        ("[N] -> { [i, j] : N <= 2i <= N + 1 and j = i }", True, True),
        ("[N] -> { [i] : i = N; [i] : i = 0 and N > 0 }", False, False),
        ("[N] -> { A[] : N > 0; B[] : N >= 0 }", False, True),
        ("[N] -> { A[] : N > 0; B[] : N < 0 }", True, True),
        ("[N] -> { [A[i] -> B[j]] : 0 <= i < N and 2 <= j < N + i }", False, False),
        ("[N] -> { [i, j] : 0 <= i < N and i + 2 <= j + i < N + i }", False, True),
        ("[N] -> { [i] : N <= i < N + 3; [i] : i = N + 3 }", False, True),
        ("[N] -> { [i] : i >= N }", False, False),
        ("[N] -> { : N > 3 }", True, True),
    ],
)
def test_one_point_and_a_box_for_each_choice_of_the_parameters(text, single, box):
    assert (Set(text).is_singleton(), Set(text).is_box()) == (single, box)
    assert Set(text).identity().is_singleton() == single


@pytest.mark.parametrize(
    "text",
    [
        "[M] -> { [a, x, b] : b = 3a + 2x - M + 4 and 0 <= x < 8 and 0 <= 8a < M }",
        "[N] -> { [i, j, k] : j = i + N and k = i - N + 7 and 2 <= i < N }",
        "{ [i, j] : 0 <= i <= j < 9 }",
        "{ [2, i, -3] : 0 <= i < 5 }",
    ],
)
def test_a_lattice_read_off_a_normal_conjunct(text):
    (c,) = Set(text).parts[0][1]
    (origin, basis), rows = lattice._plainly_solved(c.n, c.eqs, c.ineqs)
    rows = list(rows)
    assert lattice.echelon(basis) == lattice.echelon(solve_equalities(c.n, c.eqs)[1])
    for t in itertools.product(range(-2, 10), repeat=len(basis)):
        point = [o + sum(v * b[k] for v, b in zip(t, basis, strict=True)) for k, o in enumerate(origin)]
        assert not any(evaluate(row, point) for row in c.eqs)
        assert [evaluate(row, t) for row in rows] == [evaluate(row, point) for row in c.ineqs]


def test_a_lattice_is_not_read_off_where_other_rows_mention_what_an_equality_gives():
    assert lattice._plainly_solved(2, [(0, 1, -1)], [(5, 1, 1)]) is None
    assert lattice._plainly_solved(2, [(0, 2, -3)], []) is None


@pytest.mark.parametrize(("text", "plain", "shifted"), [
    # j is odd in both, and floor(j/2) >= -2 is j >= -3 there; so isl says
    ("{ [i, j] : i = 0 and -3 <= j <= 9 and j mod 2 = 1; [i, j] : i = 4 and 0 <= j <= 5 }",
     "{ [i, j] : 0 <= i <= 4 and -3 <= j <= 9 }", "{ [i, j] : i mod 4 = 0 and 0 <= i <= 4 and -3 <= j <= 9 }"),
    ("{ [i] : -5 <= i <= 6 and i mod 4 = 1; [i] : 0 <= i <= 2 }", "{ [i] : -3 <= i <= 5 }", "{ [i] : -3 <= i <= 5 }"),
])  # fmt: skip
def test_rows_of_simple_hulls_are_as_tight_as_the_grid_of_their_piece(text, plain, shifted):
    s = Set(text)
    assert s.unshifted_simple_hull().is_equal(Set(plain))
    assert s.simple_hull().is_equal(Set(shifted))


# ---- floors that no equality states

FLOORS = [  # a set of (i, j) for i in a range, its function, and what each hull is in isl's notation or closer
    ("{ [i, j] : j = 5*floor(i/3) + 3*floor(i/2) and -9 <= i <= 12 }", lambda i: 5 * (i // 3) + 3 * (i // 2)),
    ("{ [i, j] : 3*j = 2*floor((-i - 2)/2) + 2*floor((i - 2)/5) }", lambda i: 2 * ((-i - 2) // 2) + 2 * ((i - 2) // 5)),
    ("{ [i, j] : j = floor(i/2) + floor(i/5) and i < 4; [i, j] : j = floor(i/2) + floor(i/5) and i > 6 }",
     lambda i: i // 2 + i // 5),
]  # fmt: skip


@pytest.mark.parametrize(("text", "f"), FLOORS)
def test_the_affine_hull_keeps_equalities_of_floors(text, f):
    hull = Set(text).affine_hull()
    scale = 3 if "3*j" in text else 1
    for i, j in itertools.product(range(-20, 30), range(-20, 60)):
        assert ((i, j) in hull) == (scale * j == f(i))


ONE_CONJUNCT = [  # unions that are one conjunct: the hull has no further point
    ("{ [i, j] : j = floor((i + 5)/3) and i mod 3 = 0; [i, j] : j = floor((i + 5)/3) and i mod 3 >= 1 }",
     lambda i, j: j == (i + 5) // 3),
    ("{ [i, j] : 2 <= i <= 12 and i mod 3 = 2 and j = 0; [i, j] : 2 <= i <= 12 and i mod 3 = 0 and j = 0 }",
     lambda i, j: 2 <= i <= 12 and i % 3 != 1 and j == 0),
    ("{ [i, j] : i mod 4 <= j <= i mod 4 + 2 and i mod 2 = 0; [i, j] : i mod 4 <= j <= i mod 4 + 2 and i mod 2 = 1 }",
     lambda i, j: i % 4 <= j <= i % 4 + 2),
    ("{ [i, j] : 1 <= i <= j < 8; [i, j] : 8 <= j <= 9 and 1 <= i <= j }", lambda i, j: 1 <= i <= j <= 9),
]  # fmt: skip


@pytest.mark.parametrize(("text", "holds"), ONE_CONJUNCT)
def test_simple_hulls_of_what_one_conjunct_says(text, holds):
    for hull in (Set(text).simple_hull(), Set(text).unshifted_simple_hull()):
        for i, j in itertools.product(range(-8, 20), range(-4, 14)):
            assert ((i, j) in hull) == holds(i, j)


@pytest.mark.parametrize("seed", range(4))
def test_moves_lead_to_points_and_lattices_have_the_rank_of_the_points(seed):
    """Thin sets with floors, whose points and their floors are listed; each move is a difference of two of these."""
    rng, moved, thin = random.Random(seed), 0, 0
    for _ in range(120):
        a, b, c, w = rng.randint(-3, 3), rng.choice([-3, -2, 1, 2]), rng.randint(-5, 5), rng.randint(0, 3)
        d, e, m = rng.choice([2, 3, 4, 8]), rng.randint(-2, 2), rng.randint(-2, 2)
        rows = [(c, a, b, 0), (w - c, -a, -b, 0), (9, 1, 0, 0), (9, -1, 0, 0), (9, 0, 1, 0), (9, 0, -1, 0)]
        rows += [(0, 1, e, -d), (d - 1, -1, -e, d), (2, m, 0, 1), (3, 0, -m, -1)]
        box = itertools.product(range(-9, 10), repeat=2)
        found = [p for x, y in box if all(evaluate(r, p := (x, y, (x + e * y) // d)) >= 0 for r in rows)]
        grid = lattice.of_points(3, (), rows)
        assert (grid is None) == (not found)
        if grid is None:
            continue
        assert len(grid[1]) == np.linalg.matrix_rank(np.array(found) - found[0])
        for start in found[:2]:
            moves = lattice._moves(3, rows, start, defined(3, rows))
            assert {tuple(x + y for x, y in zip(start, move, strict=True)) for move in moves} <= set(found)
            moved += len(moves)
        thin += len(grid[1]) < 3
    assert moved > 50 and thin > 5


def test_points_by_residues_are_asked_for_once_of_each_system(monkeypatch):
    """Two systems, of one point and of a plane's, of which residues tell nothing: they are not asked again."""
    asked, real = [], lattice.spanning
    monkeypatch.setattr(lattice, "spanning", lambda n, tab, said: asked.append(tab) or real(n, tab, said))
    rows = [(4, 5, -5, -1), (-8, -4, 1, -4), (-6, 0, -6, -7), (-2, 4, -1, -7)]
    rows += [(3, *(s * (j == k) for j in range(3))) for k in range(3) for s in (1, -1)]
    assert lattice.of_points(3, [(4, -6, -2, -2)], rows)[1] == ()
    slab = [(5, -2, 8, -3), (14, 5, 0, -3), (-3, 0, 2, -9), (14, 0, 0, 5), (4, 0, -2, 9), (-4, 2, -8, 3)]
    assert len(lattice.of_points(3, (), [*slab, (1500, 0, 0, -1), (1500, 0, 0, 1)])[1]) == 2
    assert asked and len({id(tab) for tab in asked}) == len(asked)
