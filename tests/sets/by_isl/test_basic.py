"""isl's classes of one piece and of one expression: what methods give is of the class that isl's give."""

import copy
import pickle
from itertools import product

import pytest

from polyvolta import isl, sets
from polyvolta.sets.by_isl.basic import KEPT

TEXTS = {
    "BasicSet": ["[n] -> { A[i, j] : 0 <= i < n and j > i }", "{ A[i, j] : i < 5 }", "{ A[[i] -> [j]] : i < j }"],
    "Set": ["{ A[i, j] : i < 3 }", "[n] -> { : n > 3 }"],
    "BasicMap": ["{ A[i, j] -> A[j, i] : j > i }", "{ [[i] -> [j]] -> [k] : i < k }"],
    "Map": ["{ A[i, j] -> A[i + 1, j] : i > 3 }"],
    "Aff": ["[n] -> { A[i, j] -> [(i + n)] }", "{ A[i, j] -> [(floor((j)/2))] }", "[n] -> { A[i, j] -> [(4)] }"],
    "PwAff": ["{ A[i, j] -> [(i)] : i > 3; A[i, j] -> [(j)] : i < 3 }"],
    "MultiAff": ["{ A[i, j] -> A[(i), (i + j)] }", "{ A[i, j] -> A[(2), (floor((j)/2))] }"],
    "PwMultiAff": ["{ A[i, j] -> A[(i), (j)] : i > 3 }"],
    "MultiPwAff": ["{ A[i, j] -> A[(i), (j)] }"],
}
OTHERS = {
    "BasicSet": "union subtract lexmin lexmax partial_lexmin to_set get_basic_sets get_space get_constraints"
    " compute_divs is_subset is_equal is_empty dim",
    "BasicMap": "union subtract lexmin lexmax partial_lexmin to_map deltas_map get_basic_maps compute_divs is_subset",
    "Aff": "to_pw_aff ge_set le_set eq_set get_space get_constant_val get_pieces as_map",
    "MultiAff": "to_pw_multi_aff to_multi_pw_aff lex_le_set get_space get_pw_aff dim",
    "Set": "affine_hull convex_hull polyhedral_hull simple_hull unshifted_simple_hull sample get_basic_sets union"
    " coalesce intersect bounded_simple_hull plain_unshifted_simple_hull get_basic_set_list",
    "Map": "affine_hull convex_hull polyhedral_hull simple_hull unshifted_simple_hull sample get_basic_maps union",
    "PwAff": "get_pieces add as_aff __add__ __sub__ __mul__ neg __radd__ floor max",
    "PwMultiAff": "get_pw_aff as_multi_aff neg scale_val get_at",
    "MultiPwAff": "get_pw_aff as_multi_aff neg get_at",
}
SAME = {"PwMultiAff": "MultiPwAff"}
CRASHES = {"from_aff_list"}  # of islpy


def kind(value):
    """The class of a value, or those in a list or a pair, by isl's name; None of what has no such class in both."""
    if isinstance(value, (list, tuple)) and not type(value).__name__.startswith(("Point", "Multi")):
        return [kind(v) for v in value]
    name = type(value).__name__
    if name in ("RationalPwAff", "MultiFunction"):  # with fractions
        names = ("Aff", "PwAff") if name == "RationalPwAff" else ("MultiAff", "MultiPwAff")
        name = names[not isinstance(value, getattr(isl, names[0]))]
    return SAME.get(name, name if name in TEXTS else None)


