"""isl's points, numbers, names and local spaces, beside islpy: the same texts, and errors where it has some."""

import copy
import pickle
from itertools import product

import pytest

import polyvolta.isl as ours

from .beside import MAPS, SETS, answer, space, written

isl = pytest.importorskip("islpy")

SPACES = [*SETS, "{ [] }", "[n, m] -> { S[i] }"]
BOTH = (ours, isl)


def points(module, text):
    """Some points of a space, with values of its parameters."""
    dt, p = module.dim_type, module.Point.zero(space(module, text))
    found = [p]
    for k in range(space(module, text).dim(dt.set)):
        found.append(found[-1].set_coordinate_val(dt.set, k, module.Val(3 * k - 2)))
    for k in range(space(module, text).dim(dt.param)):
        found.append(found[-1].set_coordinate_val(dt.param, k, module.Val(7 - k)))
    return found


@pytest.mark.parametrize("text", SPACES)
def test_points(text):
    for mine, theirs in zip(points(ours, text), points(isl, text), strict=True):
        assert mine.to_str() == theirs.to_str() and not mine.is_void()
        assert ours.Set(str(theirs.to_set())).is_equal(mine.to_set())
        assert ours.Set(str(isl.Set.from_point(theirs))).is_equal(ours.Set.from_point(mine))
        for name in ("get_multi_val", "get_space", "copy"):
            assert answer(mine, name) == answer(theirs, name).replace("{  }", "{ [] }")
        assert [(n, int(kind), at) for n, (kind, at) in mine.get_var_dict().items()] == [
            (n, int(kind), at) for n, (kind, at) in theirs.get_var_dict().items()]  # fmt: skip
        assert [*mine.get_id_dict()] == [i.name for i in theirs.get_id_dict()]
        for kind in ("param", "set"):
            ours_kind, its_kind = (getattr(m.dim_type, kind) for m in BOTH)
            assert mine.get_var_names(ours_kind) == theirs.get_var_names(its_kind) == mine.get_var_ids(ours_kind)
            for k in range(mine.space.dim(ours_kind)):
                assert mine.get_coordinate_val(ours_kind, k) == theirs.get_coordinate_val(its_kind, k).to_python()
                for name, by in product(("add_ui", "sub_ui"), (0, 5)):
                    assert answer(mine, name, ours_kind, k, by) == answer(theirs, name, its_kind, k, by)
            assert answer(mine, "get_coordinate_val", ours_kind, 9) == "error"
        for other in (copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
            assert other == mine and other.to_str() == mine.to_str()


@pytest.mark.parametrize("text", SPACES)
def test_no_point(text):
    mine, theirs = (m.Point.void(space(m, text)) for m in BOTH)
    assert mine.is_void() and theirs.is_void() and mine.to_str() == theirs.to_str() == "void"
    assert written(mine.get_space()) == written(theirs.get_space()) and mine.to_set().is_empty()
    assert mine.to_set().space.key == space(ours, text).key
    assert answer(mine, "get_multi_val") == "error"
    for name, args in (("get_coordinate_val", ()), ("set_coordinate_val", (3,)), ("add_ui", (3,))):
        assert answer(mine, name, ours.dim_type.set, 0, *args) == "error"  # islpy dies of it
    assert copy.deepcopy(mine).is_void() and pickle.loads(pickle.dumps(mine)).is_void()


def test_points_that_sets_give_are_those_of_before():
    p = ours.Set("{ A[i, j] : i = 2j and j = 3 }").sample_point()
    assert p == (6, 3) and str(p) == "(6, 3)" and p.to_str() == "{ A[6, 3] }" and p.param_names == ()
    found = []
    ours.Set("{ [A[i] -> B[j]] : 0 <= i < 2 and j = i }").foreach_point(lambda q: found.append(q.to_str()))
    assert found == ["{ [A[0] -> B[0]] }", "{ [A[1] -> B[1]] }"]
    assert not hasattr(p, "get_coordinates") and answer(p, "get_ctx") == answer(ours.Id("x"), "get_ctx")


@pytest.mark.parametrize(("a", "b"), [
    *product((12, 18, -12, 0, 1, 7, 240), (18, -18, 5, 46, 1)), (5, 0), (0, 0), (-3, 0), (10**20, 3**40),
])  # fmt: skip
def test_greatest_common_divisors(a, b):
    g, x, y = ours.Val(a).gcdext(ours.Val(b))
    assert g == ours.Val(a).gcd(b) == a * x + b * y
    assert [str(v) for v in (g, x, y)] == [str(v) for v in isl.Val(str(a)).gcdext(isl.Val(str(b)))] or a * b == 0


@pytest.mark.parametrize("text", ["3", "-1/2", "infty", "NaN", "0"])
def test_numbers(text, capfd):
    mine, theirs = ours.Val(text), isl.Val(text)
    for name, args in (("set_si", (5,)), ("set_si", (-7,)), ("to_list", ())):
        assert answer(mine, name, *args) == answer(theirs, name, *args)
    assert isinstance(mine.set_si(5), int) and mine.to_list().n_val() == 1
    mine.dump()
    assert capfd.readouterr().err == f"{text}\n"
    if not isinstance(mine, int):
        assert answer(mine, "gcdext", 3) == answer(ours.Val(3), "gcdext", mine) == "error"
    assert answer(ours.Val(3), "mod", 0) == "error"  # islpy dies of it


@pytest.mark.parametrize("text", [
    "infinity", "-infinity", "nan", "Infty", "INFTY", "- 3", "3 / 4", "--3", "3/-4", "", "-", "x", "1/",
])  # fmt: skip
def test_texts_of_numbers(text):
    assert answer(ours, "Val", text) == answer(isl, "Val", text)


def test_names(capfd):
    x = ours.Id("x0", [3])
    assert x.to_str() == "x0" and x.to_list() == ["x0"] and x.to_list().get_id(0).user == [3] == x.get_user()
    assert x.get_ctx() == ours.DEFAULT_CONTEXT and ours.Id("y").user is None
    for value in (x, ours.MultiId("{ A[M] }"), ours.Set("{ A[i] }").space, ours.ValList([1])):
        value.dump()
    assert capfd.readouterr().err == "x0\n{ A[M] }\nA[i]\n[1]\n"
    with pytest.raises(AttributeError):
        x.user = 3


@pytest.mark.parametrize("text", SETS + MAPS)
def test_local_spaces(text):
    mine = ours.LocalSpace.from_space(space(ours, text))
    theirs = isl.LocalSpace.from_space(space(isl, text))
    for name in ("from_domain", "flatten_domain", "flatten_range", "get_space", "is_set", "set_from_params", "copy"):
        assert answer(mine, name) == answer(theirs, name), name
    if text in MAPS:
        for name in ("domain", "range", "wrap"):
            assert answer(mine, name) == answer(theirs, name), name
        assert answer(mine, "lifting") == answer(theirs, "lifting") == "error"
    else:
        assert mine.lifting().is_equal(ours.Map(str(theirs.lifting())))
    kinds = ("param", "set") if text in SETS else ("param", "in_", "set")
    for kind, (name, args) in product(kinds, [
        ("dim", ()), ("get_dim_name", (0,)), ("has_dim_name", (0,)), ("get_var_names", ()), ("drop_dims", (0, 1)),
        ("find_dim_by_name", ("i",)), ("set_dim_name", (0, "zz")), ("add_dims", (1,)), ("insert_dims", (0, 1)),
        ("has_dim_id", (0,)), ("get_dim_id", (0,)),
    ]):  # fmt: skip
        x, y = (answer(v, name, getattr(m.dim_type, kind), *args) for m, v in ((ours, mine), (isl, theirs)))
        if not (name.startswith(("has_", "get_dim_name")) and x == "error"):  # of what is not there: None, False
            assert x == y, (kind, name)
    for other in SETS + MAPS:
        one, two = ours.LocalSpace.from_space(space(ours, other)), isl.LocalSpace.from_space(space(isl, other))
        for name in ("is_equal", "intersect"):
            assert answer(mine, name, one) == answer(theirs, name, two), other
