"""A tile in shared memory as drawn, against what the interpreter finds there and what the bank model says."""

import re
from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import FragmentLoad, Mma
from polyvolta.cuda.ir.walk import arrays_of, operations
from polyvolta.cuda.layouts.bank_model import phases
from polyvolta.cuda.machine.errors import OutOfBounds
from polyvolta.cuda.pictures import shared_tile
from polyvolta.cuda.pictures.errors import BadPicture, NotInKernel
from polyvolta.cuda.pictures.svg import RED
from polyvolta.cuda.target.index_map import IndexMap
from tests.cuda.pictures.kernels import changed, matmul
from tests.cuda.pictures.reading import groups, words


def numbers(text):
    """The indices that a span says: "8–15", "0 1", "3"."""
    if "–" in text:
        first, last = map(int, text.split("–"))
        return range(first, last + 1)
    return [int(n) for n in text.split()]


def chunks(svg):
    """Chunk -> the index lists of its elements."""
    found = {}
    for g in groups(svg):
        if g.title.startswith("chunk "):
            number, held = re.match(r"chunk (\d+): (.*)", g.title).groups()
            found[int(number)] = tuple(map(numbers, held.split(", ")))
    return found


def touched(svg):
    """Byte -> (lanes, conflict degree)."""
    found = {}
    for g in groups(svg):
        if m := re.match(r"byte (\d+), chunk \d+: lanes ([\d, ]+?)(?:, (\d+)-way conflict)?$", g.title):
            degree = int(m[3] or 1)
            assert (RED in g.strokes) == (degree > 1)
            found[int(m[1])] = [int(n) for n in m[2].split(", ")], degree
    return found


def addresses(svg):
    """The byte of each lane."""
    found = np.full(32, -1)
    for byte, (lanes, _) in touched(svg).items():
        found[lanes] = byte
    return found


@pytest.mark.parametrize("a, b", [("row", "col"), ("col", "row")])
def test_a_cell_names_the_elements_that_the_interpreter_finds_there(a, b):
    kernel = matmul(a=a, b=b)
    seen = {}

    def look(machine, op, values):
        if isinstance(op, Mma) and not seen:
            seen.update({name: machine.shared[name][0].copy() for name in ("shared_A", "shared_B")})

    left = np.arange(32 * 16, dtype=np.float16).reshape((32, 16), order="C")
    right = np.arange(16 * 32, dtype=np.float16).reshape((16, 32), order="C")
    kernel.interpret(np.array(left, order="CF"[a == "col"]), np.array(right, order="CF"[b == "col"]), hook=look)
    for name, matrix in (("shared_A", left), ("shared_B", right)):
        drawn = chunks(shared_tile(kernel, name))
        assert sorted(drawn) == list(range(64))
        for chunk, (rows, cols) in drawn.items():
            values = [matrix[r, c] for r in rows for c in cols]
            assert seen[name][chunk].tolist() == values


@pytest.mark.parametrize("options", [{}, {"c": "col"}, {"split_k": 2}, {"macro_mma": "m32n32k8", "warp": (32, 32, 16)}])
def test_the_exchange_buffer_names_the_elements_that_the_interpreter_finds_there(options):
    kernel = matmul(**options)
    seen = []

    def look(machine, op, values):
        if op.statement.startswith("exchange") and not seen:
            seen.append(machine.shared["exchange"][0].copy())

    # A picks rows of B, so that the products are the numbers 0 .. 1023 / 1024 of B: each names its place
    m = np.eye(32, 16, dtype=np.float16)
    b = (np.arange(16 * 32).reshape(16, 32) + 1).astype(np.float16)
    kernel.interpret(m, np.asfortranarray(b), hook=look)
    memory, size = seen[0], kernel.ir.register("hmma_C").width * 32  # values of a fragment
    edge = int(size**0.5)
    drawn = chunks(shared_tile(kernel, "exchange"))
    first = memory.reshape(-1).view(np.float32 if size * 4 == 16 * exchanged(kernel).chunks else np.float16)
    per_chunk = first.size // len(memory)
    for chunk in sorted(drawn)[: exchanged(kernel).chunks]:
        rows, cols = drawn[chunk]
        values = [float((m @ b)[r, c]) for r in rows for c in cols]
        assert len(values) == per_chunk and max(rows) < edge and max(cols) < edge
        assert sorted(first[chunk * per_chunk : (chunk + 1) * per_chunk].tolist()) == sorted(values)


def exchanged(kernel):
    return next(op.exchange for op in operations(kernel.ir.body) if hasattr(op, "exchange"))


@pytest.mark.parametrize("depth, of_a, of_b", [(64, 8, 4), (32, 4, 2), (16, 2, 1)])
def test_without_the_swizzle_a_fragment_load_conflicts_as_is_known(depth, of_a, of_b):
    """The eight lanes of a phase want eight rows of A, but four columns of B, each twice: half as many words."""
    kernel = matmul(block=(32, 32, depth), warp=(16, 16, depth))
    for tile, load, ways in (("shared_A", "frag_A", of_a), ("shared_B", "frag_B", of_b)):
        plain = shared_tile(kernel, tile, load, swizzled=False)
        assert {degree for _, degree in touched(plain).values()} == {ways}
        assert words(plain).count(f"{ways}-way" if ways > 1 else "once") == 4
        assert any(f"{ways}-way bank conflicts" in w for w in words(plain)) == (ways > 1)
        good = shared_tile(kernel, tile, load)
        assert {degree for _, degree in touched(good).values()} == {1}
        assert words(good).count("once") == 4 and RED not in good


