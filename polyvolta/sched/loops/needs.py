"""What code needs of what is outside of a loop: congruences without which it has no value, and conditions inside.

    for c2:                                    if N % 2 = 1:
        if 4*c0 + 4*c2 + 1 = N: S(c2)    ->        for c2: ...
        if 4*c0 + 4*c2 + 3 = N: T(c2)

The projections of instances have most of this, before any loop is made; but not what a guard below the loop asks, and
not what alternatives have in common. It is stated around the loop, and around those outside of it as far as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyvolta.sched.loops.ast import AnyOf, Ast, Condition, If
from polyvolta.sched.loops.conditions import beyond, has_rows, implied
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import Congruence, System, coefficient


def whole(known: Known, shadow: System, col: int) -> list[Congruence]:
    """What is congruent outside where a column has a value: c0 + 2*c1 = 1 mod 4 where c0 is odd."""
    rows = System()
    rows.mods = [row for row in shadow.mods if coefficient(row[0], col) not in (-1, 0, 1)]
    return [row for row in rows.without((col,)).mods if not known.implies_mod(*row)] if rows.mods else []


def needed(outer: Known, inner: Known, body: Sequence[Ast], col: int) -> System:
    """The rows over what is outside of a loop without which nothing in it runs, beyond those that are known there.

    Parameters
    ----------
    outer, inner : what is known outside, and inside.
    col : the column of the loop.
    """
    found = _outside(inner.columns, _of_body(inner, body), col)
    return beyond(outer, found) if has_rows(found) else found


def less(body: Sequence[Ast], conditions: Sequence[Condition]) -> tuple[Ast, ...]:
    """The code where some conditions hold, which it need not test."""
    out: list[Ast] = []
    for node in body if conditions else ():
        if not isinstance(node, If):
            out.append(node)
            continue
        left = tuple(c for c in node.conditions if c not in conditions)
        inside = less(node.body, conditions)
        out += (If(left, inside, node.at),) if left else inside
    return tuple(out) if conditions else tuple(body)


def _of_body(known: Known, body: Sequence[Ast]) -> System:
    """What all parts of some code need."""
    if not all(isinstance(node, If) for node in body):
        return System()
    return _common(known, [_of_test(known, node) for node in body if isinstance(node, If)])


def _of_test(known: Known, node: If) -> System:
    """What code under conditions needs."""
    return _stating(known, node.conditions).add(_of_body(known, node.body))


def _stating(known: Known, conditions: Sequence[Condition]) -> System:
    """Conditions as rows; of alternatives what they share."""
    out = System()
    for c in conditions:
        if isinstance(c, AnyOf):
            out.add(_common(known, [_stating(known, case) for case in c.alternatives]))
        elif c[0] == "eq":
            out.eq(*known.columns.row(c[1]))
        else:
            out.ge(*known.columns.row(c[1]))
    return out


def _common(known: Known, each: Sequence[System]) -> System:
    return each[0] if len(each) == 1 else implied(known, each)


def _outside(columns: Columns, system: System, col: int) -> System:
    """What a system says without a loop: its rows that do not speak of it, and what equalities leave."""
    gone = {col}
    for floor, (_, key, _) in columns.floors.items():  # the inner ones come first
        if any(c in gone for c, _ in key):
            gone.add(floor)
    out = System()
    out.eqs, out.mods, out.empty = system.eqs[:], system.mods[:], system.empty
    out = out.without(gone)
    for key, const in system.ineqs.items():
        if not any(c in gone for c, _ in key):
            out.ge(key, const)
    return out
