"""isl's numbers that are no integers: what isl gives, typed by hand."""

import copy
import math
import pickle

import pytest

import polyvolta.isl as ours
from polyvolta.sets import PolyvoltaError as Error
from polyvolta.sets import PwAff, PwQPolynomial, Set, Val

NUMBERS = ["0", "7", "-3", "1/2", "-5/3", "infty", "-infty", "NaN"]
# rows are first operands, columns second ones, in the order of NUMBERS
SUMS = """
0     7     -3    1/2   -5/3  infty  -infty NaN
7     14    4     15/2  16/3  infty  -infty NaN
-3    4     -6    -5/2  -14/3 infty  -infty NaN
1/2   15/2  -5/2  1     -7/6  infty  -infty NaN
-5/3  16/3  -14/3 -7/6  -10/3 infty  -infty NaN
infty infty infty infty infty infty  NaN    NaN
-infty -infty -infty -infty -infty NaN -infty NaN
NaN NaN NaN NaN NaN NaN NaN NaN
"""
PRODUCTS = """
0     0      0      0      0      NaN    NaN    NaN
0     49     -21    7/2    -35/3  infty  -infty NaN
0     -21    9      -3/2   5      -infty infty  NaN
0     7/2    -3/2   1/4    -5/6   infty  -infty NaN
0     -35/3  5      -5/6   25/9   -infty infty  NaN
NaN   infty  -infty infty  -infty infty  -infty NaN
NaN   -infty infty  -infty infty  -infty infty  NaN
NaN NaN NaN NaN NaN NaN NaN NaN
"""
QUOTIENTS = """
NaN   0      0      0      0      0      0      NaN
NaN   1      -7/3   14     -21/5  0      0      NaN
NaN   -3/7   1      -6     9/5    0      0      NaN
NaN   1/14   -1/6   1      -3/10  0      0      NaN
NaN   -5/21  5/9    -10/3  1      0      0      NaN
NaN   infty  -infty infty  -infty NaN    NaN    NaN
NaN   -infty infty  -infty infty  NaN    NaN    NaN
NaN NaN NaN NaN NaN NaN NaN NaN
"""


@pytest.mark.parametrize(("table", "name", "sign"), [
    (SUMS, "add", "+"), (PRODUCTS, "mul", "*"), (QUOTIENTS, "div", ""),
])  # fmt: skip
def test_arithmetic(table, name, sign):
    for a, row in zip(NUMBERS, table.strip().splitlines(), strict=True):
        for b, wanted in zip(NUMBERS, row.split(), strict=True):
            found = getattr(Val(a), name)(Val(b))
            assert str(found) == wanted and isinstance(found, Val), (a, name, b)
            if sign:
                assert str(eval(f"a {sign} b", {"a": Val(a), "b": Val(b)})) == wanted  # noqa: S307
            if name == "add" and b[0].isdigit():
                assert str(found - Val(b)) == a == str(found.sub(Val(b)))


def test_order():
    rising = ["-infty", "-3", "-5/3", "0", "1/2", "7", "infty"]
    for k, a in enumerate(rising):
        for j, b in enumerate(rising):
            x, y = Val(a), Val(b)
            assert (x < y, x <= y, x > y, x >= y, x == y, x != y) == (k < j, k <= j, k > j, k >= j, k == j, k != j)
            assert (x.lt(y), x.le(y), x.gt(y), x.ge(y), x.eq(y), x.ne(y)) == (
                k < j,
                k <= j,
                k > j,
                k >= j,
                k == j,
                k != j,
            )
            assert str(x.max(y)) == rising[max(k, j)] and str(x.min(y)) == rising[min(k, j)]
        x, nan = Val(a), Val("NaN")
        assert not any((x < nan, x <= nan, x > nan, x >= nan, x == nan, x.eq(nan), nan.eq(x), nan < x, nan == nan))
        assert not x.ne(nan) and str(x.max(nan)) == str(nan.min(x)) == "NaN"
        assert (x.cmp_si(0), x.sgn()) == ((k > 3) - (k < 3),) * 2


