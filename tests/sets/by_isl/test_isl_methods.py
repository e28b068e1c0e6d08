"""isl's names of what has another here, and isl's way to say dimensions: by hand, by enumeration, and beside islpy."""

from inspect import unwrap
from itertools import product

import pytest

import polyvolta.isl
from polyvolta.sets import (
    DEFAULT_CONTEXT,
    Aff,
    Constraint,
    Context,
    Error,
    Map,
    MultiPwAff,
    NotAffine,
    Point,
    PwAff,
    PwQPolynomial,
    RationalMap,
    RationalSet,
    Set,
    Space,
    SpaceMismatch,
    UnknownName,
    by_isl,
    dim_type,
    make_zero_and_vars,
)
from polyvolta.sets.by_isl.objects.members import Multi
from polyvolta.sets.by_isl.objects.vectors import MultiVal
from polyvolta.sets.functions.members import MultiFunction
from polyvolta.sets.functions.rational import RationalPwAff
from polyvolta.sets.text import of_isl

TRIANGLE = Set("[N] -> { S[i, j] : 0 <= i < j < N }")
BOX = range(-6, 7)


def points(s, n, **params):
    return {p for p in product(BOX, repeat=n) if s.contains(p, **params)}


def test_every_name_is_one_of_isl_and_no_attribute():
    isl = pytest.importorskip("islpy")
    classes = {
        "Set": "Set BasicSet UnionSet", "RationalSet": "Set BasicSet", "PwAff": "Aff PwAff UnionPwAff",
        "RationalMap": "Map BasicMap",
        "Map": "Map BasicMap UnionMap UnionPwAff UnionPwMultiAff MultiUnionPwAff",
        "MultiPwAff": "MultiAff MultiPwAff PwMultiAff MultiUnionPwAff UnionPwMultiAff",
        "PwQPolynomial": "PwQPolynomial UnionPwQPolynomial", "Space": "Space LocalSpace", "Aff": "Aff",
        "Constraint": "Constraint", "Multi": "MultiVal MultiId", "MultiVal": "MultiVal", "Point": "Point",
        "RationalPwAff": "Aff PwAff", "MultiFunction": "MultiAff MultiPwAff PwMultiAff",
        "PlacedPolynomial": "QPolynomial", "QPolynomialFold": "QPolynomialFold",
        "PwQPolynomialFold": "PwQPolynomialFold UnionPwQPolynomialFold",
    }  # fmt: skip
    own = {
        c.__name__: c
        for c in (Set, Map, PwAff, MultiPwAff, PwQPolynomial, Space, Aff, Constraint, Multi, MultiVal, Point)
    }
    more = (polyvolta.isl.QPolynomial, polyvolta.isl.QPolynomialFold, polyvolta.isl.PwQPolynomialFold)
    own |= {c.__name__: c for c in (*more, RationalSet, RationalMap, RationalPwAff, MultiFunction)}
    for kinds, names, f in by_isl.methods():
        for kind, name in product(kinds.split(), names.split()):
            assert any(hasattr(getattr(isl, c), name) for c in classes[kind].split()), (kind, name)
            found = of_isl.method(own[kind], name)  # the function that is asked of which kinds its arguments are, too
            assert unwrap(f) is unwrap(found) if callable(f) else f is found
            assert not any(name in vars(c) for c in own[kind].__mro__)


def test_what_moves_nowhere_and_what_loses_nothing_keeps_its_tuple():
    dt, m = dim_type, Map("[N] -> { S[i] -> A[j, k] : i < j }")
    assert str(TRIANGLE.remove_dims(dt.set, 1, 0)) == str(TRIANGLE)
    assert str(TRIANGLE.project_out(dt.set, 1, 0)) == "[N] -> { [i, j] : i >= 0 and i < j < N }"  # as isl does
    assert m.remove_dims(dt.in_, 0, 0) is m and str(m.remove_dims(dt.out, 0, 1)) == "[N] -> { S[i] -> [k] }"
    assert str(m.move_dims(dt.out, 0, dt.out, 0, 2)) == str(m) == str(m.move_dims(dt.out, 1, dt.out, 1, 1))
    assert str(m.move_dims(dt.out, 0, dt.in_, 0, 0)) == "[N] -> { [i] -> [j, k] : i < j }"
    assert str(m.remove_dims(dt.in_, 2, 0)) == str(m)  # wherever
    with pytest.raises(UnknownName):
        m.remove_dims(dt.in_, -1, 0)


