"""Whether an IR is one at all: names that have values, arrays and tiles that there are, extents that fit one another.

What a kernel *does* is for the proofs to judge, and any well-formed IR may be judged, however wrong. But an expression
of a name that nothing gives a value, a fragment of sixteen values loaded to an array of eight, or a layout's dimension
number 5 of 2 has no meaning that could be right or wrong. Passes make no such thing; whoever writes or edits an IR by
hand may, and is told what and where, before the printer, the interpreter and the verifier each trip over it in its own
way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    Barrier,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    Loop,
    Mma,
    Pointwise,
    RegisterArray,
    Scale,
    SharedStore,
    SharedTile,
    Stmt,
    Zero,
)
from polyvolta.cuda.ir.walk import IrPath, inner
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.functions.formula import inputs
from polyvolta.sets import Aff

VALUE_BYTES = {"half": 2, "float": 4}


class IllFormed(CudaError, ValueError):
    """An IR that means nothing: a name without a value, an array that isn't there, extents that don't fit."""

    id = "PV549"


def check(ir: KernelIR) -> None:
    """Refuse an IR that has no meaning.

    Raises
    ------
    IllFormed : says what, and which statement.

    Cost: linear in the operations; some tenths of a millisecond.
    """
    for problem in _of_kernel(ir):
        raise IllFormed(problem, where=ir.name)
    known = {*ir.sizes, "blockIdx.x", "blockIdx.y", "blockIdx.z", "linearId", *(n for n, _ in ir.derived)}
    _body(ir, ir.body, frozenset(known), ())


def _body(ir: KernelIR, body: tuple[Stmt, ...], known: frozenset[str], at: IrPath) -> None:
    for k, s in enumerate(body):
        inside = known
        for problem in _of_statement(ir, s, known):
            raise IllFormed(f"{type(s).__name__}: {problem}", where=f"statement {(*at, k)} of {ir.name}: {_short(s)}")
        if isinstance(s, Loop):
            inside = known | {s.var}
        _body(ir, inner(s), inside, (*at, k))


def _short(s: Stmt) -> str:
    text = str(s)
    return text if len(text) <= 160 else text[:157] + "..."


# ---- the kernel as a whole


def _of_kernel(ir: KernelIR) -> Iterator[str]:
    if ir.threads < LANES or ir.threads % LANES:
        yield f"{ir.threads} threads are no whole warps of {LANES}"
    known = {"linearId"}
    for name, e in ir.derived:
        yield from _unknown(name, (e,), known)
        known.add(name)
    yield from _unknown("the grid", ir.grid, set(ir.sizes))
    if len(ir.grid) != 3:
        yield f"the grid has three extents, not {len(ir.grid)}"
    yield from (f"{size} is a multiple of {multiple}" for size, multiple in ir.context if multiple < 1)
    for t in ir.tensors:
        if t.align not in (8, 4, 2, 1):
            yield f"an access to {t.name} moves 8, 4, 2 or 1 values, not {t.align}"
        if sorted(t.order) != list(range(len(t.dims))):
            yield f"{t.name} has {len(t.dims)} dimensions, and the order {t.order}"
    for tile in ir.tiles:
        yield from _of_tile(tile)
    for r in ir.registers:
        if r.kind not in VALUE_BYTES or r.width < 1 or any(n < 1 for n in r.shape):
            yield f"{r.name}[{', '.join(map(str, r.shape))}] of {r.width} {r.kind} values"


def _of_tile(tile: SharedTile) -> Iterator[str]:
    if tile.start < 0 or tile.chunks < 1 or tile.buffers < 1:
        yield f"{tile.name} has {tile.buffers} buffers of {tile.chunks} chunks from chunk {tile.start} on"
    if tile.layout is not None:
        dims = len(tile.layout.inputs)
        if sorted(tile.order) != list(range(dims)):
            yield f"the layout of {tile.name} has {dims} dimensions, and the order {tile.order}"
        yield from _of_map(f"the layout of {tile.name}", tile.layout, dims, 1)


def _of_map(what: str, f: IndexMap, ins: int, outs: int) -> Iterator[str]:
    """An index map with so many inputs and outputs."""
    if (len(f.inputs), len(f.outputs)) != (ins, outs):
        yield f"{what} takes {len(f.inputs)} indices to {len(f.outputs)}, not {ins} to {outs}"
    yield from _unknown(what, f.exprs, {n for n, _ in f.inputs})


def _unknown(what: str, expressions: Iterable[Aff], known: Iterable[str]) -> Iterator[str]:
    for e in expressions:
        if missing := sorted(e.names() - set(known)):
            yield f"{what} is {e}, and {missing[0]} has no value there"


# ---- statements


def _of_statement(ir: KernelIR, s: Stmt, known: frozenset[str]) -> Iterator[str]:
    for what, expressions in _expressions(s):
        yield from _unknown(what, expressions, known)
    for name in ("target", "source", "a", "b", "d"):
        if isinstance(e := getattr(s, name, None), Element):
            yield from _of_element(ir, e, kind=_KINDS.get((type(s), name)))
    rule: Callable[[KernelIR, Any], Iterator[str]] | None = _RULES.get(type(s))
    if rule is not None:
        yield from rule(ir, s)


def _expressions(s: Stmt) -> Iterator[tuple[str, tuple[Aff, ...]]]:
    """The expressions of a statement itself, with what they are."""
    for name in ("index", "origin", "lower", "upper", "conditions"):
        if (value := getattr(s, name, None)) is not None:
            yield name, value
    for name in ("buffer", "slot", "round"):
        if isinstance(value := getattr(s, name, None), Aff):
            yield name, (value,)
    for name in ("target", "source", "a", "b", "d"):
        if isinstance(e := getattr(s, name, None), Element):
            yield e.array, e.index
    if isinstance(s, Pointwise):
        yield from ((e.array, e.index) for e in s.operands if isinstance(e, Element))
        if s.inside is not None:
            yield "inside", (*s.inside.index, *s.inside.extents)


def _of_element(ir: KernelIR, e: Element, width: int | None = None, kind: str | None = None) -> Iterator[str]:
    """A register array that there is, of so many values of a kind."""
    array = next((r for r in ir.registers if r.name == e.array), None)
    if array is None:
        yield f"no register array is called {e.array!r}"
    elif len(e.index) != len(array.shape):
        yield f"{e.array} has {len(array.shape)} dimensions, not {len(e.index)}"
    elif width is not None and array.width != width:
        yield f"an element of {e.array} has {array.width} values, not {width}"
    elif kind is not None and array.kind != kind:
        yield f"{e.array} has {array.kind} values, where {kind} values belong"


def _array(ir: KernelIR, e: Element) -> RegisterArray:
    return ir.register(e.array)


def _of_global(ir: KernelIR, op: GlobalLoad | GlobalStore) -> Iterator[str]:
    tensor = next((t for t in ir.tensors if t.name == op.tensor), None)
    if tensor is None:
        yield f"no tensor is called {op.tensor!r}"
        return
    if len(op.index) != len(tensor.dims):
        yield f"{op.tensor} has {len(tensor.dims)} dimensions, not {len(op.index)}"
    if op.along not in (*range(len(tensor.dims)), *([None] if isinstance(op, GlobalLoad) else [])):
        yield f"{op.tensor} has no dimension {op.along}"
    if isinstance(op, GlobalStore) and not tensor.written:
        yield f"{op.tensor} is no output"
    yield from _of_element(ir, op.target if isinstance(op, GlobalLoad) else op.source, CHUNK)


def _of_pointwise(ir: KernelIR, op: Pointwise) -> Iterator[str]:
    yield from _of_element(ir, op.target, CHUNK)
    for x in op.operands:
        if isinstance(x, Element):
            yield from _of_element(ir, x, CHUNK)
        elif x not in ir.scalars:
            yield f"no scalar is called {x!r}"
    if max(inputs(op.formula), default=-1) >= len(op.operands):
        yield f"{op.name} has {len(op.operands)} operands, and its formula takes number {max(inputs(op.formula))}"
    if (inside := op.inside) is not None:
        if len(inside.index) != len(inside.extents):
            yield f"inside has {len(inside.index)} indices and {len(inside.extents)} extents"
        if inside.along not in (None, *range(len(inside.index))):
            yield f"inside has no dimension {inside.along}"


def _of_tile_index(ir: KernelIR, tile: str, index: tuple[Aff, ...]) -> Iterator[str]:
    found = next((t for t in ir.tiles if t.name == tile), None)
    if found is None:
        yield f"no tile is called {tile!r}"
    elif found.layout is None:
        yield f"{tile} has no layout, as only an exchange buffer may"
    elif len(found.layout.inputs) != len(index):
        yield f"{tile} has {len(found.layout.inputs)} dimensions, not {len(index)}"


def _of_shared_store(ir: KernelIR, op: SharedStore) -> Iterator[str]:
    yield from _of_element(ir, op.source, CHUNK)
    yield from _of_tile_index(ir, op.tile, op.index)


def _of_fragment_load(ir: KernelIR, op: FragmentLoad) -> Iterator[str]:
    yield from _of_tile_index(ir, op.tile, op.origin)
    yield from _of_map("the ownership", op.ownership, 2, len(op.origin))
    if op.operand not in ("a", "b"):
        yield f"an operand is a or b, not {op.operand!r}"
    width = _array(ir, op.target).width
    if tuple(n for _, n in op.ownership.inputs) != (LANES, width):
        yield f"the ownership is of {op.ownership.inputs}, not of {LANES} lanes with {width} values each"
    if op.access not in (1, 2, 4, 8) or width % op.access:
        yield f"fragments are loaded 1, 2, 4 or 8 values at once, not {op.access} of {width}"


def _of_mma(ir: KernelIR, op: Mma) -> Iterator[str]:
    instruction = op.macro.instruction
    sides = zip("abd", (op.a, op.b, op.d), (instruction.a, instruction.b, instruction.d), op.macro.values, strict=True)
    for name, e, own, values in sides:
        width, count = _array(ir, e).width, own.inputs[1][1]
        if width != values:
            yield f"a lane has {values} values of operand {name} of {op.macro.name}, an element of {e.array} {width}"
        for step in op.macro.steps:
            taken = getattr(step, name)
            if len(taken) != count or any(not 0 <= v < width for v in taken):
                yield f"a step takes the values {taken} of {e.array}, of which a lane has {width}, {count} at a time"


def _of_exchange(ir: KernelIR, op: ExchangeStore | ExchangeLoad) -> Iterator[str]:
    if op.buffer not in [t.name for t in ir.tiles]:
        yield f"no tile is called {op.buffer!r}"
    ex = op.exchange
    if ex.kind not in VALUE_BYTES:
        yield f"an exchange holds half or float values, not {ex.kind!r}"
        return
    if isinstance(op, ExchangeStore):
        yield from _pieces(ex, _array(ir, op.source))
    else:
        yield from _of_element(ir, op.target, CHUNK)
        if op.parts < 1:
            yield f"a sum of {op.parts} parts"
    yield from _of_map("the load", ex.load, 2, CHUNK * VALUE_BYTES[ex.kind] // CHUNK_BYTES)
    yield from _of_map("the ownership of runs", ex.owns, 2, 2)
    if len(ex.words) != CHUNK or any(not 0 <= w < CHUNK for w in ex.words):
        yield f"a run has the words {ex.words} of the {CHUNK} loaded"
    if ex.along not in (0, 1) or ex.rounds < 1 or ex.chunks < 1:
        yield f"runs along dimension {ex.along} in {ex.rounds} rounds through {ex.chunks} chunks"


def _pieces(ex: Exchange, source: RegisterArray) -> Iterator[str]:
    lengths = {len(p) for p in ex.pieces}
    if len(lengths) != 1 or lengths.pop() * VALUE_BYTES[ex.kind] not in (2, 4, 8, 16):
        yield f"pieces of {[len(p) for p in ex.pieces]} {ex.kind} values are no accesses of one width"
    if outside := [v for p in ex.pieces for v in p if not 0 <= v < source.width]:
        yield f"a piece has value {outside[0]} of the {source.width} of {source.name}"
    yield from _of_map("the store", ex.store, 1, len(ex.pieces))


def _of_loop(ir: KernelIR, s: Loop) -> Iterator[str]:
    if s.step < 1:
        yield f"{s.var} goes in steps of {s.step}"
    if not s.lower or not s.upper:
        yield f"{s.var} has no bounds"


def _of_barrier(ir: KernelIR, s: Barrier) -> Iterator[str]:
    if s.scope not in ("block", "warp"):
        yield f"a barrier is one of a block or of a warp, not of a {s.scope}"


_KINDS: dict[tuple[type, str], str] = {
    (GlobalLoad, "target"): "half",
    (SharedStore, "source"): "half",
    (FragmentLoad, "target"): "half",
    (Mma, "a"): "half",
    (Mma, "b"): "half",
    (Mma, "d"): "float",
    (ExchangeStore, "source"): "float",
    (Zero, "target"): "float",
    (Scale, "target"): "float",
}
"""What values memory and the tensor cores take and give."""
_RULES: dict[type, Callable[[KernelIR, Any], Iterator[str]]] = {
    GlobalLoad: _of_global,
    GlobalStore: _of_global,
    Pointwise: _of_pointwise,
    SharedStore: _of_shared_store,
    FragmentLoad: _of_fragment_load,
    Mma: _of_mma,
    ExchangeStore: _of_exchange,
    ExchangeLoad: _of_exchange,
    Loop: _of_loop,
    Barrier: _of_barrier,
}
