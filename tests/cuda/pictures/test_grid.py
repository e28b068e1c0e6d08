"""The tiles of an output as drawn: numbers typed by hand, and every element in exactly one fragment."""

import re
from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cli.gallery import idiom
from polyvolta.cuda.ir.kernel_ir import GlobalStore
from polyvolta.cuda.machine.stepping import BadBlock
from polyvolta.cuda.pictures import output_tiles
from polyvolta.cuda.pictures.errors import NotInKernel, TooMuchToDraw
from polyvolta.cuda.pictures.grid import stores
from polyvolta.cuda.pictures.svg import RED, TINTS
from polyvolta.sets import aff
from tests.cuda.pictures.kernels import changed, matmul
from tests.cuda.pictures.reading import SVG, groups, parsed, words

BOX = r"rows (\d+) to (\d+), columns (\d+) to (\d+)"


def blocks(svg):
    """blockIdx -> (its box, whether it is called partial, the fills of its warps)."""
    found = {}
    for g in groups(svg):
        if m := re.match(rf"block \(([\d, ]+)\): {BOX}(, partial)?$", g.title):
            found[tuple(map(int, m[1].split(", ")))] = tuple(map(int, m.groups()[1:5])), bool(m[6]), g.fills
    return found


def fragments(svg):
    """(warp, number) -> (its box, its fill)."""
    found = {}
    for g in groups(svg):
        if m := re.match(rf"warp (\d+), fragment (\d+): {BOX}$", g.title):
            warp, number, *box = map(int, m.groups())
            found[warp, number] = tuple(box), g.fills[0]
    return found


def test_blocks_warps_and_fragments():
    kernel = matmul(block=(32, 64, 16), warp=(16, 32, 16))
    svg = output_tiles(kernel, M=40, N=100, block=(1, 0))
    found = blocks(svg)
    assert {b: (box, partial) for b, (box, partial, _) in found.items()} == {
        (0, 0): ((0, 31, 0, 63), False), (1, 0): ((0, 31, 64, 127), True),
        (0, 1): ((32, 63, 0, 63), True), (1, 1): ((32, 63, 64, 127), True),
    }  # fmt: skip
    assert found[0, 0][2][:4] == TINTS[:4]
    assert {key: box for key, (box, _) in fragments(svg).items()} == {
        (0, 0): (0, 15, 64, 79), (0, 1): (0, 15, 80, 95), (1, 0): (0, 15, 96, 111), (1, 1): (0, 15, 112, 127),
        (2, 0): (16, 31, 64, 79), (2, 1): (16, 31, 80, 95), (3, 0): (16, 31, 96, 111), (3, 1): (16, 31, 112, 127),
    }  # fmt: skip
    assert all(fill == TINTS[warp] for (warp, _), (_, fill) in fragments(svg).items())
    assert {"warp 0", "warp 3", "block 1, 0: 4 storing warps; rows ↓, columns →"} <= {*words(svg)}


@pytest.mark.parametrize("options", [
    {}, {"c": "col"}, {"split_k": 2}, {"macro_mma": "m32n32k8", "warp": (32, 32, 16)}, {"a": "col", "partial": "pad"},
    {"sizes": "40 56 24"},
])  # fmt: skip
def test_every_element_is_in_one_fragment(options):
    kernel = matmul(**options)
    ir = kernel.ir
    sizes = {n: v for n, v in (("M", 64), ("N", 96), ("K", 16)) if n in ir.sizes}
    found = stores(ir, ir.tensor("C"), sizes)
    count = np.zeros((128, 128), int)
    for boxes in found.fragments.values():
        for top, left, bottom, right in boxes:
            count[top:bottom, left:right] += 1
    rows, cols = found.shape
    assert (count[:rows, :cols] == 1).all() and count.max() == 1
    assert (found.count == 1).all() and not found.wrong


def test_of_a_split_k_the_warps_that_are_added_up_are_named():
    assert stores(matmul().ir, matmul().ir.tensor("C"), {"M": 32, "N": 32, "K": 16}).parts == {
        w: (w,) for w in range(4)
    }
    split = matmul(block=(32, 32, 32), warp=(16, 32, 32), split_k=4)
    svg = output_tiles(split, M=32, N=32)
    keys = [w for w in words(svg) if "sums" in w]
    assert keys == ["warp 0, with the sums of warps 0, 2, 4, 6", "warp 1, with the sums of warps 1, 3, 5, 7"]


def test_what_is_outside_is_hatched():
    kernel = matmul()
    whole, cut = output_tiles(kernel, M=64, N=64), output_tiles(kernel, M=64, N=60)
    assert "outside of the matrix: not stored" not in words(whole)
    assert "outside of the matrix: not stored" in words(cut)
    assert not any(partial for _, partial, _ in blocks(whole).values())
    assert [b for b, (_, partial, _) in blocks(cut).items() if partial] == [(1, 0), (1, 1)]
    slanted = [p for p in parsed(cut).iter("{http://www.w3.org/2000/svg}path") if p.get("d").count("M") > 2]
    assert len(slanted) == 3  # two blocks, and the legend; the block shown large is a full one