def arguments(lib):
    values = [getattr(lib, c)(t) for c, texts in TEXTS.items() for t in texts]
    dim = lib.dim_type
    return [(), *((v,) for v in values), (2,), (lib.Val(2),), (1, lib.Val(3)), (dim.set, 1, 1), (dim.param, 0, 1),
            (dim.in_, 0, 1), (dim.set, 1), (dim.set, 0, 2), (dim.param, 1), (dim.param, 0, lib.Val(2)),
            (dim.param, 0, "m"), (dim.set, 0, "m"), (dim.in_, 0, "m"), (dim.set, "B"), (0,),
            (dim.param, 0, dim.set, 0, 1), (dim.param, 0, dim.in_, 0, 1), ([lib.Constraint.inequality_alloc(
                lib.Space.create_from_names(lib.DEFAULT_CONTEXT, set=["i"]))],)]  # fmt: skip


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_methods_give_the_classes_that_isls_give(name):
    theirs = pytest.importorskip("islpy")
    compared, given, other = set(), arguments(isl), arguments(theirs)
    called = {*KEPT.get(name, ()), *OTHERS[name].split()} - CRASHES
    for text, method in product(TEXTS[name], sorted(called)):
        ours, isls = getattr(isl, name)(text), getattr(theirs, name)(text)
        for args, their_args in zip(given, other, strict=True):
            try:
                found = getattr(ours, method)(*args)  # first, for islpy dies of some wrong calls
                wanted = getattr(isls, method)(*their_args)
            except (theirs.Error, TypeError, ValueError, AttributeError, isl.Error):
                continue
            if (wanted_kind := kind(wanted)) is None or found is NotImplemented:
                continue
            compared.add(method)
            assert kind(found) == wanted_kind, (text, method, args, found)
    assert len(compared) > len(called) / 3, sorted(called - compared)


@pytest.mark.parametrize("name", sorted(KEPT))
def test_values_are_equal_hash_copy_and_pickle(name):
    wide = {"BasicSet": isl.Set, "BasicMap": isl.Map, "Aff": isl.PwAff, "MultiAff": isl.MultiPwAff}[name]
    for text in TEXTS[name]:
        value, same = getattr(isl, name)(text), wide(text)
        assert value == same and same == value and hash(value) == hash(same) and str(value) == str(same)
        assert isinstance(value, wide) and not isinstance(same, type(value)) and type(wide(value)) is type(same)
        assert repr(value) == f"{name}({str(value)!r})" and type(value)(same) == value
        for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value)), value.copy()):
            assert type(again) is type(value) and again == value
    assert type(value.read_from_str(None, text)) is type(value)


def test_what_has_not_the_property_is_refused():
    for name, text in [("BasicSet", "{ [i] : i < 0 or i > 3 }"), ("BasicMap", "{ A[] -> B[]; B[] -> A[] }"),
                       ("BasicSet", "{ }"), ("Aff", "{ [i] -> [i] : i > 0 }"), ("Aff", "{ [i] -> [max(i, 3)] }"),
                       ("MultiAff", "{ [i] -> [i, 2] : i > 0 }")]:  # fmt: skip
        with pytest.raises(isl.Error, match=f"an? {name} is one"):
            getattr(isl, name)(text)


def test_values_of_constraints_and_of_spaces():
    theirs = pytest.importorskip("islpy")
    for lib in (isl, theirs):
        s = lib.BasicSet("[n] -> { [i, j] : i >= n and j < 3 }")
        assert all(isinstance(c.get_aff(), lib.Aff) for c in s.get_constraints())
        space = s.get_space()
        assert s.dim(lib.dim_type.in_) == space.dim(lib.dim_type.in_) == 0
        assert isinstance(space.zero_aff_on_domain(), lib.Aff)
        assert isinstance(space.identity_multi_aff_on_domain(), lib.MultiAff)
        assert isinstance(lib.Aff.var_on_domain(lib.LocalSpace.from_space(space), lib.dim_type.set, 1), lib.Aff)
        assert isinstance(lib.BasicSet.universe(space), lib.BasicSet)
        found = []
        lib.Set("{ [i] : i < 0 or i > 3 }").foreach_basic_set(found.append)
        assert [type(b) for b in found] == [lib.BasicSet] * 2
        first, second = lib.align_two(lib.BasicSet("{ [i, j] }"), lib.BasicSet("{ [j, k] }"))
        assert type(first) is type(second) is lib.BasicSet


def test_sets_themselves_have_one_class_but_for_hulls():
    s = sets.Set("{ [i] : 0 <= i < 3 or i > 7 }")
    assert type(s | s) is type(s & s) is type(s - s) is type(s.pieces[0]) is type(s.lexmin()) is sets.Set
    hull = s.convex_hull()
    assert type(hull) is isl.BasicSet and hull == sets.Set("{ [i] : i >= 0 }") and type(hull | s) is sets.Set
