"""What a new user types wrongly: the error is the library's, and says what is wanted."""

from fractions import Fraction

import pytest

from polyvolta import isl, sched, sets
from polyvolta.sets import (
    Constraint,
    Map,
    MultiPwAff,
    PolyvoltaError,
    PwAff,
    PwQPolynomial,
    QPolynomial,
    RationalSet,
    Set,
    Val,
    dim_type,
    var,
)

DT = dim_type
S = Set("[N] -> { S[i, j] : 0 <= i < j < N }")
M = Map("[N] -> { S[i] -> A[j] : 0 <= j < i < N }")
F = PwAff("{ [i] -> [i // 2] : i > 0 }")
Q = PwQPolynomial("[n] -> { n^2 : n > 0 }")


@pytest.mark.parametrize(("call", "id", "said"), [
    (lambda: S.add_constraint(None), "PV102", r'needs a Constraint, not None(.|\n)*s & Set\("\{ S\[i, j\] : ... \}"\)'),
    (lambda: S.add_constraint(3), "PV102", "needs a Constraint, not an int"),
    (lambda: M.add_constraint("i > 2"), "PV102", r'not a str(.|\n)*m & Map\("\{ S\[i\] -> A\[j\] : ... \}"\)'),
    (lambda: S.add_constraints(None), "PV102", "needs a list of Constraints, not None"),
    (lambda: S.add_constraints([None]), "PV102", "needs a Constraint, not None"),
    (lambda: S.add_dims(DT.set, None), "PV103", "a number of dimensions is wanted, not None"),
    (lambda: S.add_dims(DT.param, -1), "PV103", "a number of dimensions is wanted, not -1"),
    (lambda: S.insert_dims(DT.set, 0, "x"), "PV103", "a number of dimensions is wanted, not 'x'"),
    (lambda: S.foreach_point(None), "PV102", "a function is called with each, and None is none"),
    (lambda: S.foreach_basic_set(3), "PV102", "and an int is none\nhint: one of one argument"),
    (lambda: S.foreach_constraint("x"), "PV102", "and a str is none"),
    (lambda: M.remove_map_if(None), "PV102", "and None is none"),
    (lambda: F.foreach_piece(None), "PV102", "hint: one of two arguments"),
    (lambda: F.every_piece(3), "PV102", "and an int is none"),
    (lambda: S.get_var_dict(7), "PV103", "no dimensions of the kind 7"),
    (lambda: M.get_tuple_name(None), "PV103", r"None is no tuple of a map\n.*\nhint: dim_type.in_, dim_type.out"),
    (lambda: M.set_tuple_name("in", "B"), "PV103", "'in' is no tuple of a map"),
    (lambda: F.set_tuple_id(3, "B"), "PV103", "3 is no tuple of a map"),
    (lambda: MultiPwAff.of(F).get_tuple_name(DT.div), "PV103", "is no tuple of a map"),
    (lambda: S.has_equal_space(None), "PV102", r"Set.has_equal_space needs a Relation for other, not None"),
    (lambda: M.lex_lt_at_multi_pw_aff("x"), "PV102", "needs a PwAff or MultiPwAff, not a str"),
    (lambda: Set.n_set(3), "PV102", "Set.n_set needs a Set, not an int"),
    (lambda: Map.less_at(M.get_space(), None), "PV102", "Map.less_at needs an integer for pos, not None"),
    (lambda: S.pw_aff_on_domain_val(1.5), "PV107", "an integer is needed, not 1.5"),
    (lambda: S.pw_aff_on_domain_val(Val("infty")), "PV107", "a function cannot be combined with a Val"),
    (lambda: M.floordiv_val("2"), "PV107", "an integer is needed, not 2"),
    (lambda: MultiPwAff.of(F).add_constant_val(1.9), "PV107", "an integer is needed, not 1.9"),
    (lambda: F.eq_map(None), "PV102", "a function of one value is needed, not None"),
    (lambda: MultiPwAff.of(F, F).set_at(2, F), "PV103", "position 2 is out of range"),
    (lambda: PwQPolynomial(None), "PV101", "is made from a text in isl's notation, not from None"),
    (lambda: PwQPolynomial([None]), "PV101", "not from a list"),
    (lambda: Q.scale_val("x"), "PV107", "a polynomial or a number is needed, not a str"),
    (lambda: Q.scale_down_val(0), "PV107", "a number other than 0 divides a polynomial, not 0"),
    (lambda: Q.scale_down_val(1.5), "PV107", "a polynomial or a number is needed, not a float"),
    (lambda: Q.scale_down_val(Val.infty()), "PV107", "not an infinity or NaN"),
    (lambda: Q.scale_val(Val.nan()), "PV107", "a polynomial or a number is needed"),
    (lambda: Q + None, "PV107", "a polynomial or a number is needed, not None"),
    (lambda: Q - [3], "PV107", "not a list"),
    (lambda: Q * F, "PV107", r"not a PwAff(.|\n)*PwQPolynomial.from_pw_aff\(f\)"),
    (lambda: QPolynomial.of("N"), "PV107", "not a str"),
    (lambda: Q.eval_with_dict(None), "PV103", "a mapping from names to numbers, not None"),
    (lambda: Q.eval_with_dict({1: 2}), "PV103", "names that are no texts"),
    (lambda: sched.schedule("", validty=M), "PV310", "has no argument 'validty'\nhint: did you mean 'validity'"),
    (lambda: sched.dataflow(M, kill=M, order=M), "PV310", "no argument 'kill'\nhint: did you mean 'kills'"),
    (lambda: sched.scan(None, contxt=S), "PV310", "scan has no argument 'contxt'\nhint: did you mean 'context'"),
])  # fmt: skip
def test_the_error_says_what_is_wanted(call, id, said):
    with pytest.raises(PolyvoltaError, match=said) as refused:
        call()
    assert refused.value.id == id


