"""Kernels that compute something else than their graph are refuted, and the interpreter agrees that they are wrong.

Each case changes one operation of a kernel. The counter-example must say what is wrong, and a run of the changed kernel
in the interpreter, which shares no code with the proof, must give another result than that of the whole kernel.
"""

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cli.gallery import idiom
from polyvolta.cuda.ir.kernel_ir import (
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    Loop,
    Mma,
    Pointwise,
    Scale,
    SharedStore,
    Zero,
)
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.values.contents import Contents
from polyvolta.graph.functions.formula import Call, Input, Number
from polyvolta.sets import aff, var

M, N, K = pv.sizes("M N K")
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
TENSORS = {
    "A": (M, K),
    "B": (K, N),
    "P": (M, K),
    "Q": (K, N),
    "R": (M, N),
    "bias": (N,),
    "column": (M, 1),
    "s": (M, 1),
    "w": (K,),
}
T = {name: pv.tensor(name, dims) for name, dims in TENSORS.items()}
GRAPHS = {
    "product": lambda: T["A"] @ T["B"],
    "bias": lambda: pv.relu(T["A"] @ T["B"] + T["bias"]) - T["column"],
    "residual": lambda: pv.scalar("a") * (T["A"] @ T["B"]) + pv.scalar("b") * T["R"],
    "prologue": lambda: (T["A"] * T["s"] + T["w"] + 1) @ T["B"],
    "both": lambda: (T["A"] + 1) @ (T["B"] - 1),
    "sum": lambda: 3 * (T["A"] @ T["B"]) - T["P"] @ T["Q"],
    "two": lambda: [T["A"] @ T["B"] + T["P"] @ T["Q"], (T["A"] @ T["B"]) * T["R"]],
}
OPTIONS = {
    "": SMALL,
    "buffers": {**SMALL, "buffers": 2},
    "split": {**SMALL, "split_k": 2},
    "wide": {"block_tile": (64, 64, 32), "warp_tile": (32, 32, 32)},
}


@cache
def compiled(graph, options):
    return pv.compile(GRAPHS[graph](), options=pv.Options(**OPTIONS[options]))


@dataclass(frozen=True)
class Case:
    """A change: the operations of a kind for which `where` holds become others; and what is to be found."""

    name: str
    graph: str
    kind: type
    change: object
    proofs: tuple[str, ...]
    words: str
    options: str = ""
    where: object = lambda op: True


def permuted(own, name="lane"):
    """An ownership map with lanes 0 and 1 exchanged, where these two alone differ from their neighbours."""
    swap = lambda e: e.subs({name: var(name) + 1 - 2 * (var(name) % 2)})
    return IndexMap(own.inputs, tuple((n, swap(e)) for n, e in own.outputs))


def moved(d, by):
    """An index with more in one dimension."""
    return lambda op: (replace(op, index=tuple(e + by * (n == d) for n, e in enumerate(op.index))),)


def gone(op):
    return ()


def formula(f):
    return lambda op: (replace(op, formula=f),)


def of(tensor):
    return lambda op: op.tensor == tensor


def to(tile):
    return lambda op: op.tile == tile


