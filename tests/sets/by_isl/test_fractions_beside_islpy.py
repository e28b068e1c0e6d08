"""Functions of fractions and NaN, and tuples whose members have domains, beside islpy and exact fractions."""

from fractions import Fraction

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

FUNCTIONS = ["{ [i] -> [i/2] }", "{ [i] -> [i + 1/3] }", "{ [i] -> [i/2 + floor(i/3)/5] : i > -3 }",
             "{ [i] -> [3/2] }",
             "{ [i] -> [i] }", "{ [i] -> [NaN] : i > 2 }",
             "{ [i] -> [i/4] : i > 1; [i] -> [NaN] : i < 0 }"]  # fmt: skip
POINTS = range(-6, 7)


def value(module, f, i):
    """The value at a point as a text, None where there is none."""
    if not module.Set(f"{{ [{i}] }}").is_subset(f.domain()):
        return None
    return str(f.eval(module.Set(f"{{ [{i}] }}").sample_point()))


def table(module, f):
    return [value(module, f, i) for i in POINTS]


def extreme(name, x, y):
    """The lesser or greater of two values, each a text or None."""
    if x is None or y is None:
        return (x or y) if "union" in name else None
    if "NaN" in (x, y):
        return "NaN"
    return str((min if "min" in name else max)(Fraction(x), Fraction(y)))


def points(s):
    return [i for i in POINTS if ours.Set(f"{{ [{i}] }}").is_subset(ours.Set(str(s)))]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_what_is_read_prints_and_is_computed(text):
    f, g = ours.PwAff(text), isl.PwAff(text)
    assert isinstance(f, ours.PwAff) and table(ours, f) == table(isl, g) == table(ours, ours.PwAff(str(f)))
    assert f.involves_nan() == g.involves_nan() and f.is_equal(f) == g.is_equal(g)
    for name in ("floor", "ceil", "neg"):
        assert table(ours, getattr(f, name)()) == table(isl, getattr(g, name)())
    for name in ("nonneg_set", "pos_set", "zero_set", "non_zero_set"):
        assert points(getattr(f, name)()) == points(getattr(g, name)())
    for number in ("3", "2/3", "-1/2"):
        for name in ("scale_val", *(["scale_down_val"] if number[0] != "-" else [])):  # isl divides by positive ones
            assert table(ours, getattr(f, name)(ours.Val(number))) == table(isl, getattr(g, name)(isl.Val(number)))
    assert table(ours, f.mod_val(ours.Val(3))) == table(isl, g.mod_val(isl.Val(3)))


@pytest.mark.parametrize("name", ["add", "sub", "min", "max", "union_add", "union_min", "union_max"])
@pytest.mark.parametrize("first", FUNCTIONS)
def test_two_functions(first, name):
    for second in FUNCTIONS:
        f, g = ours.PwAff(first), ours.PwAff(second)
        a = table(ours, getattr(f, name)(g))
        b = table(isl, getattr(isl.PwAff(first), name)(isl.PwAff(second)))
        if "m" in name and (f.involves_nan() or g.involves_nan()):  # isl's extremes are NaN elsewhere, too, or nowhere
            b = [extreme(name, x, y) for x, y in zip(table(ours, f), table(ours, g), strict=True)]
        assert a == b, second


@pytest.mark.parametrize("name", ["le_set", "lt_set", "ge_set", "gt_set", "eq_set", "ne_set"])
def test_comparisons(name):
    for first in FUNCTIONS:
        for second in FUNCTIONS:
            f, g = ours.PwAff(first), ours.PwAff(second)
            exact = []
            for i, x, y in zip(POINTS, table(ours, f), table(ours, g), strict=True):
                known = None not in (x, y) and "NaN" not in (x, y)
                if known and getattr(Fraction(x), f"__{name[:2]}__")(Fraction(y)):
                    exact.append(i)
            assert points(getattr(f, name)(g)) == exact


