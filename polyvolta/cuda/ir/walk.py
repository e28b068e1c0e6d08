"""Walks over the kernel IR: all operations of a body, where they stand, expressions put in, what an operation touches.

A statement of a body has a *path*: its number in the body, then its number in that loop's or condition's body, and so
on down; the numbers of a condition's `orelse` go on behind those of its `body`. One operation object may stand at
several places, such as in the versions for full and for partial tiles; a path names one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    Inside,
    Loop,
    Mma,
    Op,
    Pointwise,
    Scale,
    SharedStore,
    Stmt,
    When,
    Zero,
)
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.sets import Aff


def operations(body: tuple[Stmt, ...]) -> Iterator[Op]:
    """Every operation in a body, in program order, each once."""
    for s in body:
        if isinstance(s, Loop | When):
            yield from operations(s.body)
            yield from operations(s.orelse if isinstance(s, When) else ())
        else:
            yield s


IrPath = tuple[int, ...]


def walk(body: tuple[Stmt, ...], at: IrPath = ()) -> Iterator[tuple[IrPath, Stmt]]:
    """Every statement of a body with its path, in program order, loops and conditions before what is in them."""
    for k, s in enumerate(body):
        yield (*at, k), s
        yield from walk(inner(s), (*at, k))


def inner(s: Stmt) -> tuple[Stmt, ...]:
    """The statements in a loop or a condition, those of `orelse` last; () in an operation."""
    if isinstance(s, Loop):
        return s.body
    return (*s.body, *s.orelse) if isinstance(s, When) else ()


def replaced(body: tuple[Stmt, ...], at: IrPath, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body with other statements, or none, in place of the one at a path."""
    k, *below = at
    if not below:
        return (*body[:k], *new, *body[k + 1 :])
    s = body[k]
    if isinstance(s, When) and below[0] >= len(s.body):
        below = [below[0] - len(s.body), *below[1:]]
        changed: Stmt = replace(s, orelse=replaced(s.orelse, tuple(below), new))
    else:
        assert isinstance(s, Loop | When)
        changed = replace(s, body=replaced(s.body, tuple(below), new))
    return (*body[:k], changed, *body[k + 1 :])


def put(part: Any, replace_aff: Callable[[Aff], Aff]) -> Any:
    """A part of the IR with every expression in it replaced; maps of their own inputs (ownership, layouts) stay."""
    match part:
        case Aff():
            return replace_aff(part)
        case tuple():
            return tuple(put(x, replace_aff) for x in part)
        case IndexMap() | MacroMma() | Exchange():
            return part
        case _ if isinstance(part, Op | Element | Inside | Loop):
            return replace(part, **{f.name: put(getattr(part, f.name), replace_aff) for f in fields(part)})
    return part


def unguarded(op: Op) -> Op:
    """The operation where no value is outside of its tensor."""
    match op:
        case GlobalLoad() | GlobalStore():
            return replace(op, guarded=False)
        case Pointwise():
            return replace(op, inside=None)
    return op


def touches(op: Op) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that an operation reads and writes: registers, tiles and tensors by name."""
    reads: list[str] = []
    writes: list[str] = []
    match op:
        case Zero(target):
            writes = [target.array]
        case Scale(target):
            reads, writes = [target.array], [target.array]
        case GlobalLoad(target, tensor):
            reads, writes = [tensor], [target.array]
        case Pointwise(target=target, operands=operands):
            reads, writes = [e.array for e in operands if isinstance(e, Element)], [target.array]
        case SharedStore(source, tile):
            reads, writes = [source.array], [tile]
        case FragmentLoad(target, tile):
            reads, writes = [tile], [target.array]
        case Mma(d, a, b):
            reads, writes = [a.array, b.array, d.array], [d.array]
        case ExchangeStore(source, buffer):
            reads, writes = [source.array], [buffer]
        case ExchangeLoad(target, buffer):
            reads, writes = [buffer], [target.array]
        case GlobalStore(source, tensor):
            reads, writes = [source.array], [tensor]
    return frozenset(reads), frozenset(writes)
