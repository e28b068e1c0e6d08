"""Epilogues of warpgroups: kernels for Hopper in the machine beside numpy, the shared memory they take, their trees."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.signature import tensors_of
from polyvolta.cuda.build.promotion.boxes.pieces import pieces_of
from polyvolta.cuda.build.promotion.makers import makers_of
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    BoxStore,
    ExchangeStore,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    LoadMatrix,
    ProxyFence,
    StoreMatrix,
    WaitStores,
    When,
)
from polyvolta.cuda.ir.walk import operations, replaced, walk
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import plan
from polyvolta.sets import aff
from tests.cuda.ir.ring_example import padded

M, N, K = pv.sizes("M N K")
KINDS = ("lazy", "eager", 0)


DTYPE = "float16"


def tensor(name, shape, layout="row"):
    return pv.tensor(name, shape, layout=layout, dtype=DTYPE)


def product():
    return tensor("A", (M, K)) @ tensor("B", (K, N), "col")


def relu(x):
    return np.maximum(x, 0)


@dataclass(frozen=True)
class Case:
    """A graph, and its outputs by numpy from a dict of float64 arrays."""

    graph: Callable[[], object]
    meaning: Callable[[dict], list]


def added(v: Callable[[], object], layout: str = "row") -> Case:
    return Case(lambda: pv.output(pv.relu(product() + v()), layout=layout), lambda t: [relu(t["A"] @ t["B"] + t["v"])])


CASES = {
    "product": Case(product, lambda t: [t["A"] @ t["B"]]),
    "columns": Case(lambda: pv.output(product(), layout="col"), lambda t: [t["A"] @ t["B"]]),
    "sum": Case(lambda: product() + tensor("P", (M, K)) @ tensor("Q", (K, N)),
                lambda t: [t["A"] @ t["B"] + t["P"] @ t["Q"]]),
    "bias": added(lambda: tensor("v", (M, N))),
    "bias by columns": added(lambda: tensor("v", (M, N), "col")),
    "result by columns": added(lambda: tensor("v", (M, N)), "col"),
    "both by columns": added(lambda: tensor("v", (M, N), "col"), "col"),
    "vector": added(lambda: tensor("v", (N,))),
    "column": added(lambda: tensor("v", (M, 1))),
    "number": added(lambda: tensor("v", (1, 1))),
    "two biases": Case(lambda: pv.relu(product() + tensor("v", (M, N))) + tensor("w", (M, N)),
                       lambda t: [relu(t["A"] @ t["B"] + t["v"]) + t["w"]]),
    "two results": Case(lambda: [pv.output(c := product()), pv.output(pv.relu(c + tensor("v", (M, N))))],
                        lambda t: [t["A"] @ t["B"], relu(t["A"] @ t["B"] + t["v"])]),
    "two layouts": Case(lambda: [pv.output(c := product()), pv.output(pv.relu(c), layout="col")],
                        lambda t: [t["A"] @ t["B"], relu(t["A"] @ t["B"])]),
    "residual": Case(lambda: pv.relu(tensor("A", (M, M)) @ (b := tensor("B", (M, N))) + b),
                     lambda t: [relu(t["A"] @ t["B"] + t["B"])]),
}  # fmt: skip


def options(tile=(64, 64, 64), warpgroup=None, macro=None, buffers=2):
    rows, columns, depth = tile
    return pv.Options(
        block_tile=tile, warp_tile=warpgroup or (64, columns, depth), macro_mma=f"m64n{macro or columns}k16",
        buffers=buffers, fragments=1, split_k=1, group=8,
    )  # fmt: skip


def compiled(name: str, **how) -> Kernel:
    return pv.compile(CASES[name].graph(), SM_90A, options(**how))


def run(ir: KernelIR, sizes: dict[str, int], copies: object = "lazy") -> tuple[dict, list[np.ndarray]]:
    """Small whole numbers, so that sums are exact; outputs full of NaNs, and what lies between lines."""
    rng, given = np.random.default_rng(1), {}
    sizes = {n: sizes[n] for n in ir.sizes}
    for t in ir.tensors:
        shape = [d if isinstance(d, int) else sizes[d] for d in t.dims]
        values = np.full(shape, np.nan) if t.written else rng.integers(-2, 3, shape)
        values = values.astype(np.float16)
        given[t.name] = padded(values, t.order, t.align) if len(shape) == 2 else values
    interpret(ir, given, sizes, copies=copies)
    inputs = {t.name: given[t.name].astype(np.float64) for t in ir.tensors if not t.written}
    return inputs, [given[t.name] for t in ir.tensors if t.written]


def is_right(case: Case, ir: KernelIR, sizes: dict[str, int], copies: object = "lazy") -> bool:
    inputs, found = run(ir, sizes, copies)
    return all(np.array_equal(f, w.astype(np.float16)) for f, w in zip(found, case.meaning(inputs), strict=True))


# ---- right ones


@pytest.mark.parametrize("name", CASES)
def test_what_is_computed(name):
    ir = compiled(name, tile=(128, 64, 64)).ir
    assert not any(isinstance(op, ExchangeStore | GlobalStore) for op in operations(ir.body))
    for copies in KINDS:
        assert is_right(CASES[name], ir, {"M": 152, "N": 80, "K": 70}, copies)


@pytest.mark.parametrize("name", ["bias", "columns", "two results"])
@pytest.mark.parametrize(
    "how",
    [
        {"tile": (64, 96, 32), "buffers": 3},
        {"tile": (64, 80, 64)},
        {"tile": (128, 128, 64), "warpgroup": (128, 128, 64)},
        {"tile": (64, 256, 64), "warpgroup": (64, 128, 64), "macro": 128},
        {"tile": (128, 128, 32), "warpgroup": (64, 64, 32), "macro": 64},
        {"tile": (128, 256, 64), "buffers": 3},
    ],
)
def test_tiles(name, how):
    ir = compiled(name, **how).ir
    assert is_right(CASES[name], ir, {"M": 144, "N": 304, "K": 40}, 2)


@pytest.mark.parametrize("name", ["product", "bias"])
def test_sums_of_nothing(name):
    assert is_right(CASES[name], compiled(name).ir, {"M": 72, "N": 72, "K": 0})


def test_pieces_in_turns_and_a_single_place():
    """Five pieces of a warpgroup in two places, and in one where there is no room for more."""
    sizes = {"M": 128, "N": 160, "K": 64}
    for buffers, places in ((5, 2), (6, 1)):
        ir = compiled("product", tile=(128, 160, 64), buffers=buffers).ir
        assert ir.tile("shared_C").buffers == 2 * places
        waits = [op.pending for op in operations(ir.body) if isinstance(op, WaitStores)]
        assert waits == [places - 1, 0]
        assert all(is_right(CASES["product"], ir, sizes, c) for c in KINDS)


# ---- where things are


def test_operands_share_the_result_s_place_where_they_lie_alike():
    for name, tiles in (("bias", {"shared_D"}), ("bias by columns", {"shared_D", "shared_v"}),
                        ("both by columns", {"shared_D"}), ("two biases", {"shared_D", "shared_w"})):  # fmt: skip
        ir = compiled(name, tile=(64, 128, 64)).ir
        assert {t.name for t in ir.tiles} == tiles | {"shared_A", "shared_B"}
        loads = [op for op in operations(ir.body) if isinstance(op, LoadMatrix)]
        stores = [op for op in operations(ir.body) if isinstance(op, StoreMatrix)]
        own = [op for op in loads if op.tile == stores[0].tile]
        assert {(op.origin, op.lines, op.buffer) for op in own} <= {(s.origin, s.lines, s.buffer) for s in stores}
        assert bool(own) == (len(tiles) < 2 or name == "two biases")


def test_bytes_that_operands_expect():
    ir = compiled("two biases", tile=(128, 96, 64)).ir
    (expected,) = [op.bytes for op in operations(ir.body) if isinstance(op, Arrive) and op.phase.barriers == "operands"]
    assert expected == 2 * 2 * 128 * 96
    assert is_right(CASES["two biases"], ir, {"M": 136, "N": 104, "K": 3}, 1)  # most boxes are outside, in part or all


def test_without_room_for_operands_threads_load_them():
    ir = compiled("bias", tile=(128, 256, 64), buffers=4).ir
    loads = [op for op in operations(ir.body) if isinstance(op, GlobalLoad)]
    assert {op.width(ir) for op in loads} == {2} and {op.guarded for op in loads} == {True, False}
    assert is_right(CASES["bias"], ir, {"M": 152, "N": 304, "K": 40})


def test_what_has_no_pieces():
    """Lines that start anywhere, a sum in parts, no room: None, and the exchange is there for them."""
    graph = Graph.of(CASES["bias"].graph())
    idiom, tensors = plan(graph, "auto"), tensors_of(graph)
    macro = SM_90A.of_kind("half").macro_mma("m64n64k16")
    made = lambda tensors=tensors, units=(1, 1, 1), room=2**17: pieces_of(  # noqa: E731
        idiom, tensors, macro.of("row", "col"), makers_of(macro), units, (1, 4), room, ()
    )
    assert made() is not None and made().bytes == 8192
    assert made({**tensors, "D": replace(tensors["D"], align=4)}) is None
    assert made({**tensors, "v": replace(tensors["v"], align=4)}).operands == {}
    assert made(units=(1, 1, 2)) is None and made(room=8191) is None


def test_the_tree():
    tree = str(compiled("bias", tile=(128, 128, 64)).stages["roles"])
    for line in (
        "BAND: box_v[i, j] → [⌊i/64⌋ - 2⌊i/128⌋]",
        "BAND: box_v[i, j] → [⌊j/64⌋ - 2⌊j/128⌋]",
        "take_v[i, j] → [⌊j/64⌋ - 2⌊j/128⌋];",
        "take_v[i, j] → [j - 64⌊j/64⌋];",
        "FILTER: take_v[i, j]; S2[i, j]; put_D[i, j]",
        "FILTER: fence_D[i, j]",
        "BAND: write_D[i, j] → [rank];",
        "BAND: end_D[by, bx] → [rank]",
    ):
        assert line in tree, line
    producer = tree[tree.index("MARK: producer") :]
    assert "box_v" in producer and "take_v" not in producer and "put_D" not in producer


# ---- broken ones


def without(ir: KernelIR, what: Callable[[object], bool]) -> KernelIR:
    """A kernel without the first operation that is so."""
    return replace(ir, body=replaced(ir.body, next(p for p, s in walk(ir.body) if what(s)), ()))


def broken(ir: KernelIR, case: Case, sizes: dict[str, int]) -> bool:
    """Whether the machine sees it under some order."""
    for copies in ("lazy", "eager", 0, 1, 2):
        try:
            if not is_right(case, ir, sizes, copies):
                return True
        except CudaError:
            return True
    return False


LEFT_OUT = {
    "fence": lambda s: isinstance(s, ProxyFence),
    "store of a box": lambda s: isinstance(s, BoxStore),
    "store of a fragment": lambda s: isinstance(s, StoreMatrix),
    "load of a fragment": lambda s: isinstance(s, LoadMatrix),
    "wait for operands": lambda s: isinstance(s, Await) and s.phase.barriers == "operands",
    "bytes of operands": lambda s: isinstance(s, Arrive) and s.phase.barriers == "operands",
    "end": lambda s: isinstance(s, When) and any(isinstance(x, WaitStores) for x in s.body),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_seen(what):
    ir = compiled("bias", tile=(64, 64, 64)).ir
    assert broken(without(ir, LEFT_OUT[what]), CASES["bias"], {"M": 64, "N": 64, "K": 64})


def test_a_wait_for_the_wrong_pieces_is_seen():
    ir = compiled("product", tile=(64, 256, 64), buffers=4).ir
    at = next(p for p, s in walk(ir.body) if isinstance(s, WaitStores))
    late = replace(ir, body=replaced(ir.body, at, (WaitStores(3, "drain_C"),)))
    assert broken(late, CASES["product"], {"M": 64, "N": 256, "K": 64})


def test_a_place_that_is_another_s_is_seen():
    ir = compiled("product", tile=(128, 64, 64)).ir
    stores = [(p, s) for p, s in walk(ir.body) if isinstance(s, StoreMatrix)]
    path, store = stores[0]
    wrong = replace(ir, body=replaced(ir.body, path, (replace(store, buffer=aff(0)),)))
    assert broken(wrong, CASES["product"], {"M": 128, "N": 64, "K": 64})


# ---- what compilers make of them


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_registers(name, dtype, monkeypatch):
    """No spill, nothing serialised."""
    monkeypatch.setitem(globals(), "DTYPE", dtype)
    kernel = compiled(name, tile=(128, 128, 64), buffers=3)
    cubin = compile_cubin(kernel.source, "sm_90a", name=kernel.ir.name)
    used = cubin.resources(kernel.ir.name)
    assert used.spill_stores == used.spill_loads == 0 and used.registers <= 168
    assert "serializ" not in cubin.log