def test_functions_of_functions_and_quotients():
    half, third = "{ [i] -> [i/2] }", "{ [i] -> [i/3] }"
    for outer in (half, "{ [i] -> [floor(i/2)] : i > 3 }", "{ [i] -> [i/2] : i > 1; [i] -> [NaN] : i < 0 }"):
        a = ours.PwAff(outer).pullback_multi_aff(ours.MultiAff(third))
        b = isl.PwAff(outer).pullback_multi_aff(isl.MultiAff(third))
        grid = [k for k, i in enumerate(POINTS) if i % 3 == 0 or ":" in outer]
        assert [table(ours, a)[k] for k in grid] == [table(isl, b)[k] for k in grid]
    assert str(ours.Aff(half).pullback_aff(ours.Aff(third))) == "{ [i] -> [(i)/6] }"
    by_zero = ours.PwAff("{ [i] -> [i] }").div(ours.PwAff("{ [i] -> [0] : i > 2; [i] -> [4] : i <= 2 }"))
    assert str(by_zero) == "{ [i] -> [(i)/4] : i <= 2; [i] -> [NaN] : i >= 3 }"
    assert ours.Map.from_pw_aff(ours.PwAff(half)).is_equal(ours.Map("{ [i] -> [j] : i = 2j }"))
    assert ours.PwAff("{ [i] -> [i/2] : 0 <= i <= 7 }").max_val() == Fraction(7, 2)
    assert str(ours.PwAff("{ [NaN] }").bind_id("M")) == "[M] -> { : false }"
    nan = ours.Aff.nan_on_domain_space(ours.Set("{ S[i] }").get_space())
    assert nan.is_nan() and str(nan.get_constant_val()) == "NaN" and not nan.is_equal(nan)


def test_members_have_domains_of_their_own():
    text = "{ A[x] -> [B[(x : x >= 5)] -> C[(x/2 : x <= 10)]] }"
    f, g = ours.MultiPwAff(text), isl.MultiPwAff(text)
    assert isinstance(f, ours.MultiPwAff) and f.domain().is_equal(ours.Set(str(g.domain())))
    assert f.is_equal(ours.MultiPwAff(str(f)))
    for k in range(2):
        assert f.get_at(k).is_equal(ours.PwAff(str(g.get_at(k))))
    assert f.range_factor_range().get_at(0).domain().is_equal(ours.Set("{ A[x] : x <= 10 }"))
    h = ours.MultiPwAff("{ A[x] -> [x, x] }").set_at(1, ours.PwAff("{ A[x] -> [x] : x > 3 }"))
    assert h.get_at(0).domain().is_universe() and h.domain().is_equal(ours.Set("{ A[x] : x > 3 }"))
    assert str(h) == "{ A[x] -> [(x), ((x) : x >= 4)] }" and h.as_map().is_equal(ours.Map("{ A[x] -> [x, x] : x > 3 }"))
    other = ours.MultiPwAff("{ A[x] -> [(1 : x < 9), 2] }")
    for name in ("add", "sub", "union_add", "min", "max"):
        a = getattr(h, name)(other)
        b = getattr(isl.MultiPwAff(str(h)), name)(isl.MultiPwAff(str(other)))
        assert a.is_equal(ours.MultiPwAff(str(b))) and a.get_at(0).is_equal(ours.PwAff(str(b.get_at(0))))


def changes(module):
    """Changes of names and dimensions, and questions for names."""
    kind, name = module.dim_type, lambda text: module.Id(text, context=module.DEFAULT_CONTEXT)
    like, further = (module.Set(f"[{params}] -> {{ Q[a] }}").get_space() for params in ("K, N", "N"))
    one = module.MultiId.read_from_str(module.DEFAULT_CONTEXT, "{ S[X] }")
    return [
        lambda f: f.set_dim_id(kind.in_, 0, name("x")),
        lambda f: f.set_dim_id(kind.param, 0, name("P")),
        lambda f: f.set_tuple_id(kind.in_, name("T")),
        lambda f: f.reset_tuple_id(kind.in_),
        lambda f: f.add_dims(kind.in_, 2),
        lambda f: f.insert_dims(kind.in_, 0, 1),
        lambda f: f.insert_dims(kind.in_, 0, 2).drop_dims(kind.in_, 1, 1),
        lambda f: f.move_dims(kind.in_, 0, kind.param, 0, 1),
        lambda f: f.align_params(like),
        lambda f: f.bind_domain(one),
        lambda f: f.bind_domain(one).insert_domain(further),
        lambda f: f.get_tuple_id(kind.in_).name,
        lambda f: (f.has_tuple_id(kind.in_), f.has_tuple_id(kind.out)),
        lambda f: (f.find_dim_by_name(kind.in_, "i"), f.get_var_names(kind.in_), f.dim(kind.in_)),
    ]


NAMED = {"PwAff": ["[N] -> { S[i] -> [i/2] : i > N }",
                   "[N] -> { S[i] -> [i/2 + N/3] : i > N; S[i] -> [NaN] : N < 0 and i < N }"],
         "MultiPwAff": ["[N] -> { S[i] -> A[i/2, (i : i > N)] }",
                        "[N] -> { S[i] -> [(N/2), (i : N > 0)] }"]}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in NAMED.items() for text in texts])
