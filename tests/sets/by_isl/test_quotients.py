"""Functions that are pieces of functions, floors as divs, and constraints as functions, as isl has them."""

from fractions import Fraction
from itertools import product

import pytest

import polyvolta.isl as isl
from polyvolta.sets import NotSupported, SpaceMismatch, UnknownName

dt = isl.dim_type


def tree(f):
    """What loopy makes of an affine function: constant, terms by name or of the floors' trees, denominator."""
    den = f.get_denominator_val().to_python()
    found = [(f.get_constant_val() * den).to_python()]
    for kind in (dt.in_, dt.param):
        for k in range(f.dim(kind)):
            if c := (f.get_coefficient_val(kind, k) * den).to_python():
                found.append((c, f.get_dim_name(kind, k)))
    for k in range(f.dim(dt.div)):
        if c := (f.get_coefficient_val(dt.div, k) * den).to_python():
            found.append((c, tree(f.get_div(k))))
    return found, den


def trees(text):
    """islpy 2025.1 gives the answers below."""
    return [tree(f) for _, f in isl.PwAff(text).get_pieces()]


def test_pieces_are_functions_with_coefficients():
    assert trees("[n] -> { [i, j] -> [i + 2j + n + 3] }") == [([3, (1, "i"), (2, "j"), (1, "n")], 1)]
    third = ([0, (1, "i"), (1, "j")], 3)
    assert trees("[n] -> { [i, j] -> [floor((i + j)/3) + n] }") == [([0, (1, "n"), (1, third)], 1)]
    assert trees("{ [i] -> [i mod 4] }") == [([0, (1, "i"), (-4, ([0, (1, "i")], 4))], 1)]
    both = ([0, (3, "i"), (5, ([0, (1, "i")], 2))], 15)
    assert trees("{ [i] -> [floor(floor(i/2)/3 + i/5)] }") == [([0, (1, both)], 1)]
    assert trees("{ [i] -> [(i)] : i > 0; [i] -> [(-i)] : i <= 0 }") == [([0, (1, "i")], 1), ([0, (-1, "i")], 1)]
    ((where, f),) = isl.PwAff("{ S[i] -> [(i)] : i > 3 }").get_pieces()
    assert isinstance(f, isl.Aff) and str(f) == "{ S[i] -> [(i)] }" and str(where) == "{ S[i] : i >= 4 }"
    assert f.get_domain_space() == where.get_space() and f.as_aff() is f and isl.PwAff.alloc(where, f)(i=5) == 5
    seen = []
    isl.PwAff("{ S[i] -> [(i)] : i > 3 }").foreach_piece(lambda s, g: seen.append(g.get_coefficient_val(dt.in_, 0)))
    isl.PwMultiAff("{ S[i] -> [i, 2i] : i > 3 }").foreach_piece(lambda s, g: seen.append(g.get_aff(1).max(g.get_at(0))))
    assert seen[0] == 1 and seen[1](i=7) == 14 and seen[1](i=-7) == -7


