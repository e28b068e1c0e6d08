"""isl's tuples of numbers and of names, beside islpy: the same texts, and errors where it has some."""

import copy
import pickle
from itertools import product

import pytest

import polyvolta.isl as ours

from .beside import NAMES, NUMBERS, answer

isl = pytest.importorskip("islpy")

OF_MAPS = ["[m] -> { S[a] -> [P[b] -> Q[c]] }", "{ S[a] -> R[b, c] }", "{ [S[a] -> Z[d]] -> R[c] }"]


def numbers(module):
    """Of sets' spaces, which texts say, and of maps', which none does."""
    return [
        *map(module.MultiVal, NUMBERS),
        *(module.MultiVal.zero(module.Map(m).get_space()).add_val(module.Val(k + 3)) for k, m in enumerate(OF_MAPS)),
    ]


def names(module):
    return [*map(module.MultiId, NAMES)]


def kinds(module):
    return (module.dim_type.param, module.dim_type.in_, module.dim_type.set)


@pytest.mark.parametrize(("values", "name"), [
    *((numbers, name) for name in (
        "neg", "is_zero", "involves_nan", "get_range_tuple_id", "has_range_tuple_id", "reset_range_tuple_id",
        "project_domain_on_params")),
    *((values, name) for values in (numbers, names) for name in (
        "from_range", "flatten_range", "factor_range", "range_factor_domain", "range_factor_range",
        "range_is_wrapping", "get_list", "get_domain_space", "get_space", "reset_user", "to_str", "copy")),
])  # fmt: skip
def test_one(values, name):
    for mine, theirs in zip(values(ours), values(isl), strict=True):
        assert answer(mine, name) == answer(theirs, name), (str(mine), name)


@pytest.mark.parametrize(("values", "name"), [
    *((numbers, name) for name in (
        "add", "sub", "min", "max", "mod_multi_val", "scale_multi_val", "scale_down_multi_val", "is_equal", "product")),
    *((values, name) for values in (numbers, names) for name in (
        "range_product", "flat_range_product", "plain_is_equal")),
])  # fmt: skip
def test_two(values, name):
    for (a, x), (b, y) in product(zip(values(ours), values(isl), strict=True), repeat=2):
        if name == "mod_multi_val" and any(v == 0 for v in b):
            assert answer(a, name, b) == ("{ [] }" if len(a) == len(b) == 0 else "error")
            continue  # islpy dies of it
        assert answer(a, name, b) == answer(x, name, y), (name, str(a), str(b))


@pytest.mark.parametrize(("name", "arguments"), [
    ("mod_val", ["3", "-3", "1/2", "infty"]), ("scale_down_val", ["2", "-3", "infty", "1/2", "0"]),
    ("scale_val", ["0", "infty", "1/2", "NaN"]), ("add_val", ["1/2", "infty", "-4"]),
])  # fmt: skip
def test_with_a_number(name, arguments):
    for (mine, theirs), v in product(zip(numbers(ours), numbers(isl), strict=True), arguments):
        assert answer(mine, name, ours.Val(v)) == (
            answer(theirs, name, isl.Val(v))), (str(mine), name, v)  # fmt: skip


def test_members():
    for mine, theirs in zip(numbers(ours), numbers(isl), strict=True):
        for pos, name in product((0, 1, 5, -1), ("get_at", "get_val")):
            assert answer(mine, name, pos) == answer(theirs, name, pos)
        for pos, name in product((0, 1, 5, -1), ("set_at", "set_val")):
            x, y = (answer(v, name, pos, m.Val("infty")) for m, v in
                    ((ours, mine), (isl, theirs)))  # fmt: skip
            assert x == y, (str(mine), name, pos)
    for mine, theirs in zip(names(ours), names(isl), strict=True):
        for pos, name in product((0, 1, 5), ("get_at", "get_id")):
            assert answer(mine, name, pos) == answer(theirs, name, pos)
        for pos, name in product((0, 1, 5), ("set_at", "set_id")):
            q = isl.Id.read_from_str(isl.DEFAULT_CONTEXT, "q")
            assert answer(mine, name, pos, ours.Id("q")) == (
                answer(theirs, name, pos, q)), (str(mine), name, pos)  # fmt: skip


