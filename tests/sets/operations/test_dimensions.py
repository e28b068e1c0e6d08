"""Names, places and bounds of dimensions, relations made from points and expressions, membership: by example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import (
    Map,
    MultiPwAff,
    PolyvoltaError,
    PwAff,
    Set,
    SetSyntaxError,
    Space,
    SpaceMismatch,
    Tuple,
    Unbounded,
    UnknownName,
    var,
)
from tests.sets.brute import examples

S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }")
M = Map("[N] -> { S[i] -> A[j, k] : 0 <= i < N and i <= j }")


def test_names():
    assert S.rename_dims(i="x").dims() == ("x", "j") and S.rename_dims({1: "y"}).dims() == ("i", "y")
    assert S.rename_dims(i="j", j="i").dims() == ("j", "i") and S.rename_dims(i="x").is_equal(S)
    assert M.rename_dims(j="x").dims() == ("i", "x", "k")
    assert S.rename_params(N="P").param_names == ("P",) and M.rename_params({0: "P"}).param_names == ("P",)
    assert M.rename_domain("T").rename_range(None).is_equal(Map("[N] -> { T[i] -> [j, k] : 0 <= i < N and i <= j }"))
    assert Map("{ [A[i] -> B[j]] -> C[k] }").rename_dims(j="x").dims() == ("i", "x", "k")


def test_new_dimensions():
    assert S.insert_dims("j", "a", "b").is_equal(Set("[N] -> { S[i, a, b, j] : 0 <= i < N and 0 <= j <= i }"))
    assert S.insert_dims(-1, "a").dims() == ("i", "a", "j")
    assert S.add_dims("k").is_equal(Set("[N] -> { S[i, j, k] : 0 <= i < N and 0 <= j <= i }"))
    assert M.insert_dims("j", "a").is_equal(Map("[N] -> { S[i] -> A[a, j, k] : 0 <= i < N and i <= j }"))
    assert M.insert_dims("i", "a").is_equal(Map("[N] -> { S[a, i] -> A[j, k] : 0 <= i < N and i <= j }"))
    assert M.add_dims("a", side="in").is_equal(Map("[N] -> { S[i, a] -> A[j, k] : 0 <= i < N and i <= j }"))
    assert Set("{ P[] }").add_dims("a").is_equal(Set("{ P[a] }"))


def test_moved_dimensions():
    inner = S.move_dims("i", to="params")
    assert inner.is_equal(Set("[N, i] -> { S[j] : 0 <= i < N and 0 <= j <= i }"))
    assert inner.move_dims("i", to="out").is_equal(Set("[N] -> { S[j, i] : 0 <= i < N and 0 <= j <= i }"))
    assert M.move_dims("k", to="in").is_equal(Map("[N] -> { S[i, k] -> A[j] : 0 <= i < N and i <= j }"))
    assert S.move_dims("N", to="out").is_equal(Set("{ S[i, j, N] : 0 <= i < N and 0 <= j <= i }"))
    assert S.move_dims("j", "i", to="out").dims() == ("j", "i")


def test_forgotten_dimensions():
    assert S.project_onto("j").is_equal(Set("[N] -> { S[j] : 0 <= j < N }"))
    assert S.project_onto("j", "i").is_equal(S)
    assert S.eliminate("i").is_equal(Set("[N] -> { S[i, j] : 0 <= j < N }"))
    assert S.eliminate("N").is_equal(Set("{ S[i, j] : 0 <= j <= i }"))
    assert S.eliminate("i", 1, "N").is_equal(Set("{ S[i, j] }"))
    assert S.drop_constraints_involving("N").is_equal(Set("{ S[i, j] : 0 <= j <= i }"))
    strided = Set("{ [i, j] : 0 <= i and (i + j) mod 4 = 0 and j <= 2 }")
    assert strided.drop_constraints_involving("i").is_equal(Set("{ [i, j] : j <= 2 }"))


def test_bounds():
    assert S.lower_bound("j", 2).upper_bound(0, "N - 3").is_equal(S & Set("[N] -> { S[i, j] : j >= 2 and i <= N - 3 }"))
    assert S.upper_bound("i", var("j") + 1).is_equal(S & Set("{ S[i, j] : i <= j + 1 }"))
    assert S.lower_bound("i", "4*floor(j/4)").is_equal(S & Set("{ S[i, j] : i >= 4*floor(j/4) }"))
    assert S.upper_bound("N", 7).params().is_equal(Set("[N] -> { : 1 <= N <= 7 }"))
    assert S.equate("i", "j").is_equal(S & Set("{ S[i, i] }"))
    assert M.equate("i", "k").is_equal(M & Map("{ S[i] -> A[j, i] }"))
    assert M.order_lt("k", "i").is_equal(M & Map("{ S[i] -> A[j, k] : k < i }"))
    assert S.order_ge("j", "i").is_equal(S.equate(0, 1)) and S.order_gt("j", "i").is_empty()
    assert S.order_le("j", "i").is_equal(S)
    assert S.fix({"i": 3, 1: 2}).fix(N=9).is_equal(Set("[N] -> { S[3, 2] : N = 9 }"))
    assert S.lower_bound("i", 1).upper_bound("i", 0).is_empty()


def test_complements():
    for r in (S, M):
        assert r.complement().is_disjoint(r) and (r | r.complement()).is_equal(type(r).universe(r))
        assert r.complement().complement().is_equal(r)


def test_relations_from_spaces():
    assert Set.universe("S[i, j]").is_equal(Set("{ S[i, j] }")) and Set.empty("S[i]").is_empty()
    assert Map.universe("A[i] -> B[j]").is_equal(Map("{ A[i] -> B[j] }")) and Map.empty(M).space == M.space
    assert Set.universe(Tuple("S", ("i",))) == Set.universe(Space(None, Tuple("S", ("i",)))) == Set("{ S[i] }")
    assert Set.universe(Set("{ A[i] : i > 0; B[] }")).is_equal(Set("{ A[i]; B[] }"))
    assert Map.identity("S[i, j]").is_equal(Map("{ S[i, j] -> S[i, j] }")) and Map.identity("S[i]").is_identity()
    assert Map.from_domain_and_range(S, Set("{ B[k] : k > 0 }")).domain().is_equal(S)
    assert not M.is_identity() and Map("{ A[i] -> A[i]; B[i] -> B[i] : i > 3 }").is_identity()


def test_functions_from_expressions():
    i, j = var("i"), var("j")
    tile = Map.from_affs("S[i, j]", [i // 32, "i mod 32 + N", 7, i + 2 * j], "T")
    assert tile.is_equal(Map("[N] -> { S[i, j] -> T[floor(i/32), i mod 32 + N, 7, i + 2j] }"))
    assert Map.from_affs("S[i]", []).is_equal(Map("{ S[i] -> [] }"))
    assert Map.from_affs("S[o0]", ["o0 + 1"]).is_equal(Map("{ S[i] -> [i + 1] }"))


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=12))
@examples(60)
def test_points_make_a_set_and_are_in_it(chosen):
    found = Set.from_points("S[i, j]", iter(chosen))
    assert set(found.points()) == set(chosen) and found.count() == len(set(chosen))
    assert all(((i, j) in found) == ((i, j) in chosen) for i in range(-4, 5) for j in range(-4, 5))


def test_membership():
    assert S.contains((3, 1), N=4) and not S.contains((3, 1), N=3) and S.contains([2, 2], N=2**80)
    assert (2, 5) in Map("{ [i] -> [j] : j = 2i + 1 }") and 4 in Set("{ [i] : i mod 4 = 0 }")
    gaps = Set("{ [i] : exists a, b : i = 4a + 7b and 0 <= a and 0 <= b and a + b <= 3 }")
    assert [i for i in range(22) if i in gaps] == sorted({4 * a + 7 * b for a in range(4) for b in range(4 - a)})
    assert () in Set("{ P[] }") and 3 not in Set("[N] -> { [i] : i < 3 }")


WRAPPED = Set("{ [A[i] -> B[j]] }")
ERRORS = [
    (lambda: S.rename_dims(k="x"), UnknownName, "no dimension is called 'k'\n  S[i, j]"),
    (lambda: S.rename_dims({2: "x"}), UnknownName, "position 2 is out of range"),
    (lambda: S.rename_dims(i="j"), SpaceMismatch, "the name 'j' would stand twice"),
    (lambda: S.rename_dims(i="N"), SpaceMismatch, "the name 'N' would stand twice"),
    (lambda: S.rename_dims(i="2x"), UnknownName, "'2x' is no name for a dimension"),
    (lambda: S.rename("a b"), UnknownName, "'a b' is no name for a tuple"),
    (lambda: S.rename_params(N="i"), SpaceMismatch, "the name 'i' would stand twice"),
    (lambda: S.rename_params(K="L"), UnknownName, "no parameter is called 'K'"),
    (lambda: S.insert_dims("k", "x"), UnknownName, "no dimension is called 'k'"),
    (lambda: S.insert_dims(3, "x"), UnknownName, "position 3 is out of range"),
    (lambda: S.rename_dims(i="mod"), UnknownName, "it is a word of the notation"),
    (lambda: S.rename_dims(i="True"), UnknownName, "it is a word of the notation"),
    (lambda: S.rename_dims(i="NaN"), UnknownName, "it is a word of the notation"),
    (lambda: S.rename("é"), UnknownName, "'é' is no name for a tuple"),
    (lambda: Set("[N] -> { [i] : i < N }").project_out("N"), UnknownName, "hint: project_out_params('N')"),
    (lambda: Set("{ }").space, SpaceMismatch, "it is empty, without a tuple"),
    (lambda: Set.universe(""), SpaceMismatch, "not an empty one"),
    (lambda: Set(Map("{ [i] -> [j] }")), SetSyntaxError, "hint: m.wrap() is its pairs as a set"),
    (lambda: Set([1]), SetSyntaxError, "not from a list\nhint: Set(str(x))"),
    (lambda: S.insert_dims(0, "j"), SpaceMismatch, "the name 'j' would stand twice"),
    (lambda: S.add_dims("x", side="in"), SpaceMismatch, "a set has no input tuple"),
    (lambda: M.add_dims("x", side="left"), SpaceMismatch, "a side is 'in' or 'out', not 'left'"),
    (lambda: WRAPPED.add_dims("x"), SpaceMismatch, "a wrapped tuple takes no dimensions"),
    (lambda: (S | Set("{ R[] }")).add_dims("x"), SpaceMismatch, "needs a single space"),
    (lambda: S.move_dims("x", to="out"), UnknownName, "no parameter or dimension is called 'x'\n  [N] -> S[i, j]"),
    (lambda: S.move_dims("i", to="in"), SpaceMismatch, "a set has no input tuple"),
    (lambda: S.move_dims("i", to="set"), SpaceMismatch, "dimensions move to 'params', 'in' or 'out', not to 'set'"),
    (lambda: S.eliminate("k"), UnknownName, "no parameter or dimension is called 'k'"),
    (lambda: S.lower_bound("i", "k + 1"), SetSyntaxError, "unknown name 'k'"),
    (lambda: S.lower_bound("i", var("k")), UnknownName, "'k' is not a dimension here"),
    (lambda: S.lower_bound("i", 1.5), SpaceMismatch, "a bound is an integer, an expression or its text, not 1.5"),
    (lambda: S.upper_bound(5, 1), UnknownName, "position 5 is out of range"),
    (lambda: S.equate("i", "k"), UnknownName, "no parameter or dimension is called 'k'"),
    (lambda: S.fix(3), SpaceMismatch, "fix takes names or a mapping, not 3"),
    (lambda: S.fix({4: 3}), UnknownName, "position 4 is out of range"),
    (lambda: S.intersect_params(M), SpaceMismatch, "a restriction of the parameters needs a Set"),
    (lambda: Set.universe("A[i] -> B[j]"), SetSyntaxError, "a map, not a set"),
    (lambda: Map.universe(S), SpaceMismatch, "a Map lives in a space such as S[i] -> A[j]\n  S[i, j]"),
    (lambda: Set.universe(3), SpaceMismatch, "a space is a text such as 'S[i, j]', not 3"),
    (lambda: Set.from_points("S[i]", [(1, 2)]), SpaceMismatch, "a point is 1 integer here, not (1, 2)\n  S[i]"),
    (lambda: Set.from_points("S[i]", ["a"]), SpaceMismatch, "a point is 1 integer here, not 'a'"),
    (lambda: Map.from_domain_and_range(S, M), SpaceMismatch, "a range needs a Set, not a Map"),
    (lambda: Map.from_affs("S[i]", "i"), SpaceMismatch, "outputs are a list of expressions, not 'i'"),
    (lambda: Map.from_affs("S[i]", [1.5]), SpaceMismatch, "an output is an expression, its text or an integer"),
    (lambda: S.contains((1, 2)), Unbounded, "the parameter N has no value"),
    (lambda: (1, 2) in S, Unbounded, "hint: give one: contains(point, N=...)"),
    (lambda: S.contains((1, 2), M=3), UnknownName, "no parameter is called 'M'"),
    (lambda: S.contains((1,), N=3), SpaceMismatch, "a point is 2 integers here, not (1,)\n  S[i, j]"),
    (lambda: S.contains("ab", N=3), SpaceMismatch, "a point is 2 integers here"),
    (lambda: 3 in (S | Set("{ R[] }")), SpaceMismatch, "needs a single space"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_an_error_says_what_and_where(call, kind, message):
    with pytest.raises(PolyvoltaError) as caught:
        call()
    assert type(caught.value) is kind and message in str(caught.value)


def test_parameters_are_aligned_with_a_list_or_a_model():
    """isl's answers, with the model's space where here is the model."""
    one = Set("[M, N] -> { [i] : i < N }")
    f = PwAff("[M, N] -> { [i] -> [i] : i < N }")
    models = [
        Set("[P, N] -> { A[i]; B[] }"),
        Map("[P, N] -> { A[i] -> B[i] }"),
        Set("[P, N] -> { rat: [i] : 2i = N }"),
        PwAff("[P, N] -> { [i] -> [i] }"),
        MultiPwAff("[P, N] -> { [i] -> [i, i] }"),
        ["P", "N"],
    ]
    for model in models:
        assert str(one.align_params(model)) == "[P, N, M] -> { [i] : i < N }"
        assert str(f.align_params(model)) == "[P, N, M] -> { [i] -> [(i)] : i < N }"
    assert str(Set("{ rat: [i] }").align_params(one)) == "[M, N] -> { rat: [i] }"


def test_no_dimension_is_called_like_a_parameter():
    one, other = Set("{ A[i] : i > 0 }"), Set("[i] -> { A[j] : j < i }")
    both = one & other
    assert str(both) == "[i] -> { A[i'] : 1 <= i' < i }" and both.is_equal(Set("[i] -> { A[k] : 0 < k < i }"))
    assert both == other & one and both.dims() == ("i'",)
    assert both.fix({"i'": 3}).is_equal(Set("[i] -> { A[3] : i > 3 }"))
    assert both.fix(i=3).is_equal(Set("[i] -> { A[k] : 0 < k < 3 and i = 3 }"))
    assert str(Set("{ A[i, i'] }").align_params(["i"])) == "[i] -> { A[i'', i'] }"
    assert str(Set("{ [A[i] -> i[k]] }").align_params(["k", "i"])) == "[k, i] -> { [A[i'] -> i[k']] }"
    assert str(one.intersect_params(Set("[i] -> { : i > 5 }"))) == "[i] -> { A[i'] : i >= 6 and i' >= 1 }"
    m = Map("{ A[j] -> B[i] : j > i }").intersect_domain(Set("[i] -> { A[k] : k < i }"))
    assert str(m) == "[i] -> { A[j] -> B[i'] : j < i and i' < j }"
    for r in (both, m):
        assert type(r)(str(r)) == r


def test_numbers_of_numpy():
    s = Set("{ S[i, j] : 0 <= i < 4 and 0 <= j <= i }")
    assert s.project_out(np.int64(0)) == s.project_out("i") and s.fix({np.int64(-1): np.int8(2)}) == s.fix(j=2)
    assert np.array([1, 0]) in s and np.array([0, 1]) not in s and np.array(2) in s.project_out(1)
    points = np.array([[1, 2], [3, 4]])
    assert Set.from_points("S[i, j]", points) == Set.from_points("S[i, j]", [(1, 2), (3, 4)])


def test_dimensions_behind_the_last():
    assert str(Set("{ S[i] }").insert_dims(1, "j", "k")) == "{ S[i, j, k] }"
    assert str(Map("{ S[i] -> A[j] }").insert_dims(2, "k")) == "{ S[i] -> A[j, k] }"
