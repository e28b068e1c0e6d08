"""An IR that means nothing is refused, by the verifier and by the interpreter, with what and where."""

from dataclasses import replace

import pytest

from polyvolta.cuda.ir import well_formed
from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    LoadMatrix,
    Loop,
    Mma,
    Pointwise,
    SharedStore,
    StoreMatrix,
    WaitCopies,
    Zero,
)
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.verify import verify
from polyvolta.graph.functions.formula import Input
from polyvolta.sets import aff, var
from tests.cuda.text.ring_kernels import ring_kernel
from tests.cuda.verify.edited import KERNELS, concrete, kernel


def first(kind, ir=None):
    """The first statement of a kind, with its path."""
    return next((p, s) for p, s in walk((ir or kernel("split K").ir).body) if isinstance(s, kind))


def edited(kind, **fields) -> KernelIR:
    """The first statement of a kind with other fields, each a function of the statement."""
    ir = kernel("split K").ir
    path, s = first(kind)
    new = replace(s, **{n: f(s) for n, f in fields.items()})
    return replace(ir, body=replaced(ir.body, path, (new,)))


def tile(**fields) -> KernelIR:
    ir = kernel("split K").ir
    return replace(ir, tiles=(replace(ir.tiles[0], **fields), *ir.tiles[1:]))


def register(name, **fields) -> KernelIR:
    ir = kernel("split K").ir
    return replace(ir, registers=tuple(replace(r, **fields) if r.name == name else r for r in ir.registers))


def exchange(of, **fields) -> KernelIR:
    return edited(of, exchange=lambda s: replace(s.exchange, **fields))


def _moved() -> KernelIR:
    """A load out of the loops whose variables it needs."""
    ir = kernel("split K").ir
    _, load = first(FragmentLoad)
    return replace(ir, body=(load, *ir.body))


def _steps() -> KernelIR:
    def beyond(s):
        one, *more = s.macro.steps
        return replace(s.macro, steps=(replace(one, a=(*one.a[:-1], 16)), *more))

    return edited(Mma, macro=beyond)


def ring(kind, **fields) -> KernelIR:
    """The same of a ring of copies: the first statement of a kind with other fields."""
    path, s = first(kind, RING)
    return replace(RING, body=replaced(RING.body, path, (replace(s, **{n: f(s) for n, f in fields.items()}),)))


def widened(name, **fields) -> KernelIR:
    return replace(RING, registers=tuple(replace(r, **fields) if r.name == name else r for r in RING.registers))


RING = ring_kernel(warp=(32, 64))
LOAD = first(LoadMatrix, RING)[1]
STORE = StoreMatrix(Element("hmma_A", (aff(0), aff(0))), LOAD.tile, (aff(0), aff(0)), LOAD.ownership, LOAD.lines)
WRONG_STORES = {
    "stmatrix stores 1 or 2 or 4 matrices, not 3": replace(STORE, count=3),
    "the map of lines is of (('lane', 32), ('n', 1)), not of (('lane', 32), ('n', 2))": replace(STORE, count=2),
    "the ownership takes 2 indices to 1, not 2 to 2": replace(
        STORE, ownership=replace(STORE.ownership, outputs=STORE.ownership.outputs[:1])
    ),
    "no tile is called 'nowhere'": replace(STORE, tile="nowhere"),
}
WRONG_RINGS = {
    "an operand is a or b": ring(LoadMatrix, operand=lambda s: "d"),
    "ldmatrix brings 1 or 2 or 4 matrices, not 3": ring(LoadMatrix, count=lambda s: 3),
    "brings 8 values of a lane, an element of hmma_A has 12": widened("hmma_A", width=12),
    "hmma_A has float values, where half values belong": widened("hmma_A", kind="float"),
    "the ownership is of (('lane', 32), ('i', 8)), not of (('lane', 32), ('i', 16))": widened("hmma_A", width=16),
    "the map of lines is of": ring(LoadMatrix, count=lambda s: 2),
    "the map of lines takes 2 indices to 1, not 2 to 2": ring(
        LoadMatrix, lines=lambda s: replace(s.lines, outputs=s.lines.outputs[:1])
    ),
    **{wrong: replace(RING, body=(*RING.body, store)) for wrong, store in WRONG_STORES.items()},
    "exchange has no layout": ring(LoadMatrix, tile=lambda s: "exchange"),
    "no register array is called 'nobody'": ring(LoadMatrix, target=lambda s: replace(s.target, array="nobody")),
    "no tensor is called 'Z'": ring(AsyncCopy, tensor=lambda s: "Z"),
    "A has 2 dimensions, not 1": ring(AsyncCopy, index=lambda s: s.index[:1]),
    "values along dimension 0 of A are apart": ring(AsyncCopy, along=lambda s: 0),
    "shared_A has 2 dimensions, not 1": ring(AsyncCopy, place=lambda s: s.place[:1]),
    "no tile is called 'shared'": ring(AsyncCopy, tile=lambda s: "shared"),
    "buffer is nothing, and nothing has no value there": ring(AsyncCopy, buffer=lambda s: var("nothing")),
    "groups of copies are on their way, not -1": ring(WaitCopies, pending=lambda s: -1),
    "pending is a str": ring(WaitCopies, pending=lambda s: "1"),
}