@pytest.mark.parametrize(("name", "args"), [
    ("dim", ()), ("drop_dims", (0, 1)), ("drop_dims", (1, 1)), ("involves_dims", (0, 1)), ("has_tuple_id", ()),
    ("get_tuple_id", ()), ("get_tuple_name", ()), ("find_dim_by_name", ("n",)), ("set_tuple_name", ("Z",)),
    ("reset_tuple_id", ()), ("set_dim_name", (0, "zz")), ("add_dims", (1,)), ("insert_dims", (0, 1)),
])  # fmt: skip
def test_dimensions(name, args):
    asked = 0
    for mine, theirs in zip(numbers(ours), numbers(isl), strict=True):
        for at, (ours_kind, its_kind) in enumerate(zip(kinds(ours), kinds(isl), strict=True)):
            x = answer(mine, name, ours_kind, *args)
            added = name in ("add_dims", "insert_dims", "dim", "find_dim_by_name")  # or there are 0 inputs, as in isl
            tuples = "tuple" in name and name != "get_tuple_name"  # which is None, as in isl
            if (at == 0 and tuples) or (at == 1 and mine.space.is_set() and not added):
                assert x == "error"  # parameters are no tuple, a set has no inputs
                continue
            asked += 1
            if name == "involves_dims" and x == "error":  # of what is not there, which isl does not see
                continue
            assert x == answer(theirs, name, its_kind, *args), (str(mine), ours_kind, name)
    assert asked > 9


def test_splices():
    for (a, x), (b, y) in product(zip(numbers(ours), numbers(isl), strict=True), repeat=2):
        for pos in (0, 1, 2, 3):
            assert answer(a, "range_splice", pos, b) == answer(x, "range_splice", pos, y), (str(a), str(b))
            for at in (0, 1):
                assert answer(a, "splice", at, pos, b) == answer(x, "splice", at, pos, y), (str(a), str(b))
    for (a, x), (b, y) in product(zip(names(ours), names(isl), strict=True), repeat=2):
        assert answer(a, "range_splice", 1, b) == answer(x, "range_splice", 1, y), (str(a), str(b))


def test_parameters():
    model = "[q, n] -> { [i, j] }"
    for values in (numbers, names):
        for mine, theirs in zip(values(ours), values(isl), strict=True):
            assert answer(mine, "align_params", ours.Set(model).get_space()) == (
                answer(theirs, "align_params", isl.Set(model).get_space()))  # fmt: skip
    assert ours.MultiVal("[n] -> { A[3] }").param_names == ("n",)


@pytest.mark.parametrize("text", [
    "{ [i, j] : i = 4 and j = 2 }", "{ [1 + 2] }", "[n] -> { [n] }", "[n] -> { A[3] : n > 2 }", "{ [3] ; [4] }",
    "{ [- 3] }", "{ [3/2] }", "{ [6/4, -6/4, NaN, infty] }", "{ [infinity] }", "{ [nan] }", "{ }",
    "{ : }", "[n] -> { : }", "[4]", "A[4, 2]", "{ A[i] -> [4] }", "{ A[i] -> B[4, infty] }", "{ [a = 4] }",
    "{ [2 * 3] }", "{ A[1,2", "[n] -> { S[i, j] -> [3, 4] }", "[n, m] -> { [1] }", "{ [- infty] }",
    "{ [ [1] -> [2] ] }", "{ [A[1] -> B[x]] }", "{ [x] }", "{ A [ 3 ] }", "{ A[3 4] }", "{ [ -3/2 ] }", "{ [3/-2] }",
    "{ [3 / 2] }", "{ [--3] }", "{ infty[3] }", "[i0] -> { i1[7, 8] }", "{ A3[4] }", "{ A[3] -> B[4] }",
])  # fmt: skip
def test_texts_of_numbers(text):
    assert answer(ours.MultiVal, "read_from_str", None, text) == answer(isl, "MultiVal", text)


@pytest.mark.parametrize("text", [
    "{ A[M, N] }", "{ A[M, M] }", "[M] -> { A[M, N] }", "{ [A[x] -> B[y]] }", "{ A[] }", "{ [infty] }", "{ A[x'] }",
    "{ A[_x] }", "{ A[min, floor] }", "{ A[ x , y ] }", "[i0] -> { A[i0, i1] }", "{ C[A[x] -> [B[y, z] -> [x]]] }",
])  # fmt: skip
def test_texts_of_names(text):
    found = ours.MultiId.read_from_str(ours.DEFAULT_CONTEXT, text)
    assert str(found) == str(isl.MultiId(text)) == str(ours.MultiId(str(found)))


@pytest.mark.parametrize("call", [
    *(lambda text=text: ours.MultiId(text) for text in (  # islpy dies of some
        "{ [3] }", "{ : }", "{ A[i] -> B[x] }", "{ A[x = y] }", "{ A[x]; B[y] }", "{ A[x y] }", "{ A[x+1] }",
        "{ A[x] : x > 3 }", "{ }", "[x]", 3, None)),
    lambda: ours.MultiId.from_id_list(ours.Set("{ A[i] }").space, ["x", "y"]),
    lambda: ours.MultiId(["x"], "{ A[i] }"),
    lambda: ours.MultiId("{ A[x] }").range_product(ours.MultiVal("{ [3] }")),
    lambda: ours.MultiVal("{ A[7] }").add("3"),
    lambda: ours.MultiVal("{ A[7] }").add([1, 2]),
    lambda: ours.MultiVal("{ A[7] }").set_val(0, "x"),
    lambda: ours.MultiVal.zero("A[i]"),
])  # fmt: skip
def test_what_is_none(call):
    with pytest.raises((ours.Error, AttributeError) if call.__defaults__ is None else ours.Error):
        call()


