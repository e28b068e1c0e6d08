"""Walks over the kernel IR: all operations of a body, where they stand, expressions put in, what an operation touches.

A statement of a body has a *path*: its number in the body, then its number in that loop's or condition's body, and so
on down; the numbers of a condition's `orelse` go on behind those of its `body`. One operation object may stand at
several places, such as in the versions for full and for partial tiles; a path names one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import Element, Loop, Memories, Op, Part, Stmt, When
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
        case Part():
            return replace(part, **{f.name: put(getattr(part, f.name), replace_aff) for f in fields(part)})
    return part


def elements(part: Any) -> Iterator[Element]:
    """The register elements in an operation, or another part of the IR, in the order of its fields."""
    match part:
        case Element():
            yield part
        case tuple():
            for x in part:
                yield from elements(x)
        case Part():
            for f in fields(part):
                yield from elements(getattr(part, f.name))


def arrays_of(op: Op, ir: Memories) -> tuple[frozenset[str], frozenset[str]]:
    """The arrays that an operation reads and writes: registers, tiles and tensors by name."""
    found = op.accesses(ir)
    return frozenset(a.array for a in found if not a.writes), frozenset(a.array for a in found if a.writes)
