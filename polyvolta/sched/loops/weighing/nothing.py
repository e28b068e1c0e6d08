"""Sizes at which no statement has an instance, asked for before loops that find none there in many tests.

    S[i, j, k] -> [(i + j)/4, i + j, i - j + k]      if (n >= 5)
    for 2 <= j < i, 0 <= k < j, 2*i <= n + 1    ->     for (c0 = -1; c0 < (n + 11)/16; c0++) ...

What loops need says less where they are of sums and floors of iterators: their bounds are those of shadows, and each
says but a part of what an instance has. The iterators themselves say which sizes leave any. Where none is, nothing is
called, whatever the loops are. Sizes are asked for once, if code run at a few others makes many tests for nothing; at
all that leave something there is one test more. What is asked may be of several, as n > 8*p of blocks of the owner p.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

from polyvolta.sched.loops.ast import Ast, Block, If, comparisons, has_loops, within
from polyvolta.sched.loops.conditions import guarded, has_rows, stated
from polyvolta.sched.loops.hoisting.needs import less, stating
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOCAL, System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.rows.steps import beyond_quotients
from polyvolta.sched.loops.weighing.sizes import WORTH, counted
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

FEW = 7  # tests for nothing, up to which they are left
NEAR = 0, 1, 2, 4  # how far sizes with nothing at which code is run are from those with something
ALIKE = 1, 3, 10  # what others are of which that is asked
FAR = 10  # the same of a row of one size, if they are not all alike


def something_before(
    known: Known, pieces: Sequence[Piece], body: tuple[Ast, ...], writer: Writer, asked: int = 0
) -> tuple[Ast, ...]:
    """The same code with the sizes that leave any of the pieces something before it, where it costs much without.

    Nothing is called but instances of the pieces.

    Parameters
    ----------
    asked : tests around the code, which are for nothing, too, where it calls nothing.
    """
    if not body or not known.columns.sizes:
        return body
    if len(body) == 1 and isinstance(node := body[0], If | Block) and not (isinstance(node, If) and node.other):
        there, tests = known, asked
        if isinstance(node, If):
            there, tests = known.given(stating(known, node.conditions)), asked + comparisons(node.conditions)
        return (replace(node, body=something_before(there, pieces, node.body, writer, tests)),)
    rows = System()
    for row in sorted(_shared(known, pieces), key=lambda row: -len(row[0])):  # of few sizes what others don't say
        beside = _beside(known, row, _several(body)) if not known.given(rows).implies(*row) else ()
        each = (counted(body, at) for at in beside)
        if any(idle > FEW - asked and idle == tests for tests, idle, _ in each):
            rows.ge(*row)
    if not has_rows(rows):
        return body
    conditions = stated(known.columns, rows, writer.tidy)
    return guarded(conditions, less(body, conditions), body[0].at)


def _several(body: Sequence[Ast]) -> bool:
    """Whether code is several loops, or one with several inside, under conditions or not."""
    inner = list(body)
    while len(inner) == 1 and isinstance(inner[0], If | Block):
        inner = list(within(inner[0]))
    return len(inner) > 1 or any(len([n for n in within(node) if has_loops((n,))]) > 1 for node in inner)


def _beside(known: Known, row: Row, several: bool) -> Iterator[dict[str, int]]:
    """Sizes at which a row does not hold: as alike as they may be but for one.

    Of a row of one size they are all alike, or, where it would stand before several loops, the others are larger: at
    M = 1 loops over N outside of ones from 2 to M find nothing in any iteration, however many these are. One nest alone
    stays as it is written, as in isl's code, where no loop has several inside.
    """
    key, const = row
    sizes = {known.columns.ids[name]: name for name in known.columns.sizes}
    (col, v), *others = sorted(key, key=lambda term: (abs(term[1]) > 1, term[0] in known.high))
    alone = (None, FAR) if several and len(sizes) > 1 else (None,)
    for short, other in product(NEAR, ALIKE if others else alone):
        if other is None:
            values = dict.fromkeys(sizes, v * (-const - 1 - short))
        else:
            values = {c: min(max(other, known.low.get(c, other)), known.high.get(c, other)) for c in sizes}
            values[col] = v * (-const - 1 - short - sum([w * values[c] for c, w in others]))
        rows = [r for r in known.ineqs.items() if all(c in values for c, _ in r[0])]
        if min(values.values()) > 0 and all(k + sum([w * values[c] for c, w in key]) >= 0 for key, k in rows):
            yield {name: values[c] for c, name in sizes.items()}


def _shared(known: Known, pieces: Sequence[Piece]) -> list[Row]:
    """What numbers say of sizes in all of some pieces, beyond what is known: the weakest in any."""
    found: dict[tuple, int] | None = None
    with suppress(BudgetExceeded):
        for piece in pieces:
            gone = {c for c in piece.system.columns() if c >= LOCAL}
            s = bounded(WORTH, beyond_quotients(piece.system).without, gone, known.low, known.high)
            if s.empty:
                continue
            rows = {key: const for key, const in s.every_ge() if any(abs(v) == 1 for _, v in key)}
            shared = rows if found is None else found
            found = {key: max(const, shared[key]) for key, const in rows.items() if key in shared}
        sizes = {known.columns.ids[name] for name in known.columns.sizes}
        some = [(key, const) for key, const in (found or {}).items() if all(c in sizes for c, _ in key)]
        return [row for row in some if not known.implies(*row)]
    return []
