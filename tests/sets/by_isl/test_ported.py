"""What programs written for islpy call besides: spaces, numbers, points, names, alignment. All is typed by hand."""

import copy
import pickle
from fractions import Fraction

import pytest

from polyvolta import sets as isl
from polyvolta.sets import (
    DEFAULT_CONTEXT,
    Aff,
    Constraint,
    Error,
    Id,
    Map,
    MultiPwAff,
    Point,
    PwAff,
    PwQPolynomial,
    Set,
    Space,
    Val,
    dim_type,
    var,
)

DT = dim_type
TRIANGLE = Set("[N] -> { S[i, j] : 0 <= i < j < N }")


def test_numbers_are_integers_with_methods():
    v = Val(DEFAULT_CONTEXT, 17)
    assert v == 17 == Val("17") == Val.read_from_str(None, "17") and isinstance(v, int) and repr(v) == "17"
    assert type(v.to_python()) is int and type(v + 1) is type(3 * v) is type(-v) is type(20 - v) is Val
    assert (v.mod(5), v.gcd(34), v.neg(), v.add(3), v.sub(3), v.mul(2), v.div(17)) == (2, 17, -17, 20, 14, 34, 1)
    assert (v.is_pos(), v.is_neg(), v.is_zero(), v.is_one(), v.is_int(), v.is_infty()) == (True, False, False) + (
        False, True, False)  # fmt: skip
    assert v.le(17) and not v.lt(17) and v.max(20) == 20 and v.sgn() == 1
    assert v.is_divisible_by(17) and v.pow2() == 131072
    assert (Val.zero(), Val.one(), Val.negone()) == (0, 1, -1) and v.get_den_val() == 1 and v / 2 == 8.5
    assert pickle.loads(pickle.dumps(v)) == 17 and {17: "x"}[v] == "x" and list(range(3))[Val(1)] == 1
    for wrong in (1.5, None, "x", "1/x", True):
        with pytest.raises(Error, match="a Val is a number, not"):
            Val(wrong)
    assert (v.inv().inv(), v.div(2), v.two_exp(), v.cmp_si(20)) == (17, Val("17/2"), 131072, -1) and v.abs_eq(Val(-17))
    assert str(Val(-2).pow2()) == "1/4" and v.get_d() == 17.0 and v.copy() is v and v.get_ctx() == DEFAULT_CONTEXT


def test_methods_give_such_numbers():
    s = Set("{ [i, j] : 2 <= i <= 5 and j = 2i }")
    assert s.dim_max_val(1).to_python() == 10 and s.dim_min_val(0).to_python() == 2 and s.count_val().to_python() == 4
    c = Constraint.ineq_from_names(TRIANGLE.space, {"i": 3, 1: -5})
    assert c.get_constant_val().to_python() == -5 and c.get_coefficient_val(DT.set, 0).is_pos()
    assert c.get_coefficients_by_name() == {"i": 3, 1: -5}


def test_points_are_tuples_with_methods():
    s, seen = Set("{ S[i, j] : 3 <= i <= 4 and j = 2i }"), []
    s.foreach_point(seen.append)
    assert sorted(seen) == [(3, 6), (4, 8)] and all(isinstance(p, Point) for p in seen)
    p = Set("{ S[3, 6] }").sample_point()
    assert p == (3, 6) and p.get_coordinate_val(DT.set, 1) == 6 and str(p.to_set()) == "{ S[3, 6] }"
    assert p.set_coordinate_val(DT.set, 0, 1) == (1, 6) and not p.is_void() and Set.from_point(p) == Set("{ S[3, 6] }")
    assert pickle.loads(pickle.dumps(p)).space == p.space and str(p.get_space()) == "S[i0, i1]"
    with pytest.raises(Error, match="out of range"):
        p.get_coordinate_val(DT.set, 99999999)
    with pytest.raises(Error, match="from_point needs a Point, not a tuple"):
        Set.from_point((1, 2))


def test_identifiers_are_texts():
    x = Id(context=DEFAULT_CONTEXT, name="x0")
    assert x.name == "x0" == x.get_name() == Id("x0") and x.user is None
    assert TRIANGLE.get_id_dict(DT.param) == {"N": (DT.param, 0)} and TRIANGLE.get_dim_id(DT.set, 1).name == "j"
    assert TRIANGLE.get_var_ids(DT.set) == ["i", "j"] and TRIANGLE.find_dim_by_id(DT.set, Id("j")) == 1
    assert TRIANGLE.set_dim_id(DT.set, 0, x).dims() == ("x0", "j") and TRIANGLE.has_dim_id(DT.set, 0)
    assert TRIANGLE.get_tuple_id().name == "S" and TRIANGLE.set_tuple_id(Id("T")).get_tuple_name() == "T"
    m = Map("{ A[i] -> [j] }")
    assert m.get_tuple_id(DT.in_) == "A" and m.has_tuple_id(DT.in_) and not m.has_tuple_id(DT.out)
    with pytest.raises(Error, match="has no name"):
        m.get_tuple_id(DT.out)