def test_by_default_two_blocks_and_a_half():
    found = blocks(output_tiles(matmul()))
    assert len(found) == 9 and found[2, 2] == ((64, 95, 64, 95), True, found[2, 2][2])
    padded = blocks(output_tiles(matmul(partial="pad")))
    assert len(padded) == 9 and not any(partial for _, partial, _ in padded.values())


def test_stores_to_the_wrong_place_show():
    ir = matmul(partial="pad").ir
    far = changed(ir, GlobalStore, 0, lambda op: replace(op, index=(op.index[0] + 16, op.index[1])))
    svg = output_tiles(far, M=32, N=32)
    assert blocks(svg)[0, 0][:2] == ((16, 47, 0, 31), True)
    said = words(svg)
    assert "512 of 1024 elements are never stored; values are stored outside of the matrix" in said
    assert "outside of the matrix, and stored" in said and "outside of the matrix: not stored" not in said
    near = changed(ir, GlobalStore, 0, lambda op: replace(op, index=(op.index[0] % 16, op.index[1])))
    svg = output_tiles(near, M=32, N=32)
    assert "512 of 1024 elements are never stored; 512 elements are stored more than once" in words(svg)
    assert RED in svg and RED not in output_tiles(ir, M=32, N=32)


@pytest.mark.parametrize("name", ("matmul", "epilogue", "prologue", "sum"))
def test_every_idiom(name):

    svg = output_tiles(pv.compile(idiom(name), options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))))
    assert len(blocks(svg)) == 9


@pytest.mark.parametrize("arguments, told", [
    ({"output": "A"}, "no output 'A'.*C"), ({"L": 3}, "no size 'L'.*M, N, K"),
])  # fmt: skip
def test_what_is_not_there(arguments, told):
    with pytest.raises(NotInKernel, match=f"(?s){told}"):
        output_tiles(matmul(), **arguments)


@pytest.mark.parametrize("M, N", [(5, 5000), (70, 200), (5000, 5), (33, 31), (512, 512), (1, 1)])
def test_numbers_along_edges_leave_room_for_one_another(M, N):
    svg = output_tiles(matmul(), M=M, N=N)
    boxes = []
    for t in parsed(svg).iter(f"{SVG}text"):
        if t.text.isdigit():
            x, y, size = (float(t.get(a)) for a in ("x", "y", "font-size"))
            wide = 0.6 * size * len(t.text)  # of a digit in the usual fonts
            left = x - {"end": wide, "start": 0}.get(t.get("text-anchor"), wide / 2)
            boxes.append((left, y - size / 2, left + wide, y + size / 2, t.text))
    for k, (l, t, r, b, one) in enumerate(boxes):
        for l2, t2, r2, b2, other in boxes[:k]:
            assert r <= l2 or r2 <= l or b <= t2 or b2 <= t, (one, other)
    said = words(svg)
    assert {f"{M}", f"{N}", f"{(M - 1) // 32 * 32}", f"{(N - 1) // 32 * 32}"} <= {*said}


@pytest.mark.parametrize("block, told", [
    ((3, 0), "no block .3, 0..*nearest is .2, 0."), ((0, 0, 1), "no block"), ((0, 0, 0, 0), "two or three ints"),
    ((), "two or three ints"), (0, "0 is no block"),
])  # fmt: skip
def test_blocks_that_there_are_not(block, told):
    with pytest.raises(BadBlock, match=f"(?s){told}"):
        output_tiles(matmul(), block=block)


@pytest.mark.parametrize("sizes, told", [
    ({"M": 4096, "N": 4096}, "16,384 blocks"), ({"M": 10**6, "N": 10**6}, "976,562,500 blocks"),
    ({"M": 10**6}, "93,750 blocks"), ({"N": 10**9}, "93,750,000 blocks"),
])  # fmt: skip
def test_too_much_is_refused_with_the_largest_that_is_drawn(sizes, told):
    with pytest.raises(TooMuchToDraw, match=f"{told} are more than a picture can show") as error:
        output_tiles(matmul(), **sizes)
    assert "such as M = 512, N = 512;" in error.value.hint
    assert len(blocks(output_tiles(matmul(), M=512, N=512))) == 256


def test_a_grid_that_covers_little_of_a_large_matrix_is_refused():
    ir = replace(matmul().ir, grid=3 * (aff(1),))
    with pytest.raises(TooMuchToDraw, match="elements are more"):
        output_tiles(ir, M=10**6, N=10**6)


def test_fragments_that_are_stored_without_an_exchange():
    """A warp's runs are those of the fragment that they are taken from."""
    M, N, K = pv.sizes("M N K")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    tiles = {"block_tile": (64, 64, 32), "warp_tile": (32, 64, 32)}
    for graph, outputs in ((product, 1), ([product, pv.relu(product)], 2)):
        kernel = pv.compile(graph, "sm_80", pv.Options(**tiles))
        assert not any(t.layout is None for t in kernel.ir.tiles)
        assert len([t for t in kernel.ir.tensors if t.written]) == outputs
        svg = output_tiles(kernel, M=64, N=64)
        boxes = fragments(svg)
        assert len(boxes) == 8, "two warps of 2 x 2 fragments of 16 x 32"