def test_dimensions_by_kind_position_and_number():
    dt, m = dim_type, Map("[N] -> { S[i, j] -> A[k] : k = i + N }")
    assert str(TRIANGLE.project_out(dt.set, 1, 1)) == "[N] -> { [i] : 0 <= i <= N - 2 }"
    assert str(TRIANGLE.project_out(dt.param, 0, 1)) == "{ S[i, j] : i >= 0 and i < j }"
    assert TRIANGLE.eliminate(dt.out, 0, 1) == TRIANGLE.eliminate("i")
    assert TRIANGLE.fix_val(dt.set, 0, 3) == TRIANGLE.fix(i=3) and TRIANGLE.fix_val(dt.param, 0, 3) == TRIANGLE.fix(N=3)
    assert TRIANGLE.lower_bound_val(dt.set, 1, 2).upper_bound_val(dt.param, 0, 9) == (
        TRIANGLE.lower_bound("j", 2).upper_bound("N", 9)
    )
    assert TRIANGLE.equate(dt.set, 0, dt.param, 0) == TRIANGLE.equate("i", "N")
    assert m.order_lt(dt.in_, 0, dt.out, 0) == m.order_lt("i", "k")
    assert str(m.move_dims(dt.in_, 1, dt.param, 0, 1)) == "{ [i, N, j] -> A[N + i] }"
    assert str(TRIANGLE.move_dims(dt.param, 0, dt.set, 0, 1)) == "[i, N] -> { [j] : i >= 0 and i < j < N }"
    assert TRIANGLE.add_dims(dt.set, 2).dims() == ("i", "j", "i2", "i3")
    assert TRIANGLE.insert_dims(dt.set, 1, 1).dims() == ("i", "i1", "j")
    assert TRIANGLE.add_dims(dt.param, 1).param_names == ("N", "p1")
    assert TRIANGLE.insert_dims(dt.param, 0, 1).param_names == ("p0", "N")
    assert (m.dim(dt.param), m.dim(dt.in_), m.dim(dt.out), m.dim(dt.all)) == (1, 2, 1, 4)
    assert m.get_var_names(dt.in_) == ["i", "j"] and m.get_dim_name(dt.out, 0) == "k"
    assert (m.find_dim_by_name(dt.in_, "j"), m.find_dim_by_name(dt.out, "j")) == (1, -1)
    assert m.get_var_dict() == {"N": (dt.param, 0), "i": (dt.in_, 0), "j": (dt.in_, 1), "k": (dt.out, 0)}
    assert m.set_dim_name(dt.param, 0, "M").set_dim_name(dt.in_, 1, "x").get_var_dict().keys() == {*"Mixk"}
    assert (m.get_tuple_name(dt.in_), m.set_tuple_name(dt.out, "B").get_tuple_name(dt.out)) == ("S", "B")
    assert PwAff("{ S[i, j] -> [i] }").dim(dt.in_) == 2 == MultiPwAff("{ [i] -> A[i, i] }").dim(dt.out)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: TRIANGLE.project_out(dim_type.in_, 0, 1), "no dimensions of the kind 'in_'"),
    (lambda: TRIANGLE.project_out(dim_type.set, 1, 2),
     "2 dimensions from position 1 on: out of range(.|\n)*there are 2 of that kind"),
    (lambda: TRIANGLE.eliminate(dim_type.set, -1, 1), "1 dimension from position -1 on: out of range"),
    (lambda: TRIANGLE.move_dims(dim_type.set, 3, dim_type.param, 0, 1), "position 3 is out of range"),
    (lambda: TRIANGLE.fix_val(dim_type.div, 0, 1),
     "1 dimension from position 0 on: out of range(.|\n)*there are 0 of that kind"),
    (lambda: TRIANGLE.equate("i", "j", "N"), "two dimensions are compared, not 3"),
    (lambda: TRIANGLE.dim("set"), "no dimensions of the kind 'set'"),
])  # fmt: skip
def test_dimensions_that_are_not_there(call, said):
    with pytest.raises(UnknownName, match=said):
        call()


