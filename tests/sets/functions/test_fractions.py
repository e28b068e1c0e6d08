"""Functions of fractions and NaN, and tuples of them, against tables of their values at the points of a box."""

import operator
import random
from fractions import Fraction

import pytest

from polyvolta import sets
from polyvolta.isl import MultiPwAff, PwAff, Set, Val
from polyvolta.sets import Error, NotAffine, OutsideDomain, Space
from polyvolta.sets.functions.members import MultiFunction
from polyvolta.sets.functions.rational import RationalPwAff

BOX = range(-4, 5)
NAN = "NaN"


def drawn(rng, whole=False, everywhere=False):
    """The text of a function on some of the box, and its table, by points."""
    text, table = [], {}
    cuts = sorted(rng.sample(BOX, 3))
    for low, high in [(-9, 9)] if everywhere else zip(cuts, cuts[1:], strict=False):
        a, b, d = rng.randint(-2, 2), rng.randint(-3, 3), 1 if whole else rng.choice([1, 2, 3])
        nan = not whole and not everywhere and rng.random() < 0.3
        text.append(f"[i] -> [{NAN if nan else f'({a}i + {b})/{d}'}]" + f" : {low} <= i < {high}" * (not everywhere))
        table |= {i: NAN if nan else Fraction(a * i + b, d) for i in range(low, high)}
    return PwAff(f"{{ {'; '.join(text)} }}"), table


def value(f, i):
    try:
        found = f.eval((i,))
    except OutsideDomain:
        return None
    return NAN if str(found) == "NaN" else Fraction(str(found))


def table_of(f):
    """By points of the box the values, which are where the domain is; of integers it is a plain function."""
    found = {i: v for i in BOX if (v := value(f, i)) is not None}
    assert set(found) == members(f.domain())
    return found


def members(s):
    return {i for (i,) in (s & Set("{ [i] : -4 <= i <= 4 }")).points()}


def inside(table):
    return {i: v for i, v in table.items() if i in BOX}


def either(f, a, b):
    """What a function makes of two numbers, where both tables have one; NaN of a NaN."""
    return {i: NAN if NAN in (a[i], b[i]) else f(a[i], b[i]) for i in a if i in b}


BOTH = {"__add__": operator.add, "__sub__": operator.sub, "min": min, "max": max}
UNITED = {"union_add": operator.add, "union_min": min, "union_max": max}
COMPARED = {name: getattr(operator, name[:2]) for name in ("le_set", "lt_set", "ge_set", "gt_set", "eq_set", "ne_set")}


