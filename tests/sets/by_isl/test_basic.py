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
    "Aff": [
        "[n] -> { A[i, j] -> [(i + n)] }",
        "{ A[i, j] -> [(floor((j)/2))] }",
        "[n] -> { A[i, j] -> [(4)] }",
        "[n] -> { A[i, j] -> [(i + n)/2] }",
        "{ A[i, j] -> [(3)/2] }",
    ],
    "PwAff": ["{ A[i, j] -> [(i)] : i > 3; A[i, j] -> [(j)] : i < 3 }", "{ A[i, j] -> [(i)/2] : i > 3 }"],
    "MultiAff": [
        "{ A[i, j] -> A[(i), (i + j)] }",
        "{ A[i, j] -> A[(2), (floor((j)/2))] }",
        "{ A[i, j] -> A[(i)/2, (i + j)] }",
    ],
    "PwMultiAff": ["{ A[i, j] -> A[(i), (j)] : i > 3 }", "{ A[i, j] -> A[(i)/2, (j)] : i > 3 }"],
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
CALLS = [
    ("BasicSet", "[n] -> { A[i, j] : 0 <= i < n }",
     "v.add_constraint(constraint); v.add_constraints([constraint]); v.align_params(longer); cls.empty(space);"
     " cls.universe(space); cls.nat_universe(space); cls.positive_orthant(space); v.fix_val(dim.set, 0, lib.Val(3));"
     " cls.from_constraint(constraint); cls.from_multi_aff(lib.MultiAff('{ B[3] }')); cls.from_point(point);"
     " cls.box_from_points(point, point); v.intersect_params(context); v.set_tuple_id(name); v.set_tuple_name('B');"
     " cls.from_constraint_matrices(space, rows, rows, dim.cst, dim.param, dim.set, dim.div)"),
    ("BasicMap", "[n] -> { A[i, j] -> B[k] : i < k }",
     "v.add_constraint(constraint); v.add_constraints([constraint]); v.align_params(longer); cls.empty(space);"
     " cls.universe(space); cls.nat_universe(space); cls.identity(square); v.fix_val(dim.in_, 0, lib.Val(3));"
     " cls.from_constraint(constraint); cls.from_domain_and_range(lib.BasicSet('{ A[i] }'), lib.BasicSet('{ [i] }'));"
     " v.intersect_params(context); cls.equal(square, 1); cls.less_at(square, 0); cls.more_at(square, 0);"
     " v.equate(dim.in_, 0, dim.out, 0); v.order_ge(dim.in_, 0, dim.out, 0); v.order_gt(dim.in_, 0, dim.out, 0);"
     " v.set_tuple_id(dim.in_, name); cls.from_aff(lib.Aff('{ [i] -> [i] }'));"
     " cls.from_constraint_matrices(space, wide, wide, dim.cst, dim.param, dim.in_, dim.out, dim.div)"),
    ("BasicMap", "{ [[i] -> [j]] -> [[k] -> [l]] }", "v.zip(); v.curry()"),
    ("BasicMap", "{ [i] -> [[k] -> [l]] }", "v.uncurry()"),
    ("Aff", "[n] -> { A[i, j] -> [(i + n)] }",
     "v.align_params(longer); v.set_tuple_id(dim.in_, name); cls.zero_on_domain_space(domain); v.ceil(); v.mul(0*v);"
     " cls.param_on_domain_space_id(domain, space.get_dim_id(dim.param, 0)); cls.zero_on_domain(local);"
     " cls.val_on_domain(local, lib.Val(3)); cls.val_on_domain_space(domain, lib.Val(3)); v.gist_params(context);"
     " cls.var_on_domain(local, dim.set, 0); v.set_dim_id(dim.in_, 0, name); v.set_dim_name(dim.in_, 0, 'B');"
     " v.set_coefficients_by_name({'i': 3})"),
    ("Aff", "[n] -> { [n] }",
     "v.from_range(); v.bind_id(name); v.unbind_params_insert_domain(lib.MultiId('[n] -> { [n] }'))"),
    ("Aff", "{ [a] -> [a] }", "v.pullback_aff(v)"),
    ("Aff", "[n] -> { [[i] -> [j]] -> [n] }", "v.domain_reverse(); v.project_domain_on_params()"),
    ("MultiAff", "[n] -> { A[i, j] -> B[(i), (j)] }",
     "v.add_constant_multi_val(two); v.scale_multi_val(two); v.scale_down_multi_val(two); v.mod_multi_val(two);"
     " v.align_params(longer); v.set_aff(0, part); v.set_at(0, part); v.set_dim_id(dim.in_, 0, name); v.neg();"
     " v.set_tuple_id(dim.in_, name); v.set_range_tuple_id(name); v.reset_tuple_id(dim.in_); cls.zero(space);"
     " cls.identity_on_domain_space(domain); cls.identity(square); cls.project_out_map(domain, dim.set, 0, 1);"
     " cls.multi_val_on_domain_space(domain, two); cls.multi_val_on_space(space.range(), two); v.splice(0, 0, v);"
     " v.range_splice(0, v); cls.domain_map(space); cls.range_map(space); v.set_tuple_name(dim.in_, 'B')"),
    ("MultiAff", "{ A[i, j] -> [B[i] -> C[j]] }", "v.range_factor_domain(); v.range_factor_range()"),
    ("MultiAff", "{ [A[i] -> C[j]] -> [B[i] -> C[j]] }", "v.domain_reverse()"),
    ("MultiAff", "[n] -> { [B[n] -> C[n]] }", "v.factor_range()"),
    ("MultiAff", "[n] -> { [n, 3] }",
     "v.from_range(); v.insert_domain(domain); v.bind(lib.MultiId('[n, m] -> { [n, m] }'));"
     " v.unbind_params_insert_domain(lib.MultiId('[n] -> { [n] }'))"),
    ("MultiAff", "[n] -> { A[i] -> [n, 3] }",
     "v.project_domain_on_params(); v.bind_domain(lib.MultiId('[n] -> { A[n] }'))"),
    ("MultiAff", "[n] -> { [A[i] -> C[j]] -> B[i + n] }",
     "v.bind_domain_wrapped_domain(lib.MultiId('[n] -> { A[n] }'))"),
]  # fmt: skip
SAME = {"PwMultiAff": "MultiPwAff"}
FRACTIONS = {
    "RationalPwAff": "PwAff",
    "RationalAff": "Aff",
    "MultiFunction": "MultiPwAff",
    "RationalMultiAff": "MultiAff",
}
CRASHES = {"from_aff_list"}  # of islpy