def test_errors_of_functions_that_are_called_are_theirs():
    with pytest.raises(KeyError, match="here"):
        Set("{ [i] : 0 <= i < 3 }").foreach_point(lambda p: {}["here"])
    with pytest.raises(AttributeError, match="nowhere"):
        M.foreach_basic_map(lambda m: (3).nowhere)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        S.fix_dim_si(0)


def test_of_two_tuples_that_are_the_same_one_is_renamed():
    s = Set("{ S[] }")
    for m in (Map("{ S[] -> S[] }"), Map.from_domain_and_range(s, s), s.identity(), s.get_space().map_from_set()):
        assert str(m.set_tuple_name(DT.out, "B")).strip("{ }") == "S[] -> B[]"
        assert str(m.set_tuple_name(DT.in_, "B")).strip("{ }") == "B[] -> S[]"


def test_what_is_right_beside_it_is_as_it_was():
    assert (Q + 1)(n=3) == 10 and (Q - Fraction(1, 2))(n=3) == Fraction(17, 2) and (2 * Q)(n=3) == 18
    assert (1 - Q)(n=3) == -8 and Q.eval_with_dict({"n": 4}) == 16
    assert PwQPolynomial(["n"])(n=5) == 0 and QPolynomial.of(var("n")).evaluate({"n": 2}) == 2
    c = Constraint.ineq_from_names(S.space, {"i": 1, 1: -2})
    assert S.add_constraints([c, c]) == S.add_constraint(c) and S.add_constraint(c).count(N=5) == 3  # (2, 3) to (3, 4)
    assert S.add_dims(DT.set, 0).dims() == ("i", "j")
    seen = []
    Set("{ [i] : 0 <= i < 3 }").foreach_point(seen.append)
    assert seen == [(0,), (1,), (2,)]


@pytest.mark.parametrize(("owner", "name", "meant"), [
    (S, "intersct", "; did you mean intersect?"), (F, "pulback", "; did you mean pullback?"),
    (sets, "BasicSett", "; did you mean BasicSet?"), (sets, "Sett", "; did you mean Set?"),
    (S, "fixx", "; did you mean fix?"), (S, "get_basic_set", "; did you mean get_basic_sets?"),
    (Set, "read_from_string", "; did you mean read_from_str?"), (S, "Union", "; did you mean union?"),
    (S, "get_lattice_til",
     "; did you mean get_lattice_tile?; for isl's get_lattice_tile there is: Set.box_hull, with strides"),
    (S, "qwerty", ""), (S, "append", ""), (sets, "Qwerty", ""),
])  # fmt: skip
def test_a_misspelt_name_and_the_one_that_was_meant(owner, name, meant):
    with pytest.raises(AttributeError) as missing:
        getattr(owner, name)
    assert str(missing.value).endswith(f"has no attribute {name!r}{meant}") and missing.value.name == name
    assert not hasattr(owner, name)


