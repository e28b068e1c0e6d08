"""Layouts: what copy engines write, what tensor cores read, and where the tile has it, are one relation.

Three descriptions of shared memory meet in a tile. Its layout { [element] -> [chunk] } says where each element lies. A
box with a swizzle is written by the copy engine, from the chunk of its first element on: { [line, run] -> [chunk] }
before the swizzle, which permutes chunks by their absolute numbers. And a descriptor is read by the tensor cores, from
its start on: { [r, k] -> [chunk] }, permuted likewise. For each box of a kernel and each operand, with the place, the
slot, the part and the k step of every time that it comes to it, and for every chunk of shared memory at which the tile
then lies, the chunks are compared element by element: that is finite, and so exact.

The relations of the copy engine and of descriptors are themselves compared with what the manual says, written down here
a second time: in bytes, and as bits of addresses.

Source: PTX ISA, "Tensor swizzling modes", and "Matrix Descriptor Format", "Strides" of wgmma's shared memory layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, BoxCopy, BoxStore, KernelIR, Wgmma
from polyvolta.cuda.ir.memories import TENSOR_ITEM
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.target.boxes import Box, Swizzle
from polyvolta.cuda.target.descriptors import Descriptor, InShared
from polyvolta.cuda.verify.accesses.engines import ENGINES, At, boxes, operands
from polyvolta.cuda.verify.accesses.requests import Requests, placed
from polyvolta.cuda.verify.engine.addresses import layout_of, table
from polyvolta.cuda.verify.engine.past_threads import Reach, swizzled
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff

PROOF = "layouts"
STATEMENT = (
    "what boxes write under their swizzle is the layout of their tile, and what descriptors lead to is it, too: each "
    "element of each operand in each k step, part and slot is read where it was written"
)


def layouts(ir: KernelIR, graph: Graph, stages: Mapping[str, Schedule]) -> Verdict:
    """Whether boxes and descriptors of a kernel go by the layouts of its tiles.

    Raises
    ------
    NoMeaning : the kernel has neither.
    Undecided : a place that depends on more than threads, unrolled loops and the slot.
    """
    said: dict[str, None] = {}
    case: tuple[CounterExample, IrPath] | None = None
    for r in placed(ir, *ENGINES):
        for text, wrong in _checked(r):
            said[text] = None
            case = case or wrong
    if not said:
        raise NoMeaning("the kernel has no boxes, and no operands of products in shared memory")
    found, at = case if case is not None else (None, None)
    return Verdict(STATEMENT, "; ".join(said), found, at)


Checked = tuple[str, tuple[CounterExample, IrPath] | None]


def _checked(r: Requests) -> Iterator[Checked]:
    """What is compared for an operation, and what differs, if something does."""
    op = r.op
    if isinstance(op, BoxCopy | BoxStore):
        tile, box = r.ir.tile(op.tile), r.ir.box_map(op.map).box
        what = f"{box.swizzle} of {box.plain} from {_names(op.place)} on"
        text = f"{op.map} and {tile.name}: {what} is {tile.layout}"
        yield text, _first(r, strange_box(box), boxes(r))
    elif isinstance(op, Wgmma):
        m, n, depth = op.macro.shape
        for letter, x in op.shared:
            mn, own = (m, op.macro.a) if letter == "a" else (n, op.macro.b)
            tile = r.ir.tile(x.tile)
            strange = strange_descriptor(x.descriptor, mn, depth)
            if strange is None and isinstance(own, InShared) and own.major != x.descriptor.major:
                strange = f"{x.tile} is {x.descriptor.major}-major by its descriptor, {own.major}-major to the product"
            reads = f"{x.descriptor.swizzle} of {x.descriptor.reads(mn, depth)}"
            at = f"{tile.layout} at {_names(x.origin)}"
            text = f"{letter} of {op.macro.name}: {reads} from chunk {x.start} on is {at}"
            yield text, _first(r, strange, operands(r, letter))


def _names(index: tuple[Aff, ...]) -> str:
    return f"[{', '.join(map(str, index))}]"


# ---- element by element


def _first(
    r: Requests, strange: str | None, found: Iterator[tuple[At, Reach]]
) -> tuple[CounterExample, IrPath] | None:
    """The first of some reaches that leads elsewhere than the layout says."""
    if strange is not None:
        return CounterExample(strange), r.path
    for at, x in found:
        wrong = astray(x)
        if wrong is not None:
            case = r.case(wrong, at)
            if case is None:  # no size comes to it
                continue
            return case.counter_example, r.path
    return None


def astray(x: Reach) -> str | None:
    """An element that is written, or read, in another chunk than the tile has it, in words."""
    extents = [n for _, n in layout_of(x.tile).inputs]
    index = np.broadcast_arrays(*x.elements)
    verb = "written to" if x.writes else "read from"
    outside = np.any([(e < 0) | (e >= n) for e, n in zip(index, extents, strict=True)], 0)
    if outside.any():
        at = tuple(int(n) for n in np.argwhere(outside)[0])
        return f"{x.tile.name}[{', '.join(str(int(e[at])) for e in index)}] is {verb}, which the tile doesn't have"
    wanted = table(layout_of(x.tile))[tuple(index)]
    place = index[x.tile.order[-1]] % CHUNK
    wrong = (x.own_chunks != wanted) | (x.places != place)
    if not wrong.any():
        return None
    at = tuple(int(n) for n in np.argwhere(wrong)[0])
    element = f"{x.tile.name}[{', '.join(str(int(e[at])) for e in index)}]"
    if x.own_chunks[at] != wanted[at]:
        its = f"chunk {int(x.own_chunks[at])} of slot {x.buffer}"
        return f"{element} is {verb} {its}, and the tile has it in chunk {int(wanted[at])}"
    return f"{element} is {verb} place {int(x.places[at])} of its chunk, and the tile has it at place {int(place[at])}"


# ---- what the manual says


def manual_swizzle(address: np.ndarray, span: int) -> np.ndarray:
    """Where a byte of shared memory goes under the swizzle of so many bytes: address bits 4.. are flipped by bits 7..

    >>> manual_swizzle(np.array([0, 16, 128, 144, 1024]), 128).tolist()
    [0, 16, 144, 128, 1024]
    """
    mask = {0: 0, 32: 1, 64: 3, 128: 7}[span]
    return address ^ (address >> 7 & mask) << 4


def manual_read(d: Descriptor, r: np.ndarray, k: np.ndarray) -> np.ndarray:
    """The byte of a value of an operand, from the start of the descriptor on and before the swizzle."""
    leading, stride, span = d.leading * CHUNK_BYTES, d.stride * CHUNK_BYTES, d.swizzle.bytes or CHUNK_BYTES
    along, across = (k, r) if d.major == "k" else (r, k)  # what lies side by side, and the lines
    spans, inside = np.divmod(TENSOR_ITEM * along, span)
    rows, row = np.divmod(across, 8)
    if d.major == "mn" and not d.swizzle.bytes:
        leading, stride = stride, leading
    if d.major == "k" and d.swizzle.bytes:
        leading = span  # of no matter: a k step is within a span
    return span * row + inside + leading * spans + stride * rows


@lru_cache(maxsize=64)
def strange_descriptor(d: Descriptor, mn: int, depth: int) -> str | None:
    """A value that the relation of a descriptor has elsewhere than the manual, in words."""
    r, k = np.meshgrid(np.arange(mn), np.arange(depth), indexing="ij")
    (chunk,) = d.reads(mn, depth).evaluate({"r": r, "k": k})
    wrong = np.asarray(chunk) != manual_read(d, r, k) // CHUNK_BYTES
    if wrong.any():
        at = tuple(int(n) for n in np.argwhere(wrong)[0])
        return f"by the manual, value {list(at)} of {d} isn't in chunk {int(np.asarray(chunk)[at])}"
    return _strange_swizzle(d.swizzle.bytes)


@lru_cache(maxsize=64)
def strange_box(box: Box) -> str | None:
    """A value that the relation of a box has elsewhere than the manual, in words."""
    line, run = np.meshgrid(np.arange(box.lines), np.arange(box.run), indexing="ij")
    (chunk,) = box.plain.evaluate({"line": line, "run": run})
    wrong = np.asarray(chunk) != TENSOR_ITEM * (line * box.run + run) // CHUNK_BYTES
    if wrong.any():
        at = tuple(int(n) for n in np.argwhere(wrong)[0])
        return f"by the manual, value {at[1]} of line {at[0]} of a box isn't in chunk {int(np.asarray(chunk)[at])}"
    return _strange_swizzle(box.swizzle.bytes)


@lru_cache(maxsize=8)
def _strange_swizzle(span: int) -> str | None:
    """A chunk that the relation of a swizzle puts elsewhere than the manual; patterns repeat after 64."""
    chunks = np.arange(256)
    wrong = swizzled(Swizzle(span), chunks) != manual_swizzle(CHUNK_BYTES * chunks, span) // CHUNK_BYTES
    return f"by the manual, chunk {int(np.argmax(wrong))} goes elsewhere under {Swizzle(span)}" if wrong.any() else None


PROVERS = {PROOF: layouts}
"""Proof -> the function that decides it."""
