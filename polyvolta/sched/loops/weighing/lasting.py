"""Sizes before loops that last as long as another size is, and find nothing at these.

    for (c0 = 0; c0 < n; c0++) {                  for (c0 = 0; c0 < n; c0++) {
      T(c0);                                        T(c0);
      for (c1 = 0; c1 <= c0; c1++)          ->      if (m >= 5)
        for (c2 = 4; c2 < m; c2++) S(...);            for (c1 = 0; c1 <= c0; c1++)
    }                                                   for (c2 = 4; c2 < m; c2++) S(...);
                                                  }

Where m is small that is another power of n. It takes one test more wherever such a loop begins, which is asked of those
alone that stand beside others, in a loop or outside of all: one nest by itself has no condition, and around all of the
code sizes are asked for by what is called (`nothing`), as cases of sizes are told apart first (`sizes`). Which
instances run is the same. Cost: what each such loop needs, and how long those are that it needs a size for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polyvolta.sched.loops.ast import Ast, Block, Call, For, If, has_loops, negation, within
from polyvolta.sched.loops.conditions import guarded, stated
from polyvolta.sched.loops.hoisting.idle import many, natural
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.needs import extent, of_columns, required, stating
from polyvolta.sched.loops.rows.known import Known, sides
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.writer import Writer

LENGTH = 10_000  # tests beyond which a loop lasts: it is as long as a size is, or nearly


def lasting_apart(known: Known, body: tuple[Ast, ...], writer: Writer) -> tuple[Ast, ...]:
    """The same code with sizes before loops, without which they last for nothing."""
    if not _beside(body) or not of_columns(known, body):
        return body
    return _asked(known, body, writer, False)


def _beside(body: Sequence[Ast]) -> bool:
    """Whether a loop stands beside other code in a loop, or in all of the code."""
    return any(has_loops((node,)) and (len(body) > 1 or _beside(within(node))) for node in body)


def _asked(known: Known, body: Sequence[Ast], writer: Writer, beside: bool) -> tuple[Ast, ...]:
    """The same, of a part of the code.

    Parameters
    ----------
    beside : whether others stand beside this in the loop around, or in all of the code.
    """
    out: list[Ast] = []
    beside = beside or len(body) > 1
    for node in body:
        match node:
            case Call():
                out.append(node)
            case Block():
                out.append(replace(node, body=_asked(known, node.body, writer, beside)))
            case If(conditions, some, _, others):
                here, there = known.given(stating(known, conditions)), known.given(stating(known, negation(conditions)))
                new = _asked(here, some, writer, beside)
                if others:
                    out.append(replace(node, body=new, other=_asked(there, others, writer, beside)))
                elif len(some) == len(new) == 1 and isinstance(some[0], For) and isinstance(inner := new[0], If):
                    out.append(replace(node, conditions=(*conditions, *inner.conditions), body=inner.body))
                else:
                    out.append(replace(node, body=new))
            case For():
                rows = System()
                for part in _needed(known, node) if beside else ():
                    rows.add(part)
                there = known.given(rows).given(extent(known, node))
                conditions = stated(known.columns, rows, writer.tidy)
                loop = replace(node, body=_asked(there, node.body, writer, False))
                out += guarded(conditions, asked_once((loop,), conditions) if conditions else (loop,), node.at)
    return tuple(out)


def _needed(known: Known, loop: For) -> Iterator[System]:
    """Rows over sizes, all from 1 on, without which a loop finds nothing however long another size makes it."""
    usual = natural(known, 1)
    for row in required(known, (loop,)).every_ge():
        key, const = known.columns.bare(*row)
        if known.columns.of_sizes(key) and not usual.implies(key, const):
            there, elsewhere = sides(key, const)
            if many(usual.given(elsewhere), (loop,), LENGTH):
                yield there
