"""Conversions between fp32 and bf16: every bit pattern, every rounding, against integers and against ml_dtypes.

`nearest` rounds exact fractions by the definition of IEEE 754 and shares nothing with what it checks.
"""

from fractions import Fraction

import numpy as np
import pytest

from polyvolta.graph.functions.formats import BF16, FORMATS, FP16, KINDS, NAN, PATTERNS, cast, narrowed, odd, widened

ALL = np.arange(2**16, dtype=np.uint16)
IS_NAN = (ALL & 0x7FFF) > 0x7F80


def value(pattern):
    """The exact number of a bf16 pattern that is no NaN; infinite ones as floats."""
    sign = -1 if pattern >> 15 else 1
    exponent, fraction = pattern >> 7 & 0xFF, pattern & 0x7F
    if exponent == 0xFF:
        return sign * float("inf")
    scale = Fraction(2) ** (max(exponent, 1) - 127 - 7)
    return sign * (fraction + (128 if exponent else 0)) * scale


FINITE = [value(p) for p in range(0x7F80)]  # ascending: patterns of numbers >= 0 are ordered as the numbers


def nearest(number, negative):
    """The pattern of the bf16 number nearest to a fraction >= 0, of two the even one; `negative` is its sign."""
    low, high = 0, 0x7F80  # the pattern of infinity, which stands for 2^128 where it is rounded to
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if FINITE[middle] <= number else (low, middle)
    above = FINITE[high] if high < 0x7F80 else Fraction(2) ** 128
    down, up = number - FINITE[low], above - number
    chosen = low if down < up or (down == up and low % 2 == 0) else high
    return chosen | int(negative) << 15


def directed(dtype):
    """Numbers at, beside and between bf16's: ties and their neighbours, subnormals, the ends of the range."""
    rng = np.random.default_rng(0)
    some = rng.choice(0x7F80, 400, replace=False)
    at = np.unique([*range(8), *range(0x78, 0x88), 0x3F7F, 0x3F80, 0x3F81, *range(0x7F70, 0x7F80), *some])
    base = widened(at.astype(np.uint16)).astype(dtype)
    following = widened((at + 1).astype(np.uint16)).astype(np.float64)
    following[-1] = 2.0**128
    ties = (base.astype(np.float64) / 2 + following / 2).astype(dtype)
    found = [base, ties]
    for x in (base, ties):
        for towards in (0, np.inf):
            found += [near := np.nextafter(x, dtype(towards)), np.nextafter(near, dtype(towards))]
    smallest = np.finfo(dtype).smallest_subnormal
    found.append(np.array([0, smallest, 3 * smallest, np.finfo(dtype).tiny, 1e-45, np.inf], dtype))
    with np.errstate(over="ignore"):
        found.append(np.array([np.finfo(dtype).max, 3.3961775e38, 3.3961776e38], dtype))
    numbers = np.unique(np.concatenate(found))
    return np.concatenate([numbers, -numbers])


def test_every_pattern_widens_to_its_number():
    wide = widened(ALL)
    assert wide.dtype == np.float32
    assert np.isnan(wide).tolist() == IS_NAN.tolist()
    for p in ALL[~IS_NAN]:
        number = value(int(p))
        assert float(wide[p]) == number and np.signbit(wide[p]) == bool(p >> 15)
    assert (wide.view(np.uint32) == ALL.astype(np.uint32) << 16).all(), "NaN's payload stays"


def test_every_pattern_comes_back():
    back = narrowed(widened(ALL))
    assert back.dtype == np.uint16
    assert (back[~IS_NAN] == ALL[~IS_NAN]).all()
    assert (back[IS_NAN] == NAN).all()


def test_directed_fp32_numbers_are_rounded_to_the_nearest_even():
    numbers = directed(np.float32)
    assert len(numbers) > 4000
    for x, p in zip(numbers, narrowed(numbers), strict=True):
        expected = int(p) & 0x7FFF == 0x7F80 if np.isinf(x) else int(p) == nearest(Fraction(abs(float(x))), x < 0)
        assert expected or x == 0 and int(p) == int(np.signbit(x)) << 15, (x, hex(p))