def test_names_and_dimensions(kind, text):
    f, g = getattr(ours, kind)(text), getattr(isl, kind)(text)
    for ours_change, isl_change in zip(changes(ours), changes(isl), strict=True):
        found, wanted = ours_change(f), isl_change(g)
        if isinstance(wanted, getattr(isl, kind)):
            found, wanted = (getattr(isl, kind)(str(x)) for x in (found, wanted))
            assert found.is_equal(wanted) or ("NaN" in text and str(found) == str(wanted)), (found, wanted)
        else:
            assert found == wanted


def test_names_of_a_tuple_of_members():
    f, kind = ours.MultiPwAff("{ S[i] -> A[i/2, (i : i > 0)] }"), ours.dim_type
    assert f.get_tuple_name(kind.out) == "A" == f.get_range_tuple_id().name
    assert str(f.set_tuple_name(kind.out, "B")) == "{ S[i] -> B[(i)/2, ((i) : i >= 1)] }"
    assert str(f.reset_range_tuple_id()) == "{ S[i] -> [(i)/2, ((i) : i >= 1)] }"
    with pytest.raises(ours.UnknownName, match="outputs of a function stay"):
        f.insert_dims(kind.out, 0, 1)
    assert str(f.drop_dims(kind.out, 1, 1)) == "{ S[i] -> [(i)/2] }"
    assert f.drop_dims(kind.out, 0, 1).is_equal(ours.MultiPwAff("{ S[i] -> [(i)] : i > 0 }"))


def test_what_a_function_of_fractions_is_not_given():
    half, pair = ours.PwAff("[N] -> { [i] -> [i/2] : i > N }"), ours.MultiPwAff("{ [i] -> [i/2, i] }")
    for call, match in (
        (lambda: half(N=1), "'i' has no value"),
        (lambda: half(3), "'N' has no value"),
        (lambda: half(3, N=1, M=1), "'M' is not a parameter or input"),
        (lambda: half.eval((1, 2), N=1), "a point of 1 coordinates"),
        (lambda: half % 2.5, "a modulus is an integer"),
        (lambda: bool(half), "no truth value"),
        (lambda: bool(pair), "no truth value"),
        (lambda: pair + 3, "an operation of two functions needs"),
        (lambda: pair.set_at(0, 3), "a tuple of functions needs"),
        (lambda: pair.is_equal(3), "a comparison needs"),
    ):
        with pytest.raises(ours.Error, match=match):
            call()


def test_a_condition_that_is_nan():
    """isl's choice is NaN everywhere then; here where the condition is, and one of the two has a value."""
    f = ours.PwAff("{ [i] -> [i/2] : i >= 0; [i] -> [NaN] : i < 0 }")
    found = f.cond(ours.PwAff("{ [i] -> [1] : i > -3 }"), ours.PwAff("{ [i] -> [0] : i > -2 }"))
    assert table(ours, found) == [None] * 4 + ["NaN"] * 2 + ["0"] + ["1"] * 6


PAIRS = [
    ("{ A[i] -> B[i, i] }", "{ A[i] -> B[i, i/2] }"),
    ("{ A[i] -> B[i/3, i] }", "{ A[i] -> B[i/2, i/2] }"),
    ("[N] -> { A[i] -> B[1, i + N] }", "[N] -> { A[i] -> B[i/2, i/2] }"),
]


@pytest.mark.parametrize(("one", "other"), [*PAIRS, *(pair[::-1] for pair in PAIRS)])
def test_an_operation_of_integers_and_fractions(one, other):
    """Whichever of the two has the fractions; never by a graph, which lacks values that are no integers."""

    def found(call):
        return [call(m.MultiAff(one), m.MultiAff(other)) for m in (ours, isl)]

    for name in ("lex_lt_set", "lex_le_set", "lex_gt_set", "lex_ge_set"):
        mine, theirs = found(lambda f, g, name=name: getattr(f, name)(g))
        assert isl.Set(str(mine)).is_equal(theirs)
    for call in (
        lambda f, g: f.product(g),
        lambda f, g: f.range_product(g),
        lambda f, g: f.range_splice(1, g),
        lambda f, g: f.to_multi_pw_aff().min(g.to_multi_pw_aff()),
    ):
        mine, theirs = found(call)
        again, wanted = (isl.MultiPwAff(str(f)) for f in (mine, theirs))
        assert again.is_equal(wanted)
    mine, theirs = (m.MultiPwAff(one).eq_map(m.MultiPwAff(other)) for m in (ours, isl))
    assert isl.Map(str(mine)).is_equal(theirs)