def kind(value):
    """The class of a value, or those in a list or a pair, by isl's name; None of what has no such class in both."""
    if isinstance(value, (list, tuple)) and not type(value).__name__.startswith(("Point", "Multi")):
        return [kind(v) for v in value]
    name = type(value).__name__
    name = FRACTIONS.get(name, name)
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
    methods = {*KEPT.get(name, ()), *OTHERS[name].split()} - CRASHES
    for text, method in product(TEXTS[name], sorted(methods)):
        ours, isls = getattr(isl, name)(text), getattr(theirs, name)(text)
        for args, their_args in zip(given, other, strict=True):
            try:
                found = getattr(ours, method)(*args)  # first, for islpy dies of some wrong calls
                wanted = getattr(isls, method)(*their_args)
            except (theirs.Error, TypeError, ValueError, AttributeError, isl.Error):
                continue
            if (wanted_kind := kind(wanted)) is None or (found is NotImplemented and method.startswith("__r")):
                continue
            compared.add(method)
            assert kind(found) == wanted_kind, (text, method, args, found)
    compared.update([call.partition("(")[0].rpartition(".")[2] for c, _, calls in CALLS if c == name
                     for call in calls.split("; ")])  # fmt: skip
    assert compared >= {m for m in KEPT.get(name, ()) if hasattr(getattr(theirs, name), m)} - CRASHES
    assert len(compared) > len(methods) / 3, sorted(methods - compared)


def called(lib, name, text, call):
    """What a call gives of a value `v` of a class `cls`, and arguments for it."""
    cls, space = getattr(lib, name), getattr(lib, name)(text).get_space()
    known = {
        "lib": lib, "cls": cls, "v": cls(text), "dim": lib.dim_type, "space": space, "name": lib.Id("n"),
        "longer": lib.Space.create_from_names(lib.DEFAULT_CONTEXT, params=["m"], set=[]),
        "context": lib.BasicSet("[n] -> { : n > 3 }"), "point": lib.Set("{ [3] }").sample_point(),
        "square": lib.Map("{ A[i, j] -> A[k, l] }").get_space(), "two": lib.MultiVal("{ B[1, 2] }"),
        "part": lib.Aff("[n] -> { A[i, j] -> [3] }"), "rows": lib.Mat.alloc(lib.DEFAULT_CONTEXT, 0, 4),
        "wide": lib.Mat.alloc(lib.DEFAULT_CONTEXT, 0, 5),
    }  # fmt: skip
    if name.startswith("Basic"):
        known["constraint"] = lib.Constraint.inequality_alloc(lib.LocalSpace.from_space(space))
    elif space.is_map() if lib is not isl else space.inp is not None:
        known["domain"] = space.domain()
        known["local"] = lib.LocalSpace.from_space(space.domain())
    else:
        known["domain"] = lib.Set("{ A[i] }").get_space()
    return eval(call, known)  # noqa: S307


@pytest.mark.parametrize(("name", "text", "calls"), CALLS)
def test_calls_give_the_classes_that_isls_give(name, text, calls):
    theirs = pytest.importorskip("islpy")
    for call in calls.split(";"):
        found, wanted = (called(lib, name, text, call.strip()) for lib in (isl, theirs))
        assert kind(found) == kind(wanted) is not None, call


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


def test_methods_of_the_classes_take_values():
    theirs = pytest.importorskip("islpy")
    for lib in (isl, theirs):
        a, f = lib.BasicSet("{ [i] : i > 3 }"), lib.Aff("{ [i] -> [i] }")
        for values, method, name in [
            ((a,), "to_set", "Set"), ((a, a), "union", "Set"), ((a, a), "intersect", "BasicSet"),
            ((f,), "to_pw_aff", "PwAff"), ((f, f), "add", "Aff"), ((f,), "neg", "Aff"),
        ]:  # fmt: skip
            assert kind(getattr(type(values[0]), method)(*values)) == name, method


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
    assert eval(repr(hull), {"BasicSet": sets.BasicSet}) == hull


def test_a_class_that_derives_from_one():
    mine = type("Mine", (isl.BasicSet,), {})("{ A[i] : i > 0 }")
    assert repr(mine) == "Mine('{ A[i] : i >= 1 }')" and type(mine & mine) is isl.BasicSet
    assert mine.get_tuple_name() == "A" and type(mine.set_tuple_name("B")) is isl.BasicSet


def test_classes_are_ordered_as_their_instances():
    assert issubclass(isl.Aff, isl.PwAff) and issubclass(isl.MultiAff, isl.PwMultiAff)
    assert not issubclass(isl.PwAff, isl.Aff) and not issubclass(isl.Set, isl.PwAff)

    class Mine(isl.PwAff):
        pass

    assert issubclass(Mine, isl.PwAff) and not isinstance(isl.PwAff("{ [i] -> [i] }"), Mine)
