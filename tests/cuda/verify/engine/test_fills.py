"""Rings filled through registers before the loop over k tiles: the symbolic machine and the interpreter agree.

Tiles of operands with prologues are loaded, computed and stored, so there are no groups of copies that go on when K is
at its end: the loop that fills the ring ends at -1, or earlier where K does.
"""

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Loop, SharedStore, When
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.machine.interpreter import interpret
from polyvolta.cuda.verify.engine import machine
from polyvolta.cuda.verify.values.contents import Contents
from polyvolta.sets import var
from tests.cuda.verify.edited import changed

M, N, K = pv.sizes("M N K")
TILE = 32
RINGS = range(1, 9)


def compiled(buffers, split=1):
    a, b = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
    options = pv.Options(block_tile=(32, 32, TILE), warp_tile=(16, 16, TILE), macro_mma="m16n16k8",
                         buffers=buffers, split_k=split)  # fmt: skip
    return pv.compile((2 * a + 1) @ (b - 3), target="sm_80", options=options)


def around(buffers, split):
    """K at the edges of tiles around those at which the ring is full for the first time, and goes round."""
    edges = {n * TILE * split for n in (1, buffers - 1, buffers, buffers + 1, 2 * buffers + 1)}
    return sorted({max(e + by, 0) for e in edges for by in (-1, 0, 1)})


def fill(ir):
    """The first loop over k tiles, which stores tiles and sums nothing, if there is one."""
    found = [(p, s) for p, s in walk(ir.body) if isinstance(s, Loop) and not s.unroll]
    stores = lambda s: any(isinstance(op, SharedStore) for op in operations(s.body))  # noqa: E731
    return next(((p, s) for p, s in found if stores(s) and not any(op.product for op in operations(s.body))), None)


def symbolic(ir, graph, sizes=None):
    return machine.run(ir, [Contents(ir, graph)], sizes).findings


def differs(ir, k):
    """Whether a kernel's result of small integers, on which it is exact, is another than numpy's."""
    rng = np.random.default_rng(k)
    rows = lambda n, length: rng.integers(-2, 3, (n, -(-max(length, 1) // 8) * 8)).astype(np.float16)[:, :length]  # noqa: E731
    a, b, c = rows(5, k), rows(max(k, 1), 9)[:k], rows(5, 9)
    interpret(ir, {"A": a, "B": b, "C": c}, {"M": 5, "N": 9, "K": k})
    expected = (2 * a.astype(np.float32) + 1) @ (b.astype(np.float32) - 3)
    return not np.array_equal(c.astype(np.float32), expected.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize(("buffers", "split"), [*((s, 1 + s % 2) for s in RINGS), (4, 2)])
def test_rings_through_registers_are_proved_and_right(buffers, split):
    kernel = compiled(buffers, split)
    assert symbolic(kernel.ir, kernel.graph) == {}
    for k in around(buffers, split):
        assert not differs(kernel.ir, k)
    for k in ((buffers - 1) * TILE * split + 1, buffers * TILE * split):
        assert symbolic(kernel.ir, kernel.graph, {"M": 5, "N": 9, "K": k}) == {}


BROKEN = {
    "begins a tile later": lambda s: {"lower": tuple(e + 1 for e in s.lower)},
    "ends a tile earlier": lambda s: {"upper": tuple(e - 1 if e.is_constant else e for e in s.upper)},
    "ends earlier where K does": lambda s: {"upper": tuple(e if e.is_constant else e - 1 for e in s.upper)},
    "slots of a smaller ring": lambda s: {"body": _in_slots(s)},
}


def _in_slots(loop):
    """The body with every store a slot further."""
    further = lambda s: replace(s, buffer=s.buffer.subs({loop.var: var(loop.var) + 1}))  # noqa: E731
    return _mapped(loop.body, further)


def _mapped(body, change):
    out = []
    for s in body:
        if isinstance(s, Loop | When):
            s = replace(s, body=_mapped(s.body, change))
            s = replace(s, orelse=_mapped(s.orelse, change)) if isinstance(s, When) else s
        out.append(change(s) if isinstance(s, SharedStore) else s)
    return tuple(out)


@pytest.mark.parametrize(("how", "buffers"), [*zip(BROKEN, (3, 5, 4, 3), strict=True)])
def test_what_a_broken_fill_is_refuted_with_happens(buffers, how):
    kernel = compiled(buffers)
    path, loop = fill(kernel.ir)
    ir = changed(kernel.ir, path, **BROKEN[how](loop))
    found = symbolic(ir, kernel.graph)
    assert {"fresh", "sums", "result"} & found.keys()
    case = next(iter(found.values())).point["K"]
    wrong = [k for k in (case, 1, TILE + 1, buffers * TILE) if symbolic(ir, kernel.graph, {"M": 5, "N": 9, "K": k})]
    assert case in wrong
    assert all(differs(ir, k) == (k in wrong) for k in (case, 1, TILE + 1, buffers * TILE))


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("buffers", [1, 3, 4])
def test_one_tensor_that_moves_in_two_ways(buffers, layout):
    """In A @ A the loop's loads of A go along rows into one tile, and along columns into the other."""
    s = pv.tensor("A", (N, N), layout=layout)
    options = pv.Options(block_tile=(32, 32, TILE), warp_tile=(16, 16, TILE), buffers=buffers)
    for product in (s @ s, (2 * s + 1) @ s):
        kernel = pv.compile(product, target="sm_80", options=options)
        assert symbolic(kernel.ir, kernel.graph) == {}
        assert symbolic(kernel.ir, kernel.graph, {"N": (buffers + 1) * TILE + 1}) == {}
