"""The rarer methods of functions with fractions: beside islpy's, and value by value in Python's fractions."""

from fractions import Fraction
from itertools import product

import pytest

import polyvolta.isl as isl

islpy = pytest.importorskip("islpy")

ONE = ["{ A[i, j] -> [(i)/2] }", "{ A[i, j] -> [(2i + j + 1)/3] }", "[n] -> { A[i, j] -> [(floor(i/2) + n)/4] }"]
CALLS = [
    "v.set_constant_val(m.Val('1/3'))", "v.set_constant_val(m.Val(2))", "v.add_constant_val(m.Val('-1/6'))",
    "v.set_coefficient_val(m.dim_type.in_, 0, m.Val(3))", "v.set_coefficient_val(m.dim_type.in_, 1, m.Val('5/4'))",
    "v.add_coefficient_val(m.dim_type.in_, 1, m.Val('1/2'))", "v.add_coefficient_val(m.dim_type.in_, 0, m.Val(-1))",
    "v.add_constant_num_si(2)", "v.floor()", "v.ceil()", "v.neg()", "v.add(v)", "v.sub(v)", "v.scale_val(m.Val(12))",
    "v.scale_down_val(m.Val(3))", "v.mod_val(m.Val(3))", "v.mul(m.Aff('{ A[i, j] -> [2] }'))",
    "v.div(m.Aff('{ A[i, j] -> [-3] }'))", "v.to_pw_aff().as_aff()", "v // m.Val(3)", "v % m.Val(2)",
]  # fmt: skip
PIECEWISE = [
    "v.tdiv_q(three)", "v.tdiv_r(three)", "v.tdiv_q(m.PwAff('{ A[i, j] -> [-2] }'))",
    "v.tdiv_r(v.scale_val(m.Val(0)).add(three))",
]  # fmt: skip


def told(m, text, call, kind):
    known = {"m": m, "v": getattr(m, kind)(text), "three": m.PwAff("{ A[i, j] -> [3] }")}
    return eval(call, known)  # noqa: S307


@pytest.mark.parametrize("text", ONE)
@pytest.mark.parametrize("call", CALLS)
def test_what_isl_makes_an_aff_is_one(text, call):
    ours, theirs = (told(m, text, call, "Aff") for m in (isl, islpy))
    assert isinstance(theirs, islpy.Aff) and isinstance(ours, isl.Aff) and isinstance(ours, isl.PwAff)
    assert islpy.PwAff(str(ours)).is_equal(islpy.PwAff.from_aff(theirs))
    again = ours.set_constant_val(isl.Val(1))
    assert isinstance(again, isl.Aff) and again.get_constant_val() == 1


@pytest.mark.parametrize("text", ONE)
@pytest.mark.parametrize("call", PIECEWISE)
def test_cases_are_islpys(text, call):
    ours, theirs = (told(m, text, call, "PwAff") for m in (isl, islpy))
    assert islpy.PwAff(str(ours)).is_equal(theirs) and not isinstance(ours, isl.Aff)


def test_a_function_of_cases_is_no_aff():
    f = isl.PwAff("{ [i] -> [i/2] }")
    assert not isinstance(f, isl.Aff) and isinstance(f.as_aff(), isl.Aff) and f == f.as_aff()
    assert isinstance(isl.PwAff(f.as_aff()), isl.PwAff) and not isinstance(isl.PwAff(f.as_aff()), isl.Aff)
    assert not isinstance(f + f, isl.Aff) and not isinstance(f.as_aff() + f, isl.Aff)
    with pytest.raises(isl.PolyvoltaError, match="not one expression everywhere"):
        isl.PwAff("{ [i] -> [i/2] : i > 3 }").as_aff()
    with pytest.raises(isl.PolyvoltaError, match="not one expression everywhere"):
        isl.PwMultiAff("{ [i] -> [i/2, 3] : i > 3 }").as_multi_aff()
    with pytest.raises(isl.PolyvoltaError, match="takes names and spaces"):
        isl.MultiAff("{ [i] -> [i/2, 3] }").insert_domain(isl.MultiAff("{ [i] -> [i/2, 3] }"))


TUPLES = [
    ("{ [i] -> [i/2, i] }", "{ [j] -> [j/3, 1] }"),
    ("{ [i] -> [i/2, 2] }", "{ [j] -> [3, j] }"),
    ("{ [i] -> [i, 2] }", "{ [j] -> [j/2, (j + 1)/3] }"),
    ("{ A[i] -> B[i/2, i] }", "{ A[j] -> B[2j, j/5] }"),
]


