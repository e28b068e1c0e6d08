"""What must hold for barriers with phases, boxes, products of warpgroups and roles of a well-formed IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from polyvolta.cuda.ir.engines.boxes import BoxCopy, BoxStore, WaitStores
from polyvolta.cuda.ir.engines.clusters import ALONE, MOST, blocks
from polyvolta.cuda.ir.engines.phases import Arrive, Await, InitBarriers, Phase
from polyvolta.cuda.ir.engines.warpgroups import WARPS, SharedOperand, Wgmma, WgmmaWait
from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, Barrier, ExchangeLoad, KernelIR, Op, Role, Roles, Tiles
from polyvolta.cuda.ir.memories import BoxMap, Element, PhaseBarriers
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.ir.well_formed_terms import of_map, of_name, unknown
from polyvolta.cuda.target.descriptors import InShared
from polyvolta.cuda.target.instruction import LANES
from polyvolta.sets import Aff, aff
from polyvolta.sets.values.simplify import interval, simplify

MOST_COUNT = 2**20 - 1
"""Arrivals, and bytes, that a barrier can wait for."""
MOST_PENDING = 2**16
"""Groups of copies, beyond what any kernel has; the wait is an instruction with a number in it."""
FEWEST_REGISTERS, MOST_REGISTERS = 24, 256
"""Of a thread, that a warpgroup can ask for."""
MOST_PRODUCTS = 7
"""Groups of products that a wait can let run."""


# ---- the kernel as a whole


def of_barriers(ir: KernelIR) -> Iterator[str]:
    """Rows of barriers have memory of their own."""
    for row in ir.barriers:
        if row.start < 0 or row.slots < 1 or not 1 <= row.arrivals <= MOST_COUNT:
            yield f"{row.name} has {row.slots} barriers from chunk {row.start} on that wait for {row.arrivals} arrivals"
    for one, other in combinations((*ir.barriers, *ir.tiles), 2):
        if isinstance(one, PhaseBarriers) and _ends(other) > one.start and _ends(one) > other.start:
            yield f"{one.name} and {other.name} lie in the same bytes of shared memory"


def _ends(x: Any) -> int:
    """The first chunk behind a row of barriers, or a tile."""
    return int(x.start + x.bytes // CHUNK_BYTES)


def of_maps(ir: KernelIR) -> Iterator[str]:
    """What the copy engine knows are matrices of which it can have an address and steps of 16 bytes."""
    for m in ir.maps:
        tensor = next((t for t in ir.tensors if t.name == m.tensor), None)
        if tensor is None:
            yield f"{m.name} is of no tensor: none is called {m.tensor!r}"
        elif len(tensor.dims) != 2:
            yield f"{m.name} is of {m.tensor}, which has {len(tensor.dims)} dimension, and boxes have two"
        elif tensor.align != CHUNK:
            yield f"{m.name} is of {m.tensor}, whose lines start at multiples of {tensor.align} values, not of {CHUNK}"


def of_tiles(ir: KernelIR) -> Iterator[str]:
    """A kernel of which blocks have several places says how many blocks there are, and where they go on."""
    if ir.resident < 0:
        yield f"{ir.resident} blocks are launched at most"
    paths = [at for at, s in walk(ir.body) if isinstance(s, Tiles)]
    if bool(ir.resident) != bool(paths):
        yield f"blocks go from tile to tile {len(paths)} times, where {ir.resident} are launched at most"
    stmts = dict(walk(ir.body))
    for at in paths:
        if any(not isinstance(stmts[at[:n]], Roles) for n in range(1, len(at))):
            yield f"a block goes from tile to tile in statement {at}, which stands in a loop or a condition"


def of_cluster(ir: KernelIR) -> Iterator[str]:
    """Grids are whole clusters, and what speaks of other blocks has some."""
    if len(ir.cluster) != 3 or any(n < 1 for n in ir.cluster) or blocks(ir.cluster) > MOST:
        yield f"a cluster has 1 to {MOST} blocks, not {ir.cluster}"
        return
    for axis, e, n in zip("xyz", ir.grid, ir.cluster, strict=True):
        if n > 1 and simplify(e % n, {}) != aff(0):
            yield f"the grid has {e} blocks along {axis}, no multiple of the cluster's {n}"
    if ir.resident % blocks(ir.cluster):
        yield f"at most {ir.resident} blocks are launched, no whole number of clusters of {blocks(ir.cluster)}"
    for _, s in walk(ir.body):
        meets = isinstance(s, Barrier) and s.scope == "cluster"
        reaches = isinstance(s, Arrive | BoxCopy) and s.to not in (None, ())
        if ir.cluster == ALONE and (meets or reaches) and isinstance(s, Op):
            yield f"{type(s).__name__} {s.statement} is about other blocks of a cluster, and there is none"
        if isinstance(s, ExchangeLoad) and s.first is not None:
            low, high = interval(s.first, ir.ranges)
            last = None if high is None else high + s.stride * (s.parts - 1)
            further = s.stride * (s.parts - 1)
            if low is None or last is None or low < 0 or last >= blocks(ir.cluster):
                yield f"a cluster of {blocks(ir.cluster)} blocks has no ranks {s.first} to {further} further"
            end = ir.body[-1] if ir.body else None
            if not (isinstance(end, Barrier) and end.scope == "cluster"):
                yield "blocks read one another's shared memory, and none waits for the others at the end"
        if ir.cluster != ALONE and isinstance(s, Roles) and any(
            isinstance(x, Barrier) and x.scope in ("block", "cluster") for _, x in walk((s,))
        ):
            yield "blocks of a cluster meet outside of roles"


# ---- statements


def _of_tiles(ir: KernelIR, s: Tiles) -> Iterator[str]:
    if s.first < 0 or s.step < 1:
        yield f"tiles are those of number {s.first} and every {s.step}th behind it"
    for name, e in s.counters:
        yield from unknown(f"what a tile adds to {name}", (e,), ir.sizes)


def _of_roles(ir: KernelIR, s: Roles) -> Iterator[str]:
    names: list[str] = []
    for role in s.roles:
        yield from of_name("a role", role.name, names)
        names.append(role.name)
        if role.first < 0 or role.warps < 1 or role.first + role.warps > ir.warps:
            yield f"{role.name} has {role.warps} warps from {role.first} on, of {ir.warps}"
        if role.registers:
            yield from _of_registers(ir, role)
    for one, other in combinations(s.roles, 2):
        if one.first < other.first + other.warps and other.first < one.first + one.warps:
            yield f"{one.name} and {other.name} have warps in common"
    if any(_has_roles(role) for role in s.roles):
        yield "a warp has one role at most: there are roles within roles"


def _of_registers(ir: KernelIR, role: Role) -> Iterator[str]:
    """Registers are shared out by warpgroups, in numbers that the instruction can name."""
    if role.registers % 8 or not FEWEST_REGISTERS <= role.registers <= MOST_REGISTERS:
        yield f"{role.name} has {role.registers} registers a thread, not a multiple of 8 from {FEWEST_REGISTERS} to " \
              f"{MOST_REGISTERS}"  # fmt: skip
    if role.first % WARPS or ir.warps % WARPS:
        yield f"{role.name} has registers of its own and shares a warpgroup: warp {role.first} of {ir.warps}"


def _has_roles(role: Role) -> bool:
    return any(isinstance(s, Roles) for _, s in walk(role.body))


def _of_phase(ir: KernelIR, phase: Phase) -> Iterator[str]:
    row = next((r for r in ir.barriers if r.name == phase.barriers), None)
    if row is None:
        yield f"no row of barriers is called {phase.barriers!r}"
    elif not phase.slot.names() and not 0 <= phase.slot.const < row.slots:
        yield f"{row.name} has {row.slots} slots, not {phase.slot}"
    if not phase.number.names() and phase.number.const < -1:
        yield f"phases are numbered from 0 on, and -1 is complete; {phase.number} is none"


def _of_init(ir: KernelIR, op: InitBarriers) -> Iterator[str]:
    if not ir.barriers:
        yield "the kernel has no barriers that could begin"


def _of_arrive(ir: KernelIR, op: Arrive) -> Iterator[str]:
    yield from _of_phase(ir, op.phase)
    yield from _of_ranks(ir, () if op.to is None else (op.to,))
    if not 0 <= op.bytes <= MOST_COUNT:
        yield f"a phase waits for 0 to {MOST_COUNT} bytes, not {op.bytes}"


def _of_await(ir: KernelIR, op: Await) -> Iterator[str]:
    yield from _of_phase(ir, op.phase)


def _of_box(ir: KernelIR, op: BoxCopy | BoxStore) -> Iterator[str]:
    made = next((m for m in ir.maps if m.name == op.map), None)
    if made is None:
        yield f"no map is called {op.map!r}"
        return
    tensor = next((t for t in ir.tensors if t.name == made.tensor), None)
    if isinstance(op, BoxStore) and tensor is not None and not tensor.written:
        yield f"{tensor.name} is no output"
    if isinstance(op, BoxStore) and tensor is not None and not (tensor.whole and tensor.align == CHUNK):
        yield f"stored boxes are clipped by {CHUNK} values, and the lines of {tensor.name} may end within so many"
    if len(op.index) != 2:
        yield f"{made.tensor} has two dimensions, not {len(op.index)}"
    tile = next((t for t in ir.tiles if t.name == op.tile), None)
    if tile is None or tile.layout is None:
        yield f"no tile with a layout is called {op.tile!r}"
    elif len(tile.order) != 2 or len(op.place) != 2:
        yield f"{op.tile} has {len(tile.order)} dimensions, a place {len(op.place)}, and boxes have two"
    elif tensor is not None:
        yield from _of_sides(made, tile.name, tile.order, [n for _, n in tile.layout.inputs])
    if isinstance(op, BoxCopy):
        yield from _of_phase(ir, op.phase)
        yield from _of_ranks(ir, op.to)


def _of_ranks(ir: KernelIR, ranks: tuple[Aff, ...]) -> Iterator[str]:
    for e in ranks:
        low, high = interval(e, ir.ranges)
        if low is None or high is None or low < 0 or high >= blocks(ir.cluster):
            yield f"a cluster of {blocks(ir.cluster)} blocks has no rank {e}"
    if len(set(ranks)) < len(ranks):
        yield f"a block gets a box twice: {', '.join(map(str, ranks))}"


def _of_sides(
    m: BoxMap, tile: str, tile_order: tuple[int, ...], extents: list[int]
) -> Iterator[str]:
    sides = m.box.lines, m.box.run
    if any(n > extents[d] for d, n in zip(tile_order, sides, strict=True)):
        yield f"a box of {m.box.lines} lines of {m.box.run} values is larger than {tile}{extents}"


def _of_wgmma(ir: KernelIR, op: Wgmma) -> Iterator[str]:
    macro, instruction = op.macro, op.macro.instruction
    if macro.kind != ir.kind:
        yield f"{instruction.title} multiplies {macro.kind}, and the kernel's values are {ir.kind}"
    if macro.d.inputs[:1] != (("thread", WARPS * LANES),):
        yield f"the accumulators of {macro.name} are of {macro.d.inputs}, not of the threads of a warpgroup"
    yield from of_map("the accumulators' map", macro.d, 2, 2)
    if not op.d:
        yield "a product has no accumulators"
        return
    first = op.d[0]
    if any(e.array != first.array or e.index != (*first.index[:-1], first.index[-1] + n) for n, e in enumerate(op.d)):
        yield f"accumulators are elements of {first.array} one behind the other"
    array = next((r for r in ir.registers if r.name == first.array), None)
    if array is not None and array.width * len(op.d) != macro.values[2]:
        yield f"a thread has {macro.values[2]} values of {macro.name}, {len(op.d)} of {first.array} {array.width} each"
    for name, x in op.shared:
        yield from _of_operand(ir, name, x, {"a": instruction.a, "b": instruction.b}[name])
    if isinstance(op.a, Element):
        yield from _of_fragment(ir, op.a, instruction.a)


def _of_fragment(ir: KernelIR, x: Element, held: Any) -> Iterator[str]:
    """The left operand in registers."""
    if isinstance(held, InShared):
        yield f"the instruction has operand a in shared memory, not in {x.array}"
        return
    (_, threads), (_, values) = held.inputs
    if threads != WARPS * LANES:
        yield f"operand a is held by {threads} threads, not by the {WARPS * LANES} of a warpgroup"
    array = next((r for r in ir.registers if r.name == x.array), None)
    if array is not None and array.width != values:
        yield f"a thread holds {values} values of operand a, and {array.width} of {x.array}"


def _of_operand(ir: KernelIR, name: str, x: SharedOperand, held: Any) -> Iterator[str]:
    tile = next((t for t in ir.tiles if t.name == x.tile), None)
    if tile is None or tile.layout is None:
        yield f"no tile with a layout is called {x.tile!r}"
    elif len(x.origin) != len(tile.layout.inputs):
        yield f"{x.tile} has {len(tile.layout.inputs)} dimensions, not {len(x.origin)}"
    if not isinstance(held, InShared):
        yield f"the instruction has operand {name} in registers, not in {x.tile}"
    elif x.descriptor.major != held.major or x.descriptor.swizzle not in held.swizzles:
        yield f"the instruction reads operand {name} {held.major}-major, and its descriptor is {x.descriptor}"


def _of_products(ir: KernelIR, op: WgmmaWait) -> Iterator[str]:
    if not 0 <= op.pending <= MOST_PRODUCTS:
        yield f"a warpgroup waits until 0 to {MOST_PRODUCTS} groups of products are running, not {op.pending}"


def _of_stores(ir: KernelIR, op: WaitStores) -> Iterator[str]:
    if not 0 <= op.pending <= MOST_PENDING:
        yield f"a thread waits until 0 to {MOST_PENDING} groups of stores are read, not {op.pending}"


RULES: dict[type, Callable[[KernelIR, Any], Iterator[str]]] = {
    Roles: _of_roles,
    Tiles: _of_tiles,
    InitBarriers: _of_init,
    Arrive: _of_arrive,
    Await: _of_await,
    BoxCopy: _of_box,
    BoxStore: _of_box,
    Wgmma: _of_wgmma,
    WgmmaWait: _of_products,
    WaitStores: _of_stores,
}
"""Of each kind of statement."""
