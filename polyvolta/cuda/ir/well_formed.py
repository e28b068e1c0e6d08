"""Whether an IR is one at all: names that have values, arrays and tiles that there are, extents that fit one another.

What a kernel *does* is for the proofs to judge, and any well-formed IR may be judged, however wrong. But an expression
of a name that nothing gives a value, a fragment of sixteen values loaded to an array of eight, or a layout's dimension
number 5 of 2 has no meaning that could be right or wrong. Passes make no such thing; whoever writes or edits an IR by
hand may, and is told what and where, before the printer, the interpreter and the verifier each trip over it in its own
way.

What holds for the kernel as a whole stands here, what holds for each statement in `well_formed_statements`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import prod
from weakref import WeakValueDictionary

from polyvolta.cuda.declared import misfits
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.block_order import HIGHEST
from polyvolta.cuda.ir.engines.well_formed import of_barriers, of_cluster, of_maps, of_tiles
from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, NARROW, GlobalTensor, KernelIR, Loop, SharedTile, Stmt, Tiles
from polyvolta.cuda.ir.walk import IrPath, inner
from polyvolta.cuda.ir.well_formed_statements import of_statement
from polyvolta.cuda.ir.well_formed_terms import MOST_SHARED, MOST_THREADS, MOST_VALUES, of_map, of_name, unknown


class IllFormed(CudaError, ValueError):
    """An IR that means nothing: a name without a value, an array that isn't there, extents that don't fit."""

    id = "PV549"


PLACE = frozenset({"blockIdx.x", "blockIdx.y", "blockIdx.z"})
"""Names of a block's place in the grid; in a kernel whose blocks have several, of the tile's."""


_well_formed: WeakValueDictionary[int, KernelIR] = WeakValueDictionary()  # by identity: each reader asks anew


def check(ir: KernelIR) -> None:
    """Refuse an IR that has no meaning.

    Raises
    ------
    IllFormed : says what, and which statement.

    Cost: linear in the operations, a few milliseconds; nothing the second time for the same IR.
    """
    if _well_formed.get(id(ir)) is ir:
        return
    for problem in misfits(ir):  # the other rules count on types
        raise IllFormed(problem, where=f"the kernel {ir.name!r}")
    for x in (*ir.tensors, *ir.tiles):
        dims = len(x.dims) if isinstance(x, GlobalTensor) else len(x.layout.inputs if x.layout else x.order)
        if sorted(x.order) != list(range(dims)):
            what = "" if isinstance(x, GlobalTensor) else "the layout of "
            raise IllFormed(f"{what}{x.name} has {dims} dimensions, and the order {x.order}", where=ir.name,
                            hint="an order has each dimension once, the outermost first, such as (0, 1)")  # fmt: skip
    for problem in _of_kernel(ir):
        raise IllFormed(problem, where=ir.name)
    known = {*ir.sizes, "linearId", *(n for n, _ in ir.derived)}
    known |= set() if ir.resident else PLACE
    _body(ir, ir.body, frozenset(known), ())
    _well_formed[id(ir)] = ir


def _body(ir: KernelIR, body: tuple[Stmt, ...], known: frozenset[str], at: IrPath) -> None:
    for k, s in enumerate(body):
        inside = known
        problems = of_statement(ir, s, known)
        if isinstance(s, Loop):
            inside = known | {s.var}
            taken = {*known, *ir.scalars, *_arrays(ir)}
            problems = chain(problems, of_name("a loop variable", s.var, taken))
        elif isinstance(s, Tiles):
            counted = (s.turn, *(name for name, _ in s.counters))
            inside = known | PLACE | set(counted)
            taken = {*known, *ir.scalars, *_arrays(ir)}
            problems = chain(problems, *(of_name("a number of tiles", n, {*taken, *counted[:k]})
                                         for k, n in enumerate(counted)))  # fmt: skip
        for problem in problems:
            raise IllFormed(f"{type(s).__name__}: {problem}", where=f"statement {(*at, k)} of {ir.name}: {_short(s)}")
        _body(ir, inner(s), inside, (*at, k))


def _short(s: Stmt) -> str:
    text = str(s)
    return text if len(text) <= 160 else text[:157] + "..."


# ---- the kernel as a whole


def _arrays(ir: KernelIR) -> tuple[str, ...]:
    """The names of memories, of barriers and maps, and of the leading dimensions."""
    lds = tuple(t.ld for t in ir.tensors if t.ld)
    return (*(x.name for x in (*ir.tensors, *ir.tiles, *ir.registers, *ir.barriers, *ir.maps)), *lds)


def _of_names(ir: KernelIR) -> Iterator[str]:
    """Each thing has a name of its own, one that can stand in the text."""
    taken = {"linearId"}
    names = [("the kernel", ir.name), *(("a size", n) for n in ir.sizes), *(("a scalar", n) for n in ir.scalars)]
    names += [("an array", n) for n in _arrays(ir)] + [("a number of each thread", n) for n, _ in ir.derived]
    for what, name in names:
        yield from of_name(what, name, taken)
        taken.add(name)


def _of_kernel(ir: KernelIR) -> Iterator[str]:
    yield from _of_names(ir)
    if ir.threads < LANES or ir.threads % LANES or ir.threads > MOST_THREADS:
        yield f"{ir.threads} threads are no whole warps of {LANES}, {MOST_THREADS} threads at most"
    if ir.shared_bytes > MOST_SHARED:
        yield f"{ir.shared_bytes} bytes of shared memory are beyond what any GPU has"
    known = {"linearId"}
    for name, e in ir.derived:
        yield from unknown(name, (e,), known)
        known.add(name)
    yield from unknown("the grid", ir.grid, set(ir.sizes))
    if len(ir.grid) != 3:
        yield f"the grid has three extents, not {len(ir.grid)}"
    if not 1 <= ir.block_order.group <= HIGHEST:
        yield f"blocks in groups of {ir.block_order.group} rows, 1 to {HIGHEST} are"
    yield from (f"{size} is a multiple of {multiple}" for size, multiple in ir.context if multiple < 1)
    yield from (
        f"{size} is a multiple of {multiple}, and no size" for size, multiple in ir.context if size not in ir.sizes
    )
    for name, (low, high) in ir.ranges.items():
        if high is not None and high < low:
            yield f"{name} is in {low} .. {high}, which nothing is"
    for t in ir.tensors:
        if t.kind not in NARROW or t.kind != ir.kind:
            belong = ir.kind if ir.kind in NARROW else " or ".join(sorted(NARROW))
            yield f"{t.name} has {t.kind} values, where {belong} values belong"
        if not 1 <= len(t.dims) <= 2 or any(d < 1 if isinstance(d, int) else d not in ir.sizes for d in t.dims):
            yield f"{t.name} has the dimensions {t.dims}: one or two sizes or positive numbers are"
        if t.align not in (8, 4, 2, 1):
            yield f"an access to {t.name} moves 8, 4, 2 or 1 values, not {t.align}"
    for tile in ir.tiles:
        yield from _of_tile(tile)
    yield from of_barriers(ir)
    yield from of_maps(ir)
    yield from of_cluster(ir)
    yield from of_tiles(ir)
    for r in ir.registers:
        if r.kind not in (ir.kind, "float") or r.width < 1 or any(n < 1 for n in r.shape):
            yield f"{r.name}[{', '.join(map(str, r.shape))}] of {r.width} {r.kind} values"
        elif prod(r.shape) * r.width > MOST_VALUES:
            yield f"{r.name} has {prod(r.shape) * r.width} values in each thread, more than {MOST_VALUES}"


def _of_tile(tile: SharedTile) -> Iterator[str]:
    if tile.start < 0 or tile.chunks < 1 or tile.buffers < 1:
        yield f"{tile.name} has {tile.buffers} buffers of {tile.chunks} chunks from chunk {tile.start} on"
    if tile.layout is not None:
        dims = len(tile.layout.inputs)
        yield from of_map(f"the layout of {tile.name}", tile.layout, dims, 1)
        if [n for n, _ in tile.layout.outputs] != ["chunk"]:
            yield f"the layout of {tile.name} gives {tile.layout.outputs[0][0]}, not the chunk"
        if (run := tile.layout.inputs[tile.order[-1]][1]) % CHUNK:
            yield f"the layout of {tile.name} has lines of {run} values, no whole chunks"