def test_identifiers_carry_objects_that_sets_do_not_keep():
    here = object()
    x = Id("x", here)
    assert x.user is x.get_user() is here and Id(name="x", user=here, context=DEFAULT_CONTEXT).user is here
    assert x == Id("x") == "x" and {x: 1}["x"] == 1 and str(x) == "x" and type(x.name) is str
    assert Id("x", DEFAULT_CONTEXT).user is None
    copied = pickle.loads(pickle.dumps(Id("x", [1])))
    assert copied == "x" and copied.user == [1]
    s = TRIANGLE.set_dim_id(DT.set, 0, x).set_tuple_id(x)
    assert s.get_dim_id(DT.set, 0).user is s.get_tuple_id().user is None and type(s.dims()[0]) is str
    m = Map("{ A[i] -> B[j] }").set_tuple_id(DT.in_, x)
    assert type(m.space.inp.name) is str and m.find_dim_by_id(DT.in_, Id("i", here)) == 0
    sp = s.get_space().set_tuple_id(DT.set, x).add_param_id(Id("q", here))
    assert type(sp.out.name) is str and {type(n) for n in sp.param_names} == {str}
    with pytest.raises(Error, match="an identifier is a text"):
        Id(None, here)


def test_spaces():
    sp = Space.create_from_names(DEFAULT_CONTEXT, set=["a", "b"], params=["n"])
    assert (sp.dim(DT.param), sp.dim(DT.set), sp.dim(DT.all), str(sp)) == (1, 2, 3, "[a, b]")
    assert str(Set.universe(sp)) == "[n] -> { [a, b] }" and str(Set.empty(sp)) == "[n] -> { [a, b] : false }"
    assert sp.get_var_dict() == {"n": (DT.param, 0), "a": (DT.set, 0), "b": (DT.set, 1)}
    assert sp.is_set() and not sp.is_map() and sp.params().is_params() and sp.params().param_names == ("n",)
    m = Space.create_from_names(in_=["x"], out=["y", "z"])
    assert (str(m.domain()), str(m.range()), str(m.reverse())) == ("[x]", "[y, z]", "[y, z] -> [x]") and m.is_map()
    assert str(sp.map_from_set()) == "[a, b] -> [a', b']" and sp.map_from_set().param_names == ("n",)
    assert str(sp.add_dims(DT.set, 1).set_dim_name(DT.set, 2, "c").set_tuple_name(DT.set, "S")) == "S[a, b, c]"
    assert str(sp.drop_dims(DT.set, 0, 1)) == "[b]" and sp.insert_dims(DT.param, 0, 1).param_names == ("p0", "n")
    assert str(m.wrap()) == "[[x] -> [y, z]]" and str(m.wrap().unwrap()) == str(m) and m.wrap().is_wrapping()
    assert str(sp.from_domain()) == "[a, b] -> []" and str(sp.from_range()) == "[] -> [a, b]"
    assert str(m.domain().map_from_domain_and_range(m.range())) == "[x] -> [y, z]" and sp.get_dim_name(DT.set, 1) == "b"
    assert str(Space.set_alloc(None, 1, 2)) == "[i0, i1]" and Space.set_alloc(None, 1, 2).param_names == ("p0",)
    assert sp.align_params(Space.create_from_names(set=[], params=["m"])).param_names == ("m", "n")
    bare = sp.drop_all_params()
    assert sp.is_equal(sp.copy()) and sp.has_equal_tuples(bare) and not sp.is_equal(bare)
    assert m.tuple_is_equal(DT.in_, m.domain(), DT.set) and not m.tuple_is_equal(DT.out, m.domain(), DT.set)
    again = pickle.loads(pickle.dumps(sp))
    assert copy.deepcopy(sp) == sp == again and again.dim(DT.param) == 1