@pytest.mark.parametrize("seed", range(3))
def test_two_functions(seed):
    rng = random.Random(seed)
    (f, a), (g, b) = drawn(rng), drawn(rng, whole=seed % 3 == 0)
    for x, y, p, q in ((f, g, a, b), (g, f, b, a)):
        for name, of in BOTH.items():
            assert table_of(getattr(x, name)(y)) == inside(either(of, p, q)), name
        for name, of in UNITED.items():
            assert table_of(getattr(x, name)(y)) == inside({**p, **q, **either(of, p, q)}), name
        for name, of in COMPARED.items():
            numbers = either(of, p, q)
            assert members(getattr(x, name)(y)) == {i for i, v in numbers.items() if v is True}, name
        assert table_of(x.union_prefer(y)) == inside({**q, **p})
        assert (x == y) == x.is_equal(y) == (p == q and NAN not in p.values())
    where = Set("{ [i] : -1 <= i <= 2 }")
    assert table_of(f.intersect_domain(where)) == {i: v for i, v in a.items() if -1 <= i <= 2}
    assert table_of(f.subtract_domain(where)) == {i: v for i, v in a.items() if not -1 <= i <= 2}
    assert table_of(f.gist(where).intersect_domain(where)) == {i: v for i, v in a.items() if -1 <= i <= 2}
    assert table_of(f.coalesce()) == table_of(f) == inside(a)
    chosen = f.cond(g, 7)
    wanted = {i: NAN if v == NAN else b[i] if v else 7 for i, v in a.items() if v == NAN or not v or i in b}
    assert table_of(chosen) == inside(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_one_function(seed):
    rng = random.Random(seed)
    f, a = drawn(rng)

    def each(of):
        return {i: NAN if v == NAN else of(v) for i, v in a.items()}

    assert repr(f).startswith("PwAff(") and table_of(eval(repr(f))) == a  # noqa: S307
    assert table_of(-f) == each(lambda v: -v) and table_of(3 - f) == each(lambda v: 3 - v)
    assert table_of(f.floor()) == each(lambda v: v // 1) and table_of(f.ceil()) == each(lambda v: -(-v // 1))
    assert table_of(f % 2) == each(lambda v: v % 2)
    assert table_of(f * Fraction(2, 3)) == table_of(Fraction(2, 3) * f) == each(lambda v: v * Fraction(2, 3))
    for by in (Fraction(-3, 2), 2):
        assert table_of(f / by) == each(lambda v, by=by: v / by)
    numbers = PwAff("{ [i] -> [2] : i > 1; [i] -> [1] : i = 1; [i] -> [0] : i = 0; [i] -> [-3/2] : i < -1 }")
    by = {i: 1 + (i > 1) if i > 0 else 0 if i == 0 else Fraction(-3, 2) for i in BOX if i != -1}
    assert table_of(f / numbers) == either(lambda v, w: v / w if w else NAN, a, by)
    assert f.is_nan() == (set(a.values()) == {NAN}) and f.is_nan() + (not f.involves_nan()) < 2
    values = [*a.values()]
    assert str(f.min_val()) == str(NAN if NAN in values else min(values))
    assert str(f.max_val()) == str(NAN if NAN in values else max(values))
    whole = {(i, v) for i, v in a.items() if v != NAN and v.denominator == 1}
    if NAN not in values:
        assert set(f.as_map().wrap().flatten().points()) == whole
    for i in a:
        assert str(f(i)) == str(f(i=i)) == str(f.eval((i,)))
    assert (f == f) == f.is_equal(f) == (NAN not in values)  # noqa: PLR0124
    if isinstance(f, RationalPwAff):
        cells = [{i: value(e, i) for i in members(where)} for where, e in f.pieces]
        assert sum(map(len, cells)) == len(a) and {i: v for cell in cells for i, v in cell.items()} == a


def test_what_has_integer_values_alone_is_a_plain_function():
    half = PwAff("{ [i] -> [i/2] : i >= 0; [i] -> [i] : i < 0 }")
    partly = PwAff("{ [i] -> [i] : i > 0; [i] -> [NaN] : i < 0 }")
    positive = Set("{ [i] : i > 0 }")
    plain = (half * 2, half + half, half - half, half.floor(), half.ceil(), partly.intersect_domain(positive))
    assert {type(f) for f in plain} == {sets.PwAff}
    assert {type(f) for f in (half, -half, partly, partly.floor())} == {RationalPwAff}


def test_of_which_all_is_nan():
    nan = PwAff("{ [i] -> [NaN] : i < 0 }")
    assert nan.is_nan() and not PwAff("{ [i] -> [i/2] : i > 0; [i] -> [NaN] : i < 0 }").is_nan()
    assert not nan.subtract_domain(nan.domain()).is_nan() and not PwAff("{ [i] -> [i/2] }").is_nan()


def test_equal_functions():
    half, third = PwAff("{ [i] -> [i/2] : i > 0 }"), PwAff("{ [i] -> [i/3] : i > 0 }")
    partly = PwAff("{ [i] -> [i/2] : i > 0; [i] -> [NaN] : i < 0 }")
    assert half == PwAff(str(half)) and half.is_equal(PwAff(str(half))) and hash(half) == hash(PwAff(str(half)))
    for other in (third, partly, PwAff("{ A[i] -> [i/2] : i > 0 }"), PwAff("{ [i] -> [i] : i > 0 }"), partly * 2):
        assert half != other and other != half and not half.is_equal(other) and not other.is_equal(half)
    whole = PwAff("{ [i] -> [i] : i > 0 }")
    assert partly != partly and not (2 * partly).is_equal(whole)  # noqa: PLR0124 - NaN is equal to nothing
    assert (half * 2).is_equal(whole) and whole.is_equal(half * 2)


def test_divisors_are_numbers():
    half, positive = PwAff("{ [i] -> [i/2] }"), PwAff("{ [i] -> [i/2] : i > 0 }")
    for divisor in (half, PwAff("{ [i] -> [i] }")):
        with pytest.raises(NotAffine):
            half / divisor
    assert positive / PwAff("{ [i] -> [i] : i < 0; [i] -> [3] : i >= 0 }") == PwAff("{ [i] -> [i/6] : i > 0 }")
    assert positive / PwAff("{ [i] -> [1] }") == positive and positive / PwAff("{ [i] -> [-1] }") == -positive
    assert (half / 0).is_nan() and (half + Val("NaN")).is_nan() and (half * Val("2/3")) == PwAff("{ [i] -> [i/3] }")
    with pytest.raises(NotAffine):
        half + Val("infty")


@pytest.mark.parametrize("seed", range(10))
def test_functions_of_functions(seed):
    """What has a domain of its own has that of integer points; one expression is of fractions, too."""
    rng = random.Random(seed)
    everywhere = seed % 2 == 0
    (f, a), (g, b) = drawn(rng, everywhere=everywhere), drawn(rng)
    at = {i: NAN if v == NAN else a.get(v) for i, v in b.items()}
    if everywhere:
        half = value(f, 0), value(f, 1)
        at = {i: NAN if v == NAN else half[0] + v * (half[1] - half[0]) for i, v in b.items()}
    assert table_of(f.pullback(g)) == {i: v for i, v in at.items() if v is not None}


@pytest.mark.parametrize("seed", range(5))
def test_functions_of_two_functions(seed):
    rng = random.Random(seed)
    (g, a), (h, b) = drawn(rng), drawn(rng)
    total = PwAff("{ [i, j] -> [(i + 2j)/3] }")
    assert table_of(total.pullback([g, h])) == either(lambda v, w: (v + 2 * w) / 3, a, b)
    partial = PwAff("{ [i, j] -> [(i + 2j)/3] : j >= 0; [i, j] -> [NaN] : j < -1 }")
    wanted = either(lambda v, w: None if v % 1 or w % 1 or w == -1 else (v + 2 * w) / 3 if w >= 0 else NAN, a, b)
    assert table_of(partial.pullback([g, h])) == {i: v for i, v in wanted.items() if v is not None}


def test_functions_of_functions_with_parameters():
    f, g = PwAff("[n] -> { [i] -> [(i + n)/2] }"), PwAff("[m] -> { [i] -> [(i + m)/3] }")
    assert f.pullback(g).is_equal(PwAff("[n, m] -> { [i] -> [(i + m + 3n)/6] }"))


# ---- tuples


PAIR = Set("{ A[x, y] }").space


def tuples(rng, whole=False):
    """Two functions as a tuple, and their tables."""
    (f, a), (g, b) = drawn(rng, whole), drawn(rng, whole)
    return MultiFunction.of(Space(f.space.inp, PAIR.out), [f, g]), [a, b]


def tables_of(fs):
    return [table_of(fs.get_at(k)) for k in range(len(fs.space.out.dims))]


@pytest.mark.parametrize("seed", range(3))
def test_tuples(seed):
    """Each member by itself; a plain function of integers has a value where all members have one."""
    rng = random.Random(seed)
    (f, a), (g, b) = tuples(rng), tuples(rng)
    assert isinstance(f, MultiFunction) and f.size() == len(f) == 2 and f.involves_nan() == (NAN in str(a))
    assert tables_of(f) == a and members(f.domain()) == {*a[0]} & {*a[1]} and repr(f) == f"MultiPwAff({str(f)!r})"
    for name, of in BOTH.items():
        assert tables_of(getattr(f, name)(g)) == [either(of, p, q) for p, q in zip(a, b, strict=True)], name
    added = [{**p, **q, **either(operator.add, p, q)} for p, q in zip(a, b, strict=True)]
    assert tables_of(f.union_add(g)) == added
    for found, of in [(-f, lambda v: -v), (f.floor(), lambda v: v // 1), (f.mod_val(2), lambda v: v % 2),
                      (f.scale_val(Val("2/3")), lambda v: v * Fraction(2, 3)),
                      (f.scale_down_val(3), lambda v: v / 3), (f.coalesce(), lambda v: v)]:  # fmt: skip
        wanted = [{i: NAN if v == NAN else of(v) for i, v in p.items()} for p in a]
        if not isinstance(found, MultiFunction):
            wanted = [{i: v for i, v in p.items() if i in members(f.domain())} for p in wanted]
        assert tables_of(found) == wanted
    where = Set("{ [i] : -1 <= i <= 2 }")
    for found, keep in ((f.intersect_domain(where), range(-1, 3)), (f.subtract_domain(where), {*BOX} - {*range(-1, 3)}),
                        (f.gist(where).intersect_domain(where), range(-1, 3))):  # fmt: skip
        if isinstance(found, MultiFunction):
            assert tables_of(found) == [{i: v for i, v in p.items() if i in keep} for p in a]
    assert f.is_equal(f) == (f == f) == (NAN not in str(a)) and not f.is_equal(g) and f != g  # noqa: PLR0124
    assert not f.is_equal(f.set_at(1, f.get_at(0))) and not f.is_equal(f.set_at(0, f.get_at(1)))
    third, c = drawn(rng)
    assert tables_of(f.set_at(1, third)) == [a[0], c] and hash(f) == hash(MultiFunction.of(f.space, list(f)))
    wrapped, flat = f.range_product(g), f.flat_range_product(g)
    assert tables_of(wrapped) == tables_of(flat) == [*a, *b] and flat.space.out.inner is None
    assert wrapped.range_factor_domain().space.out.key == wrapped.range_factor_range().space.out.key == PAIR.out.key
    assert tables_of(wrapped.range_factor_domain()) == a and tables_of(wrapped.range_factor_range()) == b


def test_tuples_of_integers():
    """One domain for all makes one function; else each member has its own, also where they are written differently."""
    f = MultiPwAff("{ [i] -> A[(i : i >= 0), (2i : 2i >= 0)] }")
    assert type(f) is sets.MultiPwAff and f.is_equal(MultiPwAff("{ [i] -> A[i, 2i] : i >= 0 }"))
    g = MultiPwAff("{ [i] -> A[(i : i >= 0), (2i : i >= 1)] }")
    assert isinstance(g, MultiFunction) and members(g.get_at(0).domain()) == {*range(5)}
    assert g.joint() == MultiPwAff("{ [i] -> A[i, 2i] : i >= 1 }") and g.as_map().is_equal(g.joint().as_map())
    assert g.is_equal(g.joint()) and not g.is_equal(f) and g != f and g != g.set_at(1, 3 * g.get_at(1))
    assert not g.is_equal(MultiPwAff("{ [i] -> B[(i : i >= 0), (2i : i >= 1)] }"))
    assert g != MultiPwAff("{ [i] -> B[(i : i >= 0), (2i : i >= 1)] }") and g == MultiPwAff(str(g))
    inner = MultiPwAff("{ [j] -> [j - 1] }")
    assert str(g.pullback(inner)) == "{ [j] -> A[((j - 1) : j >= 1), ((2*j - 2) : j >= 2)] }"


@pytest.mark.parametrize("call", [
    lambda f, half: half.joint(), lambda f, half: f + MultiPwAff("{ [i] -> B[i/2, i] }"),
    lambda f, half: f.range_factor_domain(), lambda f, half: f.range_product(MultiPwAff("{ C[i] -> B[i/2, i] }")),
    lambda f, half: f.set_at(2, half.get_at(0)), lambda f, half: f._nothing,
])  # fmt: skip
def test_tuples_that_do_not_fit(call):
    with pytest.raises((Error, AttributeError)):
        call(MultiPwAff("{ [i] -> A[i, (2i : i >= 1)] }"), MultiPwAff("{ [i] -> A[i/2, i] }"))
