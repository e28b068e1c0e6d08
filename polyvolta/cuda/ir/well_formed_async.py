"""What must hold for operations of barriers with phases, of boxes and of warpgroups, beside what holds for any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    Arrive,
    Await,
    BoxCopy,
    BoxStore,
    KernelIR,
    Phase,
    Role,
    Roles,
    SharedOperand,
    WaitStores,
    Wgmma,
    WgmmaWait,
)

MOST_BYTES = 2**20 - 1
"""That a phase can wait for."""
MOST_PRODUCTS = 7
"""Groups of products that a wait can let run."""


def _of_phase(ir: KernelIR, x: Phase) -> Iterator[str]:
    if x.barriers not in [row.name for row in ir.barriers]:
        yield f"no row of barriers is called {x.barriers!r}"


def _of_await(ir: KernelIR, op: Await) -> Iterator[str]:
    yield from _of_phase(ir, op.phase)


def _of_arrive(ir: KernelIR, op: Arrive) -> Iterator[str]:
    yield from _of_phase(ir, op.phase)
    if not 0 <= op.bytes <= MOST_BYTES:
        yield f"a phase waits for 0 to {MOST_BYTES} bytes, not {op.bytes}"


def _of_box(ir: KernelIR, op: BoxCopy | BoxStore) -> Iterator[str]:
    found = next((m for m in ir.maps if m.name == op.map), None)
    if found is None:
        yield f"no map is called {op.map!r}"
        return
    tensor = next((t for t in ir.tensors if t.name == found.tensor), None)
    if tensor is None or len(tensor.dims) != 2:
        yield f"{op.map} is a map of {found.tensor}, which is no matrix of the kernel"
        return
    if len(op.index) != 2:
        yield f"{tensor.name} has 2 dimensions, not {len(op.index)}"
    if isinstance(op, BoxStore) and not tensor.written:
        yield f"{tensor.name} is no output"
    if isinstance(op, BoxCopy):
        yield from _of_phase(ir, op.phase)
    yield from _of_tile(ir, op.tile, len(op.place))


def _of_tile(ir: KernelIR, name: str, dims: int) -> Iterator[str]:
    tile = next((t for t in ir.tiles if t.name == name), None)
    if tile is None:
        yield f"no tile is called {name!r}"
    elif tile.layout is None:
        yield f"{name} has no layout, as only an exchange buffer may"
    elif len(tile.layout.inputs) != dims:
        yield f"{name} has {len(tile.layout.inputs)} dimensions, not {dims}"


def _of_wgmma(ir: KernelIR, op: Wgmma) -> Iterator[str]:
    macro = op.macro
    if macro.kind != ir.kind:
        yield f"{macro.name} multiplies {macro.kind}, and the kernel's values are {ir.kind}"
    if (width := sum(ir.register(e.array).width for e in op.d)) != macro.values[2]:
        yield f"a thread has {macro.values[2]} values of {macro.name}, the elements of {op.d[0].array} have {width}"
    first = op.d[0]
    if any(e.array != first.array or e.index != (*first.index[:-1], first.index[-1] + n) for n, e in enumerate(op.d)):
        yield f"accumulators are elements of {first.array} one behind the other"
    for x in (op.a, op.b):
        if isinstance(x, SharedOperand):
            yield from _of_tile(ir, x.tile, len(x.origin))


def _of_products(ir: KernelIR, op: WgmmaWait) -> Iterator[str]:
    if not 0 <= op.pending <= MOST_PRODUCTS:
        yield f"a warpgroup waits until 0 to {MOST_PRODUCTS} groups of products are running, not {op.pending}"


def _of_stores(ir: KernelIR, op: WaitStores) -> Iterator[str]:
    if op.pending < 0:
        yield f"a thread waits until some groups of stores are read, not {op.pending}"


def _of_roles(ir: KernelIR, s: Roles) -> Iterator[str]:
    """Each role has warps of its own that there are."""
    if not s.roles:
        yield "there are no roles"
    taken: dict[int, Role] = {}
    for role in s.roles:
        if role.first < 0 or role.warps < 1 or role.first + role.warps > ir.warps:
            yield f"{role.name} has {role.warps} warps from {role.first} on, of {ir.warps}"
        for warp in range(role.first, role.first + role.warps):
            if warp in taken:
                yield f"warp {warp} is {taken[warp].name} and {role.name}"
                return
            taken[warp] = role


RULES: dict[type, Callable[[KernelIR, Any], Iterator[str]]] = {
    Await: _of_await,
    Arrive: _of_arrive,
    BoxCopy: _of_box,
    BoxStore: _of_box,
    Wgmma: _of_wgmma,
    WgmmaWait: _of_products,
    WaitStores: _of_stores,
    Roles: _of_roles,
}
"""By statement."""
