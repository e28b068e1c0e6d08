"""Ownership maps as drawn, against the paper's figures (corrected) and against formulas, all typed by hand."""

import re
from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import FragmentLoad
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.pictures import instruction, ownership
from polyvolta.cuda.pictures.errors import BadPicture, NotInKernel
from polyvolta.cuda.pictures.svg import DEEPER, RED, TINTS
from polyvolta.sets import var
from tests.cuda import ampere
from tests.cuda.macros import interleaved, macro_mma
from tests.cuda.pictures.kernels import changed, matmul
from tests.cuda.pictures.reading import groups, words

QUAD_PAIRS = ("yellow", "blue", "green", "pink")
COLOUR = {hue: name for shades in (TINTS, DEEPER) for hue, name in zip(shades, QUAD_PAIRS)}

FIGURE_1 = """
     0  0  2  2  0  0  2  2
     1  1  3  3  1  1  3  3
     0  0  2  2  0  0  2  2
     1  1  3  3  1  1  3  3
    16 16 18 18 16 16 18 18
    17 17 19 19 17 17 19 19
    16 16 18 18 16 16 18 18
    17 17 19 19 17 17 19 19
"""
FIGURE_2 = """
     0  2  0  2  8 10  8 10
     1  3  1  3  9 11  9 11
     0  2  0  2  8 10  8 10
     1  3  1  3  9 11  9 11
     4  6  4  6 12 14 12 14
     5  7  5  7 13 15 13 15
     4  6  4  6 12 14 12 14
     5  7  5  7 13 15 13 15
    16 18 16 18 24 26 24 26
    17 19 17 19 25 27 25 27
    16 18 16 18 24 26 24 26
    17 19 17 19 25 27 25 27
    20 22 20 22 28 30 28 30
    21 23 21 23 29 31 29 31
    20 22 20 22 28 30 28 30
    21 23 21 23 29 31 29 31
"""  # each number is two columns wide
FIGURE_2_COLOURS = """
    yellow green
    blue   pink
    yellow green
    blue   pink
"""  # each word is four rows high and eight columns wide
FIGURE_2_A = [(0, 8), (1, 9), (2, 10), (3, 11), (4, 12), (5, 13), (6, 14), (7, 15),
              (16, 24), (17, 25), (18, 26), (19, 27), (20, 28), (21, 29), (22, 30), (23, 31)]  # fmt: skip
FIGURE_2_B = [(0, 4), (1, 5), (2, 6), (3, 7), (16, 20), (17, 21), (18, 22), (19, 23),
              (8, 12), (9, 13), (10, 14), (11, 15), (24, 28), (25, 29), (26, 30), (27, 31)]  # fmt: skip


def table(text):
    return [line.split() for line in text.strip().splitlines()]


def cells(svg):
    """(matrix, row, column) -> its group."""
    found = {}
    for g in groups(svg):
        name, row, col = re.match(r"([ABD])\[(\d+), (\d+)\]: ", g.title).groups()
        key = name, int(row), int(col)
        assert key not in found
        found[key] = g
    return found


def owners(svg):
    """(matrix, row, column) -> the (lane, value) pairs of the cell's title."""
    found = {}
    for key, g in cells(svg).items():
        pairs = re.findall(r"lane (\d+) value (\d+)", g.title)
        found[key] = [(int(lane), int(value)) for lane, value in pairs]
    return found


def test_the_papers_first_figure():
    found = cells(instruction("row", "col"))
    drawn = [[found["D", r, c].words[0] for c in range(8)] for r in range(8)]
    assert drawn == table(FIGURE_1)
    lanes = ["0", "1", "2", "3", "16", "17", "18", "19"]
    assert [found["A", r, 0].words[0] for r in range(8)] == lanes  # once at the left of each row
    assert [found["B", 0, c].words[0] for c in range(8)] == lanes
    assert all(found["A", r, k].words == (str(k),) for r in range(8) for k in range(1, 4))  # the value, small
    assert {COLOUR[f] for g in found.values() for f in g.fills} == {"yellow"}
    assert len(found) == 8 * 4 + 4 * 8 + 8 * 8


