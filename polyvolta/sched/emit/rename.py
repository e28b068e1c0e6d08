"""Loop variables under other names, where theirs mean something else in the text around them.

    for c0 in range(N):              for c0_ in range(N):
        S(c0)                =>          S(c0_)

A text has more names than a tree: arrays, scalars and functions of a program, words of the language. What is renamed
is a loop with its uses; the same name outside of the loop is another thing and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Bound, Call, Choice, Condition, Extreme, For, If
from polyvolta.sched.loops.notation.names import spelled, variables
from polyvolta.sched.loops.result import Scan
from polyvolta.sets import Aff, aff, var


def cleared(scan: Scan, taken: Collection[str]) -> Scan:
    """The loops with variables, and names that members are mapped to, that are identifiers and none of `taken`.

    Cost: linear in the loops where something is renamed.
    """
    table = spelled((*scan.extents, *variables(scan.body)), taken)
    return called(scan, table) if table else scan


def called(scan: Scan, table: Mapping[str, str]) -> Scan:
    """The loops with other names of variables, and of what members are mapped to.

    Parameters
    ----------
    table : name -> new name, which nothing else in the loops has.

    Cost: linear in the loops.
    """
    mapped = {n: var(new) for n, new in table.items() if n in scan.extents}
    return replace(
        scan,
        body=_body(scan.body, mapped, table),
        extents={table.get(n, n): e for n, e in scan.extents.items()},
        ranges={table.get(n, n): r for n, r in scan.ranges.items()},
        plain=False,
    )


def _body(body: Iterable[Ast], inner: Mapping[str, Aff], table: Mapping[str, str]) -> tuple[Ast, ...]:
    """Loops in which the names of `inner` are replaced, and those of loops by `table`."""
    out: list[Ast] = []
    for node in body:
        match node:
            case Call(name, args, at):
                out.append(Call(name, tuple(_aff(e, inner) for e in args), at))
            case If(conditions, some, at, other):
                some, other = (_body(branch, inner, table) for branch in (some, other))
                out.append(If(tuple(_condition(c, inner) for c in conditions), some, at, other))
            case Block(mark, some, at):
                out.append(Block(mark, _body(some, inner, table), at))
            case For(v, lower, upper, step, unroll, some, at, member, coincident):
                low, high = (tuple(_bound(b, inner) for b in bounds) for bounds in (lower, upper))
                new = table.get(v, v)
                some = _body(some, {**inner, v: var(new)}, table)
                out.append(For(new, low, high, step, unroll, some, at, member, coincident))
    return tuple(out)


def _aff(e: Aff, values: Mapping[str, Aff]) -> Aff:
    return e.subs({n: v for n, v in values.items() if n in e.names()}) if values else aff(e)  # type: ignore[arg-type]


def _bound(b: Bound, values: Mapping[str, Aff]) -> Bound:
    match b:
        case Extreme(kind, terms):
            return Extreme(kind, tuple(_bound(t, values) for t in terms))
        case Choice(conditions, then, other):
            return Choice(tuple(_condition(c, values) for c in conditions), _bound(then, values), _bound(other, values))
    return _aff(b, values)


def _condition(c: Condition, values: Mapping[str, Aff]) -> Condition:
    if isinstance(c, AnyOf):
        return AnyOf(tuple(tuple(_condition(x, values) for x in case) for case in c.alternatives))
    return c[0], _aff(c[1], values)