def test_whether_a_name_is_there_reads_no_message(monkeypatch):
    from polyvolta.sets.text import of_isl

    monkeypatch.delattr(of_isl, "lacking")
    assert not hasattr(S, "intersct") and not hasattr(Set, "card")


def test_many_dimensions_cost_what_they_are():
    n = 20_000  # the time of squares would be minutes
    wide = S.insert_dims(DT.set, 0, n)
    assert len(wide.dims()) == n + 2 and wide.dims()[-2:] == ("i", "j") and wide.dims()[0] == "i0"
    outer = wide.move_dims(DT.param, 0, DT.set, 0, n)
    assert outer.dims() == ("i", "j") and len(outer.param_names) == n + 1 and outer.param_names[-1] == "N"
    back = outer.project_out_param(*outer.param_names[:n])
    assert str(back) == "[N] -> { [i, j] : i >= 0 and i < j < N }" == str(wide.project_out(DT.set, 0, n))
    assert wide.eliminate(DT.set, 0, n).is_equal(wide) and len(S.add_dims(DT.param, n).param_names) == n + 1


def test_dimensions_that_move_stand_where_they_are_sent():
    m = Map("[N] -> { [a, b, c] -> [d, e] : a = 1 and b = 2 and c = 3 and d = 4 and e = N }")
    moved = m.move_dims("e", "b", "N", to="in")
    assert str(moved.space) == "[a, c, e, b, N] -> [d]" and moved.contains((1, 3, 7, 2, 7, 4))
    assert m.move_dims("b", "b", to="out").dims() == ("a", "c", "d", "e", "b")  # named twice, moved once
    assert m.project_out("b", "e", "b").dims() == ("a", "c", "d")


@pytest.mark.parametrize("word", ["and", "not", "exists", "mod", "floor", "max", "true", "rat", "Max"])
def test_words_of_the_notation_as_names_of_tuples_read_back(word):
    s = Set("[N] -> { S[i] : 0 <= i < N or exists(k : i = 3k and k < 0) }").rename(word)
    step = Map("{ S[i] -> A[i + 1] : i > 0; S[i] -> A[0] : i < 0 }")
    for value in (
        s, s | Set("{ T[j] : j > 3 }"), Set("{ T[j] : j > 3 }") | s, s.identity(), s.identity().wrap().rename(word),
        s.indicator_function(), step.rename_domain(word).as_pw_multi_aff(), step.rename_range(word).as_pw_multi_aff(),
        step.rename_domain(word).as_pw_multi_aff()[0], RationalSet("{ rat: S[i] : 2i = 1 }").rename(word),
        Map("{ S[i] -> A[j] : 0 <= j < i }").rename_domain(word).cardinality(),
    ):  # fmt: skip
        again = type(value)(str(value))
        assert f"{word}[" in str(value) and (again == value or again.is_equal(value))
    with pytest.raises(PolyvoltaError, match="no name for a dimension"):
        Set("{ [i] }").rename_dims(i="and")


@pytest.mark.parametrize(("call", "said"), [
    (lambda s: s.project_out_except(None, [isl.dim_type.set]), "names are a list, not None"),
    (lambda s: s.project_out_except(["i"], None), "kinds of dimensions are a list, not None"),
    (lambda s: s.eliminate_except(None, None), "names are a list, not None"),
    (lambda s: s.eliminate_except("i", 3), "kinds of dimensions are a list, not an int"),
    (lambda s: s.project_out_param_id_list(None), "names are a list, not None"),
    (lambda s: isl.PwAff.alloc(None), "PwAff.alloc needs a Set, not None"),
    (lambda s: isl.PwAff.alloc(s), "PwAff.alloc"),
    (lambda s: isl.PwAff.alloc(s, 3), "PwAff.alloc"),
])  # fmt: skip
def test_what_is_no_list_and_no_function_is_refused(call, said):
    with pytest.raises(isl.PolyvoltaError, match=said):
        call(isl.Set("[n] -> { [i] : i < n }"))


