"""Whether an IR is one at all: names that have values, arrays and tiles that there are, extents that fit one another.

What a kernel *does* is for the proofs to judge, and any well-formed IR may be judged, however wrong. But an expression
of a name that nothing gives a value, a fragment of sixteen values loaded to an array of eight, or a layout's dimension
number 5 of 2 has no meaning that could be right or wrong. Passes make no such thing; whoever writes or edits an IR by
hand may, and is told what and where, before the printer, the interpreter and the verifier each trip over it in its own
way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import fields
from itertools import chain
from math import prod
from typing import Any

from polyvolta.cuda.declared import misfits
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    VALUE_BYTES,
    Access,
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
    Op,
    Part,
    Pointwise,
    RegisterArray,
    Scale,
    SharedStore,
    SharedTile,
    Stmt,
    When,
    Zero,
)
from polyvolta.cuda.ir.memories import NoSuchArray
from polyvolta.cuda.ir.walk import IrPath, elements, inner
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.functions.formula import Call, Formula, Input, nodes
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.names import C_KEYWORDS
from polyvolta.sets import Aff

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST_THREADS, MOST_SHARED, MOST_VALUES, MOST_INT = 1024, 2**20, 2**16, 2**31 - 1
"""Of a block, bytes of a block, values that a thread has of an array: beyond what there is, not beyond memory."""


class IllFormed(CudaError, ValueError):
    """An IR that means nothing: a name without a value, an array that isn't there, extents that don't fit."""

    id = "PV549"


def check(ir: KernelIR) -> None:
    """Refuse an IR that has no meaning.

    Raises
    ------
    IllFormed : says what, and which statement.

    Cost: linear in the operations; about a millisecond.
    """
    for problem in misfits(ir):  # the other rules count on types
        raise IllFormed(problem, where=f"the kernel {ir.name!r}")
    for problem in _of_kernel(ir):
        raise IllFormed(problem, where=ir.name)
    known = {*ir.sizes, "blockIdx.x", "blockIdx.y", "blockIdx.z", "linearId", *(n for n, _ in ir.derived)}
    _body(ir, ir.body, frozenset(known), ())


def _body(ir: KernelIR, body: tuple[Stmt, ...], known: frozenset[str], at: IrPath) -> None:
    for k, s in enumerate(body):
        inside = known
        problems = _of_statement(ir, s, known)
        if isinstance(s, Loop):
            inside = known | {s.var}
            taken = {*known, *ir.scalars, *_arrays(ir)}
            problems = chain(problems, _of_name("a loop variable", s.var, taken))
        for problem in problems:
            raise IllFormed(f"{type(s).__name__}: {problem}", where=f"statement {(*at, k)} of {ir.name}: {_short(s)}")
        _body(ir, inner(s), inside, (*at, k))


def _short(s: Stmt) -> str:
    text = str(s)
    return text if len(text) <= 160 else text[:157] + "..."


# ---- the kernel as a whole


def _arrays(ir: KernelIR) -> tuple[str, ...]:
    """The names of memories, and of the leading dimensions."""
    lds = tuple(t.ld for t in ir.tensors if t.ld)
    return (*(x.name for x in (*ir.tensors, *ir.tiles, *ir.registers)), *lds)


def _of_name(what: str, name: str, taken: Container[str] = ()) -> Iterator[str]:
    """A name that the text may have, and that nothing else has."""
    if not IDENTIFIER.fullmatch(name) or name in C_KEYWORDS:
        yield f"{name!r} can't name {what}: it is no identifier of C"
    elif name in taken:
        yield f"{name!r} can't name {what}: something else is called so"


def _of_names(ir: KernelIR) -> Iterator[str]:
    """Each thing has a name of its own, one that can stand in the text."""
    taken = {"linearId"}
    names = [("the kernel", ir.name), *(("a size", n) for n in ir.sizes), *(("a scalar", n) for n in ir.scalars)]
    names += [("an array", n) for n in _arrays(ir)] + [("a number of each thread", n) for n, _ in ir.derived]
    for what, name in names:
        yield from _of_name(what, name, taken)
        taken.add(name)


def _of_kernel(ir: KernelIR) -> Iterator[str]:
    yield from _of_names(ir)
    if ir.threads < LANES or ir.threads % LANES or ir.threads > MOST_THREADS:
        yield f"{ir.threads} threads are no whole warps of {LANES}, {MOST_THREADS} threads at most"
    if ir.shared_bytes > MOST_SHARED:
        yield f"{ir.shared_bytes} bytes of shared memory are beyond what any GPU has"
    known = {"linearId"}
    for name, e in ir.derived:
        yield from _unknown(name, (e,), known)
        known.add(name)
    yield from _unknown("the grid", ir.grid, set(ir.sizes))
    if len(ir.grid) != 3:
        yield f"the grid has three extents, not {len(ir.grid)}"
    yield from (f"{size} is a multiple of {multiple}" for size, multiple in ir.context if multiple < 1)
    yield from (
        f"{size} is a multiple of {multiple}, and no size" for size, multiple in ir.context if size not in ir.sizes
    )
    for name, (low, high) in ir.ranges.items():
        if high is not None and high < low:
            yield f"{name} is in {low} .. {high}, which nothing is"
    for t in ir.tensors:
        if not 1 <= len(t.dims) <= 2 or any(d < 1 if isinstance(d, int) else d not in ir.sizes for d in t.dims):
            yield f"{t.name} has the dimensions {t.dims}: one or two sizes or positive numbers are"
        if t.align not in (8, 4, 2, 1):
            yield f"an access to {t.name} moves 8, 4, 2 or 1 values, not {t.align}"
        if sorted(t.order) != list(range(len(t.dims))):
            yield f"{t.name} has {len(t.dims)} dimensions, and the order {t.order}"
    for tile in ir.tiles:
        yield from _of_tile(tile)
    for r in ir.registers:
        if r.kind not in VALUE_BYTES or r.width < 1 or any(n < 1 for n in r.shape):
            yield f"{r.name}[{', '.join(map(str, r.shape))}] of {r.width} {r.kind} values"
        elif prod(r.shape) * r.width > MOST_VALUES:
            yield f"{r.name} has {prod(r.shape) * r.width} values in each thread, more than {MOST_VALUES}"


def _of_tile(tile: SharedTile) -> Iterator[str]:
    if tile.start < 0 or tile.chunks < 1 or tile.buffers < 1:
        yield f"{tile.name} has {tile.buffers} buffers of {tile.chunks} chunks from chunk {tile.start} on"
    if tile.layout is not None:
        dims = len(tile.layout.inputs)
        if sorted(tile.order) != list(range(dims)):
            yield f"the layout of {tile.name} has {dims} dimensions, and the order {tile.order}"
        yield from _of_map(f"the layout of {tile.name}", tile.layout, dims, 1)
        if [n for n, _ in tile.layout.outputs] != ["chunk"]:
            yield f"the layout of {tile.name} gives {tile.layout.outputs[0][0]}, not the chunk"
        if (run := tile.layout.inputs[tile.order[-1]][1]) % CHUNK:
            yield f"the layout of {tile.name} has lines of {run} values, no whole chunks"


def _of_map(what: str, f: IndexMap, ins: int, outs: int) -> Iterator[str]:
    """An index map with so many inputs and outputs."""
    if (len(f.inputs), len(f.outputs)) != (ins, outs):
        yield f"{what} takes {len(f.inputs)} indices to {len(f.outputs)}, not {ins} to {outs}"
    for part in (f.inputs, f.outputs):
        for n, (name, _) in enumerate(part):
            yield from _of_name(f"an index of {what}", name, [other for other, _ in part[:n]])
    if any(not 1 <= extent <= MOST_VALUES for _, extent in f.inputs):
        yield f"{what} has the extents {f.inputs}"
    yield from _unknown(what, f.exprs, {n for n, _ in f.inputs})


def _of_lanes(what: str, f: IndexMap, outs: int, *second: tuple[str, int]) -> Iterator[str]:
    """An index map of lanes, and of what each has several of."""
    yield from _of_map(what, f, 1 + len(second), outs)
    if f.inputs != (("lane", LANES), *second):
        yield f"{what} is of {f.inputs}, not of {(('lane', LANES), *second)}"


def _unknown(what: str, expressions: Iterable[Aff], known: Iterable[str]) -> Iterator[str]:
    for e in expressions:
        if missing := sorted(e.names() - set(known)):
            yield f"{what} is {e}, and {missing[0]} has no value there"
        if any(abs(n) > MOST_INT for n in (e.const, *(factor for _, factor in e.terms))):
            yield f"{what} is {e}, which is beyond an int of 32 bits"


# ---- statements


def _of_statement(ir: KernelIR, s: Stmt, known: frozenset[str]) -> Iterator[str]:
    for what, expressions in _expressions(s):
        yield from _unknown(what, expressions, known)
    for f in fields(s):
        for e in elements(getattr(s, f.name)) if isinstance(s, Op) else ():
            yield from _of_element(ir, e, kind=_KINDS.get((type(s), f.name)))
    rule: Callable[[KernelIR, Any], Iterator[str]] | None = _RULES.get(type(s))
    if rule is not None:
        yield from rule(ir, s)
    elif isinstance(s, Op):
        yield from _of_accesses(ir, s)


def _expressions(s: Part) -> Iterator[tuple[str, tuple[Aff, ...]]]:
    """The expressions of a statement itself, with what they are: its fields that hold such, and those of its parts."""
    for f in fields(s):
        value = getattr(s, f.name)
        for x in value if isinstance(value, tuple) else (value,):
            if isinstance(x, Aff):
                yield f.name, (x,)
            elif isinstance(x, Element):
                yield x.array, x.index
            elif isinstance(x, Part) and not isinstance(x, Op | Loop | When):
                yield f.name, tuple(e for _, some in _expressions(x) for e in some)


def _of_accesses(ir: KernelIR, op: Op) -> Iterator[str]:
    """What holds for any operation: it touches arrays that there are, within their dimensions, so much at once."""
    try:
        found = op.accesses(ir)
    except NoSuchArray as wrong:
        yield wrong.message
        return
    for a in found:
        if a.width < 1 or a.values % a.width or a.bytes not in (1, 2, 4, 8, CHUNK_BYTES) and a.space != "registers":
            yield f"{a.values} values of {a.item} bytes in accesses of {a.width} to {a.array}"
        if a.space == "shared" and a.places is None:
            yield from _of_tile_index(ir, a.array, a.index)
        elif a.space == "shared":
            yield from _of_map(f"the places in {a.array}", a.places, 1 + len(a.given), a.values // max(a.width, 1))
        elif a.space == "global":
            yield from _of_tensor_access(ir, a)
        if a.own is not None:
            yield from _of_map("the ownership", a.own, 2, len(a.index))
        if a.along is not None and a.along not in range(len(a.index)):
            yield f"{a.array} has no dimension {a.along}"


def _of_tensor_access(ir: KernelIR, a: Access) -> Iterator[str]:
    tensor = next((t for t in ir.tensors if t.name == a.array), None)
    if tensor is None:
        yield f"no tensor is called {a.array!r}"
    elif len(a.index) != len(tensor.dims):
        yield f"{a.array} has {len(tensor.dims)} dimensions, not {len(a.index)}"
    elif a.writes and not tensor.written:
        yield f"{a.array} is no output"
    elif a.width > (tensor.align if a.along == tensor.order[-1] else 1):
        yield f"an access to {a.array} moves {tensor.align} values at once, not {a.width}"


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
    yield from _of_name("a function", op.name)
    yield from _of_formula(op.name, op.formula, len(op.operands))
    if (inside := op.inside) is not None:
        if len(inside.index) != len(inside.extents):
            yield f"inside has {len(inside.index)} indices and {len(inside.extents)} extents"
        if inside.along not in (None, *range(len(inside.index))):
            yield f"inside has no dimension {inside.along}"


def _of_formula(name: str, formula: Formula, operands: int) -> Iterator[str]:
    for node in nodes(formula):
        if isinstance(node, Input) and not 0 <= node.position < operands:
            yield f"{name} has {operands} operands, and its formula takes number {node.position}"
        if isinstance(node, Call):
            known = FUNCTIONS.get(node.function)
            if known is None or known.arity != len(node.arguments):
                yield f"{name} calls {node.function} of {len(node.arguments)} values, which there is not"


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
    width = _array(ir, op.target).width
    yield from _of_lanes("the ownership", op.ownership, len(op.origin), ("i", width))
    if op.operand not in ("a", "b"):
        yield f"an operand is a or b, not {op.operand!r}"
    if op.access not in (1, 2, 4, 8) or width % op.access:
        yield f"fragments are loaded 1, 2, 4 or 8 values at once, not {op.access} of {width}"


def _of_mma(ir: KernelIR, op: Mma) -> Iterator[str]:
    instruction = op.macro.instruction
    for own in (op.macro.a, op.macro.b, op.macro.d, instruction.a, instruction.b, instruction.d):
        yield from _of_lanes("the ownership", own, 2, ("i", own.inputs[-1][1] if own.inputs else 0))
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
    yield from _of_lanes("the load", ex.load, CHUNK * VALUE_BYTES[ex.kind] // CHUNK_BYTES, ("round", ex.rounds))
    yield from _of_lanes("the ownership of runs", ex.owns, 2, ("round", ex.rounds))
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
    yield from _of_lanes("the store", ex.store, len(ex.pieces))


def _of_loop(ir: KernelIR, s: Loop) -> Iterator[str]:
    if not 1 <= s.step <= MOST_INT:
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