def test_pieces_and_parts():
    s = Set("{ S[i] : i mod 2 = 0 or i > 3; T[] }")
    assert s.n_set() == 2 == s.n_basic_set() - 1 and [p.get_tuple_name() for p in s.get_set_list()] == ["S", "T"]
    seen = []
    s.foreach_set(seen.append)
    assert seen == s.get_set_list() and s.every_set(lambda p: not p.is_empty()) and not s.isa_set()
    assert s.get_basic_sets() == list(s.pieces) and seen[0].as_set() == seen[0].to_set() == seen[0].copy()
    with pytest.raises(SpaceMismatch):
        s.as_set()
    several = Set("{ [i, j] : 0 <= i <= 4 and 0 <= j <= 4; [i, j] : 2 <= i + j <= 6 and i >= j; [i, 1] : 0 <= i < 9 }")
    apart = several.make_disjoint()
    assert apart.is_equal(several)
    assert all(a.is_disjoint(b) for k, a in enumerate(apart.pieces) for b in apart.pieces[:k])
    m = Map("{ A[0] -> [1]; B[1] -> [2] }")
    assert m.remove_map_if(lambda p: p.get_tuple_name(dim_type.in_) == "B").is_equal(Map("{ A[0] -> [1] }"))
    assert m.n_map() == 2 and m.n_basic_map() == 2 and m.to_union_map() == m


def test_points_of_what_sets_become():
    s = Set("{ [i, j] : 0 <= 2i < j + 3 and j < 4 and (i + j) mod 3 = 1; [5, 6] }")
    there = points(s, 2)
    assert points(s.neg(), 2) == {(-a, -b) for a, b in there}
    found = []
    s.foreach_point(found.append)
    assert len(found) == len({*found}) == s.count_val() and {*found} == there
    assert s.dim_max_val(0) == max(a for a, _ in there) and s.dim_min_val(1) == min(b for _, b in there)
    assert s.max_val("2i - j") == max(2 * a - b for a, b in there) and s.min_val("i") == min(a for a, _ in there)
    values = s.max_multi_pw_aff().eval(())
    assert values == (max(a for a, _ in there), max(b for _, b in there))
    m = Map("{ [i] -> [j] : 0 <= j and 3j <= i + 1 and i <= 5 }")
    assert points(m.neg().wrap(), 2) == {(a, -b) for a, b in points(m.wrap(), 2)}
    assert Set("[N] -> { [i] : 0 <= i < N and N <= 7 }").dim_max_val(0) == 6


def test_least_and_greatest_values_keep_the_tuple():
    for text, greatest in (
        ("{ [A[i] -> B[j]] -> X[C[k] -> D[l]] : k <= i and l <= j + 1 }", "{ [A[i] -> B[j]] -> X[C[i] -> D[j + 1]] }"),
        ("{ S[i] -> T[] : i > 0 }", "{ S[i] -> T[] : i > 0 }"),
        ("[N] -> { S[i] -> T[j, k] : 0 <= j < i and k <= N }", "[N] -> { S[i] -> T[i - 1, N] : i > 0 }"),
    ):
        assert Map(text).max_multi_pw_aff().is_equal(MultiPwAff(greatest)), text
    for text, least in (
        ("[N] -> { W[A[i] -> B[j]] : N <= i and i < j }", "[N] -> { W[A[N] -> B[N + 1]] }"),
        ("[N] -> { S[] : N > 3 }", "[N] -> { S[] : N > 3 }"),
    ):
        assert Set(text).min_multi_pw_aff().is_equal(MultiPwAff(least)), text


def test_universes_parameters_and_functions_of_them():
    assert Set("{ S[i] : i > 2 or i < 4 }").is_universe() and not TRIANGLE.is_universe()
    assert Map("{ [i] -> [j] }").plain_is_universe() and not Map("{ [i] -> [i] }").is_universe()
    assert Set("[N] -> { : N > 3 }").is_params() and not Set("{ S[] }").is_params()
    assert Set("[N, M, K] -> { [i] : N <= i < K }").drop_unused_params().param_names == ("N", "K")
    assert Set("[N] -> { A[N, N + 1] }").as_pw_multi_aff().is_equal(MultiPwAff("[N] -> { A[N, N + 1] }"))
    assert Set.from_pw_aff(PwAff("[N] -> { [N + 1] : N > 0 }")).is_equal(Set("[N] -> { [N + 1] : N > 0 }"))
    with pytest.raises(SpaceMismatch, match="a function of parameters alone"):
        Set.from_pw_aff(PwAff("{ [i] -> [i] }"))
    assert Map.from_multi_union_pw_aff(Map("{ S[i] -> [i] }")) == Map("{ S[i] -> [i] }")


