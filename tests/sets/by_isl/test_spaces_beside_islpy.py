"""isl's methods of spaces, numbers, names and points, beside islpy: the same texts, and errors where it has some."""

from itertools import product

import pytest

import polyvolta.isl as ours
from polyvolta.sets import MultiPwAff

from .beside import MAPS, SETS, answer, space, written

isl = pytest.importorskip("islpy")

# ---- spaces


@pytest.mark.parametrize("name", [
    "can_curry", "can_range_curry", "can_uncurry", "can_zip", "is_product", "domain_is_wrapping", "range_is_wrapping",
    "domain_factor_domain", "domain_factor_range", "range_factor_domain", "range_factor_range", "domain_reverse",
    "wrapped_reverse", "domain_wrapped_domain", "domain_wrapped_range", "range_wrapped_domain", "range_wrapped_range",
    "flatten_domain", "flatten_range", "set_from_params", "zero_multi_val", "factor_domain", "factor_range",
    "to_local_space", "reset_user", "from_domain", "from_range", "curry", "uncurry", "zip", "range_curry", "params",
])  # fmt: skip
def test_spaces(name):
    for text in SETS + MAPS:
        theirs, mine = space(isl, text), space(ours, text)
        assert answer(mine, name) == answer(theirs, name), text


@pytest.mark.parametrize("name", ["domain_map", "range_map"])
def test_spaces_of_pairs(name):
    for text in MAPS:  # of a set isl makes a space with tuples of no kind
        assert answer(space(ours, text), name) == answer(space(isl, text), name)
    for text in SETS:
        assert answer(space(ours, text), name) == "error"


@pytest.mark.parametrize(("name", "args"), [
    ("drop_inputs", (0, 1)), ("drop_inputs", (1, 1)), ("drop_outputs", (0, 1)), ("drop_outputs", (1, 2)),
    ("add_unnamed_tuple_ui", (2,)), ("add_unnamed_tuple_ui", (0,)),
])  # fmt: skip
def test_spaces_with_other_dimensions(name, args):
    for text in SETS + MAPS:
        if (name, text) != ("drop_outputs", "{ [i] }"):  # what is left is one of parameters alone here
            mine, theirs = (answer(space(m, text), name, *args) for m in (ours, isl))
            assert mine == theirs, text


def test_spaces_with_a_named_tuple():
    for text in SETS + MAPS:
        mine = answer(space(ours, text), "add_named_tuple_id_ui", ours.Id("Z"), 2)
        assert mine == answer(space(isl, text), "add_named_tuple_id_ui", isl.Id("Z"), 2), text
    point = ours.Space.unit(ours.DEFAULT_CONTEXT)
    assert point.is_params() and str(point.add_named_tuple_id_ui("Z", 2)) == "Z[i0, i1]"
    for wrong in (-1, "2", None):
        assert answer(point, "add_unnamed_tuple_ui", wrong) == "error"


@pytest.mark.parametrize("name", ["is_domain", "is_range"])
def test_sides_of_spaces(name):
    for one, other in product(SETS + MAPS, repeat=2):
        mine = answer(space(ours, one), name, space(ours, other))
        assert mine == answer(space(isl, one), name, space(isl, other)), (one, other)


@pytest.mark.parametrize("name", ["product", "domain_product", "range_product"])
def test_products_of_spaces(name):
    for one, other in product(MAPS if name == "domain_product" else SETS + MAPS, repeat=2):
        if space(isl, one).has_equal_params(space(isl, other)):  # here the parameters are those of both
            mine = answer(space(ours, one), name, space(ours, other))
            assert mine == answer(space(isl, one), name, space(isl, other)), (one, other)


