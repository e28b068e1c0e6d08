"""Functions of fractions and NaN, and tuples of them, against tables of their values at the points of a box."""

import operator
import random
from fractions import Fraction

import pytest

from polyvolta import sets
from polyvolta.isl import PwAff, Set, Val
from polyvolta.sets import NotAffine, OutsideDomain
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


@pytest.mark.parametrize("seed", range(5))
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
    wanted = {i: b[i] if v else 7 for i, v in a.items() if v != NAN and (not v or i in b)}
    assert table_of(chosen) == inside(wanted)


@pytest.mark.parametrize("seed", range(5))
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


def test_functions_of_functions_with_parameters():
    f, g = PwAff("[n] -> { [i] -> [(i + n)/2] }"), PwAff("[m] -> { [i] -> [(i + m)/3] }")
    assert f.pullback(g).is_equal(PwAff("[n, m] -> { [i] -> [(i + m + 3n)/6] }"))