def test_partial_optima_say_where_there_is_none():
    m = Map("{ S[i] -> [j] : 0 <= j < 4 and 2j <= i }")
    first, none = m.partial_lexmin(Set("{ S[i] : i < 3 }"))
    assert first.is_equal(Map("{ S[i] -> [0] : 0 <= i < 3 }")) and none.is_equal(Set("{ S[i] : i < 0 }"))
    last, none = TRIANGLE.partial_lexmax(Set("[N] -> { : N > -3 }"))
    assert last.is_equal(Set("[N] -> { S[N - 2, N - 1] : N > 1 }")) and none.is_equal(Set("[N] -> { : -3 < N < 2 }"))


def test_questions_about_relations():
    assert Map("[N] -> { S[i, j] -> S[i + N, j] }").is_translation() and not Map("{ S[i] -> S[2i] }").is_translation()
    assert not Map("{ S[i] -> T[i] }").is_translation()
    assert (
        Map("{ [i] -> [j] : 0 <= j < i }").image_is_bounded() and not Map("{ [i] -> [j] : j < i }").image_is_bounded()
    )
    assert (
        Map("{ [A[i] -> B[j]] -> C[k] : i < k < j }").image_is_bounded()
        and Map("{ [] -> [j] : j = 3 }").image_is_bounded()
    )
    assert not Map("{ [A[i] -> B[j]] -> [C[k] -> D[l]] : i < k < j }").image_is_bounded()
    wrapped = Map("{ [A[i] -> B[j]] -> [[C[] -> D[]] -> E[]] }")
    assert wrapped.can_curry() and wrapped.can_zip() and wrapped.can_range_curry() and wrapped.is_product()
    assert not Map("{ A[i] -> [B[j] -> C[]] }").can_range_curry() and Map("{ A[i] -> [B[j] -> C[]] }").can_uncurry()


def test_functions_by_isls_names():
    f, g = PwAff("{ [i] -> [2i - 7] : i > -5 }"), PwAff("{ [i] -> [i] }")
    for k in range(-4, 9):
        v = 2 * k - 7
        quotient = abs(v) // 3 * (1 if v >= 0 else -1)
        assert f.tdiv_q(3).eval((k,)) == quotient and f.tdiv_r(3).eval((k,)) == v - 3 * quotient
        assert (
            f.add(g).eval((k,)) == v + k
            and f.sub(g).eval((k,)) == v - k
            and f.mul(PwAff("{ [i] -> [3] }"))(i=k) == 3 * v
        )
        assert f.mod_val(4)(i=k) == v % 4 and f.scale_val(3)(i=k) == 3 * v and f.add_constant_val(2)(i=k) == v + 2
        assert f.nonneg_set().contains((k,)) == (v >= 0) and f.pos_set().contains((k,)) == (v > 0)
        assert f.zero_set().contains((k,)) == (v == 0) and f.non_zero_set().contains((k,)) == (v != 0)
        for j in range(-3, 4):
            assert f.lt_map(g).contains((k, j)) == (v < j) and f.eq_map(g).contains((k, j)) == (v == j)
    assert g.scale_val(4).scale_down_val(2).is_equal(g.scale_val(2)) and g.as_aff() == g and not f.isa_aff()
    half = g.intersect_domain(Set("{ [i] : i > 0 }")).scale_down_val(2)
    assert str(half) == "{ [i] -> [(i)/2] : i >= 1 }" and half.scale_val(2).is_equal(
        g.intersect_domain(Set("{ [i] : i > 0 }"))
    )
    with pytest.raises(NotAffine, match="no single expression"):
        f.as_aff()
    assert (
        [(s, g.pieces[0][1]) for s, g in f.get_pieces()] == list(f.pieces)
        and f.n_piece() == 1
        and not f.is_empty()
        and g.params().is_equal(Set("{ : }"))
    )
    left = PwAff("[N] -> { [i] -> [i] : i < N and N > 3 }").gist_params(Set("[N] -> { : N > 8 }"))
    assert left.is_equal(PwAff("[N] -> { [i] -> [i] : i < N }"))
    h = MultiPwAff("{ [i] -> A[i, 2i] : i > 0 }")
    assert h.get_at(1).is_equal(h[1]) and h.get_list() == list(h) and not h.is_cst()
    assert h.set_at(0, PwAff("{ [i] -> [7] }")).is_equal(MultiPwAff("{ [i] -> A[7, 2i] : i > 0 }"))
    assert PwAff.zero_on_domain(TRIANGLE.space).is_equal(PwAff("{ S[i, j] -> [0] }"))