def test_spaces_are_joined():
    found = 0
    for one, other in product(MAPS, repeat=2):
        a, b = space(isl, one).params(), space(isl, other).params()
        if a.is_equal(b):  # isl wants the same parameters, here they are those of both
            mine = answer(space(ours, one), "join", space(ours, other))
            assert mine == answer(space(isl, one), "join", space(isl, other))
            found += mine != "error"
    assert found
    joined = space(ours, MAPS[1]).join(ours.Map("[m] -> { B[i, j] -> Q[i] }").get_space())
    assert written(joined) == "[n, m] -> { A[_] -> Q[_] }"


# ---- functions on spaces


def same_function(mine, theirs):
    return mine == theirs or (mine != "error" != theirs and MultiPwAff(mine).is_equal(MultiPwAff(theirs)))


@pytest.mark.parametrize("name", [
    "zero_aff_on_domain", "zero_multi_aff", "zero_multi_pw_aff", "identity_multi_aff_on_domain",
    "identity_multi_pw_aff_on_domain", "identity_pw_multi_aff_on_domain", "domain_map_multi_aff",
    "domain_map_pw_multi_aff", "range_map_multi_aff", "range_map_pw_multi_aff",
])  # fmt: skip
def test_functions_on_spaces(name):
    for text in SETS + MAPS:
        mine, theirs = (answer(space(m, text), name) for m in (ours, isl))
        assert same_function(mine, theirs), (text, mine, theirs)


def test_functions_that_are_numbers_or_parameters():
    for text, numbers in product(SETS + MAPS, ["{ [] }", "{ B[3, 4] }", "[q] -> { [5] }", "{ [P[1] -> Q[2]] }"]):
        if text in MAPS:
            assert answer(space(ours, text), "multi_aff_on_domain_multi_val", ours.MultiVal(numbers)) == "error"
            continue
        mine, theirs = (
            answer(space(m, text), "multi_aff_on_domain_multi_val", m.MultiVal(numbers)) for m in (ours, isl)
        )
        assert same_function(mine, theirs), (text, mine, theirs)
    for text, name in product(SETS + MAPS, ["n", "q"]):
        mine = answer(space(ours, text), "param_aff_on_domain_id", ours.Id(name))
        theirs = answer(space(isl, text), "param_aff_on_domain_id", isl.Id.read_from_str(isl.DEFAULT_CONTEXT, name))
        assert same_function(mine, theirs), (text, mine, theirs)
    for wrong in (None, 3, "{ A[3] }"):
        assert answer(space(ours, "{ [i] }"), "multi_aff_on_domain_multi_val", wrong) == "error"
    half = [space(m, "{ [i] }").multi_aff_on_domain_multi_val(m.MultiVal("{ [1/2] }")) for m in (ours, isl)]
    assert isl.MultiAff(str(half[0])).plain_is_equal(half[1])


def listed(kind, values):
    """isl's list."""
    found = getattr(isl, f"{kind}List").alloc(isl.DEFAULT_CONTEXT, 0)
    for v in values:
        found = found.add(v)
    return found


def test_values_of_lists():
    functions = ["[n] -> { A[i] -> [(i)] }", "[n] -> { A[i] -> [(n - 2i)] }", "[n] -> { A[i] -> [(floor(i/3))] }"]
    for text, number in product(SETS + MAPS, range(3)):
        numbers = [isl.Val(k) for k in range(number)]
        mine = answer(space(ours, text), "multi_val", [*range(number)])
        assert mine == answer(space(isl, text), "multi_val", listed("Val", numbers)), text
        names = [isl.Id.read_from_str(isl.DEFAULT_CONTEXT, f"x{k}") for k in range(number)]
        mine = answer(space(ours, text), "multi_id", [f"x{k}" for k in range(number)])
        assert mine == answer(space(isl, text), "multi_id", listed("Id", names)), text
        if number:
            some = functions[:number]
            mine = answer(space(ours, text), "multi_aff", [ours.Aff(f) for f in some])
            theirs = answer(space(isl, text), "multi_aff", listed("Aff", map(isl.Aff, some)))
            assert same_function(mine, theirs), (text, mine, theirs)
            mine = answer(space(ours, text), "multi_pw_aff", [ours.PwAff(f) for f in some])
            theirs = answer(space(isl, text), "multi_pw_aff", listed("PwAff", map(isl.PwAff, some)))
            assert same_function(mine, theirs), (text, mine, theirs)
    unions = ["{ S[i] -> [(i)]; T[] -> [(0)] }", "{ S[i] -> [(2i)]; T[] -> [(1)] }"]
    mine = ours.Set("{ Q[a, b] }").get_space().multi_union_pw_aff([ours.UnionPwAff(u) for u in unions])
    assert mine.is_equal(ours.UnionMap("{ S[i] -> Q[i, 2i]; T[] -> Q[0, 1] }"))


