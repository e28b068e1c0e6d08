"""What must hold for each statement of a well-formed IR: its names, its elements, its accesses, its own rule.

Every operation is asked what it says of itself in the words that there are for it (`accesses`): a reader that looks for
writes to shared memory finds none in an access whose kind is "store", and would take it for a read. Operations of this
package have rules of their own for their fields, and their accesses follow from these; of any other the accesses are
what is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import product
from typing import Any

from polyvolta.cuda.ir.accesses import KINDS, ORDERS, PROXIES, SPACES, TIMES, TOGETHER
from polyvolta.cuda.ir.engines import well_formed as engines
from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    VALUE_BYTES,
    Access,
    AsyncCopy,
    Barrier,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    KernelIR,
    LoadMatrix,
    Loop,
    Mma,
    Op,
    Part,
    Pointwise,
    RegisterArray,
    Scale,
    SharedLoad,
    SharedStore,
    Stmt,
    StoreMatrix,
    TakeRun,
    Tiles,
    WaitCopies,
    Wgmma,
    When,
    Zero,
)
from polyvolta.cuda.ir.memories import NoSuchArray
from polyvolta.cuda.ir.walk import elements
from polyvolta.cuda.ir.well_formed_terms import MOST_INT, of_lanes, of_map, of_name, unknown
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.graph.functions.formula import Call, Formula, Input, nodes
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.sets import Aff


def of_statement(ir: KernelIR, s: Stmt, known: frozenset[str]) -> Iterator[str]:
    for what, expressions in _expressions(s):
        yield from unknown(what, expressions, known)
    for f in fields(s):
        for e in elements(getattr(s, f.name)) if isinstance(s, Op) else ():
            yield from _of_element(ir, e, kind=_kind_of(ir, _KINDS.get((type(s), f.name))))
    rule: Callable[[KernelIR, Any], Iterator[str]] | None = _RULES.get(type(s))
    if rule is not None:
        yield from rule(ir, s)
    if isinstance(s, Op):
        yield from _of_words("it", s, _OF_OPERATIONS)
        yield from _of_accesses(ir, s, known, rule is None)


def _expressions(s: Part) -> Iterator[tuple[str, tuple[Aff, ...]]]:
    """The expressions of a statement itself, with what they are: its fields that hold such, and those of its parts."""
    for f in fields(s):
        value = getattr(s, f.name)
        for x in value if isinstance(value, tuple) else (value,):
            if isinstance(x, Aff):
                yield f.name, (x,)
            elif isinstance(x, Element):
                yield x.array, x.index
            elif isinstance(x, Part) and not isinstance(x, Op | Loop | When | Tiles):
                yield f.name, tuple(e for _, some in _expressions(x) for e in some)


def _kind_of(ir: KernelIR, size: int | None) -> str | None:
    """The kind of values of so many bytes in a kernel."""
    return {2: ir.kind, 4: "float"}.get(size) if size else None


Vocabulary = tuple[tuple[str, tuple[str | None, ...]], ...]
_OF_OPERATIONS: Vocabulary = (("together", TOGETHER), ("orders", ORDERS))
_OF_ACCESSES: Vocabulary = (("space", SPACES), ("kind", KINDS), ("proxy", PROXIES), ("when", TIMES))


def _of_words(what: str, part: Op | Access, vocabulary: Vocabulary) -> Iterator[str]:
    """A word that no reader of operations and accesses knows."""
    for name, words in vocabulary:
        if (found := getattr(part, name)) not in words:
            yield f"{what} has {name} {found!r}, where {' or '.join(map(repr, words))} belongs"


def _of_accesses(ir: KernelIR, op: Op, known: frozenset[str], whole: bool) -> Iterator[str]:
    """What holds for any operation: it touches arrays that there are, within their dimensions, so much at once.

    Of one whose accesses follow from fields that have a rule it is the words alone that are looked at, not the whole.
    """
    try:
        found = op.accesses(ir)
    except NoSuchArray as wrong:
        yield wrong.message
        return
    for a in found:
        yield from _of_words(f"an access to {a.array}", a, _OF_ACCESSES)
        if whole:
            yield from _of_access(ir, a, known)


def _of_access(ir: KernelIR, a: Access, known: frozenset[str]) -> Iterator[str]:
    yield from unknown(f"the place in {a.array}", a.expressions, known)
    if a.width < 1 or a.values % a.width or a.bytes not in (1, 2, 4, 8, CHUNK_BYTES) and a.space != "registers":
        yield f"{a.values} values of {a.item} bytes in accesses of {a.width} to {a.array}"
    if a.space == "registers":
        yield from _of_element(ir, Element(a.array, a.index))
    elif a.space == "global":
        yield from _of_tensor_access(ir, a)
    elif a.places is None:
        yield from _of_tile_index(ir, a.array, a.index)
    elif a.array not in [t.name for t in ir.tiles]:
        yield f"no tile is called {a.array!r}"
    else:
        yield from of_map(f"the places in {a.array}", a.places, 1 + len(a.given), a.values // max(a.width, 1))
    if a.own is not None:
        yield from of_map("the ownership", a.own, 2, len(a.index))
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
    if isinstance(op, GlobalLoad) and op.own is not None:
        yield from of_lanes("the ownership", op.own, len(tensor.dims), ("i", CHUNK))
    yield from _of_element(ir, op.target if isinstance(op, GlobalLoad) else op.source, CHUNK)


def _of_pointwise(ir: KernelIR, op: Pointwise) -> Iterator[str]:
    yield from _of_element(ir, op.target, CHUNK)
    for x in op.operands:
        if isinstance(x, Element):
            yield from _of_element(ir, x, CHUNK)
        elif x not in ir.scalars:
            yield f"no scalar is called {x!r}"
    yield from of_name("a function", op.name)
    yield from _of_formula(op.name, op.formula, len(op.operands))
    if (inside := op.inside) is not None:
        if len(inside.index) != len(inside.extents):
            yield f"inside has {len(inside.index)} indices and {len(inside.extents)} extents"
        if inside.along not in (None, *range(len(inside.index))):
            yield f"inside has no dimension {inside.along}"
        if inside.own is not None:
            yield from of_lanes("what is inside", inside.own, len(inside.index), ("i", CHUNK))


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


def _of_shared_store(ir: KernelIR, op: SharedStore | SharedLoad) -> Iterator[str]:
    yield from _of_element(ir, op.source if isinstance(op, SharedStore) else op.target, CHUNK)
    yield from _of_tile_index(ir, op.tile, op.index)


def _of_fragment_load(ir: KernelIR, op: FragmentLoad) -> Iterator[str]:
    yield from _of_tile_index(ir, op.tile, op.origin)
    width = _array(ir, op.target).width
    yield from of_lanes("the ownership", op.ownership, len(op.origin), ("i", width))
    if op.operand not in ("a", "b"):
        yield f"an operand is a or b, not {op.operand!r}"
    if op.access not in (1, 2, 4, 8) or width % op.access:
        yield f"fragments are loaded 1, 2, 4 or 8 values at once, not {op.access} of {width}"


def _of_load_matrix(ir: KernelIR, op: LoadMatrix) -> Iterator[str]:
    yield from _of_tile_index(ir, op.tile, op.origin)
    array = _array(ir, op.target)
    if op.operand not in ("a", "b", "c", "x"):
        yield f"an operand is a or b, or c, which is added, or x, which is computed on, not {op.operand!r}"
    if op.count not in op.load.counts:
        yield f"{op.load.title} brings {' or '.join(map(str, op.load.counts))} matrices, not {op.count}"
    elif array.width % (2 * op.count):
        yield f"{op.load.title} brings {2 * op.count} values of a lane, an element of {array.name} has {array.width}"
    else:
        yield from of_lanes("the ownership", op.ownership, len(op.origin), ("i", array.width))
        yield from of_lanes("the map of lines", op.lines, len(op.origin), ("n", array.width // (2 * op.count)))


def _of_store_matrix(ir: KernelIR, op: StoreMatrix) -> Iterator[str]:
    yield from _of_tile_index(ir, op.tile, op.origin)
    array = _array(ir, op.source)
    if array.kind not in (ir.kind, "float"):
        yield f"{op.store.title} stores {ir.kind}, or fp32 rounded to it, and {array.name} has {array.kind}"
    if op.count not in op.store.counts:
        yield f"{op.store.title} stores {' or '.join(map(str, op.store.counts))} matrices, not {op.count}"
    elif array.width % (2 * op.count):
        yield f"{op.store.title} stores {2 * op.count} values of a lane, an element of {array.name} has {array.width}"
    else:
        yield from of_lanes("the ownership", op.ownership, len(op.origin), ("i", array.width))
        yield from of_lanes("the map of lines", op.lines, len(op.origin), ("n", array.width // (2 * op.count)))


def _of_async_copy(ir: KernelIR, op: AsyncCopy) -> Iterator[str]:
    tensor = next((t for t in ir.tensors if t.name == op.tensor), None)
    if tensor is None:
        yield f"no tensor is called {op.tensor!r}"
        return
    if len(op.index) != len(tensor.dims):
        yield f"{op.tensor} has {len(tensor.dims)} dimensions, not {len(op.index)}"
    if op.along != tensor.order[-1]:
        yield f"values along dimension {op.along} of {op.tensor} are apart, and asynchronous copies move runs"
    if op.turn is not None:
        yield from of_lanes("the pieces that lanes begin with", op.turn, 1)
    yield from _of_tile_index(ir, op.tile, op.place)


def _of_wait(ir: KernelIR, op: WaitCopies) -> Iterator[str]:
    if not 0 <= op.pending <= engines.MOST_PENDING:
        most = engines.MOST_PENDING
        yield f"a thread waits until 0 to {most} groups of copies are on their way, not {op.pending}"


def _of_mma(ir: KernelIR, op: Mma) -> Iterator[str]:
    instruction = op.macro.instruction
    if op.macro.kind != ir.kind:
        yield f"{instruction.title} multiplies {op.macro.kind}, and the kernel's values are {ir.kind}"
    every = op.macro.a, op.macro.b, op.macro.d, instruction.a, instruction.b, instruction.d
    owned = [own for own in every if isinstance(own, IndexMap)]
    if len(owned) < len(every):
        yield f"{instruction.title} reads operands from shared memory, and this operation has them in registers"
        return
    for own in owned:
        yield from of_lanes("the ownership", own, 2, ("i", own.inputs[-1][1] if own.inputs else 0))
    sides = zip("abd", (op.a, op.b, op.d), owned[3:], op.macro.values, strict=True)
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
    if ex.kind not in (ir.kind, "float"):
        yield f"an exchange holds {ir.kind} or float values, not {ex.kind!r}"
        return
    if isinstance(op, ExchangeStore):
        yield from _pieces(ex, _array(ir, op.source))
    else:
        yield from _of_element(ir, op.target, CHUNK)
        if op.parts < 1:
            yield f"a sum of {op.parts} parts"
    yield from of_lanes("the load", ex.load, CHUNK * VALUE_BYTES[ex.kind] // CHUNK_BYTES, ("round", ex.rounds))
    yield from of_lanes("the ownership of runs", ex.owns, 2, ("round", ex.rounds))
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
    yield from of_lanes("the store", ex.store, len(ex.pieces))


def _of_take_run(ir: KernelIR, op: TakeRun) -> Iterator[str]:
    runs, width = op.runs, _array(ir, op.source).width
    yield from _of_element(ir, op.target, CHUNK)
    if runs.rounds * CHUNK != width or runs.along not in (0, 1):
        yield f"{runs.rounds} runs along dimension {runs.along} of the {width} values of {op.source.array}"
    yield from of_map("the runs' values", runs.picks, 2, 1)
    yield from of_lanes("the ownership of runs", runs.owns, 2, ("round", runs.rounds))
    if [n for n, _ in runs.picks.inputs] != ["round", "v"] or [x for _, x in runs.picks.inputs] != [runs.rounds, CHUNK]:
        yield f"the runs' values are of [round, v], {runs.rounds} by {CHUNK}, not of {runs.picks}"
        return
    for r, v in product(range(runs.rounds), range(CHUNK)):
        (value,) = runs.picks.evaluate({"round": r, "v": v})
        if not 0 <= value < width:
            yield f"a run takes value {value} of the {width} of {op.source.array}"


def _of_loop(ir: KernelIR, s: Loop) -> Iterator[str]:
    if not 1 <= s.step <= MOST_INT:
        yield f"{s.var} goes in steps of {s.step}"
    if not s.lower or not s.upper:
        yield f"{s.var} has no bounds"


def _of_barrier(ir: KernelIR, s: Barrier) -> Iterator[str]:
    if s.scope not in ORDERS[1:]:
        yield f"a barrier is one of a {', a '.join(map(str, ORDERS[1:]))}, not of a {s.scope}"


_KINDS: dict[tuple[type, str], int] = {
    (GlobalLoad, "target"): 2,
    (SharedStore, "source"): 2,
    (FragmentLoad, "target"): 2,
    (LoadMatrix, "target"): 2,
    (Mma, "a"): 2,
    (Mma, "b"): 2,
    (Mma, "d"): 4,
    (ExchangeStore, "source"): 4,
    (TakeRun, "source"): 4,
    (TakeRun, "target"): 4,
    (Zero, "target"): 4,
    (Scale, "target"): 4,
    (Wgmma, "d"): 4,
    (Wgmma, "a"): 2,
    (SharedLoad, "target"): 2,
}
"""What values memory and the tensor cores take and give, in bytes: the kernel's 16-bit ones, or fp32."""
_RULES: dict[type, Callable[[KernelIR, Any], Iterator[str]]] = {
    GlobalLoad: _of_global,
    GlobalStore: _of_global,
    Pointwise: _of_pointwise,
    SharedStore: _of_shared_store,
    SharedLoad: _of_shared_store,
    FragmentLoad: _of_fragment_load,
    Mma: _of_mma,
    ExchangeStore: _of_exchange,
    ExchangeLoad: _of_exchange,
    TakeRun: _of_take_run,
    Loop: _of_loop,
    Barrier: _of_barrier,
    LoadMatrix: _of_load_matrix,
    StoreMatrix: _of_store_matrix,
    AsyncCopy: _of_async_copy,
    WaitCopies: _of_wait,
    **engines.RULES,
}