CASES = [
    Case("bias one further", "bias", GlobalLoad, moved(0, 1), ("result",), "bias[32*blockIdx.x", where=of("bias")),
    Case("bias of the next block", "bias", GlobalLoad, moved(0, 32), ("result",), "bias[", where=of("bias")),
    Case("bias by rows", "bias", GlobalLoad, lambda op: (replace(op, along=None),), ("result",), "bias[",
         where=of("bias")),
    Case("column of the next row", "bias", GlobalLoad, moved(0, 1), ("result",), "column[", where=of("column")),
    Case("another function", "bias", Pointwise, formula(Call("sub", (Call("neg", (Call("add", (Input(0), Input(1))),)),
         Input(2)))), ("result",), "for some values"),
    Case("a factor", "product", Zero, lambda op: (op, Scale(op.target, 2.0)), (), ""),
    Case("scalars change places", "residual", Pointwise,
         lambda op: (replace(op, operands=(*op.operands[:2], *reversed(op.operands[2:]))),), ("result",), "mul"),
    Case("no scaling between products", "sum", Scale, gone, ("result",), "(A @ B) + (P @ Q)"),
    Case("scaling by another number", "sum", Scale, lambda op: (replace(op, factor=-2.0),), ("result",), "-2*(A @ B)"),
    Case("Q where B belongs", "two", GlobalLoad, lambda op: (replace(op, tensor="Q"),), ("result",),
         "no product of the graph", where=of("B")),
    Case("w one further", "prologue", GlobalLoad, moved(0, 1), ("result",), "different places", where=of("w")),
    Case("s of another row", "prologue", GlobalLoad, moved(0, 1), ("result",), "different places", where=of("s")),
    Case("prologues not 0 beside k", "both", Pointwise, lambda op: (replace(op, inside=None),), ("sums",),
         "isn't 0 there"),
    Case("the prologue 0 too early", "prologue", Pointwise,
         lambda op: (replace(op, inside=op.inside and replace(op.inside, extents=(op.inside.extents[0] - 1,))),),
         ("result",), "is kept where"),
    Case("another prologue", "prologue", Pointwise,
         formula(Call("add", (Call("add", (Call("mul", (Input(0), Input(1))), Input(2))), Number(2)))), ("result",),
         "no"),
    Case("A of the tile after", "product", GlobalLoad, moved(1, 16), ("fresh", "sums"), "another k", where=of("A")),
    Case("a tile too far", "product", GlobalLoad,
         lambda op: (replace(op, index=tuple(e + 16 * (n == (op.tensor == "A")) for n, e in enumerate(op.index))),),
         ("sums",), "the first tile"),
    Case("the store one chunk on", "product", SharedStore,
         lambda op: (replace(op, index=(op.index[0], (op.index[1] + 8) % 16)),), ("sums",), "another k",
         where=to("shared_A")),
    Case("lanes of A change places", "product", FragmentLoad,
         lambda op: (replace(op, ownership=permuted(op.ownership)),), ("result",), "C[", where=to("shared_A")),
    Case("steps of k in another order for B alone", "product", FragmentLoad,
         lambda op: (replace(op, origin=(8 - op.origin[0], op.origin[1])),), ("sums",), "another k",
         where=to("shared_B")),
    Case("fragments of the other buffer", "product", FragmentLoad, lambda op: (replace(op, buffer=1 - op.buffer),),
         ("fresh",), "before anything was written", "buffers"),
    Case("the same step twice", "product", FragmentLoad, lambda op: (replace(op, origin=tuple(
         e - e + 0 if n == (op.operand == "a") else e for n, e in enumerate(op.origin))),), ("sums",), "twice"),
    Case("a step of k left out", "product", Mma, lambda op: (Loop("turn", (var("c8"),), (aff(0),), 1, True, (op,)),),
         ("sums",), "lacks the k at 8 .. 15"),
    Case("accumulators as they were", "product", Zero, gone, ("sums",), "never set to 0"),
    Case("one part of two", "product", ExchangeLoad, lambda op: (replace(op, parts=1),), ("sums",), "lacks the k",
         "split"),
    Case("the same part twice", "product", ExchangeLoad, lambda op: (replace(op, stride=0),), ("sums",), "two parts",
         "split"),
    Case("parts of the same k", "product", FragmentLoad, lambda op: (replace(op, origin=tuple(
         e.subs({"warpIdx_z": 0}) for e in op.origin)),), ("sums",), "two parts", "split"),
    Case("another warp's accumulators", "product", ExchangeLoad, lambda op: (replace(op, slot=3 - op.slot),),
         ("result",), "C["),
    Case("lanes of the exchange change places", "product", ExchangeStore, lambda op: (replace(op,
         exchange=replace(op.exchange, store=permuted(op.exchange.store))),), ("result",), "C["),
    Case("words in another order", "product", ExchangeLoad, lambda op: (replace(op, exchange=replace(op.exchange,
         words=op.exchange.words[::-1])),), ("result",), "C["),
    Case("the next run", "product", GlobalStore, moved(1, 8), ("result",), "C["),
    Case("the other output", "two", GlobalStore, lambda op: (replace(op, tensor={"E": "F", "F": "E"}[op.tensor]),),
         ("result",), "the graph has"),
    Case("what was loaded, not what was computed", "bias", GlobalStore,
         lambda op: (replace(op, source=Element("run_C", op.source.index)),), ("result",), "the graph has"),
]  # fmt: skip