def test_constraints_by_name_kind_and_position():
    dt, box = dim_type, Set.universe("[x, y]")
    c = Constraint.ineq_from_names(box.space, {1: -1, "x": 2})
    assert (str(c), c.is_equality(), c.get_constant_val(), c.get_coefficient_val(dt.set, 0)) == (
        "2*x - 1 >= 0",
        False,
        -1,
        2,
    )
    assert c.get_coefficients_by_name() == {"x": 2, 1: -1} and c.get_coefficients_by_name(dt.set) == {"x": 2, 1: -1}
    assert c.set_constant_val(0).set_coefficient_val(dt.set, 1, -3).get_coefficients_by_name() == {"x": 2, "y": -3}
    equal = Constraint.eq_from_names(box.space, {"x": 1, "y": -2})
    assert points(box.add_constraints([c, equal]), 2) == {
        (x, y) for x, y in product(BOX, BOX) if 2 * x >= 1 and x == 2 * y
    }
    assert Map.universe("[x] -> [y]").add_constraint(equal).is_equal(Map("{ [x] -> [y] : x = 2y }"))
    assert Set.from_constraint(Constraint.ineq_from_names(box.align_params(["n"]).space, {"x": 1, "n": -1})).is_equal(
        Set("[n] -> { [x, y] : x >= n }")
    )
    f = PwAff("{ [x, y] -> [x - floor(y/2)] }")
    assert box.add_constraint(Constraint.equality_from_aff(f)).is_equal(f.eq_set(0))
    assert box.add_constraint(Constraint.inequality_from_aff(f)).is_equal(f.ge_set(0))
    with pytest.raises(UnknownName, match="no parameter or dimension is called 'q'"):
        Constraint.eq_from_names(box.space, {"q": 1})
    with pytest.raises(UnknownName, match="no parameter or dimension is called 'n'"):
        box.add_constraint(Constraint.eq_from_names(box.align_params(["n"]).space, {"n": 1}))
    with pytest.raises(UnknownName, match="is no name with a coefficient"):
        Constraint.eq_from_names(box.space, {2: 1})


@pytest.mark.parametrize("text", [
    "[N] -> { S[i, j] : 0 <= i < N and i + 2j >= 3 and j <= 9 }",
    "[N] -> { S[i, j] : i mod 3 = 1 and j = 2N and N <= i }",
    "{ [i, j] : floor(i/2) + j >= 0 and i <= floor((i + j)/3) }",
    "{ [i] : exists e : 3e <= i <= 3e + 1 and 0 <= i <= 9 }",
])  # fmt: skip
def test_the_constraints_of_a_piece_are_those_of_its_points(text):
    s = Set(text)
    found = s.get_constraints()
    seen = []
    s.foreach_constraint(seen.append)
    assert seen == found and s.n_constraint() == len(found) > 0
    for n in range(-3, 4):
        for p in product(BOX, repeat=len(s.dims())):
            values = dict(zip((*s.param_names, *s.dims()), (*([n] * len(s.param_names)), *p), strict=True))
            holds = all(c.expr.evaluate(values) == 0 if c.equal else c.expr.evaluate(values) >= 0 for c in found)
            assert holds == s.contains(p, **{k: values[k] for k in s.param_names})
    with pytest.raises(SpaceMismatch, match="those of one piece"):
        Set("{ [i] : i > 3 or i < 0 }").get_constraints()