def test_spaces_of_values_know_their_parameters_where_isl_is_asked():
    assert TRIANGLE.get_space().dim(DT.param) == 1 and TRIANGLE.get_space() == TRIANGLE.space
    assert TRIANGLE.project_out_param("N").get_space().dim(DT.param) == 0
    again = Set.universe(TRIANGLE.get_space()).project_out_param("N")
    assert again.param_names == () == again.get_space().param_names == again.space.param_names
    assert TRIANGLE.space.dim(DT.param) == 1 and Set.universe(TRIANGLE.space).param_names == ("N",)
    assert TRIANGLE.space.get_var_dict() == {"N": (DT.param, 0), "i": (DT.set, 0), "j": (DT.set, 1)}
    assert TRIANGLE.space.add_dims(DT.param, 1).param_names == ("N", "p1")
    assert TRIANGLE.space.add_dims(DT.set, 1).param_names == ("N",)
    assert PwAff("[n] -> { [i] -> [i + n] }").space.param_names == ("n",)  # of functions, too
    assert (TRIANGLE & Set("[M] -> { S[i, j] : i > M }")).space.get_var_names(DT.param) == ["N", "M"]
    unknown = Space(None, TRIANGLE.space.out)
    with pytest.raises(Error, match="does not know the parameters(.|\n)*get_space"):
        unknown.dim(DT.param)
    for call in (lambda: unknown.get_var_dict(), lambda: unknown.add_dims(DT.param, 1)):
        with pytest.raises(Error, match="does not know the parameters"):
            call()
    f = PwAff("[n] -> { [i] -> [i + n] }")
    assert str(f.get_domain_space()) == "[i]" and f.get_domain_space().dim(DT.param) == 1
    assert TRIANGLE.align_params(Map("[M] -> { [i] -> [j] }").get_space()).param_names == ("M", "N")