def test_floors_are_quotients_of_functions():
    f = isl.Aff("{ [i] -> [floor(floor(i/2)/3 + i/5)] }")
    assert f.dim(dt.div) == 2 and f.get_coefficient_val(dt.div, 0) == 0 and f.get_coefficient_val(dt.div, 1) == 1
    q = f.get_div(1)
    assert q.get_coefficient_val(dt.div, 0) == Fraction(1, 3)
    assert (q.dim(dt.in_), q.dim(dt.div), q.get_dim_name(dt.in_, 0), q.is_cst()) == (1, 1, "i", False)
    assert str(q) == "{ [i] -> [(3*i + 5*floor(i/2))/15] }" and q.get_domain_space() == f.get_domain_space()
    for i in range(-40, 40):
        exact = Fraction(i // 2, 3) + Fraction(i, 5)
        assert q.floor()(i=i) == f(i=i) == exact.__floor__() and q.ceil()(i=i) == exact.__ceil__()
        assert q.scale_val(15)(i=i) == 15 * exact and q.scale_val(3).floor()(i=i) == (3 * exact).__floor__()
        assert q.neg().ceil()(i=i) == -exact.__floor__()
    half = isl.Aff("[n] -> { [i] -> [i + n + 4*floor(i/3)] }").scale_down_val(isl.Val(6))
    assert str(half) == "[n] -> { [i] -> [(i + n + 4*floor(i/3))/6] }" and half.get_denominator_val() == 6
    assert [half.floor()(i=i, n=2) for i in (-7, 0, 9)] == [-3, 0, 3]  # -17/6, 2/6, 23/6
    assert str(isl.Aff("{ [i] -> [4i + 8] }").scale_down_val(4)) == "{ [i] -> [(i + 2)] }"
    for pos in (2, -1, "i"):
        with pytest.raises(UnknownName, match="no floor"):
            f.get_div(pos)


def test_constraints_are_functions_and_bounds():
    s = isl.BasicSet("[n] -> { S[i] : 2i >= n + 1 and 3i <= 7n - 2 }")
    low, high = sorted(s.get_constraints(), key=lambda c: -c.get_coefficient_val(dt.set, 0))
    assert str(low.get_aff()) == "[n] -> { S[i] -> [(2*i - n - 1)] }"
    b = low.get_bound(dt.set, 0)
    assert b.get_constant_val() == Fraction(1, 2) and b.get_denominator_val() == 2 and low.is_lower_bound(dt.set, 0)
    assert str(high.get_bound(dt.set, 0)) == "[n] -> { S[i] -> [(7*n - 2)/3] }"
    assert b.ceil()(n=4, i=0) == 3 and high.get_bound(dt.set, 0).floor()(n=4, i=0) == 8
    (c,) = isl.BasicSet("{ [i, j] : i = 3j + 6 }").get_constraints()
    assert str(c.get_bound(dt.set, 0)) == "{ [i, j] -> [(3*j + 6)] }"
    assert str(c.get_bound(dt.set, 1)) == "{ [i, j] -> [(i - 6)/3] }"
    for text, pos in (("{ [i, j] : i > 0 }", 1), ("{ [i] : i mod 5 <= 2 }", 0)):
        c = isl.BasicSet(text).get_constraints()[0]
        with pytest.raises(NotSupported, match="no bound of"):
            c.get_bound(dt.set, pos)
    with pytest.raises(NotSupported, match="no function of a set"):  # isl refuses it, too
        isl.BasicMap("{ [i] -> [j] : i < j }").get_constraints()[0].get_aff()


def test_bounds_beside_a_stride_are_of_the_dimension():
    found = isl.BasicSet("{ [i] : exists e : i = 3e + 1 and 0 <= i < 20 }").get_constraints()
    assert sorted(str(c.get_aff()) for c in found if not c.is_equality()) == [
        "{ [i] -> [(19 - i)] }",
        "{ [i] -> [(i - 1)] }",
    ]
    text = "{ [i, j] : exists d, e : i = 2d and i + j = 3e and 0 <= d and 2e < 3d + 9 and -4 <= j }"
    s = isl.BasicSet(text)
    all_of = isl.BasicSet.universe(s.get_space()).add_constraints(s.get_constraints())
    for i, j in product(range(-6, 20), repeat=2):
        there = i % 2 == 0 and (i + j) % 3 == 0 and i >= 0 and 2 * (i + j) // 3 < 3 * (i // 2) + 9 and j >= -4
        assert s.contains((i, j)) == there == all_of.contains((i, j))


@pytest.mark.parametrize(
    ("text", "pos", "wanted"),  # any lower, any upper, lower, upper, bounded: of islpy, but for the strides
    [
        ("[n] -> { [i, j] : 0 <= i < n and j >= i }", 0, (1, 1, 1, 1, 1)),
        ("[n] -> { [i, j] : 0 <= i < n and j >= i }", 1, (1, 0, 1, 0, 0)),
        ("{ [i] : i >= 0 or i <= -5 }", 0, (1, 1, 0, 0, 0)),
        ("{ [i] : 1 = 0 }", 0, (0, 0, 1, 1, 1)),
        ("[n] -> { [i] : i = n }", 0, (1, 1, 1, 1, 1)),
        ("{ [i, j] : 2i <= j and j <= 7 }", 0, (0, 1, 0, 1, 0)),
        ("{ [i, j] : 2i <= j and j <= 7 }", 1, (1, 1, 1, 1, 1)),
        ("{ [i] : exists e : i = 3e and i <= -70 }", 0, (0, 1, 0, 1, 0)),
        ("{ [i] : exists e : i = 3e and i >= 70 }", 0, (1, 0, 1, 0, 0)),
    ],
)
def test_bounds_of_a_dimension(text, pos, wanted):
    s = isl.Set(text)
    names = ("has_any_lower_bound", "has_any_upper_bound", "has_lower_bound", "has_upper_bound", "is_bounded")
    assert tuple(getattr(s, f"dim_{name}")(dt.set, pos) for name in names) == tuple(map(bool, wanted))
    with pytest.raises(UnknownName):
        s.dim_is_bounded(dt.param, 0)


def test_functions_of_a_list_and_the_point_zero():
    functions = isl.UnionPwAffList.from_union_pw_aff(isl.UnionPwAff("{ A[i] -> [i]; B[j] -> [2j] }"))
    functions = functions.add(isl.UnionPwAff("{ A[i] -> [0]; B[j] -> [1] }"))
    space = isl.Set("{ T[a, b] }").get_space()
    found = isl.MultiUnionPwAff.from_union_pw_aff_list(space, functions)
    assert found.is_equal(isl.Map("{ A[i] -> T[i, 0]; B[j] -> T[2j, 1] }"))
    single = isl.MultiUnionPwAff.from_union_pw_aff_list(isl.Set("{ [a] }").get_space(), [isl.PwAff("{ A[i] -> [i] }")])
    assert single.is_equal(isl.Map("{ A[i] -> [i] }"))
    with pytest.raises(SpaceMismatch, match="2 functions are given of 1 dim"):
        isl.MultiUnionPwAff.from_union_pw_aff_list(isl.Set("{ T[a] }").get_space(), functions)
    p = isl.Point.zero(space)
    assert p == (0, 0) and str(p.to_set()) == "{ T[0, 0] }" and p.set_coordinate_val(dt.set, 1, 4) == (0, 4)