def test_functions_of_names_by_islpys_function():
    v = make_zero_and_vars("i, j", ["n"])
    inside = v[0].le_set(v["i"]) & (v["i"] + v["j"]).lt_set(v["n"]) & v["j"].ge_set(v[0])
    assert inside.is_equal(Set("[n] -> { [i, j] : 0 <= i and 0 <= j and i + j < n }"))
    assert Set("{ [i] }", Context()) == Set("{ [i] }", context=DEFAULT_CONTEXT) == Set("{ [i] }")
    assert (
        PwAff("{ [i] -> [i] }", Context()) == PwAff("{ [i] -> [i] }") and Map("{ [i] -> [i] }", Context()).is_identity()
    )
    with pytest.raises(NotAffine, match=r"PwAff\(text\) reads a function"):
        Aff("[n] -> { [(n)] }")
    assert isinstance(UnknownName("x"), Error) and Set.read_from_str(Context(), "{ [i] }") == Set("{ [i] }")


TEXTS = (
    "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }", "{ W[A[i] -> B[j, k]] : i < j and 0 <= k < 5 }",
    "[N] -> { [i] : i = N }", "{ [i, j] : exists (k : i = 2k + 3j and 0 <= k < 5) and 0 <= j < 4 }",
)  # fmt: skip
RELATIONS = ("[N] -> { S[i, j] -> A[k] : 0 <= i < k < N + j }", "{ [A[i] -> B[j]] -> C[k] : j = i and k > j }")


@pytest.mark.parametrize("text", [*TEXTS, *RELATIONS])
def test_what_isl_says_of_kinds_positions_and_numbers(text):
    isl = pytest.importorskip("islpy")
    is_map = text in RELATIONS
    theirs, mine, read = (isl.Map, Map, isl.UnionMap) if is_map else (isl.Set, Set, isl.UnionSet)
    kinds = ("param", "in_", "out") if is_map else ("param", "set")

    def compare(name, *args):
        of = lambda types: [getattr(types, a) if isinstance(a, str) else a for a in args]  # noqa: E731
        expected = getattr(theirs(text), name)(*of(isl.dim_type))
        found = getattr(mine(text), name)(*of(dim_type))
        said = str(found).replace("{ : ", "{ [] : ").replace("{ : }", "{ [] }")
        for k, p in enumerate(found.param_names):  # what had no name
            if found.param_names[k] != expected.get_dim_name(isl.dim_type.param, k):
                expected = expected.set_dim_name(isl.dim_type.param, k, p)
        assert read(said).is_equal(read(str(expected))), (name, args)

    size = {k: theirs(text).dim(getattr(isl.dim_type, k)) for k in kinds}
    for k in kinds:
        for first in range(size[k] + 1):
            for n in range(size[k] - first + 1):
                compare("project_out", k, first, n)
                compare("eliminate", k, first, n)
                for to in kinds:
                    for at in range(size[to] + 1) if n and to != k else ():
                        compare("move_dims", to, at, k, first, n)
            for n in (1, 2) if k != "param" else ():
                compare("insert_dims", k, first, n)
                compare("add_dims", k, n)
        for at in range(size[k]):
            for name in ("fix_val", "lower_bound_val", "upper_bound_val"):
                compare(name, k, at, 2)
            for other in kinds:
                for to in range(size[other]):
                    compare("equate", k, at, other, to)


def test_gists_of_polynomials():
    square = PwQPolynomial("{ [i] -> i^2 : i != 0 }")
    assert str(square.gist(Set("{ [i] : i != 0 }"))) == "{ [i] -> i^2 }"
    assert not square.gist(Set("{ [0] }")).pieces
    f = PwQPolynomial("[n] -> { [i] -> i * n : 0 <= i < n; [i] -> i : i >= n and i >= 0 }")
    for context, holds in (("[n] -> { [i] : i >= 0 }", lambda i, n: i >= 0), ("{ [i] : i < 3 }", lambda i, n: i < 3)):
        left = f.gist(Set(context))
        for i in range(-4, 6):
            for n in range(-3, 6):
                value = i * n if 0 <= i < n else i if i >= max(n, 0) else 0
                assert f(i=i, n=n) == value and (not holds(i, n) or left(i=i, n=n) == value)
    few = f.gist_params(Set("[n] -> { : n > 4 }"))
    assert len(str(few)) < len(str(f)) and [few(i=i, n=6) for i in (-1, 2, 5, 7)] == [0, 12, 30, 7]


