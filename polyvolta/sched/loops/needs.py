"""What code needs of what is outside of a loop: congruences without which it has no value, and conditions inside.

    for c2:                                    if N % 2 = 1:
        if 4*c0 + 4*c2 + 1 = N: S(c2)    ->        for c2: ...
        if 4*c0 + 4*c2 + 3 = N: T(c2)

The projections of instances have most of this, before any loop is made; but not what a guard below the loop asks, and
not what alternatives have in common. It is stated around the loop, and around those outside of it as far as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from polyvolta.sched.loops.ast import AnyOf, Ast, Condition, If
from polyvolta.sched.loops.conditions import beyond, has_rows, implied
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOOP, Congruence, Key, System, coefficient


def whole(known: Known, shadow: System, col: int) -> list[Congruence]:
    """What is congruent outside where a column has a value: c0 + 2*c1 = 1 mod 4 where c0 is odd."""
    rows = System()
    rows.mods = [row for row in shadow.mods if coefficient(row[0], col) not in (-1, 0, 1)]
    return [row for row in rows.without((col,)).mods if not known.implies_mod(*row)] if rows.mods else []


def seldom(known: Known, key: Key, const: int) -> bool:
    """Whether a row `>= 0` holds at no large sizes that are alike: N is 4 at most, or less than M."""
    growth = Fraction(0)
    for c, v in key:
        least, most = known.low.get(c), known.high.get(c)
        if c >= LOOP or (least is not None and most is not None):  # no size
            end = most if v > 0 else least
            inside = known.columns.floors.get(c)
            if inside is not None and all(col < LOOP for col, _ in inside[1]):
                growth += Fraction(v * sum(w for _, w in inside[1]), inside[0])
            elif end is not None:
                const += v * end
            else:
                return False
        else:
            growth += v
    return growth < 0 or (growth == 0 and const < 0)


def needed(outer: Known, inner: Known, body: Sequence[Ast], col: int, loop: System) -> System:
    """The rows over what is outside of a loop without which nothing in it runs, beyond those that are known there.

    Parameters
    ----------
    outer, inner : what is known outside, and inside.
    col : the column of the loop.
    loop : its bounds.
    """
    tests = [node for node in body if isinstance(node, If)]
    if not tests or len(tests) < len(body):
        return System()
    each = [_of_test(inner, node) for node in tests]
    gone = {col}
    for floor, (_, key, _) in inner.columns.floors.items():  # the inner ones come first
        if any(c in gone for c, _ in key):
            gone.add(floor)
    found = _common(inner, [s.without(gone, outer.low, outer.high) for s in each])
    within = _common(inner, [s.add(loop).without(gone, outer.low, outer.high) for s in each])
    for row in within.ineqs.items():
        if seldom(outer, *row):
            found.ge(*row)
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


def _of_test(known: Known, node: If) -> System:
    """What code under conditions needs."""
    out = _stating(known, node.conditions)
    inside = [inner for inner in node.body if isinstance(inner, If)]
    if len(inside) == len(node.body):
        out.add(_common(known, [_of_test(known, inner) for inner in inside]))
    return out


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