@pytest.mark.parametrize("words", WRONG_RINGS)
def test_refused_in_a_ring(words):
    check(RING)
    with pytest.raises(IllFormed, match=r"PV549") as refused:
        check(WRONG_RINGS[words])
    assert words in str(refused.value)
    with pytest.raises(IllFormed):
        concrete(WRONG_RINGS[words], {"M": 128, "N": 128, "K": 32})


WRONG = {
    "c9 has no value there": _moved(),
    "nothing has no value there": edited(GlobalLoad, index=lambda s: (var("nothing"), *s.index[1:])),
    "the layout of shared_A has 2 dimensions, and the order (0, 5)": tile(order=(0, 5)),
    "the layout of shared_A has 2 dimensions, and the order (1, 1)": tile(order=(1, 1)),
    "takes 1 indices to 2, not 1 to 1": tile(
        layout=IndexMap((("i", 32),), (("x", var("i")), ("y", aff(0)))), order=(0,)
    ),
    "0 buffers": tile(buffers=0),
    "40 threads are no whole warps": replace(kernel("plain").ir, threads=40),
    "an element of run_C has 16 values, not 8": register("run_C", width=16),
    "a lane has 8 values of operand d of m16n16k8": register("hmma_C", width=16),
    "0 half values": register("hmma_A", width=0),
    "not of (('lane', 32), ('i', 12))": register("hmma_A", width=12),
    "hmma_B has float values, where half values belong": register("hmma_B", kind="float"),
    "hmma_C has half values, where float values belong": register("hmma_C", kind="half"),
    "no register array is called 'nobody'": edited(Zero, target=lambda s: Element("nobody", (aff(0),))),
    "hmma_C has 2 dimensions, not 1": edited(Zero, target=lambda s: Element("hmma_C", (aff(0),))),
    "no tensor is called 'Z'": edited(GlobalLoad, tensor=lambda s: "Z"),
    "A has no dimension 2": edited(GlobalLoad, along=lambda s: 2),
    "A is no output": edited(GlobalStore, tensor=lambda s: "A"),
    "exchange has no layout": edited(SharedStore, tile=lambda s: "exchange"),
    "no tile is called 'shared'": edited(FragmentLoad, tile=lambda s: "shared"),
    "an operand is a or b": edited(FragmentLoad, operand=lambda s: "c"),
    "2, 4 or 8 values at once": edited(FragmentLoad, access=lambda s: 3),
    "not 16 of 8": edited(FragmentLoad, access=lambda s: 16),
    "a step takes the values": _steps(),
    "of the 8 of hmma_C": exchange(ExchangeStore, pieces=((0, 8),) * 4),
    "no accesses of one width": exchange(ExchangeStore, pieces=((0, 1, 2), (3,))),
    "half or float values": exchange(ExchangeLoad, kind="double"),
    "a run has the words": exchange(ExchangeLoad, words=(0,) * 7),
    "along is None, where int belongs": exchange(ExchangeStore, along=None),
    "runs along dimension 2": exchange(ExchangeStore, along=2),
    "a sum of 0 parts": edited(ExchangeLoad, parts=lambda s: 0),
    "its formula takes number 7": edited(Pointwise, formula=lambda s: Input(7)),
    "no scalar is called 'gamma'": edited(Pointwise, operands=lambda s: ("gamma", *s.operands[1:])),
    "in steps of 0": edited(Loop, step=lambda s: 0),
    "not of a grid": edited(Barrier, scope=lambda s: "grid"),
    "warp is M, and M has no value": replace(kernel("plain").ir, derived=(("warp", var("M")),)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_whole_kernels(name):
    check(kernel(name).ir)


@pytest.mark.parametrize("words", WRONG)
def test_refused(words):
    ir, whole = WRONG[words], kernel("split K")
    with pytest.raises(IllFormed, match=r"PV549") as refused:
        check(ir)
    assert words in str(refused.value)
    with pytest.raises(IllFormed):
        verify(ir, whole.graph, whole.stages)
    with pytest.raises(IllFormed):
        concrete(ir, {"M": 32, "N": 32, "K": 32})


def test_says_which_statement():
    with pytest.raises(IllFormed) as refused:
        check(edited(Loop, step=lambda s: -1))
    assert f"statement {first(Loop)[0]}" in str(refused.value)


def test_the_same_object_is_looked_at_once_and_an_equal_one_for_itself(monkeypatch):
    ir = replace(kernel("split K").ir)
    check(ir)
    monkeypatch.setattr(well_formed, "misfits", lambda ir: iter(["it was looked at"]))
    check(ir)
    with pytest.raises(IllFormed, match="it was looked at"):
        check(replace(ir))
