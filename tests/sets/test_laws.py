"""Every operation against truth tables: what a set means is which points it has."""

import numpy as np
from hypothesis import given

from polyvolta.sets import Map, NotAFunction, Set
from tests.sets.brute import WINDOW, cases, examples, first_true, instances, points, table

SETS = cases()
LINES = cases(outputs=("i",))
MAPS = cases(inputs=("i",), outputs=("k", "l"), depth=1)
SMALL = cases(inputs=("i",), outputs=("k",))
CONCRETE = cases(params=())


def same(relation, expected):
    found = table(relation)
    assert not expected.any() if found is None else (found == expected).all(), f"{relation}"


def read(case, kind=Set):
    return kind(case.text)


# ---- notation


@given(SETS)
@examples(100)
def test_parsing_reads_the_formula(s):
    same(read(s), s.truth)


@given(SETS, MAPS)
@examples(60)
def test_printing_parses_back(s, m):
    same(Set(str(read(s))), s.truth)
    same(Map(str(read(m, Map))), m.truth)


@given(cases(depth=1, mild=True))
@examples(60)
def test_printing_settles(s):
    again = Set(str(read(s)))
    assert str(Set(str(again))) == str(again)


@given(SETS)
@examples(40)
def test_known_divs_keep_the_points(s):
    known = read(s).known_divs()
    assert all(c.known for _, cs in known.parts for c in cs)
    same(known, s.truth)


# ---- boolean algebra


@given(SETS, SETS)
@examples(60)
def test_boolean_algebra(s, t):
    a, b = read(s), read(t)
    same(a | b, s.truth | t.truth)
    same(a & b, s.truth & t.truth)
    same(a - b, s.truth & ~t.truth)


@given(SETS, SETS, SETS)
@examples(30)
def test_complement_by_subtraction(s, t, u):
    a, b, c = read(s), read(t), read(u)
    assert (a - (b | c)).is_equal((a - b) & (a - c))
    assert (a - (a - b)).is_equal(a & b)


@given(SETS, SETS)
@examples(60)
def test_comparisons(s, t):
    a, b = read(s), read(t)
    assert a.is_empty() <= (not s.truth.any())  # a parameter may leave the window, hence the one direction
    assert (a & b).is_empty() <= (not (s.truth & t.truth).any())
    assert a.is_subset(b) <= (not (s.truth & ~t.truth).any())
    assert a.is_subset(a | b) and (a & b).is_subset(b)
    assert a.is_equal(b) <= bool((s.truth == t.truth).all())
    assert a.is_disjoint(b - a)


@given(CONCRETE, CONCRETE)
@examples(60)
def test_comparisons_without_parameters(s, t):
    a, b = read(s), read(t)
    assert a.is_empty() == (not s.truth.any())
    assert a.is_subset(b) == (not (s.truth & ~t.truth).any())
    assert a.is_equal(b) == bool((s.truth == t.truth).all())
    assert a.is_disjoint(b) == (not (s.truth & t.truth).any())


# ---- projection and composition


@given(SETS)
@examples(60)
def test_projection(s):
    a = read(s)
    same(a.project_out("j"), s.truth.any(axis=2))
    same(a.project_out(0), s.truth.any(axis=1))
    same(a.params(), s.truth.any(axis=(1, 2)))


@given(cases(outputs=("i", "j", "k"), depth=1))
@examples(40)
def test_projection_of_two_dimensions(s):
    same(read(s).project_out("i", "k"), s.truth.any(axis=(1, 3)))


@given(SETS, LINES)
@examples(30)
def test_parameters(s, t):
    a, context = read(s), read(t).params()
    same(a.intersect_params(context), s.truth & t.truth.any(axis=1)[:, None, None])
    same(a.fix(N=2), s.truth & (np.arange(-2, 4) == 2)[:, None, None])
    same(a.fix(i=1), s.truth & (np.array(WINDOW) == 1)[None, :, None])
    for (n,), here in instances(s.truth, 1):
        same(a.fix(N=n).project_out_params("N"), here)


@given(MAPS)
@examples(40)
def test_sides(m):
    r = read(m, Map)
    same(r.domain(), m.truth.any(axis=(2, 3)))
    same(r.range(), m.truth.any(axis=1))
    same(r.reverse(), np.moveaxis(m.truth, 1, 3))
    same(Set(str(r.domain())).identity().domain(), m.truth.any(axis=(2, 3)))


