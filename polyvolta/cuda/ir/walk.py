"""Walks over the kernel IR: all operations of a body, where they stand, expressions put in, what an operation touches.

A statement of a body has a *path*: its number in the body, then its number in that loop's or condition's body, and so
on down; the numbers of a condition's `orelse` go on behind those of its `body`, and so do those of roles. One operation
object may stand at several places, such as in the versions for full and for partial tiles; a path names one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

from polyvolta.cuda.ir.kernel_ir import Element, Loop, Memories, Op, Part, Roles, Stmt, Tiles, When
from polyvolta.sets import Aff


def operations(body: tuple[Stmt, ...]) -> Iterator[Op]:
    """Every operation in a body, in program order, each once."""
    for s in body:
        if isinstance(s, Op):
            yield s
        else:
            yield from operations(inner(s))


IrPath = tuple[int, ...]
NO_OTHERS: Mapping[type, Callable[[Any], Any]] = MappingProxyType({})


def walk(body: tuple[Stmt, ...], at: IrPath = ()) -> Iterator[tuple[IrPath, Stmt]]:
    """Every statement of a body with its path, in program order, loops and conditions before what is in them."""
    for k, s in enumerate(body):
        yield (*at, k), s
        yield from walk(inner(s), (*at, k))


def inner(s: Stmt) -> tuple[Stmt, ...]:
    """The statements in a loop, in a condition, those of `orelse` last, or in roles, one after the other; () in an
    operation."""
    match s:
        case Loop() | Tiles():
            return s.body
        case When():
            return (*s.body, *s.orelse)
        case Roles():
            return tuple(inside for role in s.roles for inside in role.body)
    return ()


def replaced(body: tuple[Stmt, ...], at: IrPath, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body with other statements, or none, in place of the one at a path."""
    k, *below = at
    if not below:
        return (*body[:k], *new, *body[k + 1 :])
    s = body[k]
    changed: Stmt
    if isinstance(s, When) and below[0] >= len(s.body):
        below = [below[0] - len(s.body), *below[1:]]
        changed = replace(s, orelse=replaced(s.orelse, tuple(below), new))
    elif isinstance(s, Roles):
        which, first = role_at(s, below[0])
        own = replaced(s.roles[which].body, (below[0] - first, *below[1:]), new)
        roles = (*s.roles[:which], replace(s.roles[which], body=own), *s.roles[which + 1 :])
        changed = replace(s, roles=roles)
    else:
        assert isinstance(s, Loop | Tiles | When)
        changed = replace(s, body=replaced(s.body, tuple(below), new))
    return (*body[:k], changed, *body[k + 1 :])


def role_at(s: Roles, number: int) -> tuple[int, int]:
    """Which role a statement of some number belongs to, and the number of that role's first statement."""
    first = 0
    for which, role in enumerate(s.roles):
        if number < first + len(role.body):
            return which, first
        first += len(role.body)
    raise IndexError(f"roles of {first} statements have no number {number}")


def put(part: Any, replace_aff: Callable[[Aff], Aff], own: Mapping[type, Callable[[Any], Any]] = NO_OTHERS) -> Any:
    """A part of the IR with every expression in it replaced; maps of their own inputs (ownership, layouts) stay.

    Parameters
    ----------
    own : by kind of part, what is made of one of that kind instead.
    """
    match part:
        case Aff():
            return replace_aff(part)
        case tuple():
            return tuple(put(x, replace_aff, own) for x in part)
        case Part():
            if (made := own.get(type(part))) is not None:
                return made(part)
            return replace(part, **{f.name: put(getattr(part, f.name), replace_aff, own) for f in fields(part)})
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
