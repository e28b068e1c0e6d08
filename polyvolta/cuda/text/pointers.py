"""Pointers that move on with a loop, so that its loads need no address arithmetic of their own.

A load in the loop over k tiles is at an index such as (128 * blockIdx.y + 32 * c3 + linearId / 4, 32 * c2 + 8 *
(linearId % 4) + 32). What depends on the loop's variable c2 is 32 * c2, so the address grows by 32 values a trip. The
index is taken apart, term by term:

    a start, what a thread has where the loop begins     (128 * blockIdx.y + linearId / 4, 8 * (linearId % 4))
    a step, what a trip of the loop adds                 (0, 32)
    the rest, of unrolled loops: constants               (32 * c3, 0)

A pointer to the start that is advanced by the step in each trip leaves one multiply-add for a load, instead of a
64-bit address computed from c2. All loads of one start and step share a pointer. It is advanced behind the loads: where
a condition stands around them, `if (K >= 32 * c2 + 33)`, inside of it (ptxas keeps a pointer then; one that every
trip advances is rewritten into an offset and an address for each load, which takes ten registers more).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polyvolta.cuda.ir.kernel_ir import AsyncCopy, Loop, Memories, Op, Stmt, When
from polyvolta.cuda.ir.walk import operations
from polyvolta.sets import Aff, aff, var

Place = tuple[Aff, Aff]


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer into a matrix that moves on with a loop.

    Parameters
    ----------
    tensor : the matrix.
    start : (line, run) in the loop's first trip.
    step : lines and values along them from a trip to the next.
    """

    tensor: str
    start: Place
    step: tuple[int, int]


def moving(loop: Loop, ir: Memories) -> dict[Op, tuple[Pointer, Place]]:
    """For each load that a loop moves on: the pointer, and where the load is from there, as (line, run).

    These are the unguarded loads of matrices whose index is the loop's variable times a number plus what does not
    depend on it. A guarded load compares its index with the extents, and keeps it; an asynchronous copy compares what
    is left of the matrix from the pointer on. Boxes have no pointer.

    >>> from polyvolta.cuda.ir.kernel_ir import Element, GlobalLoad, GlobalTensor, RegisterArray
    >>> from polyvolta.cuda.ir.memories import Arrays
    >>> from polyvolta.sets import aff, var
    >>> at = (var("t") + 16 * var("c3"), 32 * var("c2") + 32)
    >>> load = GlobalLoad(Element("private_A", (var("c3"),)), "A", at, 1)
    >>> copies = Loop("c3", (aff(0),), (aff(3),), 1, True, (load,))
    >>> loop = Loop("c2", (aff(-1),), (var("K"),), 1, False, (copies,))
    >>> arrays = Arrays((GlobalTensor("A", ("M", "K"), (0, 1)),), (), (RegisterArray("private_A", "half", (4,)),))
    >>> pointer, rest = moving(loop, arrays)[load]
    >>> print(*pointer.start, "/", *pointer.step, "/", *rest)
    t 0 / 0 32 / 16*c3 0
    """
    if loop.unroll or len(loop.lower) != 1:
        return {}
    out: dict[Op, tuple[Pointer, Place]] = {}
    for op, inner in _operations(loop.body, frozenset()):
        for a in op.accesses(ir):
            if (a.space, a.kind, a.proxy) != ("global", "read", "generic") or len(a.index) != 2:
                continue
            if a.guarded and a.when != "completion" and not isinstance(op, AsyncCopy):
                continue
            line, run = (_parts(a.index[d], loop, inner) for d in ir.tensor(a.array).order)
            if line and run and (line[1] or run[1]):
                out[op] = Pointer(a.array, (line[0], run[0]), (line[1], run[1])), (line[2], run[2])
    return out


def ending(loop: Loop, loads: Mapping[Op, object]) -> When | None:
    """The condition that some loads of a loop stand in, if it stays false once it is: then no trip needs pointers."""
    around = [s for s in loop.body if any(op in loads for op in operations((s,)))]
    match around:
        case [When(orelse=()) as one]:
            parts = [_parts(e, loop, frozenset()) for e in one.conditions]
            return one if all(p and p[1] <= 0 for p in parts) else None
    return None


def _operations(body: tuple[Stmt, ...], inner: frozenset[str]) -> Iterator[tuple[Op, frozenset[str]]]:
    """The operations of a body, each with the variables of the unrolled loops around it; other loops have their own."""
    for s in body:
        match s:
            case When():
                yield from _operations((*s.body, *s.orelse), inner)
            case Loop(unroll=True):
                yield from _operations(s.body, inner | {s.var})
            case Op():
                yield s, inner


def _parts(e: Aff, loop: Loop, inner: frozenset[str]) -> tuple[Aff, int, Aff] | None:
    """Start, step and rest of one coordinate; None where a quotient depends on a loop."""
    rest, each = aff(0), 0
    for atom, c in e.terms:
        term = Aff(((atom, c),))
        if atom == loop.var:
            each = c
        elif atom in inner:
            rest = rest + term
        elif term.names() & {loop.var, *inner}:
            return None
    return e - rest + each * (loop.lower[0] - var(loop.var)), each * loop.step, rest


def apart(e: Aff, names: frozenset[str]) -> tuple[Aff, Aff]:
    """A coordinate without the multiples of some names, and these.

    >>> print(*apart(32 * var("c3") + var("t") // 4, frozenset({"c3"})), sep=" / ")
    floor(t/4) / 32*c3
    """
    rest = Aff(tuple((atom, c) for atom, c in e.terms if atom in names))
    return e - rest, rest
