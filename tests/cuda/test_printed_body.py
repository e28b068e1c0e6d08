"""The kernel's body as printed against the IR: every argument of every call, for many threads and loop values."""

import random
import re

import pytest

import polyvolta as pv
from polyvolta.cuda.kernel_ir import (
    FragmentLoad,
    GlobalLoad,
    Mma,
    SharedStore,
    StoreAccumulator,
    Zero,
    operations,
)

TILES = [((128, 128, 32), (64, 64, 32)), ((64, 128, 64), (32, 64, 64)), ((48, 48, 24), (16, 48, 24))]


def arguments(call):
    """The arguments of the outermost call in a line, split at its own commas."""
    inside = call[call.index("(") + 1 : call.rindex(")")]
    out, depth, start = [], 0, 0
    for at, char in enumerate(inside):
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth:
            out.append(inside[start:at].strip())
            start = at + 1
    return [*out, inside[start:].strip()]


def value(text, names):
    """A printed index of non-negative parts, read as C reads it."""
    code = text.replace("/", "//")
    for name in sorted(names, key=len, reverse=True):
        code = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", str(names[name]), code)
    return eval(code, {})  # noqa: S307


def element(text, names):
    """`array[i][j]` as (array, indices)."""
    array, *indices = re.split(r"[\[\]]+", text.strip())
    return array, tuple(value(i, names) for i in indices if i)


def printed(line, op, names, buffers):
    """What a line says and what the operation says: two tuples that must be equal."""
    at = lambda exprs: tuple(e.evaluate(names) for e in exprs)  # noqa: E731
    of = lambda e: (e.array, at(e.index))  # noqa: E731
    args = arguments(line) if "(" in line else []
    match op:
        case Zero(target):
            return element(line.split(" = ")[0].replace("[i]", ""), names), of(target)
        case GlobalLoad(target, tensor, index):
            order, dims = buffers[tensor]
            got = (element(line.split(" = ")[0], names), args[0], value(args[1], names), value(args[2], names), args[3])
            x = at(index)
            return got, (of(target), tensor, x[order[0]], x[order[1]], dims[order[1]])
        case SharedStore(source, tile, index):
            order, _ = buffers[tile]
            x = at(index)
            got = (args[0], element(args[1], names), value(args[2], names), value(args[3], names))
            return got, (tile, of(source), x[order[0]], x[order[1]])
        case FragmentLoad(target, tile, origin):
            order, _ = buffers[tile]
            x = at(origin)
            got = (element(line.split(" = ")[0], names), args[0], value(args[1], names), value(args[2], names))
            return got, (of(target), tile, x[order[0]], x[order[1]])
        case Mma(d, a, b):
            return tuple(element(x, names) for x in args), (of(d), of(a), of(b))
        case StoreAccumulator(source, tensor, index, buffer, exchange):
            order, dims = buffers[tensor]
            x = at(index)
            got = (args[0], value(args[1], names), value(args[2], names), args[3], element(args[4], names), args[5])
            own = f"{buffer} + {exchange.chunks} * warp"
            return got, (tensor, x[order[0]], x[order[1]], dims[order[1]], of(source), own)


@pytest.mark.parametrize(("block", "warp"), TILES)
def test_every_printed_argument_is_the_irs(block, warp):
    M, N, K = pv.sizes("M N K")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    kernel = pv.compile(product, options=pv.Options(block_tile=block, warp_tile=warp))
    ir, rng = kernel.ir, random.Random(0)
    buffers = {t.name: (t.order, t.dims) for t in ir.tensors}
    buffers |= {t.name: buffers[t.of] for t in ir.tiles}
    body = kernel.source[kernel.source.index('extern "C"') :].splitlines()
    lines = [
        x.strip().rstrip(";")
        for x in body
        if re.search(r"load_global_128\(|store_shared_|hmma_load_|hmma_row_col\(|hmma_store_global|= 0\.0f", x)
    ]
    ops = [op for op in operations(ir.body) if type(op).__name__ != "Barrier"]
    assert len(lines) == len(ops) == 9
    loops = {n: r for n, r in ir.ranges.items() if re.fullmatch(r"c\d+", n)}
    for line, op in zip(lines, ops):
        for _ in range(200):
            names = {n: rng.randint(max(low, 0), 6 if high is None else high) for n, (low, high) in loops.items()}
            names |= {"c9": names["c9"] // 16 * 16, "c10": names["c10"] // 16 * 16} if isinstance(op, Mma) else {}
            names |= {"blockIdx.x": rng.randint(0, 9), "blockIdx.y": rng.randint(0, 9)}
            names["linearId"] = rng.randrange(ir.threads)
            for name, e in ir.derived:
                names[name] = e.evaluate(names)
            got, expected = printed(line, op, names, buffers)
            assert got == expected, f"{line}\n{names}"


def test_the_result_stores_helper_follows_the_exchange():
    M, N, K = pv.sizes("M N K")
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
    exchange = next(op.exchange for op in operations(kernel.ir.body) if isinstance(op, StoreAccumulator))
    text = kernel.source[kernel.source.index("void hmma_store_global") : kernel.source.index('extern "C"')]
    words = re.findall(r"const int word\d = (.*);", text)
    load = re.search(r"v = exchange\[(.*)\];", text)[1]
    row, col = re.search(r"C \+ \(row \+ (.*)\) \* ld \+ \(col \+ (.*)\)\) = make_uint4", text).groups()
    order = re.search(r"make_uint4\(v\.(\w), v\.(\w), v\.(\w), v\.(\w)\)", text).groups()
    packed = [[int(x) for x in re.findall(r"acc\[(\d)\]", line)] for line in text.splitlines() if "make_uint2" in line]
    assert tuple(map(tuple, packed)) == exchange.registers
    assert tuple("xyzw".index(w) for w in order) == exchange.words
    for lane in range(32):
        at = {"lane": lane}
        assert tuple(value(w, at) for w in words) == exchange.store.evaluate(at)
        assert (value(load, at),) == exchange.load.evaluate(at)
        assert (value(row, at), value(col, at)) == exchange.owns.evaluate(at)
