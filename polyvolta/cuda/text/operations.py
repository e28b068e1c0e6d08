"""The operations of the kernel IR in CUDA: each is one call of a device function, or an assignment of its result."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    InitBarriers,
    Inside,
    KernelIR,
    LoadMatrix,
    Mma,
    Op,
    Pointwise,
    Scale,
    SharedLoad,
    SharedStore,
    StoreMatrix,
    TakeRun,
    WaitCopies,
    Zero,
)
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.text import asynchronous
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.expression import literal
from polyvolta.cuda.text.helpers import (
    async_copy,
    exchange,
    global_fragment,
    global_memory,
    matrix_load,
    matrix_store,
    mma,
    pointwise,
    runs,
    shared,
)
from polyvolta.cuda.text.helpers.engines import phases, warpgroups
from polyvolta.cuda.text.helpers.kinds import written
from polyvolta.cuda.text.helpers.values import PACK_HALF8
from polyvolta.cuda.text.pointers import apart
from polyvolta.cuda.text.scope import Scope, plus
from polyvolta.sets import aff

TEXTS: dict[type, Callable[[Scope, Any], str]] = {}
"""Of operations that are defined elsewhere: the statement, without its semicolon."""


def statement(scope: Scope, op: Op) -> str:
    """An operation's text, without a semicolon.

    Raises
    ------
    NotPrintable : nothing prints it, its registers are of another kind, or what it copies whole may end within.
    """
    match op:
        case Zero(target) if target.array in scope.held - scope.begun:
            return scope.call(warpgroups.zero(scope.width(target)), scope.element(target))
        case Zero(target):
            return scope.call(mma.zero(scope.width(target)), scope.element(target))
        case Scale(target, factor):
            return scope.call(mma.scale(scope.width(target)), scope.element(target), literal(factor))
        case GlobalLoad():
            return _global_load(scope, op)
        case GlobalStore():
            return _global_store(scope, op)
        case Pointwise():
            return _pointwise(scope, op)
        case SharedStore(source, tile, index, buffer):
            t = scope.ir.tile(tile)
            function = shared.store(t, scope.operands.get(tile, "tile"))
            return scope.call(function, scope.buffer(tile, buffer), scope.element(source), *scope.place(index, t.order))
        case SharedLoad(target, tile, index, buffer):
            t = scope.ir.tile(tile)
            place = scope.buffer(tile, buffer), *scope.place(index, t.order)
            return f"{scope.element(target)} = {scope.call(shared.load(t, scope.operands.get(tile, 'tile')), *place)}"
        case StoreMatrix():
            return _matrix_store(scope, op)
        case FragmentLoad() | LoadMatrix():
            return _fragment_load(scope, op)
        case Mma(d, a, b, macro):
            return scope.call(mma.mma(macro), *(scope.element(e) for e in (d, a, b)))
        case ExchangeStore(source, buffer, slot, plan):
            function = exchange.store(plan, scope.width(source))
            return scope.call(function, plus(buffer, scope.c(plan.chunks * slot)), scope.element(source), "lane")
        case ExchangeLoad():
            return _exchange_load(scope, op)
        case AsyncCopy():
            return _async_copy(scope, op)
        case CommitCopies():
            return scope.call(async_copy.COMMIT)
        case WaitCopies(pending):
            return scope.call(async_copy.wait(pending))
        case TakeRun(target, source, plan, number):
            function = runs.take(plan, scope.width(source))
            which = [scope.c(number)] if plan.rounds > 1 else []
            return scope.call(function, scope.element(target), scope.element(source), *which)
        case Barrier():
            return _barrier(scope, op)
    if type(op) in asynchronous.TEXTS:
        return asynchronous.TEXTS[type(op)](scope, op)
    if type(op) not in TEXTS:
        raise NotPrintable(
            f"a {type(op).__name__} has no text",
            where=str(op),
            hint="enter what prints it in `polyvolta.cuda.text.operations.TEXTS`",
        )
    return TEXTS[type(op)](scope, op)


def _barrier(scope: Scope, op: Barrier) -> str:
    role, _ = scope.role
    if op.scope == "cluster":
        return scope.call(phases.MEET_CLUSTER if _meets_alone(scope.ir, op) else phases.SYNC_CLUSTER)
    if op.scope == "block":
        return "__syncthreads()"
    if op.scope == "warp" or (op.scope == "role" and role.warps == 1):
        return "__syncwarp()"
    number, threads = scope.named_barrier(op.scope)
    return scope.call(phases.sync(threads), scope.c(number))


def _meets_alone(ir: KernelIR, op: Barrier) -> bool:
    """Whether blocks meet and have nothing to show one another, so that no fence of all memory is needed: before are
    the beginnings of barriers alone, which have a fence of their own.

    Not so at a kernel's end: an arrival at another block's barrier may still be on its way when both have met, and
    finds no memory where that block has ended.
    """
    at = next((k for k, s in enumerate(ir.body) if s is op), None)
    return at is not None and all(isinstance(x, InitBarriers) for x in operations(ir.body[:at]))


def _need_kind(scope: Scope, e: Element, kind: str, what: str) -> None:
    if scope.kinds[e.array] != kind:
        raise NotPrintable(f"{what} needs {kind} registers, {e.array} has {scope.kinds[e.array]}")


def _global_load(scope: Scope, op: GlobalLoad) -> str:
    _need_kind(scope, op.target, "half", f"a load of {op.tensor}")
    t = scope.ir.tensor(op.tensor)
    rank = len(t.dims)
    if op.own is not None:
        function = global_fragment.load(op.own, t.order, op.width(scope.ir), op.guarded)
        return f"{scope.element(op.target)} = {scope.call(function, *_access(scope, op, t), 'lane')}"
    along = "one" if op.along is None else "run" if op.along == t.order[-1] else "line"
    function = global_memory.load(rank, along, t.align if along == "run" else 1, op.guarded)
    return f"{scope.element(op.target)} = {scope.call(function, *_access(scope, op, t))}"


def _async_copy(scope: Scope, op: AsyncCopy) -> str:
    tensor, tile = scope.ir.tensor(op.tensor), scope.ir.tile(op.tile)
    extent = tensor.dims[op.along]
    ends = tensor.whole and (not isinstance(extent, int) or extent % tensor.align == 0)
    if op.guarded and tensor.align > 1 and not ends:
        raise NotPrintable(
            f"a copy with guards brings all of {tensor.align} values or none, and {op.tensor} may end among them",
            where=str(op),
            hint=f"its extent {extent} is to be a multiple of {tensor.align} (whole), or its alignment less",
        )
    pieces = op.pieces(tensor.align)
    function = async_copy.copy(len(tensor.dims), tensor.align, op.guarded, pieces)
    chunk = async_copy.chunk(tile, scope.operands.get(op.tile, "tile"))
    start, rest = zip(*(apart(e, scope.unrolled) for e in op.place), strict=True)
    strides = {n: scope.multiples[n] for e in rest for n in e.names() if scope.multiples[n]}
    place, further = async_copy.behind(tile, start, rest, scope.ranges, strides)
    at = scope.call(chunk, scope.buffer(op.tile, op.buffer), *scope.place(place, tile.order))
    at = plus(at, scope.c(further))
    return scope.call(function, at, *_access(scope, op, tensor), *(["lane"] if pieces else []))


def _access(scope: Scope, op: GlobalLoad | GlobalStore | AsyncCopy, t: GlobalTensor) -> list[str]:
    """The arguments that say where a tensor is accessed."""
    if op in scope.moving:
        name, place = scope.moving[op]
        left = [scope.c(aff(str(t.dims[d])) - op.index[d] + e) for d, e in zip(t.order, place)] if op.guarded else []
        return [name, *map(scope.c, place), str(t.ld), *left]
    extents = [str(t.dims[d]) for d in t.order] if op.guarded else []
    return [t.name, *scope.place(op.index, t.order), *([t.ld] if t.ld else []), *extents]


def _global_store(scope: Scope, op: GlobalStore) -> str:
    t = scope.ir.tensor(op.tensor)
    along = "run" if op.along == t.order[-1] else "line"
    function = global_memory.store(len(t.dims), along, t.align if along == "run" else 1, op.guarded)
    value = scope.element(op.source)
    if scope.kinds[op.source.array] == "float":
        value = scope.call(PACK_HALF8, value)
    return scope.call(function, *_access(scope, op, t), value)


def _pointwise(scope: Scope, op: Pointwise) -> str:
    half = scope.kinds[op.target.array] == "half"
    kinds = pointwise.operand_kinds(op, scope.kinds, scope.products)
    own = op.inside.own if op.inside is not None else None
    kind, packed = "half" if half else "float", bool(scope.ir.maps)  # boxes come from sm_90 on, which has both kinds
    function = pointwise.pointwise(op.name, op.formula, kinds, kind, op.inside is not None, own, packed)
    arguments = [scope.element(e) if isinstance(e, Element) else e for e in op.operands]
    target = scope.element(op.target)
    if op.inside is not None:
        arguments += _room(scope, op.inside) if own is not None else [_count(scope, op.inside)]
    return f"{target} = {scope.call(function, *arguments)}" if half else scope.call(function, target, *arguments)


def _room(scope: Scope, inside: Inside) -> list[str]:
    """The lane, and by how much extents are more than where its values begin, in each dimension."""
    return ["lane", *(scope.c(extent - at) for at, extent in zip(inside.index, inside.extents, strict=True))]


def _count(scope: Scope, inside: Inside) -> str:
    """How many of eight values are inside: the first ones."""
    tests = []
    for d, (at, extent) in enumerate(zip(inside.index, inside.extents, strict=True)):
        if d != inside.along:
            tests.append(scope.condition(extent - at - 1))
    along = inside.along
    number = "8" if along is None else scope.c(inside.extents[along] - inside.index[along])
    return f"{' && '.join(tests)} ? {number} : 0" if tests else number


def _fragment_load(scope: Scope, op: FragmentLoad | LoadMatrix) -> str:
    tile = scope.ir.tile(op.tile)
    steps = tuple(gcd(x, scope.multiple(e)) for x, e in zip(shared.extents(op.ownership), op.origin))
    start, origin = scope.buffer(op.tile, op.buffer), op.origin
    if isinstance(op, LoadMatrix):
        function = matrix_load.load_matrix(tile, op, steps)
        if each := matrix_load.per_line(tile, op, steps):  # what all threads have alike is the tile's
            at = tile.order[0]
            own, further = apart(origin[at] - origin[at].const, scope.unrolled)
            start = plus(start, scope.c(each * (further + origin[at].const)))
            origin = (*origin[:at], own, *origin[at + 1 :])
    else:
        function = shared.fragment_load(tile, op.operand, op.ownership, op.access, steps)
    return scope.call(function, scope.element(op.target), start, *scope.place(origin, tile.order), "lane")


def _matrix_store(scope: Scope, op: StoreMatrix) -> str:
    tile, source = scope.ir.tile(op.tile), scope.ir.register(op.source.array)
    steps = tuple(gcd(x, scope.multiple(e)) for x, e in zip(shared.extents(op.ownership), op.origin))
    function = matrix_store.store_matrix(tile, op, scope.kinds[source.name], steps)
    start = scope.buffer(op.tile, op.buffer)
    return scope.call(function, start, *scope.place(op.origin, tile.order), scope.element(op.source), "lane")


def _exchange_load(scope: Scope, op: ExchangeLoad) -> str:
    plan = op.exchange
    _need_kind(scope, op.target, written(plan.kind), "an exchange")
    of_blocks = op.first is not None
    function = (exchange.load_of_blocks if of_blocks else exchange.load)(plan, op.parts, op.stride)
    where = [plus(op.buffer, scope.c(plan.chunks * op.slot)), *([scope.c(op.round)] if plan.rounds > 1 else [])]
    target = scope.element(op.target)
    if written(plan.kind) == "half":
        return f"{target} = {scope.call(function, *where, 'lane')}"
    return scope.call(function, target, *where, "lane", *([scope.c(op.first)] if op.first is not None else []))