def changed(kernel, case):
    """The kernel with every operation of the kind changed."""
    body = kernel.ir.body
    for path, op in sorted(walk(body), key=lambda at: at[0], reverse=True):
        if isinstance(op, case.kind) and case.where(op):
            body = replaced(body, path, case.change(op))
    assert body != kernel.ir.body
    return replace(kernel, ir=replace(kernel.ir, body=body), _variants={}, _loaded={}, _configs={})


def results(kernel):
    """What the interpreter makes of small sizes, as bytes; an error is a result, too."""
    rng = np.random.default_rng(3)
    found = []
    for sizes in ({"M": 40, "N": 48, "K": 40}, {"M": 32, "N": 32, "K": 33}):
        arrays = {}
        for t in kernel.graph.arguments:
            shape = tuple(sizes[str(d)] if str(d) in sizes else int(d) for d in t.dims)
            arrays[t.name] = rng.integers(-4, 5, shape).astype(np.float16) if shape else float(rng.integers(2, 5))
        try:
            made = kernel.interpret(**arrays)
        except pv.PolyvoltaError as error:
            found.append(type(error).__name__)
        else:
            found += [x.tobytes() for x in (made if isinstance(made, tuple) else (made,))]
    return found


@cache
def whole(graph, options):
    return results(compiled(graph, options))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_changed_kernel_is_refuted_exactly_if_it_is_wrong(case):
    kernel = changed(compiled(case.graph, case.options), case)
    found = run(kernel.ir, [Contents(kernel.ir, kernel.graph)]).findings
    assert set(case.proofs) <= found.keys()
    assert bool(found) == bool(case.proofs)
    assert any(case.words in f.what for f in found.values()) or not case.proofs
    assert (results(kernel) != whole(case.graph, case.options)) == bool(case.proofs)


def test_a_counter_example_is_concrete():
    kernel = changed(compiled("product", ""), next(c for c in CASES if c.name == "the same step twice"))
    (found,) = (f for p, f in run(kernel.ir, [Contents(kernel.ir, kernel.graph)]).findings.items() if p == "sums")
    assert found.what == "A @ B takes k = 16*c2 twice"
    assert found.point["K"] >= 1 and found.point["c2"] == 0 and found.point["c8"] == 1
    kernel = changed(compiled("product", "buffers"), next(c for c in CASES if "other buffer" in c.name))
    found = run(kernel.ir, [Contents(kernel.ir, kernel.graph)]).findings["fresh"]
    assert found.what == "warp 0, lane 0 reads shared_A[0, 0] before anything was written there"
    assert (found.warp, found.lane) == (0, 0) and found.address.startswith("shared_A chunk")


def test_a_case_is_one_in_which_the_operand_has_what_is_due():
    """Beyond its edge 0 is due, and an element that lies beyond as well is 0: nothing would be wrong."""
    report = broken(compiled("product", "wide"), "swizzle dropped in the stores").verify("fresh")
    case = report["fresh"].counter_example
    due = re.search(r"element \[(.*), (.*)\] of the operand is due", case.what)
    numbers = {**case.sizes, **case.iteration, "blockIdx.x": case.block[0], "blockIdx.y": case.block[1]}
    row, depth = (eval(re.sub(r"[a-zA-Z_][\w.]*", lambda m: str(numbers[m[0]]), text)) for text in due.groups())
    assert "shared_A" in case.what and row < case.sizes["M"] and depth < case.sizes["K"]


def test_a_formula_that_is_not_decided_leaves_the_other_statements_alone():
    """relu(relu(x)) is relu(x), and the algebra of sums of products doesn't know it."""
    kernel = pv.compile(idiom("epilogue"), options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16)))
    body = kernel.ir.body
    for at, op in list(walk(body)):
        if isinstance(op, Pointwise):
            body = replaced(body, at, (replace(op, formula=Call("relu", (op.formula,))),))
    report = replace(kernel, ir=replace(kernel.ir, body=body)).verify(("fresh", "sums", "result"))
    assert [p.id for p in report.undecided] == ["result"]
    assert report["fresh"].proved and report["sums"].proved and not report.ok