def test_an_operation_of_members_with_domains_of_their_own():
    one, other = "[N] -> { C[j] -> D[j, N] }", "[M] -> { C[i] -> D[(i : i > M), i] }"
    mine, theirs = (m.MultiPwAff(one).lex_lt_map(m.MultiPwAff(other)) for m in (ours, isl))
    assert isl.Map(str(mine)).is_equal(theirs)
    mine, theirs = (m.MultiPwAff(one).product(m.MultiPwAff(other)) for m in (ours, isl))
    assert isl.MultiPwAff(str(mine)).is_equal(theirs)


OWN = ["{ S[i] -> [(i), (i : i > 0)] }", "{ S[i] -> [(i : i < 9), (2i : i > 0)] }", "{ S[i] -> [i, 2i] }",
       "[N] -> { S[i] -> [(i : i < 9), (i + N)] }", "{ S[i] -> [(i : i > 2), (5 : i < 7)] }"]  # fmt: skip


@pytest.mark.parametrize("one", OWN)
def test_an_order_asks_for_a_later_member_on_a_tie_alone(one):
    names = [f"lex_{order}_map" for order in ("lt", "le", "gt", "ge")]
    for other in OWN:
        f, g = (m.MultiPwAff(one) for m in (ours, isl))
        for name in names:
            mine, theirs = getattr(f, name)(ours.MultiPwAff(other)), getattr(g, name)(isl.MultiPwAff(other))
            assert isl.Map(str(mine)).is_equal(theirs), (name, other)


HALF = "{ [i] -> [i/2] }"


@pytest.mark.parametrize("call", [
    lambda m: m.MultiAff.from_aff(m.Aff(HALF)), lambda m: m.PwMultiAff.from_pw_aff(m.PwAff(HALF)),
    lambda m: m.PwAff.alloc(m.Set("{ [i] : i > 0 }"), m.Aff(HALF)),
    *(lambda m, kind=kind, n=n: getattr(m, kind)("{ S[i, j] -> S[j, i] }").scale_val(m.Val(n))
      for kind in ("MultiAff", "PwMultiAff", "MultiPwAff") for n in ("7/2", "-2")),
    lambda m: m.PwMultiAff("{ S[i, j] -> S[] : i > 0 }").scale_val(m.Val("7/2")),
    *(lambda m, n=n, text=text, f=f: m.PwMultiAff(text).set_pw_aff(n, m.PwAff(f"{{ [j] -> {f} }}"))
      for text, n, f in (
          ("{ [i] -> [2i] : 0 <= i <= 5 }", 0, "[3]"), ("{ [i] -> [2i] : 0 <= i <= 5 }", 0, "[j/2] : j > 3"),
          ("{ [i] -> [2i, i] : 0 <= i <= 5 }", 1, "[3]"), ("{ [i] -> [i/2] : 0 <= i <= 5 }", 0, "[j]"))),
])  # fmt: skip
def test_functions_made_of_fractions_or_with_a_member_of_another_domain(call):
    mine, theirs = call(ours), call(isl)
    assert isinstance(mine, getattr(ours, type(theirs).__name__))
    kind = isl.MultiPwAff if isinstance(theirs, isl.MultiAff) else type(theirs)
    assert kind(str(mine)).is_equal(kind(str(theirs)))


def test_polynomials_and_unions_of_fractions():
    f = ours.PwQPolynomial.from_pw_aff(ours.PwAff("{ [i] -> [i/3] : i > 3; [i] -> [floor(i/2)/4] : i < 0 }"))
    assert str(f) == "{ [i] -> 1/3 * i : i >= 4; [i] -> 1/4 * floor(i/2) : i <= -1 }"
    for kind in (ours.UnionPwAff, ours.UnionPwMultiAff):
        assert (
            str(kind("{ S[i] -> [i]; T[] -> [3] }").scale_val(ours.Val("1/2"))) == "{ S[i] -> [(i)/2]; T[] -> [(3)/2] }"
        )
    assert ours.UnionPwAff("{ S[i] -> [2i] }").scale_val(ours.Val("1/2")) == ours.UnionPwAff("{ S[i] -> [i] }")


def test_classes_of_sets_of_fractions():
    half, kind = ours.Aff("[N] -> { [i] -> [(N - i)/2] }"), ours.dim_type
    assert type(half.zero_basic_set()) is type(half.ge_basic_set(half)) is type(half.neg_basic_set()) is ours.BasicSet
    assert half.zero_basic_set() == ours.Set("[N] -> { [i] : i = N }")
    assert [half.coefficient_sgn(k, 0) for k in (kind.in_, kind.param)] == [-1, 1]
