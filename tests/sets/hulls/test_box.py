"""Box hulls: every image is inside, and no number says it tighter."""

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import Map, Set, SpaceMismatch, Unbounded
from tests.sets.brute import examples
from tests.sets.draw import Source
from tests.sets.laws import LENGTH, one
from tests.sets.tables import WINDOW

# map -> offsets, sizes, strides
CASES = {
    "{ [a] -> [x] : a = floor(x/7) }": ("7*a", (7,), (1,)),
    "{ [a] -> [x] : x = a }": ("a", (1,), (1,)),
    "{ [a] -> [x] : exists i : x = 4i and 16a <= x < 16a + 16 }": ("16*a", (13,), (4,)),
    "{ [a] -> [x] : exists i : x = 4i + 1 and 16a <= x < 16a + 18 }": ("16*a + 1", (17,), (4,)),
    "{ [a] -> [x] : exists i : x = 4i + a and 0 <= i < 8 }": ("a", (29,), (4,)),
    "[N] -> { [a] -> [x] : 3x >= 2a and 3x <= 2a + 10 }": ("-floor((-2*a)/3)", (4,), (1,)),
    "{ [a] -> [x] : a <= x < a + 4; [a] -> [x] : a + 10 <= x < a + 12 }": ("a", (12,), (1,)),
    "{ [a] -> [x] : x = floor(a/2); [a] -> [x] : x = 2 + floor(a/2) }": ("floor(a/2)", (3,), (1,)),
    "{ [a] -> [x, y] : 32a <= y < 32a + 32 and 0 <= x <= 999 and y <= x <= y + 1 }": ("32*a, 32*a", (33, 32), (1, 1)),
    "[N] -> { [a] -> [x] : 32a <= x < 32a + 32 and 0 <= x < N and N <= 20 }": ("0", (20,), (1,)),
    "{ [a] -> [x] : exists i, j : x = 2i + 3j and 8a <= i < 8a + 8 and 0 <= j < 3 }": ("16*a", (21,), (1,)),
    "[M] -> { [a] -> [x, 2x + 1] : 8a <= x < 8a + 8 and x < M }": ("8*a, 16*a + 1", (8, 15), (1, 2)),
    "{ [a] -> [x] : a <= x <= a + 10 and x mod 5 = 0 }": ("-5*floor((-a)/5)", (11,), (5,)),
    "{ [a] -> [x, y] : 0 <= x <= 59 and 0 <= y <= 1 and 15a - x <= 60y <= 59 + 15a - x and "
    "60*floor((15a - x - 1)/60) <= 15a - x - 46 }": ("15*(a mod 4), floor(a/4)", (15, 1), (1, 1)),
    "{ [t] -> [x] : exists i : 0 <= i < 4 and x = 8*floor(t/4) + 2*(t mod 4) + 32i }": ("2*t", (97,), (32,)),
}


@pytest.mark.parametrize("text", CASES)
def test_boxes(text):
    m = Map(text)
    box = m.box_hull()
    offsets, sizes, strides = CASES[text]
    assert (", ".join(map(str, box.offset)), box.size, box.stride) == (offsets, sizes, strides)
    assert m.is_subset(box.relation(m))


@pytest.mark.parametrize("text", CASES)
def test_boxes_are_as_small_as_isls(text):
    found = isl_sizes(text)
    assert found is None or all(a <= b for a, b in zip(Map(text).box_hull().size, found, strict=True))


@cache
def isl():
    """isl's own functions in islpy's library, since islpy does not wrap boxes."""
    islpy = pytest.importorskip("islpy")
    ctypes, pathlib = pytest.importorskip("ctypes"), pytest.importorskip("pathlib")
    files = [str(f) for f in pathlib.Path(islpy.__file__).parent.glob("_isl*.so")]
    lib = ctypes.CDLL(files[0]) if files else None
    if not hasattr(lib, "isl_map_get_range_simple_fixed_box_hull"):
        pytest.skip("isl's functions are hidden")
    for name, *types in (
        ("isl_ctx_alloc",),
        ("isl_map_read_from_str", ctypes.c_void_p, ctypes.c_char_p),
        ("isl_map_get_range_simple_fixed_box_hull", ctypes.c_void_p),
        ("isl_fixed_box_is_valid", ctypes.c_void_p),
        ("isl_fixed_box_get_size", ctypes.c_void_p),
        ("isl_multi_val_to_str", ctypes.c_void_p),
    ):
        f = getattr(lib, name)
        f.argtypes, f.restype = types, ctypes.c_void_p
    lib.isl_fixed_box_is_valid.restype, lib.isl_multi_val_to_str.restype = ctypes.c_int, ctypes.c_char_p
    return lib, lib.isl_ctx_alloc()


def isl_sizes(text):
    """The sizes of isl's simple fixed box hull; None where it finds none."""
    lib, ctx = isl()
    box = lib.isl_map_get_range_simple_fixed_box_hull(lib.isl_map_read_from_str(ctx, text.encode()))
    if not lib.isl_fixed_box_is_valid(box):
        return None
    text = lib.isl_multi_val_to_str(lib.isl_fixed_box_get_size(box)).decode()
    return tuple(map(int, text.split("[")[1].split("]")[0].split(",")))


@given(st.binary(min_size=LENGTH, max_size=LENGTH))
@examples(40)
def test_images_lie_in_their_box(data):
    m = one(Source(data), inputs=("i",), outputs=("k", "l"), depth=1).r
    if not m.is_empty():
        box = m.box_hull()
        assert m.is_subset(box.relation(m)) and all(size <= len(WINDOW) for size in box.size)


def test_boxes_of_sets():
    s = Set("[N] -> { [i, j] : N <= i < N + 8 and i mod 2 = 0 and j = 3 }")
    box = s.box_hull()
    assert box.stride == (2, 1) and box.size == (7, 1) and box.count == (4, 1) and s.is_equal(box.relation(s))
    assert Set("{ [] }").box_hull().size == ()


def test_what_has_no_box():
    with pytest.raises(Unbounded, match="the extent of x is not bounded"):
        Map("[N] -> { [a] -> [x] : 0 <= x < N }").box_hull()
    with pytest.raises(Unbounded, match="empty"):
        Map("{ [a] -> [x] : a > 0 and a < 0 }").box_hull()
    with pytest.raises(SpaceMismatch):
        Set("{ A[1]; B[2] }").box_hull()


def test_no_box_is_larger_than_one_with_a_constant_offset():
    """With a single piece integer points tell the size, where a rational corner lies further out."""
    rng, further = random.Random(8), 0
    for _ in range(60):
        rows = [(rng.randint(-5, 5), rng.randint(-5, 5), rng.randint(-3, 8)) for _ in range(3)]
        values = [(a, x) for a in range(7) for x in range(-4, 5) if all(p * a + q * x + r >= 0 for p, q, r in rows)]
        text = " and ".join(f"{p}a + {q}x + {r} >= 0" for p, q, r in rows)
        m = Map(f"{{ [a] -> [x] : 0 <= a <= 6 and -4 <= x <= 4 and {text} }}")
        if not values:
            with pytest.raises(Unbounded, match="empty"):
                m.box_hull()
            continue
        box = m.box_hull()
        ((low,), (size,), (stride,)) = box.offset, box.size, box.stride
        for a, x in values:
            at = low.evaluate({"a": a})
            assert at <= x < at + size and (x - at) % stride == 0
        extent = max(x for _, x in values) - min(x for _, x in values) + 1
        assert size <= extent
        further += size < extent
    assert further > 5