@pytest.mark.parametrize("options", [
    {}, {"a": "col", "b": "row"}, {"buffers": 2, "split_k": 2}, {"macro_mma": "m32n32k8", "warp": (32, 32, 16)},
    {"macro_mma": "m32n32k8", "warp": (32, 32, 16), "a": "col", "c": "col"},
])  # fmt: skip
@pytest.mark.parametrize("swizzled", (True, False))
def test_conflicts_are_red_where_the_bank_model_says_so(options, swizzled):
    kernel = matmul(**options)
    conflicts = 0
    for tile in kernel.ir.tiles:
        if tile.layout is None and not swizzled:
            continue
        ops = [op for op in operations(kernel.ir.body) if tile.name in set().union(*arrays_of(op, kernel.ir))]
        for s in {op.statement for op in ops}:
            svg = shared_tile(kernel, tile.name, s, warp=kernel.ir.warps - 1 if s.startswith("frag") else 0)
            svg = svg if swizzled else shared_tile(kernel, tile.name, s, swizzled=False)
            width = int(re.search(r"(\d+) bits a lane", svg)[1]) // 8
            at = addresses(svg)
            if (at < 0).any():  # not all lanes store: a tile with fewer chunks than the block has threads
                continue
            degrees = phases(at, width)
            drawn = [w for w in words(svg) if w == "once" or w.endswith("-way")]
            assert drawn == ["once" if d == 1 else f"{d}-way" for d in degrees]
            assert max(degree for _, degree in touched(svg).values()) == max(degrees)
            conflicts += max(degrees) > 1
    assert conflicts == 0 if swizzled else conflicts > 0


def test_a_chosen_access():
    kernel = matmul(block=(64, 32, 32), warp=(32, 16, 32), buffers=2)
    shown = shared_tile(kernel, "shared_A", "frag_A", warp=2, at={"c8": 1, "c9": 1})
    loops = next(w for w in words(shown) if "c8 = 1" in w)
    assert "c9 = 1" in loops and "c2 = 0" in loops
    held = chunks(shown)
    rows = {r for byte in touched(shown) for r in held[byte // 16][0]}
    ks = {k for byte in touched(shown) for k in held[byte // 16][1]}
    assert (min(rows), max(rows), ks) == (48, 63, set(range(8, 16)))  # warp (1, 0), fragment 1, k step 1
    assert any("buffer 0 of 2" in w for w in words(shown))
    later = shared_tile(kernel, "shared_A", "load", warp=2, at={"c2": 1})
    assert any("buffer 1 of 2" in w for w in words(later))
    assert shared_tile(kernel, "shared_A", "load") == shared_tile(kernel, "shared_A", "frag_A")
    assert shared_tile(kernel, "shared_A", "store") == shared_tile(kernel, "shared_A", "store_A")


def test_a_layout_that_gives_one_chunk_twice_is_red():
    ir = matmul().ir
    tile = ir.tile("shared_A")
    folded = IndexMap(tile.layout.inputs, (("chunk", tile.layout["chunk"] // 2 * 2),))
    broken = replace(ir, tiles=tuple(replace(t, layout=folded) if t is tile else t for t in ir.tiles))
    assert RED not in shared_tile(ir, "shared_A")
    assert words(shared_tile(broken, "shared_A")).count("2 in one") == 32


@pytest.mark.parametrize("arguments, wrong, told", [
    (("shared_C",), {}, "no tile 'shared_C'.*did you mean 'shared_[AB]'"),
    (("shared_A", "frag_B"), {}, "no statement 'frag_B'.*touches shared_A.*did you mean 'frag_A'"),
    (("shared_A", "frag_A"), {"warp": 4}, "no warp 4.*it has 4, from 0 to 3"),
    (("shared_A", "frag_A"), {"warp": True}, "no warp True"),
    (("shared_A", "frag_A"), {"nth": 64, "K": 32}, "gets to frag_A 4 times"),
    (("shared_A", "frag_A"), {"part": 2}, "there is no part 2"),
    (("shared_A", "frag_A"), {"at": {"c88": 1}}, "no loop 'c88'.*did you mean"),
    (("shared_A", "frag_A"), {"at": {"c8": 9}}, "with c8 = 9 0 times"),
    (("shared_A", "frag_A"), {"L": 9}, "no size 'L'"),
])  # fmt: skip
def test_what_is_not_there(arguments, wrong, told):
    with pytest.raises(NotInKernel, match=f"(?s){told}"):
        shared_tile(matmul(), *arguments, **wrong)


def test_arguments_without_a_meaning():
    with pytest.raises(BadPicture, match="no layout to leave the swizzle out of"):
        shared_tile(matmul(), "exchange", swizzled=False)
    with pytest.raises(BadPicture, match="M is a whole number, at least 1, not 0"):
        shared_tile(matmul(), "shared_A", "load", M=0)
    with pytest.raises(BadPicture, match="K = 40 isn't a multiple of 16"):
        shared_tile(matmul(partial="pad"), "shared_A", "load", K=40)
    with pytest.raises(pv.PolyvoltaError, match="a str where a kernel should be"):
        shared_tile("kernel", "shared_A")


def test_a_warp_astray_is_an_error_and_the_others_are_drawn():
    beyond = lambda op: replace(op, origin=(op.origin[0] + 16, op.origin[1]))  # noqa: E731
    ir = changed(matmul().ir, FragmentLoad, 0, beyond)
    assert len(touched(shared_tile(ir, "shared_A", "frag_A", warp=0))) == 16
    with pytest.raises(OutOfBounds, match=r"frag_A: shared_A\[32, 0\] is outside of shared_A\[32, 16\]"):
        shared_tile(ir, "shared_A", "frag_A", warp=2)