@pytest.mark.parametrize(("call", "said"), [
    (lambda: Space.create_from_names(), "names of a set, or of those of a map's"),
    (lambda: Space.create_from_names(set=["i"], in_=["j"]), "names of a set, or of those of a map's"),
    (lambda: Space.create_from_names(set=["i", "i"]), "a name stands twice"),
    (lambda: Space.create_from_names(set=[3]), "3 is no name"),
    (lambda: Space.create_from_names(set=["i", "max"]), "'max' is no name"),
    (lambda: Space.create_from_names(in_=["Infty"], out=["i"]), "it is a word of the notation"),
    (lambda: Space.set_alloc(None, 1, -2), "numbers of dimensions are wanted"),
    (lambda: TRIANGLE.space.domain(), "no tuple of the space"),
    (lambda: isl.affs_from_space(3), "a space is a text such as"),
    (lambda: isl.align_spaces(TRIANGLE, 3), "sets, relations, functions and spaces are aligned, not an int"),
    (lambda: isl.align_spaces(TRIANGLE, Set("[N] -> { [i] }")), "j has no place in the template"),
    (lambda: isl.align_spaces(Set("{ [i] }"), Map("{ [i] -> [j] }")), "no dimensions in common"),
    (lambda: isl.align_spaces(PwAff("{ [i, j] -> [i] }"), PwAff("{ [i] -> [i] }")), "j has no place in the template"),
    (lambda: isl.align_spaces(PwAff("[t, u] -> { [(32)] }"), PwAff("[u] -> { [(0)] }")), "t has no place"),
    (lambda: Aff.zero_on_domain(3), "a Space is needed, not an int"),
    (lambda: PwAff("{ [i] -> [i] }").set_constant_val("x"), "a coefficient is an integer, not a str"),
    (lambda: PwAff("{ [i] -> [i] : i > 0 }").get_constant_val(), "no single expression"),
    (lambda: PwAff("{ [i] -> [i] }").add_dims(DT.out, 1), "outputs of a function stay"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(call, said):
    with pytest.raises(Error, match=said):
        call()


def test_alignment_by_names():
    one = Map("[m, n] -> { [i, j, k] -> [l, o] : i < j and l = k + o }")
    found = isl.align_spaces(one, Map("[m, n] -> { [j, k, l, i] -> [o] }"))
    assert str(found) == "[m, n] -> { [j, k, l, i] -> [l - k] : i < j }"
    a, b = isl.align_two(Set("[n, p] -> { S[i, j] : i < n }"), Set("[p, q] -> { T[k, i] : k = q }"))
    assert a.param_names == b.param_names == ("p", "q", "n") and a.dims() == b.dims() == ("k", "i", "j")
    assert a.contains((9, 3, 9), n=4, p=0, q=0) and not a.contains((9, 4, 9), n=4, p=0, q=0)
    assert b.contains((9, 3, 5), n=0, p=0, q=9) and not b.contains((8, 3, 5), n=0, p=0, q=9)
    f, g = isl.align_two(PwAff("[t, u, v] -> { [(32)] }"), PwAff("[u, t] -> { [(0)] }"))
    assert f == PwAff("[u, t, v] -> { [(32)] }") and g == PwAff("[u, t, v] -> { [(0)] }")
    assert isl.align_spaces(TRIANGLE, TRIANGLE.get_space()) == TRIANGLE
    assert isl.align_spaces(TRIANGLE, TRIANGLE).get_tuple_name() == "S"
    outer = isl.align_spaces(Set("[i] -> { [j] : j = i }"), Set("[j] -> { [i] }"))
    assert str(outer) == "[j] -> { [j] }" or outer.contains((3,), j=3) and not outer.contains((3,), j=4)


def test_functions_on_spaces():
    v = isl.affs_from_space(TRIANGLE.space)
    assert str(v[0].le_set(v["i"]) & v["i"].lt_set(v["j"])) == "[N] -> { S[i, j] : i >= 0 and i < j }"
    assert v["n"].param_names == ("N", "n") and "n" not in v
    with pytest.raises(KeyError):
        v[1]
    assert str(Aff.zero_on_domain(TRIANGLE.space)) == "[N] -> { S[i, j] -> [(0)] }"
    assert str(PwAff.var_on_domain(TRIANGLE.get_space(), DT.param, 0)) == "[N] -> { S[i, j] -> [(N)] }"
    assert str(PwAff.val_on_domain(TRIANGLE.space, 7)) == "[N] -> { S[i, j] -> [(7)] }"
    f = PwAff("[n] -> { [i] -> [2i + n + 3] }")
    assert (f.get_constant_val(), f.get_coefficient_val(DT.in_, 0), f.coefficient_sgn(DT.param, 0)) == (3, 2, 1)
    assert f.get_coefficients_by_name() == {"i": 2, "n": 1, 1: 3} and not f.is_cst() and not f.plain_is_zero()
    assert str(f.set_constant_val(7)) == "[n] -> { [i] -> [(2*i + n + 7)] }"
    assert str(f.set_coefficient_val(DT.param, 0, 0)) == "[n] -> { [i] -> [(2*i + 3)] }"
    more = f.add_coefficient_val(DT.in_, 0, -2).set_coefficients_by_name({"n": 5})
    assert str(more) == "[n] -> { [i] -> [(5*n + 3)] }"
    assert str(PwAff("{ [i] -> [4i] }").div(2)) == "{ [i] -> [(2*i)] }" and f.involves_dims(DT.param, 0, 1)
    assert str(f.set_dim_name(DT.in_, 0, "x")) == "[n] -> { [x] -> [(n + 2*x + 3)] }"
    assert str(f.move_dims(DT.in_, 0, DT.param, 0, 1)) == "{ [n, i] -> [(2*i + n + 3)] }"
    assert MultiPwAff("[n] -> { [i] -> [i, n] }").set_dim_name(DT.param, 0, "m").dim(DT.out) == 2
    a = 2 * var("i") + 3
    assert not a.is_cst() and a.get_constant_val() == 3 and (a - 2 * var("i")).is_cst() and a.neg() == -a


def test_what_is_one_already_makes_one():
    assert isl.UnionSet(isl.BasicSet(TRIANGLE)) == TRIANGLE
    assert isl.UnionMap(Map("{ [i] -> [i] }")) == Map("{ [i] -> [i] }")
    f = PwAff("{ [i] -> [i] : i > 0; [i] -> [0] : i < 0 }")
    assert PwAff(f) == f and isl.PwMultiAff(MultiPwAff.of(f)).is_equal(MultiPwAff.of(f))
    with pytest.raises(Error, match=r"m\.wrap\(\) is its pairs as a set"):
        Set(Map("{ [i] -> [i] }"))


def test_dimensions_by_name_and_kind():
    m = Map("[N] -> { S[i, j] -> A[k, l] : k = i and l = j + N }")
    assert str(m.project_out_except(["i", "k"], [DT.in_, DT.out])) == "[N] -> { [i] -> [i] }"
    assert TRIANGLE.eliminate_except(["j"], [DT.set]).is_equal(TRIANGLE.eliminate("i"))
    assert TRIANGLE.fix_dim_si(1, 3) == TRIANGLE.fix(j=3) and TRIANGLE.eliminate_dims(0, 1) == TRIANGLE.eliminate("i")
    assert m.involves_dims(DT.param, 0, 1) and not Map("{ [i, j] -> [i] }").involves_dims(DT.in_, 1, 1)
    assert TRIANGLE.project_out_param_id(Id("N")) == TRIANGLE.project_out_param("N")
    assert (m.domain_tuple_dim(), m.range_tuple_dim(), TRIANGLE.tuple_dim(), TRIANGLE.n_param()) == (2, 2, 2, 1)
    u = Set("{ A[i] : i > 0; B[j] : j < 0 }")
    assert u.extract_set(Space(None, isl.Tuple("B", ("x",)))) == Set("{ B[j] : j < 0 }")
    assert u.extract_set(Space(None, isl.Tuple("C", ("x",)))).is_empty() and u.get_ctx() is DEFAULT_CONTEXT


def test_members_of_functions_of_several_tuples():
    f = isl.MultiUnionPwAff("[{ S[i] -> [(i)]; T[i] -> [(0)] }, { S[i] -> [0]; T[i] -> [i] }]")
    assert f.get_union_pw_aff(1).is_equal(Map("{ S[i] -> [0]; T[i] -> [i] }"))
    assert f.get_at(0).is_equal(Map("{ S[i] -> [i]; T[i] -> [0] }"))
    with pytest.raises(Error, match="position 2 is out of range"):
        f.get_union_pw_aff(2)


def test_polynomials_and_their_terms():
    q = PwQPolynomial("[n] -> { [i] -> 2 * i + n : 0 <= i < n }")
    assert str(q.space) == "[i] -> [o0]" and q.get_var_names(DT.param) == ["n"] and q.dim(DT.in_) == 1
    ((where, what),) = q.get_pieces()
    assert where == Set("[n] -> { [i] : 0 <= i < n }") and what.get_var_names(DT.param) == ["n"]
    terms = [(t.get_coefficient_val(), t.get_exp(DT.in_, 0), t.get_exp(DT.param, 0)) for t in what.get_terms()]
    assert sorted(terms) == [(1, 0, 1), (2, 1, 0)]
    seen = []
    q.foreach_piece(lambda s, p: p.foreach_term(lambda t: seen.append(t.get_coefficient_val())))
    assert sorted(seen) == [1, 2]
    half = PwQPolynomial("{ [i] -> 1/2 * i^2 }").get_pieces()[0][1].get_terms()[0]
    assert half.get_coefficient_val() == Fraction(1, 2) and half.get_den_val() == 2
    assert q.intersect_domain(Set("{ [i] : i >= 2 }"))(n=4, i=1) == 0 == q.intersect_domain(Set("{ [1] }"))(n=4, i=2)
    assert q.intersect_domain(Set("{ [i] : i >= 2 }"))(n=4, i=3) == 10
    assert PwQPolynomial("{ [i] -> i^2 }").eval((5,)) == 25


def test_gist_where_the_context_holds_nowhere_says_nothing():
    for context in ("{ [i] : false }", "{ [i] : 2i = 1 }"):
        assert str(Set("{ [i] : i > 0 }").gist(Set(context))) == "{ [i] }"  # as isl's
    assert str(Set("{ [i] : false }").gist(Set("{ [i] : false }"))) == "{ [i] }"
    assert Set("{ [i] : i = 1 }").gist(Set("{ [i] : i = 2 }")).is_empty()
    assert str(Set("[n] -> { [i] : i > n }").gist_params(Set("[n] -> { : false }"))) == "[n] -> { [i] }"
    assert str(Map("{ [i] -> [i + 1] }").gist_domain(Set("{ [i] : false }")).space) == "[i] -> [i0]"


def test_the_identity_of_a_space_of_maps():
    assert str(Map.identity(Map("{ S[i] -> S[j] }").get_space())) == "{ S[i] -> S[i] }"  # isl's way to say it
    assert str(Map.identity(Map("{ S[i] -> T[j] }").get_space())) == "{ S[i] -> T[i] }"
    with pytest.raises(Error):
        Map.identity(Map("{ S[i] -> T[j, k] }").get_space())


def test_an_aff_of_the_module_for_ported_programs_is_a_function():
    import polyvolta.isl as ported

    a = ported.Aff("[n] -> { [(-1 - floor((-n)/4))] }")
    assert ported.PwAff(a).is_equal(a) and a.get_constant_val() == -1 and a.get_space().dim(DT.param) == 1
    assert str(ported.Aff.var_on_domain(ported.Set("{ [i, j] }").get_space(), DT.set, 1)) == "{ [i, j] -> [(j)] }"


def test_a_value_has_the_functions_of_its_class():
    """Static methods of islpy's are called on values, too."""
    some = Set("{ [i] : i > 0 }")
    assert some.from_params(Set("[n] -> { : n > 3 }")) == Set.from_params(Set("[n] -> { : n > 3 }"))
    assert some.read_from_str("{ [j] }") == Set("{ [j] }")