@given(SMALL, cases(inputs=("k",), outputs=("m",), tuples=("A", "B")), LINES)
@examples(50)
def test_composition(m, n, s):
    f, g, a = read(m, Map), read(n, Map), read(s)
    both = (m.truth[:, :, :, None] & n.truth[:, None, :, :]).any(axis=2)
    same(f.apply_range(g), both)
    same(a.apply(f), (s.truth[:, :, None] & m.truth).any(axis=1))
    same(f.intersect_domain(a), s.truth[:, :, None] & m.truth)
    same(f.apply_domain(f), (m.truth[:, :, None, :] & m.truth[:, :, :, None]).any(axis=1))


@given(cases(inputs=("i",), outputs=("k",), depth=1, mild=True))
@examples(40)
def test_functions(m):
    r = read(m, Map)
    single = (m.truth.sum(axis=2) <= 1).all()
    injective = (m.truth.sum(axis=1) <= 1).all()
    assert r.is_single_valued() <= single
    assert r.is_injective() <= injective
    assert r.is_bijective() == (r.is_single_valued() and r.is_injective())
    for (n,), _ in instances(m.truth, 1):
        at = r.fix(N=n)
        assert at.is_single_valued() == (m.truth[n + 2].sum(axis=1) <= 1).all()
        assert at.is_injective() == (m.truth[n + 2].sum(axis=0) <= 1).all()


@given(cases(inputs=("i",), outputs=("k",), tuples=("S", "S"), params=()))
@examples(30)
def test_deltas(m):
    found = set(read(m, Map).deltas().points())
    assert found == {(y - x,) for x, y in points(m.truth)}


# ---- optima


@given(SETS)
@examples(40)
def test_lexmin_and_lexmax_of_sets(s):
    a = read(s)
    same(a.lexmin(), first_true(s.truth, 1))
    same(a.lexmax(), first_true(s.truth, 1, last=True))


@given(MAPS)
@examples(30)
def test_lexmin_and_lexmax_of_maps(m):
    r = read(m, Map)
    same(r.lexmin(), first_true(m.truth, 2))
    same(r.lexmax(), first_true(m.truth, 2, last=True))


@given(SMALL)
@examples(40)
def test_a_function_reads_as_expressions(m):
    r = read(m, Map).lexmin()
    try:
        (e,) = r.as_affs()
    except NotAFunction:
        assert r.is_empty() or len(r.without_empty().pieces) > 1
        return
    for (n,), here in instances(first_true(m.truth, 2), 1):
        for x, y in points(here):
            assert e.evaluate({"N": n, "i": x}) == y


# ---- simplification


@given(SETS, SETS)
@examples(40)
def test_gist_says_the_same_in_its_context(s, t):
    a, context = read(s), read(t)
    same(a.gist(context) & context, s.truth & t.truth)
    rows = lambda r: sum(len(c.eqs) + len(c.ineqs) for _, cs in r.parts for c in cs)  # noqa: E731
    if all(c.known for _, cs in a.parts for c in cs):
        assert rows(a.gist(context)) <= rows(a)


@given(SETS, SETS)
@examples(30)
def test_coalescing_keeps_the_points(s, t):
    union = read(s) | read(t)
    fused = union.coalesce()
    same(fused, s.truth | t.truth)
    assert len(fused.pieces) <= len(union.known_divs().pieces)


# ---- counting and listing


@given(SETS)
@examples(40)
def test_counting_and_listing(s):
    a = read(s)
    for (n,), here in instances(s.truth, 1):
        assert a.count(N=n) == here.sum()
        assert list(a.points(N=n)) == points(here)


@given(CONCRETE)
@examples(40)
def test_a_sample_is_a_point(s):
    one = read(s).sample()
    if s.truth.any():
        found = points(table(one))
        assert len(found) == 1 and found[0] in points(s.truth)
    else:
        assert one.is_empty()


# ---- several tuples


@given(SETS, LINES, SETS)
@examples(30)
def test_tuples_do_not_mix(s, t, u):
    a, b, c = read(s), Set(t.text.replace("S[", "T[")), read(u)
    both = a | b
    assert set(both.tuple_names) == {"S", "T"}
    same((both & c).only("S"), s.truth & u.truth)
    same((both - c).only("S"), s.truth & ~u.truth)
    same((both - c).only("T"), t.truth)
    assert both.is_subset(b | a) and both.is_equal(Set(str(both)))
    assert both.count(N=2) == s.truth[4].sum() + t.truth[4].sum()