@pytest.mark.parametrize(("first", "second"), TUPLES[:3])
@pytest.mark.parametrize("places", [(0, 0), (1, 1), (0, 2), (1, 0)])
def test_functions_put_into_others(first, second, places):
    for kind in ("MultiAff", "MultiPwAff"):
        ours, theirs = (getattr(m, kind)(first).splice(*places, getattr(m, kind)(second)) for m in (isl, islpy))
        assert isinstance(ours, getattr(isl, kind))
        assert islpy.MultiPwAff(str(ours)).is_equal(theirs if kind == "MultiPwAff" else theirs.to_multi_pw_aff())


def values(text):
    """The values of a function of one input, by Python's fractions."""
    head, body = text.strip("{} ").split(" -> ")
    name = head[head.index("[") + 1 : -1]
    code = body[body.index("[") :].partition(":")[0]
    code = code.replace("/", " * F(1) /").replace("2j", "2 * j").replace("2i", "2 * i")
    return lambda x: eval(code, {name: x, "F": Fraction})  # noqa: S307


@pytest.mark.parametrize(("first", "second"), TUPLES)
def test_pairs_of_points_by_the_order_of_their_values(first, second):
    f, g = isl.MultiPwAff(first), isl.MultiPwAff(second)
    a, b = values(first), values(second)
    maps = {
        "lt": f.lex_lt_map(g),
        "le": f.lex_le_map(g),
        "gt": f.lex_gt_map(g),
        "ge": f.lex_ge_map(g),
        "eq": f.eq_map(g),
    }
    for x, y in product(range(-5, 9), repeat=2):
        u, v = a(x), b(y)
        for name, holds in {"lt": u < v, "le": u <= v, "gt": u > v, "ge": u >= v, "eq": u == v}.items():
            assert maps[name].wrap().contains((x, y)) == holds, (name, x, y)
    theirs = islpy.MultiPwAff(first).eq_map(islpy.MultiPwAff(second))
    assert islpy.Map(str(maps["eq"])).is_equal(theirs)


@pytest.mark.parametrize("name", ["eq", "lt", "le", "gt", "ge"])
def test_pairs_of_points_by_one_value(name):
    f, g = isl.PwAff("{ [i] -> [i/2] : i > -3 }"), isl.PwAff("{ [j] -> [(j + 1)/3] }")
    found = getattr(f, f"{name}_map")(g).wrap()
    for x, y in product(range(-5, 9), repeat=2):
        u, v = Fraction(x, 2), Fraction(y + 1, 3)
        holds = {"eq": u == v, "lt": u < v, "le": u <= v, "gt": u > v, "ge": u >= v}[name]
        assert found.contains((x, y)) == (holds and x > -3)


DOMAINS = [("", ""), (" : i > 0", " : i < 5"), (" : i > 3", " : i < 0")]


@pytest.mark.parametrize(("here", "there"), DOMAINS)
@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize(("first", "second"), [("[i/2, 2]", "[3, i]"), ("[i, i/3]", "[i, 1]"), ("[i, 2]", "[i/2, i]")])
def test_the_first_or_last_of_two_values(first, second, here, there, least):
    name = "union_lexmin" if least else "union_lexmax"
    texts = [f"{{ [i] -> {body}{when} }}" for body, when in ((first, here), (second, there))]
    f, g = map(isl.PwMultiAff, texts)
    found, a, b = getattr(f, name)(g), *map(values, texts)
    for x in range(-6, 10):
        some = [v(x) for v, when in ((a, here), (b, there)) if not when or eval(when[3:], {"i": x})]  # noqa: S307
        assert found.domain().contains((x,)) == bool(some)
        if some:
            got = [found[k].eval((x,)) for k in range(2)]
            best = min(some) if least else max(some)
            assert [Fraction(int(v.get_num_si()), int(v.get_den_val())) for v in map(isl.Val, got)] == best