def test_rounded_up_beyond_the_largest_number_is_infinite():
    largest = np.float32(value(0x7F7F))
    between = np.float32(value(0x7F7F) + Fraction(2) ** (127 - 8))  # the tie with 2^128, whose pattern is the even one
    found = narrowed(np.array([largest, np.nextafter(between, np.float32(0)), between, -between], np.float32))
    assert [hex(p) for p in found] == ["0x7f7f", "0x7f7f", "0x7f80", "0xff80"]


@pytest.mark.parametrize("bits", [0x7F800001, 0x7FFFFFFF, 0x7FC00000, 0xFF800001, 0xFFFFFFFF, 0x7F80FFFF])
def test_nan_of_every_payload_becomes_the_one_that_the_instruction_makes(bits):
    assert narrowed(np.array([bits], np.uint32).view(np.float32)) == [NAN]


def test_random_patterns_of_fp32_against_ml_dtypes():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.random.default_rng(1).integers(0, 2**32, 2**20, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        theirs = x.astype(bfloat16)
    number = ~np.isnan(x)
    assert (narrowed(x)[number] == theirs.view(np.uint16)[number]).all()
    assert np.isnan(widened(narrowed(x)[~number])).all()


def test_every_pattern_against_ml_dtypes():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    theirs = ALL.view(bfloat16).astype(np.float32)
    assert (theirs.view(np.uint32)[~IS_NAN] == widened(ALL).view(np.uint32)[~IS_NAN]).all()
    assert np.isnan(theirs[IS_NAN]).all()


def test_float64_numbers_are_rounded_once():
    """To fp32 first and then to bf16 would be twice: a tie of bf16 and a little more is a tie of bf16 in fp32."""
    numbers = directed(np.float64)
    numbers = numbers[np.abs(numbers) < 2.0**130]
    found = BF16.rounded(numbers)
    twice = widened(narrowed(numbers.astype(np.float32))).astype(np.float64)
    assert (found != twice).any()
    for x, y in zip(numbers, found, strict=True):
        p = nearest(Fraction(abs(float(x))), x < 0)
        assert y == float(value(p)), (x, y)
    assert np.isnan(BF16.rounded(np.nan)) and BF16.rounded(-1e300) == -np.inf


def test_odd_keeps_what_fp32_holds():
    x = widened(ALL[~IS_NAN])
    assert (odd(x.astype(np.float64)) == x).all()
    assert odd(np.float64(1 + 2.0**-30)) == np.float32(1) + np.float32(2.0**-23)
    assert odd(np.float64(1 - 2.0**-30)) == np.float32(1) - np.float32(2.0**-24)


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_the_unit_is_the_most_that_rounding_takes(form):
    x = np.random.default_rng(2).uniform(1, 2, 10000) * 2.0 ** np.random.default_rng(3).integers(-14, 15, 10000)
    relative = np.abs(form.rounded(x) - x) / x
    assert relative.max() <= form.unit < 1.1 * relative.max()
    assert form.rounded(1 + form.unit) == 1 and form.rounded(1 + form.unit * (1 + 2.0**-20)) == 1 + 2 * form.unit


def test_cast_goes_by_the_arrays_dtypes():
    wide = np.array([1.5, -0.1, 70000], np.float32)
    assert cast(wide, PATTERNS).tolist() == narrowed(wide).tolist()
    with np.errstate(over="ignore"):
        assert cast(wide, np.dtype(np.float16)).tolist() == wide.astype(np.float16).tolist()
    patterns = narrowed(wide)
    assert cast(patterns, PATTERNS) is patterns
    assert cast(patterns, np.dtype(np.float32)).tolist() == widened(patterns).tolist()
    assert cast(np.float16([0.1]), PATTERNS).tolist() == narrowed(np.float32([np.float16(0.1)])).tolist()


def test_the_formats_are_found_by_dtype_and_by_kind():
    assert FORMATS["bfloat16"] is KINDS["bfloat16"] is BF16 and FORMATS["float16"] is KINDS["half"] is FP16
    assert (FP16.digits, BF16.digits) == (np.finfo(np.float16).nmant + 1, 8)