def test_the_papers_second_figure():
    found = cells(ownership("m16n16k8", "row", "col"))
    drawn = [[found["D", r, c].words[0] for c in range(16)] for r in range(16)]
    assert drawn == [[n for n in row for _ in range(2)] for row in table(FIGURE_2)]
    coloured = [[COLOUR[found["D", r, c].fills[0]] for c in range(0, 16, 8)] for r in range(0, 16, 4)]
    assert coloured == table(FIGURE_2_COLOURS)
    assert all(COLOUR[found["D", r, c].fills[0]] == coloured[r // 4][c // 8] for r in range(16) for c in range(16))
    assert [found["A", r, 0].words[:2] for r in range(16)] == [tuple(map(str, lanes)) for lanes in FIGURE_2_A]
    assert [found["B", 0, c].words[:2] for c in range(16)] == [tuple(map(str, lanes)) for lanes in FIGURE_2_B]
    assert [COLOUR[f] for f in found["A", 5, 3].fills] == ["blue", "pink"]
    assert [COLOUR[f] for f in found["B", 0, 8].fills] == ["green", "pink"]
    assert len(found) == 16 * 8 + 8 * 16 + 16 * 16


def test_the_upper_quads_are_deeper():
    found = cells(ownership())
    for r in range(16):
        assert found["D", r, 0].fills[0] in (DEEPER if r >= 8 else TINTS)


@pytest.mark.parametrize("a", ("row", "col"))
@pytest.mark.parametrize("b", ("row", "col"))
def test_the_instruction_in_every_layout(a, b):
    for q in range(4):
        found = owners(instruction(a, b, quad_pair=q))
        for lane in (*range(4 * q, 4 * q + 4), *range(16 + 4 * q, 20 + 4 * q)):
            high = lane // 16
            for i in range(4):
                at_a = (lane % 4 + 4 * high, i) if a == "row" else (i + 4 * high, lane % 4)
                at_b = (i, lane % 4 + 4 * high) if b == "col" else (lane % 4, i + 4 * high)
                assert found["A", *at_a] == [(lane, i)]
                assert found["B", *at_b] == [(lane, i)]
            for i in range(8):
                assert found["D", (lane & 1) + (i & 2) + 4 * high, (i & 4) + (lane & 2) + (i & 1)] == [(lane, i)]


@pytest.mark.parametrize("a", ("row", "col"))
@pytest.mark.parametrize("b", ("row", "col"))
def test_m16n16k8_in_every_layout(a, b):
    found = owners(ownership("m16n16k8", a, b))
    for lane in range(32):
        l2, l3, l4 = (lane >> n & 1 for n in (2, 3, 4))
        for k in range(8):
            line_a = 4 * l2 + 8 * l4 + (lane & 3 if a == "row" else k % 4)
            depth_a = k if a == "row" else (lane & 3) + 4 * (k // 4)
            assert (lane, k) in found["A", line_a, depth_a]
            line_b = 4 * l4 + 8 * l3 + (lane & 3 if b == "col" else k % 4)
            depth_b = k if b == "col" else (lane & 3) + 4 * (k // 4)
            assert (lane, k) in found["B", depth_b, line_b]
        for i in range(8):
            row = (lane & 1) + (i & 2) + 4 * l2 + 8 * l4
            assert found["D", row, (i & 1) + (lane & 2) + (i & 4) + 8 * l3] == [(lane, i)]
    assert {len(x) for (name, *_), x in found.items() if name in "AB"} == {2}


@pytest.mark.parametrize("a", ("row", "col"))
@pytest.mark.parametrize("b", ("row", "col"))
def test_m32n32k8_in_every_layout(a, b):
    found = owners(ownership("m32n32k8", a, b))
    assert len(found) == 32 * 8 + 8 * 32 + 32 * 32
    rows = {lane: [] for lane in range(32)}
    cols = {lane: [] for lane in range(32)}
    for (name, r, c), held in found.items():
        if name == "A":
            for lane, _ in held:
                rows[lane].append((r, c))
        elif name == "B":
            for lane, _ in held:
                cols[lane].append((r, c))
    for lane in range(32):
        l2, l3, l4 = (lane >> n & 1 for n in (2, 3, 4))
        for mm in range(2):
            for i in range(4):
                row = 16 * l4 + 8 * l2 + 4 * mm + (lane & 3 if a == "row" else i)
                col = 16 * l4 + 8 * l3 + 4 * mm + (lane & 3 if b == "col" else i)
                for step in range(2):
                    assert (row, (i if a == "row" else lane & 3) + 4 * step) in rows[lane]
                    assert ((i if b == "col" else lane & 3) + 4 * step, col) in cols[lane]
        for value in range(32):
            mm, mn, i = value // 16, value // 8 % 2, value % 8
            row = 16 * l4 + 8 * l2 + 4 * mm + (i & 2) + (lane & 1)
            col = 8 * l3 + 4 * mn + (lane & 2) + 16 * (i >> 2 & 1) + (i & 1)
            assert found["D", row, col] == [(lane, value)]


def test_a_kernels_own_macro_mma():
    M, N, K = pv.sizes("M N K")
    options = pv.Options(block_tile=(32, 32, 16), warp_tile=(32, 32, 16), macro_mma="m32n32k8")
    kernel = pv.compile(pv.tensor("A", (M, K), layout="col") @ pv.tensor("B", (K, N)), options=options)
    svg = ownership(kernel)
    assert svg == ownership(kernel.ir) == ownership(kernel, statement="S")
    assert words(svg)[-2].startswith("A column-major, B row-major; 8 x mma.m8n8k4")
    with pytest.raises(NotInKernel, match="no product 'S2'"):
        ownership(kernel, statement="S2")


@pytest.mark.parametrize("operand", "ab")
def test_a_kernel_is_drawn_as_it_loads_its_fragments(operand):
    """Lanes 0 and 17 change places: the elements of the one are in the other, with the same value numbers."""
    swap = lambda op: replace(op, ownership=replace(  # noqa: E731
        op.ownership, outputs=tuple((n, e.subs({"lane": lane_swapped()})) for n, e in op.ownership.outputs)
    ))  # fmt: skip
    ir = matmul().ir
    number = [op.operand for op in operations(ir.body) if isinstance(op, FragmentLoad)].index(operand)
    broken, name = changed(ir, FragmentLoad, number, swap), operand.upper()
    right, svg = owners(ownership(ir)), ownership(broken)
    other = {0: 17, 17: 0}
    red = {key for key, g in cells(svg).items() if "wanted: " in g.title}
    assert red == {key for key, held in right.items() if key[0] == name and {0, 17} & {lane for lane, _ in held}}
    for key, g in cells(svg).items():
        drawn = re.findall(r"lane (\d+) value (\d+)", g.title.split("; wanted")[0])
        lanes = {other.get(lane, lane) if key[0] == name else lane: value for lane, value in right[key]}
        assert {int(lane): int(value) for lane, value in drawn} == lanes
        if key in red:
            wanted = re.findall(r"lane (\d+) value (\d+)", g.title.split("; wanted")[1])
            assert [(int(lane), int(value)) for lane, value in wanted] == right[key]
    assert f"elements of {name} not loaded where the product takes them from: {len(red)}" in words(svg)
    assert svg.count(RED) > len(red) > 0 and RED not in ownership(ir)


def lane_swapped():
    """lane, but 17 for 0 and 0 for 17."""
    lane = var("lane")
    is_0, is_17 = 1 - (lane + 31) // 32, lane // 17 - lane // 18
    return lane + 17 * is_0 - 17 * is_17


def test_any_interleave():
    macro = macro_mma(
        "m16n16k8", "row", "col", interleaved("m16n16k8", ("r0", "r1", "r2", "q0"), ("r0", "r1", "r2", "q1"))
    )
    found = owners(ownership(macro))
    assert found["A", 4, 0] == [(16, 0), (24, 0)]
    assert found["D", 8, 0] == [(4, 0)]


def test_an_instruction_of_the_whole_warp():
    """m16n8k16 of another target: row 9, k 8 of A is group 1, thread 0, value 6; eight colours for eight quads."""
    target = ampere.target(ampere.COMPOSITIONS["64"])
    svg = instruction(target=target)
    found = owners(svg)
    assert "mma.m16n8k16, warp: who owns what" in words(svg)
    assert found["A", 9, 8] == [(4, 6)] and found["B", 9, 3] == [(12, 3)] and found["D", 15, 7] == [(31, 3)]
    for name, own, shape in (("A", ampere.M16N8K16.a, (16, 16)), ("B", ampere.M16N8K16.b, (16, 8))):
        held = {own.evaluate({"lane": lane, "i": i}): (lane, i) for lane in range(32) for i in range(own.inputs[1][1])}
        assert all(found[name, r, c] == [held[r, c]] for r in range(shape[0]) for c in range(shape[1]))
    assert "lanes 0 to 3, 16 to 19" in words(svg) and not any("quad-pair" in w for w in words(svg))
    whole = ownership(target=target)
    assert "A row-major, B column-major; 2 x mma.m16n8k16, each by the whole warp" in words(whole)
    with pytest.raises(BadPicture, match="(?s)there is no warp 1.*one warp, number 0"):
        instruction(quad_pair=1, target=target)
    with pytest.raises(pv.PolyvoltaError, match="not col.col"):
        ownership("m16n16k16", "col", target=target)


def test_wrong_arguments():
    with pytest.raises(pv.PolyvoltaError, match="did you mean 'm16n16k8'"):
        ownership("m16n16k9")
    with pytest.raises(pv.PolyvoltaError, match="no layout is called 'rows'"):
        instruction("rows")
    with pytest.raises(pv.PolyvoltaError, match="no layout is called 'column'"):
        ownership("m16n16k8", "row", "column")
    with pytest.raises(BadPicture, match="no quad-pair 4"):
        instruction(quad_pair=4)
    with pytest.raises(BadPicture, match="an int where a macro-MMA"):
        ownership(3)