def test_what_tuples_of_fractions_are_asked():
    ours, theirs = (m.MultiAff("{ [i] -> [(i + 1)/2, i] }") for m in (isl, islpy))
    added = [m_f.add_constant_val(m.Val("1/3")) for m, m_f in ((isl, ours), (islpy, theirs))]
    assert islpy.MultiAff(str(added[0])).plain_is_equal(added[1]) and isinstance(added[0], isl.MultiAff)
    added = [m_f.add_constant_multi_val(m.MultiVal("{ [1/2, 3] }")) for m, m_f in ((isl, ours), (islpy, theirs))]
    assert islpy.MultiAff(str(added[0])).plain_is_equal(added[1])
    assert str(ours.get_constant_multi_val()) == str(theirs.get_constant_multi_val())
    assert [str(f) for f in ours.get_list()] == ["{ [i] -> [(i + 1)/2] }", "{ [i] -> [(i)] }"]
    assert ours.involves_dims(isl.dim_type.in_, 0, 1) and not isl.MultiAff("{ [i] -> [1/2, 3] }").involves_dims(
        isl.dim_type.in_, 0, 1
    )
    assert ours.involves_locals() == theirs.involves_locals() is False
    f = isl.MultiPwAff("{ [i] -> [((i)/2 : 0 <= i < 4), ((i) : i > 0)] }")
    assert not f.isa_multi_aff() and str(f.min_multi_val()) == "{ [0, 1] }"
    assert str(f.max_multi_val()) == "{ [3/2, infty] }"


SUMS = ["f + v", "f - v", "f * v", "f // v", "f.scale_val(v)", "f.add_constant_val(v)", "f.scale_down_val(v)"]
PLACES = ["f.set_constant_val(v)", "f.set_coefficient_val(d, 0, v)", "f.add_coefficient_val(d, 0, v)"]


@pytest.mark.parametrize(("kind", "call"), [*(("PwAff", c) for c in SUMS), *(("Aff", c) for c in SUMS + PLACES)])
@pytest.mark.parametrize("text", ["{ A[i] -> [i] }", "{ A[i] -> [(i)/2] }"])
def test_fractions_are_added_to_functions_of_integers_too(kind, text, call):
    ours, theirs = (
        eval(call, {"f": getattr(m, kind)(text), "v": m.Val("7/4"), "d": m.dim_type.in_})  # noqa: S307
        for m in (isl, islpy)
    )
    assert isinstance(ours, getattr(isl, kind))
    assert islpy.PwAff(str(ours)).is_equal(theirs.to_pw_aff() if kind == "Aff" else theirs)


@pytest.mark.parametrize("name", ["eq_map", "le_map", "ge_map"])
def test_pairs_of_points_of_functions_of_integers_and_of_fractions(name):
    ours, theirs = (getattr(m.PwAff("{ [i] -> [i] : i < 7 }"), name)(m.PwAff("{ [j] -> [j/2] }")) for m in (isl, islpy))
    assert islpy.Map(str(ours)).is_equal(theirs)


@pytest.mark.parametrize("name", ["tdiv_q", "tdiv_r"])
def test_functions_of_integers_are_divided_by_fractions(name):
    ours, theirs = (getattr(m.PwAff("{ [i] -> [i] }"), name)(m.PwAff("{ [i] -> [3/2] }")) for m in (isl, islpy))
    assert islpy.PwAff(str(ours)).is_equal(theirs)


@pytest.mark.parametrize("text", ["{ A[i] -> B[(NaN), (i)] }", "{ A[i] -> B[NaN, (i)] }"])
def test_nan_is_read_with_parentheses_and_without(text):
    for kind in ("MultiAff", "PwMultiAff", "MultiPwAff"):
        f = getattr(isl, kind)(text)
        assert str(f) == "{ A[i] -> B[NaN, (i)] }" == str(getattr(isl, kind)(str(f)))
        assert getattr(islpy, kind)(text).involves_nan()


@pytest.mark.parametrize("kind", ["MultiAff", "MultiPwAff"])
def test_values_in_a_wrapped_tuple_are_flattened(kind):
    ours, theirs = (getattr(m, kind)("{ A[i] -> [B[i/2] -> C[3, i]] }").flatten_range() for m in (isl, islpy))
    assert isinstance(ours, getattr(isl, kind))
    assert islpy.MultiPwAff(str(ours)).is_equal(theirs.to_multi_pw_aff() if kind == "MultiAff" else theirs)


@pytest.mark.parametrize("name", ["tdiv_q", "tdiv_r"])
@pytest.mark.parametrize(
    "den", ["{ [i] -> [(-4)] }", "{ [i] -> [(-1)] }", "{ [i] -> [(3)] : i > 2; [i] -> [(-3)] : i < 2 }"]
)
@pytest.mark.parametrize("num", ["{ [i] -> [(i)] }", "{ [i] -> [(7 - 3i)] : i >= 0 }"])
def test_quotients_by_negative_numbers_are_rounded_towards_zero(name, den, num):
    ours, theirs = (getattr(m.PwAff(num), name)(m.PwAff(den)) for m in (isl, islpy))
    assert islpy.PwAff(str(ours)).is_equal(theirs)
