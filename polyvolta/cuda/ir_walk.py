"""Walks over the kernel IR: all operations of a body, expressions put in, what an operation touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from polyvolta.cuda.index_map import IndexMap
from polyvolta.cuda.kernel_ir import (
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
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.sets import Aff


def operations(body: tuple[Stmt, ...]) -> Iterator[Op]:
    """Every operation in a body, in program order, each once."""
    for s in body:
        if isinstance(s, Loop | When):
            yield from operations(s.body)
            yield from operations(s.orelse if isinstance(s, When) else ())
        else:
            yield s


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