# ---- parameters alone, and a tuple of nothing

CONDITIONS = ["{ : }", "{ [] }", "[n] -> { : n > 3 }", "[n] -> { [] : n > 3 }", "[n] -> { : 0 < n < 7 }", "{ A[] }",
              "[n] -> { [i] : 0 <= i < n }"]  # fmt: skip
RELATIONS = ["{ [] -> [x] : x = 3 }", "[n] -> { [] -> [x] : 0 <= x < n }", "{ [i] -> [] : i > 0 }", "{ [] -> [] }"]
FUNCTIONS = ["[n] -> { [(n)] }", "[n] -> { [] -> [(n)] }", "[n] -> { [(n)] : n > 3 }", "[n] -> { A[] -> [(n)] }"]


def alone(value):
    """Whether a value is of parameters alone, and whether its text shows a tuple."""
    if not hasattr(value, "is_params"):
        return str(value).replace(" ", "").partition("{")[2][:1] == "[" and "->" not in str(value).partition("{")[2]
    shown = str(value).replace(" ", "").partition("{")[2][:1] != ":"
    assert shown is not value.is_params() and value.is_params() == value.get_space().is_params()
    return value.is_params()


def test_conditions_on_parameters_beside_sets_of_nothing():
    """`is_params` and texts tell them apart, where a method gives a set of either."""

    def results(module, text):
        kind = module.dim_type
        s = module.Set(text)
        yield from (s, s.params(), s.coalesce(), s.project_out(kind.set, 0, s.dim(kind.set)), s.lexmin(), s.gist(s))
        yield from (s.add_dims(kind.param, 1), s.indicator_function().domain(), module.Set.universe(s.get_space()))
        yield from (s.simple_hull(), s.intersect_params(module.Set("[n] -> { : n < 9 }")), s.get_basic_sets()[0])
        yield s.move_dims(kind.param, 0, kind.set, 0, s.dim(kind.set))
        if text.partition("{ ")[2][0] == ":":
            yield from (s.from_params(), module.Set.from_params(s))

    for text in CONDITIONS:
        assert [alone(s) for s in results(ours, text)] == [alone(s) for s in results(isl, text)], text


def test_functions_of_parameters_beside_functions_of_nothing():
    def results(module, text):
        f = module.PwAff(text)
        yield from (f, f.domain(), f + f, f.neg(), f.le_set(f), f.params(), f.coalesce(), f.max(f), f.nonneg_set())
        yield from (f.get_pieces()[0][0], module.Set.universe(f.get_domain_space()), f.gist(f.domain()))

    for text in FUNCTIONS:
        assert [alone(s) for s in results(ours, text)] == [alone(s) for s in results(isl, text)], text


def test_domains_and_ranges_of_nothing():
    def results(module, text):
        kind = module.dim_type
        m = module.Map(text)
        yield from (m.domain(), m.range(), m.params(), m.domain().params(), m.lexmin_pw_multi_aff().domain())
        yield m.project_out(kind.out, 0, m.dim(kind.out)).range()
        yield m.project_out(kind.in_, 0, m.dim(kind.in_)).domain()

    for text in RELATIONS:
        assert [alone(s) for s in results(ours, text)] == [alone(s) for s in results(isl, text)], text


