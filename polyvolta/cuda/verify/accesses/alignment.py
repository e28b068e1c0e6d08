"""Alignment: an access of several values at once starts at a multiple of its width, or the hardware refuses it.

In global memory that takes an address and a leading dimension that are multiples of the width, which is what a
kernel's `align` asks of its arrays, and an index along the lines that is one too: its symbolic part by the
coefficients, whatever the sizes and blocks are, its numbers by looking at all of them. A tensor that is copied
asynchronously has lines of such a length, too (`GlobalTensor.whole`). In shared memory a store starts where a chunk
does, and what one access of a fragment load brings are values of one chunk, side by side and in order.

A box starts at a multiple of its swizzle's pattern, 1024 bytes of the widest one; a well-formed kernel has maps of such
tensors alone whose lines start at multiples of 16 bytes. A descriptor starts at such a multiple, or within the first
span of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, BoxCopy, BoxStore, GlobalTensor, KernelIR, Wgmma
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.verify.accesses.engines import ENGINES, At, boxes, operands
from polyvolta.cuda.verify.accesses.requests import Case, Requests, placed, requests
from polyvolta.cuda.verify.accesses.sectors import element
from polyvolta.cuda.verify.engine.addresses import elements, owned
from polyvolta.cuda.verify.engine.past_threads import Reach
from polyvolta.cuda.verify.engine.symbols import known_multiple
from polyvolta.cuda.verify.report.records import CounterExample, Verdict
from polyvolta.sets import Aff

VECTORS = (2, 4, 8, 16)
"""The bytes that one instruction can move of an exchange buffer."""


def alignment(ir: KernelIR) -> Verdict:
    """Whether every vector access starts at a multiple of its width.

    Raises
    ------
    Undecided : an index that mixes threads and sizes.
    """
    told: dict[tuple[str, str], str] = {}
    case: Case | CounterExample | None = None
    path = None
    for r in requests(ir, "global", "shared"):
        for access in r.accesses:
            answer = _decided(r, access)
            if answer is None:
                continue
            text, found = answer
            told.setdefault((r.title, text), text)
            if found is not None and case is None:
                case, path = found.counter_example, r.path
    for r in placed(ir, *ENGINES):
        for text, found in _engine(r):
            told.setdefault((r.title, text), text)
            if found is not None and case is None:
                case, path = found.counter_example, r.path
    if case is None:
        case = _chunks(ir)
    wide = [t for t in ir.tensors if t.align > 1]
    statement = "every vector access starts at a multiple of its width"
    if wide:
        what = "addresses and leading dimensions"
        if any(t.whole for t in wide):
            statement += ", and copies in pieces end with their lines"
            what = "addresses, leading dimensions and lengths of lines"
        statement += f", where {what} are multiples in values: {', '.join(map(_needs, wide))}"
    return Verdict(statement, "; ".join(f"{title}: {text}" for title, text in told), case, path)


def _needs(t: GlobalTensor) -> str:
    """What is to be a multiple of a tensor's alignment."""
    names = [t.name, *([t.ld] if t.ld else []), *([str(t.dims[t.order[-1]])] if t.whole else [])]
    return f"{' and '.join(names)} of {t.align}"


def _decided(r: Requests, access: Access) -> tuple[str, Case | None] | None:
    """What is told of an access, and a case in which it isn't aligned; None: it moves its values one by one."""
    if access.places is not None:
        return _exchange(r, access)
    order = (r.ir.tensor(access.array) if access.space == "global" else r.ir.tile(access.array)).order
    if access.own is not None:
        return _fragment(r, access, order)
    if access.along == order[-1]:
        return _run(r, access, order[-1])
    if access.width == 1:
        return None
    what = f"{access.width} values of {access.array} that a lane {_moves(access)} at once don't lie side by side"
    return f"{access.array}, across lines", r.first(np.ones(r.shape, bool), what)


def _moves(access: Access) -> str:
    return "stores" if access.writes else "loads"


def _run(r: Requests, access: Access, run: int) -> tuple[str, Case | None]:
    """Values along the lines of a tensor, or of a tile, so many at once."""
    e, width = access.index[run], access.width
    if access.space == "shared":
        r.values(e)  # numbers of threads alone
        text = f"{access.array}, {e} = 0 mod {width}"
        chunk = "a chunk is" if access.bytes == CHUNK_BYTES else f"{width} values are"
        moved = "stored to" if access.writes else "loaded from"
        what = f"{chunk} {moved} {access.array} at {e}, no multiple of {width}"
    else:
        text = f"{access.array}[{', '.join(map(str, access.index))}], {e} = 0 mod {width}"
        what = f"an access of {width} values to {access.array} starts at {e}, no multiple of {width}"
    symbolic, numbers = r.split(e)
    return text, _named(_no_multiple(r, symbolic, numbers[..., None], width, what), access)