def test_unions_have_parameters_and_as_many_outputs_a_number_of_them():
    dt, two = isl.dim_type, isl.UnionMap("[n] -> { S[i] -> [i, n]; T[] -> [0, 1] }")
    assert two.dim(dt.param) == 1 and two.get_var_names(dt.param) == ["n"] and two.dim(dt.out) == 2
    assert isl.UnionSet("[n, m] -> { A[i] : i < n + m; B[] }").dim(dt.param) == 2
    for wrong in (lambda: two.dim(dt.in_), lambda: isl.UnionMap("{ S[] -> [0]; T[] -> [] }").dim(dt.out),
                  lambda: isl.UnionSet("{ A[i]; B[j] }").dim(dt.set)):  # fmt: skip
        with pytest.raises(isl.PolyvoltaError, match="single space"):
            wrong()
    assert isl.PwQPolynomial("{ [i] -> i^2 : i > 0 }").get_aggregate_domain() == isl.Set("{ [i] : i > 0 }")


BASIC = [
    "{ [i] : i > 3 or i < 0 }", "{ [i] : i != 0 }", "{ [i] : i >= 3 or i >= 5 }", "{ A[i]; B[i] }", "{ }",
    "{ [3]; [4] }", "{ [i] : i <= 3 or i <= 3 }", "{ [i] : i > 0 or false }", "{ [i] : i mod 3 != 1 }",
    "{ [i] : i mod 3 >= 1 }", "{ [i] : 1 = 0 }", "[N] -> { : N > 3 }",
    "{ [i, j] : 0 <= i <= 3 and exists a : j = 2a + i }", "{ [i] -> [i] }",
]  # fmt: skip
BASIC_MAPS = ["{ [i] -> [j] : i != j }", "{ [i] -> [j] : i < j }", "{ A[i] -> B[i]; A[i] -> C[i] }"]


@pytest.mark.parametrize("kind, text", [*(("Set", t) for t in BASIC), *(("Map", t) for t in BASIC_MAPS)])
def test_basic_sets_are_of_one_piece_as_isls(kind, text):
    theirs, name = pytest.importorskip("islpy"), f"Basic{kind}"
    try:
        wanted = str(getattr(theirs, name)(text))
    except theirs.Error:
        for make in (getattr(isl, name), getattr(isl, name).read_from_str):
            with pytest.raises(isl.Error):
                make(text)
    else:
        value = getattr(isl, name)(text)
        assert value == getattr(isl, name).read_from_str(None, text) and value.is_equal(getattr(isl, kind)(wanted))
        assert type(value) is getattr(isl, name) and isinstance(value, getattr(isl, kind))


def test_basic_sets_have_what_sets_have():
    space = Set("{ A[i, j] }").space
    assert isl.BasicSet.universe(space) == Set.universe(space) and "universe" in dir(isl.BasicSet)
    assert isl.BasicMap.from_domain_and_range(Set("{ A[i] }"), Set("{ B[] }")) == isl.Map("{ A[i] -> B[] }")
    assert issubclass(isl.BasicSet, isl.Set) and not isinstance(isl.Set("{ [i] }"), isl.BasicSet)
    with pytest.raises(AttributeError, match="did you mean universe"):
        isl.BasicSet.univers  # noqa: B018


@pytest.mark.parametrize(("call", "said"), [
    (lambda: Set("[N] -> { [t, i] : t > i }").lexmin(), r"\[t, i\]\n  t has no lower bound"),
    (lambda: Map("{ [t] -> [i, j] : i > t }").lexmin(), r"\n  j has no lower bound"),
    (lambda: Map("{ [t] -> [i, j] : i > t }").lexmax(), r"\n  i has no upper bound"),
    (lambda: Map("[N] -> { [t, i] -> [i + 1] : foo > 0 }"), r"hint: known: N, t, i$"),
    (lambda: Set("[N] -> { [t, i + 1] : foo > 0 }"), r"unknown name 'i'"),
])  # fmt: skip
def test_the_culprit_is_named(call, said):
    with pytest.raises(PolyvoltaError, match=said):
        call()


def test_a_budget_of_nothing_may_be_more():
    with pytest.raises(PolyvoltaError, match=r"with budget\(10\): ..."), sets.budget(0):
        Set("{ [i, j] : i > j }").is_empty()
