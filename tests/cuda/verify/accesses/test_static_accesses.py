"""Bank conflicts, sectors, alignment: proved of good kernels, with the figures of a run, and refuted of broken ones."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cli import gallery
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    Loop,
    SharedStore,
    When,
)
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.mutants.model import edited, places
from polyvolta.cuda.verify.accesses.requests import Requests, requests
from polyvolta.cuda.verify.accesses.sectors import astray, counts, runs
from polyvolta.cuda.verify.accesses.single import PROVERS
from polyvolta.cuda.verify.engine.symbols import parts
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.sets import aff, var

SMALL = {"block_tile": (32, 32, 32), "warp_tile": (16, 32, 32)}
LAYOUTS = [("row", "col"), ("col", "row")]


@cache
def compiled(idiom: str = "matmul", layouts=("row", "col"), **options) -> Kernel:
    return pv.compile(gallery.idiom(idiom, layouts), options=pv.Options(**(SMALL | options)))


def asked(proof: str, kernel: Kernel) -> Verdict:
    return PROVERS[proof](kernel.ir, kernel.graph, kernel.stages)


def case(proof: str, kernel: Kernel) -> tuple[CounterExample, object]:
    found = asked(proof, kernel)
    assert found.counter_example is not None
    return found.counter_example, dict(walk(kernel.ir.body))[found.at]


def changed(kernel: Kernel, kind: type, change, where=lambda op: True) -> Kernel:
    ir = edited(kernel.ir, places(kernel.ir, kind, where=where), lambda op: (change(op),))
    return replace(kernel, ir=ir)


def requests_of(ir, kind: type) -> list[Requests]:
    """Those of the operations of one kind."""
    return [r for r in requests(ir, "global", "shared") if isinstance(r.op, kind)]


@pytest.mark.parametrize("proof", PROVERS)
@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("idiom", gallery.IDIOMS)
def test_every_idiom_is_proved(idiom, layouts, proof):
    for options in ({}, {"split_k": 2, "buffers": 2}, {"macro_mma": "m32n32k8", "warp_tile": (32, 32, 32)}):
        assert asked(proof, compiled(idiom, layouts, **options)).counter_example is None


# ---- figures, against a run


def seen(kernel: Kernel, kind: tuple[type, ...], look) -> None:
    """Run a product of whole tiles, looking at every operation of some kinds."""
    rng = np.random.default_rng(0)
    a, b = rng.random((64, 64), dtype=np.float32), rng.random((64, 64), dtype=np.float32)
    arrays = [np.asarray(x.astype(np.float16), order="F" if t.order == (1, 0) else "C")
              for x, t in zip((a, b), kernel.ir.tensors)]  # fmt: skip
    kernel.interpret(*arrays, hook=lambda m, op, names: look(m, op) if isinstance(op, kind) else None)


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("macro", ["m16n16k8", "m32n32k8"])
def test_sectors_are_those_of_a_run(layouts, macro):
    kernel = compiled("matmul", layouts, macro_mma=macro, warp_tile=(32, 32, 32))
    most: dict[str, int] = {}

    def look(m, op):
        tensor = m.ir.tensor(op.tensor)
        index = [np.broadcast_to(x, m.shape) for x in m.at(op.index)]
        first = sum(x * s for x, s in zip(index, m.tensors[op.tensor].strides))
        assert (first % tensor.align == 0).all()
        for warp in first.reshape(-1, 32):
            sectors = {2 * (int(x) + v) // 32 for x in warp for v in range(CHUNK)}
            most[op.statement] = max(most.get(op.statement, 0), len(sectors))

    seen(kernel, (GlobalLoad, GlobalStore), look)
    told = asked("sectors", kernel).relation.split("; ")
    figures = {line.split(":")[0]: int(re.search(r"in (\d+) sector", line)[1]) for line in told if ":" in line}
    assert figures == most == dict.fromkeys(figures, 16)


@pytest.mark.parametrize("name", [None, "swizzle dropped"])
def test_bank_conflicts_are_those_of_a_run(name):
    kernel = compiled("matmul") if name is None else broken(compiled("matmul"), name)
    most: dict[str, int] = {}

    def look(m, op):
        tile = m.ir.tile(op.tile)
        index = op.index if isinstance(op, SharedStore) else op.origin
        place = [np.broadcast_to(x, m.shape) for x in m.at(index)]
        if isinstance(op, FragmentLoad):
            place = [x + o for x, o in zip(place, op.ownership.evaluate({"lane": np.arange(32), "i": 0}))]
        (chunk,) = tile.layout.evaluate(dict(zip((n for n, _ in tile.layout.inputs), place)))
        for eight in np.broadcast_to(chunk, m.shape).reshape(-1, 8):  # a phase of 128-bit accesses
            banks = Counter(c % 8 for c in set(eight.tolist()))  # 8 chunks span the 32 banks
            most[op.statement] = max(most.get(op.statement, 0), *banks.values())

    seen(kernel, (SharedStore, FragmentLoad), look)
    told = asked("bank_conflicts", kernel).relation
    figures = {s: int(n) for s, n in re.findall(r"(\w+) -> shared_\w+: [^;]*? (\d+)-way", told)}
    assert figures == most
    assert (max(most.values()) > 1) == (name is not None)


def test_narrow_accesses_count_as_one():
    told = asked("sectors", compiled("epilogue").variant(A=4, B=1)).relation
    assert "load_A: A, 2 x 64 bits a lane, each 256 of 512 bytes in 16 sectors, at least 16" in told
    assert "load_B: B, 8 x 16 bits a lane, each 64 of 512 bytes in 16 sectors, at least 16" in told


def test_a_column_vector_has_a_line_for_each_value():
    M, N, K = pv.sizes("M N K")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))
    row, col = (pv.compile(product + pv.tensor("v", (M, 1), layout=how), options=pv.Options(**SMALL))
                for how in ("row", "col"))  # fmt: skip
    assert "32 bytes in 16 sectors, at least 1" in asked("sectors", row).relation
    assert "32 bytes in 1 sector, at least 1" in asked("sectors", col).relation
    assert "v is moved value by value" in asked("sectors", row).statement
    assert "value by value" not in asked("sectors", compiled()).statement


# ---- what is broken


@pytest.mark.parametrize("name", ["swizzle dropped", "swizzle for another interleave", "exchange with bank conflicts"])
def test_bank_conflicts_are_found(name):
    found, op = case("bank_conflicts", broken(compiled(), name))
    one, two = map(int, re.search(r"bytes (\d+) and (\d+)", found.address).groups())
    assert one != two and one // 4 % 32 == two // 4 % 32
    assert isinstance(op, (ExchangeStore, ExchangeLoad) if "exchange" in name else (SharedStore, FragmentLoad))
    assert found.warp is not None and found.lane is not None and set(found.sizes) == {"M", "N", "K"}


def test_a_copy_across_the_lines_takes_more_sectors():
    kernel = compiled(block_tile=(64, 64, 32), warp_tile=(32, 32, 32))
    found, op = case("sectors", broken(kernel, "copy across the lines"))
    assert isinstance(op, GlobalLoad) and op.tensor in ("A", "B")
    assert "takes 32 sectors for 512 bytes, which fill 16" in found.what
    assert found.address == f"{op.tensor}[0, 0]" and found.block == (0, 0, 0) and "c2" in found.iteration


def test_lanes_that_leave_gaps_in_a_line():
    def spread(op):
        return replace(op, index=tuple(e.subs({"lane": 2 * var("lane")}) for e in op.index))

    kernel = changed(compiled("epilogue"), GlobalLoad, spread, where=lambda op: op.tensor == "bias")
    assert asked("sectors", kernel).counter_example is None  # 2 lanes of 8 values each: the same ones, twice

    def apart(op):
        return replace(op, index=(*op.index[:-1], op.index[-1] + 64 * (var("lane") % 4)))

    found, op = case("sectors", changed(compiled("epilogue"), GlobalLoad, apart, where=lambda op: op.tensor == "bias"))
    assert op.tensor == "bias" and "separate runs in 1 line" in found.what


@pytest.mark.parametrize("shift", [4, 1])
def test_an_index_that_is_misaligned(shift):
    def moved(op):
        return replace(op, index=(op.index[0], op.index[1] + shift))

    found, op = case("alignment", changed(compiled(), GlobalLoad, moved, where=lambda op: op.tensor == "A"))
    assert op.tensor == "A" and "no multiple of 8" in found.what
    assert found.address == f"A[0, {shift}]"
    narrow = changed(compiled().variant(A=4), GlobalLoad, moved, where=lambda op: op.tensor == "A")
    assert (asked("alignment", narrow).counter_example is None) == (shift % 4 == 0)


def test_an_index_that_some_sizes_misalign():
    def moved(op):
        return replace(op, index=(op.index[0], op.index[1] + var("N")))

    found, _ = case("alignment", changed(compiled(), GlobalLoad, moved, where=lambda op: op.tensor == "A"))
    assert found.sizes["N"] % 8 and int(found.address.split(", ")[1][:-1]) % 8


def test_a_size_that_is_a_multiple_aligns():
    kernel = compiled(partial="pad")
    assert dict(kernel.ir.context)["N"] == 32
    moved = changed(kernel, GlobalLoad, lambda op: replace(op, index=(op.index[0], op.index[1] + var("N"))),
                    where=lambda op: op.tensor == "A")  # fmt: skip
    assert asked("alignment", moved).counter_example is None


@pytest.mark.parametrize("kind", [SharedStore, FragmentLoad])
def test_shared_memory_is_accessed_in_whole_chunks(kind):
    name = "index" if kind is SharedStore else "origin"
    run = compiled().ir.tile("shared_A").order[-1]

    def moved(op):
        at = list(getattr(op, name))
        at[run] = at[run] + 4
        return replace(op, **{name: tuple(at)})

    found, op = case("alignment", changed(compiled(), kind, moved, where=lambda op: op.tile == "shared_A"))
    assert isinstance(op, kind) and found.address == "shared_A[0, 4]"


def test_a_layout_that_takes_chunks_apart():
    kernel = compiled()
    tile = kernel.ir.tile("shared_A")
    layout = replace(tile.layout, outputs=(("chunk", 4 * var("i") + (var("k") + 4) // 8),))
    tiles = tuple(replace(t, layout=layout) if t is tile else t for t in kernel.ir.tiles)
    found = asked("alignment", replace(kernel, ir=replace(kernel.ir, tiles=tiles))).counter_example
    assert found is not None and found.address == "shared_A[0, 0]"


# ---- requests


@pytest.mark.parametrize("proof", PROVERS)
def test_a_loop_over_k_tiles_of_a_known_number_is_no_part_of_a_tile(proof):
    a, b = pv.tensor("A", (64, 4000)), pv.tensor("B", (4000, 48), layout="col")
    kernel = pv.compile(a @ b, options=pv.Options(block_tile=(32, 48, 24), warp_tile=(16, 48, 24)))
    assert asked(proof, kernel).counter_example is None  # a line of the next tile begins within a sector
    found = {r.shape[0] for r in requests_of(kernel.ir, GlobalLoad)}
    assert max(found) < 10


def test_conditions_of_threads_say_who_takes_part():
    kernel = compiled()
    half = 15 - var("lane")

    def first_half(op):
        return When((half, var("K") - 1), (op,), uniform=False, orelse=(op,))

    ir = edited(kernel.ir, places(kernel.ir, FragmentLoad), lambda op: (first_half(op),))
    asked_for = requests_of(ir, FragmentLoad)
    assert {r.path[-1] for r in asked_for} == {0, 1}
    for r in asked_for:
        if r.path[-1] == 0:  # the body
            assert r.active is not None and r.active[..., :16].all() and not r.active[..., 16:].any()
            assert (var("K") - 1,) in r.around
        else:
            assert r.active is None


def test_iterations_of_constant_loops_are_all_there():
    found = defaultdict(list)
    for r in requests_of(compiled().ir, FragmentLoad):
        found[r.title].append(r.shape)
        assert r.variables == ("c2",)
        loops = [r.numbers[n].ravel().tolist() for n in r.numbers if re.fullmatch(r"c\d+", n)]
        assert len(set(zip(*loops))) == len(loops[0]) == r.shape[0]  # each combination once
    assert found == {"frag_A": [(4, 2, 32)], "frag_B": [(8, 2, 32)]}


def test_an_index_of_threads_and_sizes_in_one_floor_is_not_decided():
    own, symbolic = parts(32 * var("c2") + 8 * (var("lane") % 4) + 5, {"lane"})
    assert (own, symbolic) == (8 * (var("lane") % 4) + 5, 32 * var("c2"))
    with pytest.raises(Undecided, match="mixes"):
        parts((var("N") + var("lane")) // 3, {"lane"})


def test_a_case_that_no_sizes_have_is_none():
    (r,) = (r for r in requests_of(compiled().ir, GlobalLoad) if r.title == "load_A" and not r.op.guarded)
    assert r.case("", (0, 0, 0), (aff(-1),)) is None
    point = r.case("", (0, 1, 3)).point
    assert point["M"] >= 32 and point["K"] >= 32 * point["c2"] + 64


def test_counting_rows():
    rows = np.array([[3, 1, 2, 2, 40, 41, 7, 7]])
    assert counts(rows).tolist() == [6] and runs(rows).tolist() == [3]
    assert astray(np.arange(8, 40)[None], range(0, 16, 8)) == 3 and astray(np.array([[5]]), range(16)) == 1


def test_a_kernel_without_shared_memory():
    kernel = compiled()
    with pytest.raises(NoMeaning, match="no shared memory"):
        PROVERS["bank_conflicts"](replace(kernel.ir, body=()), kernel.graph, kernel.stages)


def test_an_operation_that_never_runs_makes_no_requests():
    kernel = compiled()
    at, loop = next((at, s) for at, s in walk(kernel.ir.body) if isinstance(s, Loop) and len(at) > 3)
    (load, *_) = loop.body
    assert isinstance(load, GlobalLoad)
    body = replaced(kernel.ir.body, at, (replace(loop, upper=(loop.lower[0] - 1,)),))
    empty = replace(kernel, ir=replace(kernel.ir, body=body))
    paths, left = ({r.path for r in requests_of(k.ir, GlobalLoad)} for k in (kernel, empty))
    assert left == {path for path in paths if path[: len(at)] != at} != paths
    assert asked("sectors", empty).counter_example is None