def _no_multiple(r: Requests, symbolic: Aff, numbers: np.ndarray, width: int, what: str) -> Case | None:
    """The first request with a start, `symbolic` and one of its numbers, that is no multiple of a width."""
    if known_multiple(symbolic, r.ir) % width == 0:
        return r.first(((numbers + symbolic.const) % width != 0).any(-1), what)
    found = None
    for value in np.unique(numbers % width):
        where = (symbolic + int(value)) % width - 1
        found = found or r.first((numbers % width == value).any(-1), what, (where,))
    return found


def _named(case: Case | None, access: Access) -> Case | None:
    return None if case is None else replace(case, address=element(case, access))


def _fragment(r: Requests, access: Access, order: tuple[int, ...]) -> tuple[str, Case | None]:
    """Values that lie where a map says: what one instruction moves of them is an aligned run of a line."""
    array, width = access.array, access.width
    place = elements(access, lambda e: r.split(e)[1])
    shape = (*r.shape, access.own.inputs[1][1])  # type: ignore[union-attr]
    line, run = (np.broadcast_to(place[d], shape).reshape(*r.shape, -1, width) for d in (order[0], order[-1]))
    last = order[-1]
    apart = (line != line[..., :1]) if len(order) > 1 else np.zeros(run.shape, bool)
    apart = apart | (run != run[..., :1] + np.arange(width))
    what = f"what a lane {_moves(access)} {'to' if access.writes else 'from'} {array} at once isn't an aligned run"
    what += f" of {width} values"
    title = f"{array}, {shape[-1] // width} x {8 * access.bytes} bits at multiples of {width}"
    wrong = apart.any((-1, -2)) if CHUNK_BYTES % access.bytes == 0 else np.ones(r.shape, bool)
    case = r.first(wrong, what) or _no_multiple(r, r.split(access.index[last])[0], run[..., 0], width, what)
    if case is None:
        return title, None
    table = {**case.point, **case.numbers}
    first = [int(own[case.at[-1], 0]) for own in owned(access.own)]  # type: ignore[arg-type]
    start = ", ".join(str(e.evaluate(table) + more) for e, more in zip(access.index, first, strict=True))
    return title, replace(case, address=f"{array}[{start}]")


def _exchange(r: Requests, access: Access) -> tuple[str, Case | None]:
    """Instructions that are counted in their own widths: whether there are such instructions."""
    what = "pieces" if access.writes else "vectors"
    wrong = access.bytes not in VECTORS or access.values % access.width
    case = f"a piece of {access.bytes} bytes is no access to {access.array}"
    return f"{access.array}, {what} of {access.bytes} bytes", r.first(np.full(r.shape, bool(wrong)), case)


def _engine(r: Requests) -> Iterator[tuple[str, Case | None]]:
    """Where a box, or the operands of a product, start."""
    op = r.op
    if isinstance(op, BoxCopy | BoxStore):
        swizzle = r.ir.box_map(op.map).box.swizzle
        text = f"{op.tile}, boxes at multiples of {CHUNK_BYTES * swizzle.align} bytes"
        yield text, _off(r, boxes(r), swizzle.align, 1, "a box")
    elif isinstance(op, Wgmma):
        for letter, x in op.shared:
            swizzle = x.descriptor.swizzle
            pattern, span = swizzle.align if swizzle.bytes else 1, swizzle.width
            text = f"{x.tile}, operands in the first {CHUNK_BYTES * span} of each {CHUNK_BYTES * pattern} bytes"
            yield text, _off(r, operands(r, letter), pattern, span, f"operand {letter}")


def _off(r: Requests, found: Iterator[tuple[At, Reach]], pattern: int, span: int, what: str) -> Case | None:
    """The first start that isn't in the first `span` chunks of a pattern."""
    for at, x in found:
        if x.start % pattern >= span:
            where = f"chunk {x.start - x.tile.start - x.buffer * x.tile.chunks} of buffer {x.buffer}"
            words = f"{what} starts at {where}, byte {CHUNK_BYTES * x.start} of shared memory"
            case = r.case(f"{words}: {CHUNK_BYTES * (x.start % pattern)} bytes into a pattern", at, address=x.tile.name)
            if case is not None:
                return case
    return None


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
