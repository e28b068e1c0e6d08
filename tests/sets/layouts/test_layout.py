"""Layouts: inverted, composed and proved by digits, and compared with points and with the general engine."""

import html
import re
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sets import Layout, Map, NotSupported, PwAff, Set, SetSyntaxError, SpaceMismatch, UnknownName, var, xor
from polyvolta.sets.layouts.bits import inverse, rank

from ..brute import examples

# ---- ownership maps of the tensor-core instructions, by bit operations in numpy and as quasi-affine maps


def b(x, k):
    return x >> k & 1


def bit(x, k):
    return f"(floor({x}/{2**k}) mod 2)" if k else f"({x} mod 2)"


# name: (elements per lane, extents of what is owned, the map by bit operations, the map's text, whether one-to-one)
OWNERSHIP = {
    "m8n8k4 A row": (
        4, (4, 8, 4), lambda l, i: (l % 16 // 4, l % 4 + 4 * b(l, 4), i),
        "[floor((l mod 16)/4), l mod 4 + 4*floor(l/16), i]", True),
    "m8n8k4 A column": (
        4, (4, 8, 4), lambda l, i: (l % 16 // 4, i + 4 * b(l, 4), l % 4),
        "[floor((l mod 16)/4), i + 4*floor(l/16), l mod 4]", True),
    "m8n8k4 B row": (
        4, (4, 4, 8), lambda l, i: (l % 16 // 4, l % 4, i + 4 * b(l, 4)),
        "[floor((l mod 16)/4), l mod 4, i + 4*floor(l/16)]", True),
    "m8n8k4 B column": (
        4, (4, 4, 8), lambda l, i: (l % 16 // 4, i, l % 4 + 4 * b(l, 4)),
        "[floor((l mod 16)/4), i, l mod 4 + 4*floor(l/16)]", True),
    "m8n8k4 C": (
        8, (4, 8, 8), lambda l, i: (l % 16 // 4, (l & 1) + (i & 2) + 4 * b(l, 4), (i & 4) + (l & 2) + (i & 1)),
        f"[floor((l mod 16)/4), l mod 2 + 2*{bit('i', 1)} + 4*floor(l/16), "
        f"4*floor(i/4) + 2*{bit('l', 1)} + i mod 2]", True),
    "m16n16k8 A row": (
        8, (16, 8), lambda l, i: ((l & 3) + 4 * b(l, 2) + 8 * b(l, 4), i),
        f"[l mod 4 + 4*{bit('l', 2)} + 8*{bit('l', 4)}, i]", False),
    "m16n16k8 B column": (
        8, (8, 16), lambda l, i: (i, (l & 3) + 4 * b(l, 4) + 8 * b(l, 3)),
        f"[i, l mod 4 + 4*{bit('l', 4)} + 8*{bit('l', 3)}]", False),
    "m16n16k8 C": (
        8, (16, 16),
        lambda l, i: ((l & 1) + (i & 2) + 4 * b(l, 2) + 8 * b(l, 4), (i & 1) + (l & 2) + (i & 4) + 8 * b(l, 3)),
        f"[l mod 2 + 2*{bit('i', 1)} + 4*{bit('l', 2)} + 8*{bit('l', 4)}, "
        f"i mod 2 + 2*{bit('l', 1)} + 4*floor(i/4) + 8*{bit('l', 3)}]", True),
    "m32n32k8 C": (  # element 8*(2*mm + mn) + i
        32, (32, 32),
        lambda l, i: (16 * b(l, 4) + 8 * b(l, 2) + 4 * b(i, 4) + (i & 2) + (l & 1),
                      8 * b(l, 3) + 4 * b(i, 3) + (l & 2) + 16 * b(i, 2) + (i & 1)),
        f"[16*{bit('l', 4)} + 8*{bit('l', 2)} + 4*{bit('i', 4)} + 2*{bit('i', 1)} + l mod 2, "
        f"8*{bit('l', 3)} + 4*{bit('i', 3)} + 2*{bit('l', 1)} + 16*{bit('i', 2)} + i mod 2]", True),
    "m16n8k16 A": (
        8, (16, 16), lambda l, i: (l // 4 + 8 * b(i, 1), 2 * (l % 4) + (i & 1) + 8 * (i >> 2)),
        f"[floor(l/4) + 8*{bit('i', 1)}, 2*(l mod 4) + i mod 2 + 8*floor(i/4)]", True),
    "m16n8k16 B": (
        4, (16, 8), lambda l, i: (2 * (l % 4) + (i & 1) + 8 * (i >> 1), l // 4),
        "[2*(l mod 4) + i mod 2 + 8*floor(i/2), floor(l/4)]", True),
    "m16n8k16 C": (
        4, (16, 8), lambda l, i: (l // 4 + 8 * (i >> 1), 2 * (l % 4) + (i & 1)),
        "[floor(l/4) + 8*floor(i/2), 2*(l mod 4) + i mod 2]", True),
}  # fmt: skip


@pytest.mark.parametrize("name", OWNERSHIP)
def test_ownership_maps(name):
    count, shape, function, text, one_to_one = OWNERSHIP[name]
    m = Map(f"{{ T[l, i] -> C{text} : 0 <= l < 32 and 0 <= i < {count} }}")
    layout = Layout.from_map(m)
    lanes, elements = np.meshgrid(np.arange(32), np.arange(count), indexing="ij")
    for ours, theirs in zip(layout(lanes, elements), function(lanes, elements), strict=True):
        assert np.array_equal(ours, theirs)
    assert layout.is_bijective() is m.is_bijective() is one_to_one
    assert layout.is_surjective()
    assert tuple(out.extent for out in layout.outputs) == shape
    assert layout.to_map().is_equal(m)
    if one_to_one:
        back = layout.inverse()
        assert len(back.to_map().pieces) == 1
        assert back.to_map().is_equal(m.reverse())
        assert back.inverse() == layout
        assert Layout(str(back)) == back
    else:
        with pytest.raises(NotSupported, match="two points have one image"):
            layout.inverse()


def test_the_accumulator_map_and_its_inverse_read_as_a_person_writes_them():
    m = Map("{ T[t, r] -> C[i, j] : 0 <= t < 32 and 0 <= r < 4 and i = floor(t/4) + 8*floor(r/2) "
            "and j = 2*(t mod 4) + (r mod 2) }")  # fmt: skip
    assert str(Layout(m).inverse()) == (
        "{ C[i, j] -> T[t = floor(j/2) + 4*(i mod 8), r = 2*floor(i/8) + (j mod 2)] : 0 <= i < 16 and 0 <= j < 8 }"
    )
    assert [str(e) for e in m.reverse().as_affs()] == ["floor(j/2) + 4*(i mod 8)", "2*floor(i/8) + (j mod 2)"]


# ---- swizzles


def written_out(shift, width_bits, bits):
    """chunk ^ (row >> shift) & mask, bit by bit, as a general map."""
    terms = [
        f"{2**k}*((floor(chunk/{2**k}) + floor(row/{2 ** (shift + k)})) mod 2)"
        if k < bits
        else f"{2**k}*(floor(chunk/{2**k}) mod 2)"
        for k in range(width_bits)
    ]
    return Map(f"{{ [row, chunk] -> [row, {' + '.join(terms)}] : 0 <= row < 32 and 0 <= chunk < {2**width_bits} }}")


@pytest.mark.parametrize(("shift", "width_bits", "bits"), [(0, 3, 3), (1, 2, 2), (2, 1, 1), (1, 3, 2), (0, 3, 1)])
def test_swizzles(shift, width_bits, bits):
    m = written_out(shift, width_bits, bits)
    swizzle = Layout.swizzle(32, 2**width_bits, shift, bits)
    assert Layout.from_map(m) == swizzle
    assert swizzle.inverse() == swizzle
    assert swizzle.apply_range(swizzle) == Layout.identity({"row": 32, "chunk": 2**width_bits})
    rows, chunks = np.meshgrid(np.arange(32), np.arange(2**width_bits), indexing="ij")
    assert np.array_equal(swizzle(rows, chunks)[1], chunks ^ (rows >> shift & 2**bits - 1))
    assert m.is_bijective()
    assert m.is_injective()
    assert m.reverse().is_single_valued()
    assert len(swizzle.to_map().pieces) == 1
    assert Layout(str(swizzle)) == swizzle


def test_a_written_swizzle_is_undone_in_one_expression():
    assert [str(e) for e in written_out(0, 3, 3).reverse().as_affs()] == ["row", "(i1 ^ row mod 8)"]
    back = written_out(0, 3, 3).reverse().as_pw_multi_aff()
    assert len(back.pieces) == 1


def test_a_swizzle_of_any_bits_of_a_coordinate():
    mask = var("row") % 4 + 4 * (var("row") // 8 % 2)
    swizzle = Layout.of({"row": 32, "chunk": 8}, {"row": var("row"), "chunk": xor(var("chunk"), mask, 3)})
    assert swizzle(13, 5) == (13, 5 ^ 5)
    assert swizzle.is_bijective()
    assert swizzle.inverse() == swizzle
    address = Layout("{ [x] -> [(x ^ 8*(floor(x/64) mod 8))] : 0 <= x < 1024 }")
    assert str(address) == "{ [x] -> [(x ^ 8*(floor(x/64) mod 8))] : 0 <= x < 1024 }"
    assert address.inverse() == address
    assert address(0b1010111011) == (0b1010111011 ^ 0b010000,)


def test_a_line_of_several_blocks_is_swizzled_within_each():
    s = Layout.swizzle(16, 12)
    assert (
        str(s)
        == "{ [row, chunk] -> [row, 4*floor(chunk/4) + (chunk mod 4 ^ row mod 4)] : 0 <= row < 16 and 0 <= chunk < 12 }"
    )
    assert s.is_bijective()
    assert s.inverse() == s


def test_ownership_through_a_swizzle():
    owner = Layout("{ [t, r] -> [floor(t/4) + 8*floor(r/2), 2*(t mod 4) + (r mod 2)] : 0 <= t < 32 and 0 <= r < 4 }")
    swizzle = Layout.swizzle(16, 8)
    both = owner.apply_range(swizzle)
    assert both == swizzle.compose(owner) == owner.apply_range(str(swizzle)) == owner.apply_range(swizzle.to_map())
    assert both.is_bijective()
    assert len(both.to_map().pieces) == 1
    for t, r in product(range(32), range(4)):
        assert both(t, r) == swizzle(*owner(t, r))
        assert both.inverse()(*both(t, r)) == (t, r)
    assert both.inverse() == swizzle.inverse().apply_range(owner.inverse())
    assert both.to_map().is_equal(owner.to_map().apply_range(swizzle.to_map()))


def test_bits_beside_their_exclusive_or_reach_less_than_each_alone():
    quarter = Layout("{ [t] -> [floor(t/2) mod 4] : -3 <= t <= 12 }")
    assert quarter.outputs[0].extent > 4
    onward = quarter.apply_range("{ [i] -> [3 - i] : 0 <= i < 4 }")
    assert [onward(t) for t in range(-3, 13)] == [(3 - t // 2 % 4,) for t in range(-3, 13)]
    with pytest.raises(SpaceMismatch, match="0 <= i0 < 4 is not within 0 <= i < 3"):
        quarter.apply_range("{ [i] -> [i] : 0 <= i < 3 }")


# ---- mixed radix


@pytest.mark.parametrize(
    ("text", "injective", "surjective"),
    [
        ("{ [i] -> [floor(i/5), i mod 5] : 0 <= i < 15 }", True, True),
        ("{ [i, j] -> [36i + j] : 0 <= i < 8 and 0 <= j < 32 }", True, False),  # a padded line
        ("{ [i, j] -> [i, 8*floor(j/12) + (j mod 4) + 4*i] : 0 <= i < 3 and 0 <= j < 24 }", False, False),
        ("{ [i] -> [i mod 4] : 0 <= i < 8 }", False, True),
        ("{ [i, j] -> [i + j] : 0 <= i < 4 and 0 <= j < 4 }", False, True),  # by the general engine, both
        ("{ [i, j] -> [3i + 2j] : 0 <= i < 2 and 0 <= j < 3 }", True, False),
        ("{ [i, j] -> [i, i] : 0 <= i < 2 and j = 7 }", True, False),
        ("{ [i] -> [5 - i] : -3 <= i <= 8 }", True, True),
        ("{ [i] -> [floor((i + 3)/4), (i + 3) mod 4] : -3 <= i <= 8 }", True, True),
        ("{ [] -> [3] }", True, True),
        ("{ [i] -> [0] : i = 5 }", True, True),
        ("{ [i, j] -> [] : 0 <= i < 2 and j = 1 }", False, True),
        ("{ [t] -> [floor(t/2) mod 4] : -3 <= t <= 12 }", False, True),  # bits beside their exclusive-or
    ],
)
def test_what_is_proved(text, injective, surjective):
    layout = Layout(text)
    assert (layout.is_injective(), layout.is_surjective()) == (injective, surjective)
    assert layout.to_map().is_injective() is injective
    assert layout.is_bijective() is (injective and surjective)
    assert layout.to_map().is_equal(Map(text))
    if injective and surjective:
        assert layout.inverse().to_map().is_equal(Map(text).reverse())


def test_a_product_stands_side_by_side():
    tile = Layout("{ [i] -> [floor(i/4), i mod 4] : 0 <= i < 12 }")
    both = tile.product(tile)
    assert both(7, 10) == (1, 3, 2, 2)
    assert both.is_bijective()
    assert both.inverse()(1, 3, 2, 2) == (7, 10)


@st.composite
def digit_layouts(draw):
    """The text of a bijection that moves mixed-radix digits about, and the box it is defined on."""
    inputs = [
        draw(st.lists(st.sampled_from((2, 3, 4, 5)), min_size=1, max_size=3)) for _ in range(draw(st.integers(1, 3)))
    ]
    digits = []
    box = []
    for k, radices in enumerate(inputs):
        low = draw(st.sampled_from((0, 0, -2, 3)))
        x = f"(x{k} - {low})" if low >= 0 else f"(x{k} + {-low})"
        stride = 1
        for r in radices:
            if prod(size for _, size in digits) * r > 600:  # few enough points to look at each
                break
            d = f"(floor({x}/{stride}) mod {r})"
            digits.append((d if draw(st.integers(0, 4)) else f"({r - 1} - {d})", r))
            stride *= r
        box.append((low, stride))
    n_out = draw(st.integers(1, 3))
    outs = [[] for _ in range(n_out)]
    strides = [1] * n_out
    for d, r in draw(st.permutations(digits)):
        at = draw(st.integers(0, n_out - 1))
        outs[at].append(f"{strides[at]}*{d}")
        strides[at] *= r
    return f"[{', '.join(' + '.join(o) or '0' for o in outs)}]", box


def matrices(n):
    """Random matrices over F2, invertible or not: rows as integers."""
    return st.lists(st.integers(0, 2**n - 1), min_size=n, max_size=n)


def check(outs, box):
    """A layout against its points, and against the general engine."""
    names = [f"x{k}" for k in range(len(box))]
    domain = " and ".join(f"{low} <= {x} < {low + n}" for x, (low, n) in zip(names, box, strict=True))
    m = Map(f"{{ S[{', '.join(names)}] -> O{outs} : {domain} }}")
    layout = Layout.from_map(m)
    points = list(product(*(range(low, low + n) for low, n in box)))
    python = outs.replace("floor(", "fl(").replace("mod", "%").replace("/", ",")
    code = compile(python, "outputs", "eval")
    images = [tuple(eval(code, {"fl": int.__floordiv__, **dict(zip(names, p, strict=True))})) for p in points]  # noqa: S307
    assert [layout(*p) for p in points] == images
    one_to_one = len(set(images)) == len(points)
    spans = [max(v) - min(v) + 1 for v in zip(*images, strict=True)]
    assert layout.is_injective() is m.is_injective() is one_to_one
    assert layout.is_surjective() is (len(set(images)) == prod(spans))
    assert Layout(str(layout)) == layout
    if layout.is_bijective():
        back = layout.inverse()
        assert [back(*image) for image in images] == points
        assert back.inverse() == layout
        assert layout.apply_range(back) == Layout.of(
            {x: (low, low + n - 1) for x, (low, n) in zip(names, box, strict=True)}, [var(x) for x in names], ("S", "S")
        )
    return m, layout


@examples(40)
@given(digit_layouts())
def test_random_digits(case):
    m, layout = check(*case)
    assert layout.is_bijective()
    back, first = m.reverse(), [low for low, _ in case[1]]
    if sum(len(out.terms) for out in layout.outputs) <= 3:  # the general engine takes its time with many floors
        assert layout.inverse().to_map().is_equal(back)
    image = dict(zip(back.space.inp.dims, layout(*first), strict=True))
    assert [e.evaluate(image) for e in back.as_affs()] == first


@examples(60)
@given(st.data())
def test_random_exclusive_ors(data):
    n = data.draw(st.integers(2, 5))
    split = data.draw(st.integers(1, n - 1))
    cut = data.draw(st.integers(1, n - 1))
    rows = data.draw(matrices(n))
    places = [("x0", k) for k in range(split)] + [("x1", k) for k in range(n - split)]
    of_bits = []
    for row in rows:
        picked = [bit(x, k) for p, (x, k) in enumerate(places) if row >> p & 1]
        flip = [str(data.draw(st.integers(0, 1)))]
        of_bits.append(f"(({' + '.join(picked + flip)}) mod 2)")
    sums = [" + ".join(f"{2**k}*{u}" for k, u in enumerate(part)) for part in (of_bits[:cut], of_bits[cut:])]
    m, layout = check(f"[{', '.join(sums)}]", [(0, 2**split), (0, 2 ** (n - split))])
    assert layout.is_bijective() is (rank(rows) == n) is (inverse(rows) is not None)
    if layout.is_bijective():
        if n <= 4:
            assert layout.inverse().to_map().is_equal(m.reverse())
        assert len(m.reverse().as_affs()) == 2


@examples(100)
@given(matrices(6))
def test_the_inverse_of_a_matrix(rows):
    back = inverse(rows)
    array = np.array([[row >> k & 1 for k in range(6)] for row in rows])
    assert (back is not None) is (round(np.linalg.det(array)) % 2 == 1)
    if back is not None:
        other = np.array([[row >> k & 1 for k in range(6)] for row in back])
        assert np.array_equal(array @ other % 2, np.eye(6))


# ---- what is refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{ [i] -> [i] : i >= 0 }", "the input i has no greatest value"),
        ("[N] -> { [i] -> [i] : 0 <= i < N }", "this map has N"),
        ("{ [i] -> [i] : 0 <= i < 4; [i] -> [i + 1] : 6 <= i < 9 }", "one piece, not 2"),
        ("{ [i] -> [j] : 0 <= i < 4 and 0 <= j < i }", "not given by equalities"),
        ("{ [i, j] -> [i] : 0 <= i < 4 and 0 <= j < 6 and j <= i + 2 }", "cuts off a part of the box"),
        ("{ [i] -> [i] : 0 <= i < 8 and i mod 2 = 0 }", "thins out the domain"),
        ("{ [i] -> [floor(i/4)] : 0 <= i < 10 }", "does not divide"),
        ("{ [i] -> [floor(i/4), floor(i/6)] : 0 <= i < 24 }", "carries over 3"),
        ("{ [i, j] -> [floor((i + j)/3)] : 0 <= i < 9 and 0 <= j < 9 }", "carries over 3"),
        ("{ [i, j] -> [floor((i + j)/2)] : 0 <= i < 2 and 0 <= j < 2 }", "a carry is left over"),
        ("{ [i, j] -> [(i ^ j)] : 0 <= i < 3 and 0 <= j < 2 }", "i mod 3"),
        ("{ [i, j] -> [(i ^ j)] : -1 <= i < 3 and 0 <= j < 2 }", "negative numbers"),
    ],
)
def test_what_is_no_layout(text, why):
    with pytest.raises(NotSupported, match=why):
        Layout(text)


def test_misuse():
    s = Layout.swizzle(8, 8)
    with pytest.raises(SpaceMismatch, match="2 coordinates, not 1"):
        s(3)
    with pytest.raises(SpaceMismatch, match="not within"):
        Layout.swizzle(16, 8).apply_range(s)
    with pytest.raises(SpaceMismatch, match="not the inputs of the second"):
        s.apply_range(Layout("{ [i] -> [i] : 0 <= i < 8 }"))
    with pytest.raises(NotSupported, match="multiple of 4, not 6"):
        Layout.swizzle(8, 6, bits=2)
    with pytest.raises(NotSupported, match="shift=-1"):
        Layout.swizzle(8, 8, shift=-1)
    with pytest.raises(NotSupported, match="an extent or a pair"):
        Layout.of({"i": "8"}, ["i"])
    f = PwAff("{ [i] -> [i] : 0 <= i < 8 }")
    for use in (s.apply_range, s.compose, s.product, Layout.from_map, Layout):
        with pytest.raises(SpaceMismatch, match="not of a PwAff"):
            use(f)
    for inputs in (None, "i", s):
        with pytest.raises(SpaceMismatch, match="extents by names"):
            Layout.identity(inputs)
        with pytest.raises(SpaceMismatch, match="extents by names"):
            Layout.of(inputs, s)
    for outputs in (None, "i", s, 3):
        with pytest.raises(SpaceMismatch, match="a list of expressions"):
            Layout.of({"i": 8}, outputs)
    with pytest.raises(SpaceMismatch, match="rows is an integer here, not a Set"):
        Layout.swizzle(Set("{ [i] }"), Map("{ [i] -> [i] }"))
    with pytest.raises(SpaceMismatch, match="bits is an integer here, not a str"):
        Layout.swizzle(8, 8, bits="3")
    with pytest.raises(SpaceMismatch, match="not of an int"):
        s.apply_range(3)
    with pytest.raises(SpaceMismatch, match="not of a Set"):
        Layout(Set("{ [i] : 0 <= i < 8 }"))
    with pytest.raises(NotSupported, match="a box with points"):
        Layout.of({"i": 0}, ["i"])
    with pytest.raises(UnknownName, match="'j'"):
        Layout.of({"i": 4}, [var("j")])
    with pytest.raises(SetSyntaxError, match="unknown name 'j'"):
        Layout.of({"i": 4}, ["j"])
    with pytest.raises(SetSyntaxError):
        Layout("{ [i, j] -> [(i ^ ] : 0 <= i < 4 }")
    with pytest.raises(NotSupported, match="leave gaps"):
        Layout("{ [i] -> [2i] : 0 <= i < 4 }").inverse()


def test_it_shows_in_a_notebook():
    swizzle = Layout.swizzle(8, 8)
    page = swizzle._repr_html_()
    assert page.startswith("<code>") and html.unescape(re.sub("<[^>]*>", "", page)) == str(swizzle)
    assert eval(repr(swizzle)) == swizzle  # noqa: S307
