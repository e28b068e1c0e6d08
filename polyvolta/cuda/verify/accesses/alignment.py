"""Alignment: an access of several values at once starts at a multiple of its width, or the hardware refuses it.

In global memory that takes an address and a leading dimension that are multiples of the width, which is what a
kernel's `align` asks of its arrays, and an index along the lines that is one too: its symbolic part by the
coefficients, whatever the sizes and blocks are, its numbers by looking at all of them. In shared memory a store starts
where a chunk does, and what one access of a fragment load brings are values of one chunk, side by side and in order.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    SharedStore,
)
from polyvolta.cuda.layouts.exchange import BYTES
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.accesses.requests import Case, Requests, requests
from polyvolta.cuda.verify.accesses.sectors import element
from polyvolta.cuda.verify.engine.symbols import known_multiple
from polyvolta.cuda.verify.report.report import CounterExample, Verdict

VECTORS = (GlobalLoad, GlobalStore, SharedStore, FragmentLoad, ExchangeStore, ExchangeLoad)


def alignment(ir: KernelIR) -> Verdict:
    """Whether every vector access starts at a multiple of its width.

    Raises
    ------
    Undecided : an index that mixes threads and sizes.
    """
    told: dict[tuple[str, str], str] = {}
    case: Case | CounterExample | None = None
    path = None
    for r in requests(ir, *VECTORS):
        found: Case | None = None
        match r.op:
            case GlobalLoad() | GlobalStore() if r.op.along == ir.tensor(r.op.tensor).order[-1]:
                text, found = _global(r)
            case SharedStore():
                text, found = _store(r)
            case FragmentLoad():
                text, found = _fragment(r)
            case ExchangeStore() | ExchangeLoad():
                text, found = _exchange(r)
            case _:
                continue
        told.setdefault((r.title, text), text)
        if found is not None and case is None:
            case, path = found.counter_example, r.path
    if case is None:
        case = _chunks(ir)
    wide = [t for t in ir.tensors if t.align > 1]
    needs = ", ".join(f"{t.name}{f' and {t.ld}' if t.ld else ''} of {t.align}" for t in wide)
    statement = "every vector access starts at a multiple of its width"
    if needs:
        statement += f", where addresses and leading dimensions are multiples in values: {needs}"
    return Verdict(statement, "; ".join(f"{title}: {text}" for title, text in told), case, path)


def _global(r: Requests) -> tuple[str, Case | None]:
    """An access along the lines of a tensor, of `align` values each."""
    op = r.op
    assert isinstance(op, GlobalLoad | GlobalStore)
    tensor = r.ir.tensor(op.tensor)
    e = op.index[tensor.order[-1]]
    symbolic, numbers = r.split(e)
    width = tensor.align
    text = f"{op.tensor}[{', '.join(map(str, op.index))}], {e} = 0 mod {width}"
    what = f"an access of {width} values to {op.tensor} starts at {e}, no multiple of {width}"
    if known_multiple(symbolic, r.ir) % width == 0:
        found = r.first(numbers % width != 0, what)
    else:
        found = None
        for value in np.unique(numbers % width):
            where = (symbolic + int(value)) % width - 1
            found = found or r.first(numbers % width == value, what, (where,))
    if found is not None:
        found = replace(found, address=element(found))
    return text, found


def _store(r: Requests) -> tuple[str, Case | None]:
    """A chunk to shared memory."""
    op = r.op
    assert isinstance(op, SharedStore)
    run = op.index[r.ir.tile(op.tile).order[-1]]
    numbers = r.values(run)
    what = f"a chunk is stored to {op.tile} at {run}, no multiple of {CHUNK}"
    found = r.first(numbers % CHUNK != 0, what)
    if found is not None:
        place = ", ".join(str(e.evaluate(found.numbers)) for e in op.index)
        found = replace(found, address=f"{op.tile}[{place}]")
    return f"{op.tile}, {run} = 0 mod {CHUNK}", found


def _fragment(r: Requests) -> tuple[str, Case | None]:
    """The accesses of a fragment load."""
    op = r.op
    assert isinstance(op, FragmentLoad)
    order = r.ir.tile(op.tile).order
    count = op.ownership.inputs[1][1]
    own = op.ownership.evaluate({"lane": r.numbers["lane"][..., None], "i": np.arange(count)})
    place = [r.values(e)[..., None] + o for e, o in zip(op.origin, own, strict=True)]
    line, run = (np.broadcast_to(place[d], (*r.shape, count)) for d in (order[0], order[-1]))
    line, run = (x.reshape(*r.shape, -1, op.access) for x in (line, run))
    wrong = (line != line[..., :1]) | (run != run[..., :1] // op.access * op.access + np.arange(op.access))
    what = f"what a lane loads from {op.tile} at once isn't an aligned run of {op.access} values"
    title = f"{op.tile}, {count // op.access} x {16 * op.access} bits at multiples of {op.access}"
    if CHUNK % op.access:
        wrong = np.ones_like(wrong)
    found = r.first(wrong.any((-1, -2)), what)
    if found is not None:
        start = ", ".join(str(int(np.broadcast_to(x, (*r.shape, count))[(*found.at, 0)])) for x in place)
        found = replace(found, address=f"{op.tile}[{start}]")
    return title, found


def _exchange(r: Requests) -> tuple[str, Case | None]:
    """The pieces and vectors of an exchange: places in a buffer are counted in their widths."""
    op = r.op
    assert isinstance(op, ExchangeStore | ExchangeLoad)
    lengths = {len(p) for p in op.exchange.pieces}
    width = BYTES[op.exchange.kind] * max(lengths)
    if isinstance(op, ExchangeLoad):
        return f"{op.buffer}, vectors of {CHUNK_BYTES} bytes", None
    wrong = len(lengths) > 1 or width not in (2, 4, 8, CHUNK_BYTES)
    what = f"a piece of {width} bytes is no access to {op.buffer}"
    return f"{op.buffer}, pieces of {width} bytes", r.first(np.full(r.shape, wrong), what)


def _chunks(ir: KernelIR) -> CounterExample | None:
    """A tile whose layout puts eight values of a chunk in several."""
    for tile in ir.tiles:
        if tile.layout is not None and (astray := _astray(tile.layout, tile.order[-1])) is not None:
            what = f"the layout of {tile.name} puts the eight values from {list(astray)} on into several chunks"
            return CounterExample(what, address=f"{tile.name}[{', '.join(map(str, astray))}]")
    return None


@lru_cache(maxsize=256)
def _astray(layout: IndexMap, run: int) -> tuple[int, ...] | None:
    """The first element of eight, side by side along a dimension and aligned, that don't have one chunk."""
    sizes = [n for _, n in layout.inputs]
    grid = np.meshgrid(*map(np.arange, sizes), indexing="ij", sparse=True)
    (chunk,) = layout.evaluate({name: x for (name, _), x in zip(layout.inputs, grid, strict=True)})
    chunks = np.moveaxis(np.broadcast_to(chunk, sizes), run, -1)
    chunks = chunks.reshape(*chunks.shape[:-1], -1, CHUNK)
    wrong = np.argwhere((chunks != chunks[..., :1]).any(-1))
    if not len(wrong):
        return None
    at = [int(x) for x in wrong[0]]
    at[-1] *= CHUNK
    return tuple(at if run == len(sizes) - 1 else (*at[-1:], *at[:-1]))