@pytest.mark.parametrize(("text", "floor", "ceil", "trunc", "inv", "neg", "size"), [
    ("7/2", "3", "4", "3", "2/7", "-7/2", "7/2"),
    ("-7/2", "-4", "-3", "-3", "-2/7", "7/2", "7/2"),
    ("infty", "infty", "infty", "infty", "0", "-infty", "infty"),
    ("-infty", "-infty", "-infty", "-infty", "0", "infty", "infty"),
    ("nan", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN"),
    ("0", "0", "0", "0", "NaN", "0", "0"),
])  # fmt: skip
def test_functions_of_one_number(text, floor, ceil, trunc, inv, neg, size):
    v = Val(text)
    assert [str(x) for x in (v.floor(), v.ceil(), v.trunc(), v.inv(), v.neg(), -v, v.abs())] == [
        floor, ceil, trunc, inv, neg, neg, size]  # fmt: skip


def test_questions_and_copies():
    half, infty, nan = Val("2/4"), Val.infty(), Val.nan()
    assert repr(half) == 'Val("1/2")' and (half.get_num_si(), half.get_den_val(), half.get_d()) == (1, 2, 0.5)
    assert [(v.is_rat(), v.is_int(), v.is_nan(), v.is_infty(), v.is_pos()) for v in (half, infty, nan)] == [
        (True, False, False, False, True), (False, False, False, True, True), (False, False, True, False, False),
    ]  # fmt: skip
    assert Val.neginfty().is_neginfty() and nan.sgn() == -1 and infty.get_d() == math.inf and math.isnan(nan.get_d())
    assert {Val("1/2"): 3}[Val("3/6")] == 3 and 1 - half == half and 3 * half == Val("3/2") and half * 2 == 1
    assert type(half * 2) is Val and half.to_str() == str(half) == "1/2" and half != "1/2"
    for v in (half, infty, Val(3)):
        assert pickle.loads(pickle.dumps(v)) == v == copy.deepcopy(v) and isinstance(v, Val)
    assert not isinstance(half, int) and not isinstance("1/2", Val)


@pytest.mark.parametrize("call", [
    lambda: Val("1/2").to_python(), lambda: Val.nan().get_num_si(), lambda: Val("7/2").mod(2),
    lambda: Val(7) % Val("1/2"), lambda: Val("1/2") + "x",
    lambda: Val("1/2").gcd(3), lambda: Val("1/2").two_exp(), lambda: Val("1/2").add("x"), lambda: range(Val("1/2")),
    lambda: Set("{ [i] }").fix({"i": Val("1/2")}), lambda: PwAff("{ [i] -> [i] }") + Val.infty(),
    lambda: Set("{ [i] : i > 0 }").lower_bound("i", Val("3/2")), lambda: PwAff("{ [i] -> [i] }") % Val("1/2"),
])  # fmt: skip
def test_where_an_integer_is_needed_they_are_refused(call):
    with pytest.raises((Error, TypeError)):
        call()


@pytest.mark.parametrize(("text", "least", "greatest"), [
    ("{ [i] : i > 0 }", "1", "infty"),
    ("{ [i] : i < 0 }", "-infty", "-1"),
    ("{ [i] : i > 0 or i < -5 }", "-infty", "infty"),
    ("{ [i] : false }", "NaN", "NaN"),
    ("{ [i, j] : 2i = 1 }", "NaN", "NaN"),
    ("[n] -> { [i] : 0 < i < n }", "1", "infty"),
    ("[n] -> { [i] : 0 < i < n < 8 }", "1", "6"),
    ("[n] -> { [i] : n <= i <= 3 }", "-infty", "3"),
    ("[n] -> { [i] : 0 <= i < n and n < 0 }", "NaN", "NaN"),
])  # fmt: skip
def test_bounds_by_isl_names(text, least, greatest):
    s = Set(text)
    assert (str(s.dim_min_val(0)), str(s.dim_max_val(0))) == (least, greatest)
    f = PwAff("{ [i] -> [i] }") if "j" not in text else PwAff("{ [i, j] -> [i] }")
    assert (str(s.min_val(f)), str(s.max_val(f))) == (least, greatest)


def test_our_own_methods_raise():
    for call in (lambda: Set("{ [i] : i > 0 }").dim_max(0), lambda: PwAff("{ [i] -> [i] : i > 0 }").max_val()):
        with pytest.raises(Error):
            call()


def test_coefficients_of_polynomials():
    [(_, f)] = PwQPolynomial("{ [i] -> 1/2 * i^2 + 3 * i - 1/3 }").get_pieces()
    assert sorted(str(t.get_coefficient_val()) for t in f.get_terms()) == ["-1/3", "1/2", "3"]
    assert f.get_constant_val() == Val("-1/3") and f.get_constant_val().get_den_val() == 3


@pytest.mark.parametrize(
    "text", ["--5", "+-5", "-+5", "-", "+", "", "5/", "/3", "1/-2", "1/+2", "--infty", "1/2/3", "1.5"]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(Error, match="a Val is a number"):
        Val(text)


@pytest.mark.parametrize(("text", "number"), [
    ("+5", "5"), (" -6 / 4 ", "-3/2"), ("+3/6", "1/2"), ("-4/2", "-2"), ("-1/0", "-infty"), ("0/0", "NaN"),
])  # fmt: skip
def test_texts_of_numbers(text, number):
    assert str(Val(text)) == number


def test_the_same_but_for_the_sign():
    sizes = {"0": 0, "7": 7, "-3": 3, "1/2": 0.5, "-5/3": -1, "infty": math.inf, "-infty": math.inf, "NaN": math.nan}
    for a, size in sizes.items():
        for b, other in sizes.items():
            assert Val(a).abs_eq(Val(b)) is (size == other), (a, b)
        for number in (-7, -3, 0, 3, 7):
            assert Val(a).abs_eq(number) is (size == abs(number)), (a, number)
        with pytest.raises(Error, match="a number is needed"):
            Val(a).abs_eq("7")


def test_polynomials_times_and_by_fractions():
    f = PwQPolynomial("{ [i] -> 1/2 * i : i > 0; [i] -> i : i < 0 }")
    assert f.scale_val(Val("1/2")) == PwQPolynomial("{ [i] -> 1/4 * i : i > 0; [i] -> 1/2 * i : i < 0 }")
    assert f.scale_down_val(Val("-1/2")) == PwQPolynomial("{ [i] -> -i : i > 0; [i] -> -2 * i : i < 0 }")
    assert f.scale_down_val(3) == PwQPolynomial("{ [i] -> 1/6 * i : i > 0; [i] -> 1/3 * i : i < 0 }")


def test_every_piece_of_a_polynomial():
    f, seen = PwQPolynomial("{ [i] -> 1/2 * i : i > 0; [i] -> i : i < 0 }"), []
    assert f.every_piece(lambda domain, value: seen.append((domain, value)) or True)
    assert [str(domain) for domain, _ in seen] == ["{ [i] : i >= 1 }", "{ [i] : i <= -1 }"]
    assert not f.every_piece(lambda domain, value: domain.contains(1))


def test_values_of_functions_are_numbers_with_isls_methods():
    point = ours.Point.zero(ours.Set("{ [x] }").get_space()).set_coordinate_val(ours.dim_type.set, 0, 3)
    f = ours.PwAff("{ [x] -> [x + 1] : 0 <= x < 5 }")
    assert f.eval(point).mul(ours.Val(2)).eq(ours.Val(8))
    assert f.max_val().is_pos() and f.min_val().is_one()


def test_a_union_has_a_point_of_the_first_tuple_with_any():
    union = ours.UnionSet("{ A[i] : i < 0 < i; B[j] : j >= 4 }")
    assert union.sample_point() == ours.Set("{ B[j] : j >= 4 }").sample_point()
    with pytest.raises(Error):
        ours.UnionSet("{ A[i] : i < 0 < i }").sample_point()
