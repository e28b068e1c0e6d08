"""Remainders of sizes that leave loops nothing are asked for before them, where many tests are made without.

    for (c0 = 0; c0 < m; c0++)                          if (n % 8 >= 1)
      for (c1 = 0; c1 < n % 8; c1++) S(c0, c1);   ->      for (c0 = 0; c0 < m; c0++)
                                                            for (c1 = 0; c1 < n % 8; c1++) S(c0, c1);

So it is of neighbours in a loop: of a row of tiles the last one may have no points, whose loops are asked for it at
each row.
"""

from __future__ import annotations

from dataclasses import replace

from polyvolta.sched.loops.ast import Ast, Call, For, If, compared, nodes
from polyvolta.sched.loops.conditions import guarded, stated
from polyvolta.sched.loops.hoisting.idle import idle
from polyvolta.sched.loops.hoisting.needs import extent, less, seldom, stating
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import Aff


def remainders_before(known: Known, body: tuple[Ast, ...], writer: Writer) -> tuple[Ast, ...]:
    """The same code with what loops need of remainders of sizes around each that makes many tests without.

    Where sizes are small anyway loops are as they were. All that runs in a loop needs what is asked before it, so the
    same runs: cost is one test where the remainder leaves something, or one at each iteration outside.
    """
    return _remainders(known, body, writer, True)


def _remainders(known: Known, body: tuple[Ast, ...], writer: Writer, asked: bool) -> tuple[Ast, ...]:
    """The same; an only loop in a loop is not `asked`: what it needs the one outside does."""
    if any(seldom(known, *row) for row in known.ineqs.items()):
        return body
    out: list[Ast] = []
    for node in body:
        if isinstance(node, Call) or (isinstance(node, For) and not any(map(_has_floors, nodes((node,))))):
            out.append(node)
            continue
        loop, there, conditions = isinstance(node, For), known, ()
        if isinstance(node, For):
            conditions = stated(known.columns, idle(known, (node,), True), writer.tidy) if asked else ()
            there = known.given(stating(known, conditions)).given(extent(known, node))
        elif isinstance(node, If):
            there = known.given(stating(known, node.conditions))
        inner = _remainders(there, node.body, writer, len(node.body) > 1 if loop else asked)
        node = node if inner == node.body else replace(node, body=inner)  # noqa: PLW2901
        out += guarded(conditions, less((node,), conditions), node.at)
    return tuple(out)


def _has_floors(node: Ast) -> bool:
    """Whether a bound or a condition has a floor: without one nothing is said of remainders."""
    match node:
        case For(_, lower, upper):
            some = [e for e in (*lower, *upper) if isinstance(e, Aff)]
        case If(conditions):
            some = compared(conditions)
        case _:
            some = ()
    return any(not isinstance(atom, str) for e in some for atom, _ in e.terms)