def test_what_one_is_taken_for_the_other_is_taken_for():
    """They are equal, and operations take both, as they do sets whose dimensions have other names."""
    one, other = ours.Set("[n] -> { : n > 3 }"), ours.Set("[n] -> { [] : n < 9 }")
    assert ours.Set("{ : }") == ours.Set("{ [] }") and hash(ours.Set("{ : }")) == hash(ours.Set("{ [] }"))
    for found, expected in ((one & other, "3 < n < 9"), (one | other, "true"), (other - one, "n <= 3")):
        assert found.is_equal(ours.Set(f"[n] -> {{ : {expected} }}"))
        assert found.is_equal(ours.Set(f"[n] -> {{ [] : {expected} }}"))


@pytest.mark.parametrize("text", [
    "{ [i] -> [io = (floor((i)/32)), ii = ((i) mod 32)] }", "[n] -> { S[i] -> [(i), x = (n : i > 0; 1 : i <= 0)] }",
    "{ S[i] -> [A[a = (i)] -> B[b = (2i), c = (3)]] }", "[n] -> { [m = (2n)] }",
])  # fmt: skip
def test_functions_keep_the_names_of_their_values(text):
    """isl says None of a value without a name, where it is `o0`, or the like, here."""
    here, there = ours.PwMultiAff(text), isl.PwMultiAff(text)
    for k in range(there.dim(isl.dim_type.out)):
        name = there.get_dim_name(isl.dim_type.out, k)
        assert here.get_dim_name(ours.dim_type.out, k) == (name or f"o{k}")


# ---- names, one by one


@pytest.mark.parametrize(("kind", "text"), [
    ("Set", "[n, m] -> { S[i, j] : 0 <= i < n and 2i <= j < m }"),
    ("Set", "[n] -> { [i, j, k] : i < j + n and k > 2j }"),
    ("BasicSet", "[n, m] -> { [i, j, k] : 0 <= i < n and 2i <= j < m and k > n }"),
    ("Map", "[n, m] -> { S[i, j] -> T[k, l] : k = i + n and l > j + 2m }"),
])  # fmt: skip
def test_names_of_dimensions_are_exchanged_one_by_one(kind, text):
    """In between two have one name in isl; in the end the points under the names are the same."""

    def exchanged(module, order):
        x, sort = getattr(module, kind)(text), module.dim_type
        for dims in (sort.param, sort.in_, sort.out) if kind == "Map" else (sort.param, sort.set):
            own = [x.get_dim_name(dims, k) for k in range(x.dim(dims))]
            for k, name in enumerate(order(own)):
                x = x.set_dim_name(dims, k, name)
        return x

    for order in (reversed, lambda own: [*own[1:], *own[:1]], lambda own: own):
        mine, theirs = exchanged(ours, order), exchanged(isl, order)
        assert getattr(isl, kind)(str(mine)).is_equal(theirs)
        for sort in ("param", "in_", "out") if kind == "Map" else ("param", "set"):
            mine_too, theirs_too = (
                x.get_var_names(getattr(m.dim_type, sort)) for m, x in ((ours, mine), (isl, theirs))
            )
            assert mine_too == theirs_too


def test_a_name_that_is_taken():
    """The dimension that has it is primed, also where it is the one renamed, to a parameter's name."""
    s, kind = ours.Set("[n] -> { [i, j] : n < i < j }"), ours.dim_type
    assert str(s.set_dim_name(kind.set, 0, "j")) == "[n] -> { [j, j'] : n < j and j < j' }"
    assert str(s.set_dim_name(kind.set, 0, "n")) == "[n] -> { [n', j] : n < n' and n' < j }"
    assert str(s.set_dim_name(kind.param, 0, "i")) == "[i] -> { [i', j] : i < i' and i' < j }"
    assert s.set_dim_name(kind.set, 1, "j") == s