def test_copies_and_what_python_knows():
    for v in (ours.MultiVal("[n] -> { A[4, 1/2] }"), ours.MultiId("{ A[x, y] }")):
        for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
            assert other == v and str(other) == str(v) and other.space.is_equal(v.space)
    assert ours.MultiVal("{ A[4, 2] }") == (4, 2) and ours.MultiId("{ A[x, y] }") == ("x", "y")
    assert [*ours.MultiVal("{ A[4, 2] }").add([1, 1])] == [5, 3]
    named = ours.MultiId("{ A[x] }").set_id(0, ours.Id("y", [3]))
    assert named.get_id(0).user == [3] and isinstance(ours.MultiId("{ A[x] }").get_at(0), ours.Id)


@pytest.mark.parametrize(("kind", "text", "name", "tuples"), [
    ("Set", "[P] -> { A[i, j] : 0 <= i < j < P }", "bind", ["{ A[M, N] }", "{ A[P, N] }", "[Z] -> { A[M, N] }"]),
    ("Set", "[M, N] -> { : 0 < M < N }", "unbind_params", ["{ A[M, N] }", "{ A[N, Q] }", "{ A[Q, R] }"]),
    ("Set", "[M, N] -> { T[i] : 0 < M < N < i }", "unbind_params_insert_domain",
     ["{ A[M, N] }", "{ A[N, Q] }", "{ [A[M] -> B[N]] }"]),
    ("Map", "{ A[i, j] -> B[k] : k = i + 2j }", "bind_domain", ["{ A[M, N] }"]),
    ("Map", "{ B[k] -> A[i, j] : k = i + 2j }", "bind_range", ["{ A[M, N] }"]),
    ("UnionMap", "[M] -> { X[a] -> T[b] : b < M }", "bind_range", ["{ T[M] }", "{ T[Q] }"]),
    ("MultiPwAff", "[M, N] -> { T[(M + 2N)] }", "unbind_params_insert_domain", ["{ A[M, N] }", "{ A[Q, N] }"]),
    ("MultiPwAff", "[M] -> { X[a] -> T[(M + 2a)] }", "bind", ["{ T[M] }", "{ T[Q] }"]),
    ("MultiPwAff", "[M] -> { X[a] -> T[(M + 2a)] }", "bind_domain", ["{ X[M] }", "{ X[Q] }"]),
    ("MultiPwAff", "[M] -> { [X[a] -> Y[b]] -> T[(M + 2a + b)] }", "bind_domain_wrapped_domain",
     ["{ X[M] }", "{ X[Q] }"]),
])  # fmt: skip
def test_dimensions_bound_to_names(kind, text, name, tuples):
    for t in tuples:
        mine = getattr(getattr(ours, kind)(text), name)(ours.MultiId(t))
        theirs = getattr(getattr(isl, kind)(text), name)(isl.MultiId(t))
        assert type(mine)(str(theirs)).is_equal(mine), (t, str(mine), str(theirs))


def test_names_that_bind_nothing():
    s = ours.Set("[P] -> { A[i, j] : 0 <= i < j < P }")
    for wrong in ("{ B[M, N] }", "{ A[M] }", "{ A[M, M] }"):
        assert answer(s, "bind", ours.MultiId(wrong)) == "error"


@pytest.mark.parametrize("text", [
    "A[{ S[i] -> [(i)] : 0 <= i < 5; T[] -> [(9)] }, { S[i] -> [(-i)] : 0 <= i < 5; T[] -> [(3)] }]",
    "[n] -> [{ S[i] -> [(i)] : i >= n; T[i] -> [(2)] }]", "[{ S[i] -> [(i mod 7)]; T[i] -> [(n)] : n > 2 }]",
    "[{ S[i] -> [(i)] : false }]",
])  # fmt: skip
def test_greatest_and_least_values_of_several_tuples(text):
    text = f"[n] -> {text}" if "n)" in text and not text.startswith("[n]") else text
    for name in ("max_multi_val", "min_multi_val"):
        mine, theirs = (answer(m.MultiUnionPwAff(text), name) for m in (ours, isl))
        assert mine == theirs, (text, name)


@pytest.mark.parametrize("text", [
    "[n] -> { [i] -> A[i, 0, -i] : i >= n }", "{ [i] -> A[i, 3 - i] : 0 <= i < 7 }", "{ [i] -> A[i] : false }",
    "{ [i] -> A[i mod 5, i // 5] : i < 12 }", "{ A[] }", "{ [i] -> [A[i] -> B[2i]] : 1 <= i <= 4 }",
])  # fmt: skip
def test_greatest_and_least_values(text):
    for name in ("max_multi_val", "min_multi_val"):
        assert answer(ours.MultiPwAff(text), name) == (
            answer(isl.MultiPwAff(text), name))  # fmt: skip