def test_points_know_the_values_of_parameters():
    some = Set("[N, M] -> { S[i, j] : N <= i < M and i + j = 2N and N >= 3 and M mod 5 = 1 }")
    p = some.sample_point()
    assert some.contains(p, **p.params)
    assert p.to_set().is_subset(some) and p.to_set().count(**p.params) == 1
    values = [p.get_coordinate_val(dim_type.param, k) for k in range(2)]
    assert values == [p.params["N"], p.params["M"]] and p.set_coordinate_val(dim_type.param, 1, 7).params["M"] == 7
    isl = pytest.importorskip("islpy")
    text = "[N] -> { A[i, j] : i = 3 and j = N and N = 7 }"
    assert Set(text).sample_point().to_str() == isl.Set(text).sample_point().to_str() == "[N = 7] -> { A[3, 7] }"
    assert Set("{ [4, 5] }").sample_point().to_str() == "{ [4, 5] }"
    q = PwQPolynomial("[n] -> { [i] -> (1/2 * i^2 + 1/2 * n * i) : 0 <= i < n }")
    assert q.eval(Set("[n] -> { [i] : i = 3 and n = 7 }").sample_point()) == 15
    assert q.eval(Set("[n] -> { [i] : i = 9 and n = 7 }").sample_point()) == 0
    assert PwAff("[N] -> { [i] -> [2i + N] }").eval(Set("[N, M] -> { [i] : i = 3 and N = M = 4 }").sample_point()) == 10
    seen = []
    both = Set("[N] -> { A[i] : 0 <= i < N and N = 2; B[i, j] : i = j = 3 and N = 2 }")
    both.foreach_point(lambda p: seen.append(p.to_str()))
    assert sorted(seen) == [f"[N = 2] -> {{ {t} }}" for t in ("A[0]", "A[1]", "B[3, 3]")]


STRIDED = ["{ [i] : i mod 8 = 3 }", "[N] -> { [i] : i mod 8 = N mod 8 }", "[N] -> { [i] : i = N }", "{ [5] }",
           "{ [i] }", "{ A[i, j] : i mod 4 = j mod 4 }", "{ [i, j] : i = 2j }", "{ [i] : i mod 6 = 3 and i mod 4 = 1 }",
           "{ [i] : i mod 2 = 0 or i mod 2 = 1 }", "[N] -> { [i] : (i - 2N) mod 6 = 1 }", "{ [i] : 1 = 0 }",
           "{ A[i, j] : (i - 3j) mod 9 = 4 and j mod 3 = 1 }"]  # fmt: skip


@pytest.mark.parametrize("text", STRIDED)
def test_strides_are_isls(text):
    isl = pytest.importorskip("islpy")
    ours, theirs = Set(text), isl.Set(text)
    info, wanted = ours.get_stride_info(0), theirs.get_stride_info(0)
    assert (
        ours.get_stride(0) == info.get_stride() == wanted.get_stride().to_python() == theirs.get_stride(0).to_python()
    )
    difference = info.get_offset() - PwAff(str(wanted.get_offset()))
    assert (difference % max(1, info.get_stride())).eq_set(0 * difference).is_equal(difference.domain())
    found = tuple(v.to_python() for v in theirs.dim_residue_class_val(0))
    assert ours.dim_residue_class_val(0) == found


def test_strides_of_several_pieces_and_of_outputs():
    assert (
        Set("{ [3]; [7]; [15] }").get_stride(0) == 1 and Set("{ [i] : i mod 4 = 1 or i mod 6 = 5 }").get_stride(0) == 2
    )
    info = Map("[N] -> { A[i] -> B[j, k] : (j - i + k) mod 4 = 2 and (k - N) mod 2 = 0 }").get_range_stride_info(0)
    assert info.get_stride() == 2 and str(info.get_offset()) == "[N] -> { A[i] -> [(-N - i)] }"
    assert Map("{ A[i] -> B[j, k] : (j - i + k) mod 4 = 2 }").get_range_stride_info(0).get_stride() == 1
