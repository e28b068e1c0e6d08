"""Sizes at which no statement has an instance, asked for before loops that find none there in many tests.

    S[i, j, k] -> [(i + j)/4, i + j, i - j + k]      if (n >= 5)
    for 2 <= j < i, 0 <= k < j, 2*i <= n + 1    ->     for (c0 = -1; c0 < (n + 11)/16; c0++) ...

What loops need says less where they are of sums and floors of iterators: their bounds are those of shadows, and each
says but a part of what an instance has. The iterators themselves say which sizes leave any. Where none is, nothing is
called, whatever the loops are. Sizes are asked for once, if code run at a few others makes many tests for nothing; at
all that leave something there is one test more. What is asked may be of several, as n > 8*p of blocks of the owner p:
of these what all of the code needs says the most, after filters. A size of 0 is looked at where loops over others ask
for something in each iteration, as those of what a block has of tiles that are full, and of one that isn't; or where
there are more than two loops in each, as of rows that are cut into windows.

Instances that an extension adds come where one of the domain's does: nothing is called where these have nothing. Of
several parts each is asked for what it calls itself, of statements and of what is added, as far as numbers in calls say
which instances these are: loops of T, and of what is added at c0 = 0, ask for T's sizes beside an S that is always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain, product
from math import floor, inf

from polyvolta.sched.loops.ast import Ast, Block, Call, For, If, comparisons, expressions, nodes, within
from polyvolta.sched.loops.conditions import guarded, has_rows, stated
from polyvolta.sched.loops.hoisting.needs import less, needs, stating
from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOCAL, System, plus, without
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.rows.steps import beyond_quotients
from polyvolta.sched.loops.weighing.sizes import WORTH, counted
from polyvolta.sched.loops.writer import Writer
from polyvolta.sets import BudgetExceeded
from polyvolta.sets.budgets import bounded

FEW = 7  # tests for nothing, up to which they are left
NEAR = 0, 1, 2, 4  # how far sizes with nothing at which code is run are from those with something
ALIKE = 1, 3, 10  # what others are of which that is asked
LOOPS = 2  # parts that are loops, beyond which a size of 0 is looked at
SMALL = 2  # what others are where one is 0
FAR = 10  # the same of a row of one size, if they are not all alike


def something_before(
    known: Known,
    pieces: Sequence[Piece],
    body: tuple[Ast, ...],
    writer: Writer,
    more: Callable[[], Iterable[Piece]] = tuple,
    asked: int = 0,
) -> tuple[Ast, ...]:
    """The same code with the sizes that leave any of the pieces something before it, where it costs much without.

    Nothing is called but instances of the pieces. Each of several parts is asked for what it calls, beside others.

    Parameters
    ----------
    pieces, more : where none of the former has an instance, nothing is called; and nothing but instances of either.
    asked : tests around the code, which are for nothing, too, where it calls nothing.
    """
    if not body or not known.columns.sizes:
        return body
    if len(body) == 1 and isinstance(node := body[0], If | Block) and not (isinstance(node, If) and node.other):
        there, tests = known, asked
        if isinstance(node, If):
            there, tests = known.given(stating(known, node.conditions)), asked + comparisons(node.conditions)
        return (replace(node, body=something_before(there, pieces, node.body, writer, more, tests)),)
    rows, at = System(), body[0].at
    shared = [*_shared(known, pieces), *_needed(known, body)]
    for row in sorted(shared, key=lambda row: -len(row[0])):  # of few sizes what others don't say
        beside = chain(_beside(known, row, _several(body)), _at_none(known, row, body))
        beside = beside if not known.given(rows).implies(*row) else ()
        each = (counted(body, sizes) for sizes in beside)
        if any(idle > FEW - asked and idle == tests for tests, idle, _ in each):
            rows.ge(*row)
    conditions = stated(known.columns, rows, writer.tidy)
    body, known = less(body, conditions), known.given(rows) if has_rows(rows) else known
    if len(body) > 1 and any(map(_asks_inside, body)):
        every = [*pieces, *more()]
        body = tuple([part for node in body for part in _part_asked(known, pieces, every, node, writer)])
    return guarded(conditions, body, at)


def _part_asked(
    known: Known, pieces: Sequence[Piece], every: Sequence[Piece], node: Ast, writer: Writer
) -> tuple[Ast, ...]:
    """One of several parts with the sizes that leave something of what it calls before it, if that is less than of all.

    Parameters
    ----------
    every : these pieces, and what is added.
    """
    called = list(_called(known, every, node)) if _asks_inside(node) else pieces
    if {*map(id, called)}.issuperset(map(id, pieces)):
        return (node,)
    return something_before(known, called, (node,), writer)


def _asks_inside(node: Ast) -> bool:
    """Whether code has a loop with more in it than calls."""
    loops = (inner for inner in nodes((node,)) if isinstance(inner, For))
    return any(not isinstance(inner, Call) for loop in loops for inner in loop.body)


def _called(known: Known, pieces: Sequence[Piece], node: Ast) -> Iterator[Piece]:
    """What is left of some pieces where code calls their instances, by the arguments that are of sizes alone."""
    met = set[object]()
    for call in nodes((node,)):
        if not isinstance(call, Call):
            continue
        args = [(k, known.columns.row(e)) for k, e in enumerate(call.args) if e.names() <= known.columns.sizes]
        for piece in pieces:
            if piece.statement != call.statement or (key := (id(piece), *args)) in met:
                continue
            met.add(key)
            if args:
                piece, values = piece.copy(), list(piece.images.values())  # noqa: PLW2901
                for k, (terms, const) in args:
                    image, shift, den = values[k]
                    piece.system.eq(plus(1, image, -den, terms), shift - den * const)
                piece.settle()
            if not piece.system.empty:
                yield piece


def _several(body: Sequence[Ast]) -> bool:
    """Whether code is several parts, or one loop with several inside, under conditions or not."""
    inner = list(body)
    while len(inner) == 1 and isinstance(inner[0], If | Block):
        inner = list(within(inner[0]))
    return len(inner) > 1 or any(isinstance(node, For) and len(node.body) > 1 for node in inner)


def _asking(body: Sequence[Ast], size: str) -> bool:
    """Whether loops that run where a size is 0 have several parts, one under conditions of its own, or many loops."""
    for node in body:
        if isinstance(node, For):
            if any(size in e.names() for bound in (*node.lower, *node.upper) for e in expressions(bound)):
                continue
            asking = [inner for inner in node.body if isinstance(inner, If | For)]
            if len(node.body) > 1 and (len(asking) > LOOPS or any(isinstance(inner, If) for inner in asking)):
                return True
        if not isinstance(node, Call) and _asking(within(node), size):
            return True
    return False


def _beside(known: Known, row: Row, several: bool) -> Iterator[dict[str, int]]:
    """Sizes at which a row does not hold: as alike as they may be but for one.

    Of a row of one size they are all alike, or, where it would stand before several loops, the others are larger: at
    M = 1 loops over N outside of ones from 2 to M find nothing in any iteration, however many these are. One nest alone
    stays as it is written, as in isl's code, where its loop has no several parts.
    """
    key, const = row
    sizes = {known.columns.ids[name]: name for name in known.columns.sizes}
    (col, v), *others = sorted(key, key=lambda term: (abs(term[1]) > 1, term[0] in known.high, term[0] not in sizes))
    alone = (None, FAR) if several and len(sizes) > 1 else (None,)
    for short, other in product(NEAR, ALIKE if others else alone):
        if other is None:
            values = dict.fromkeys(sizes, v * (-const - 1 - short))
        else:
            values = {c: known.nearest(c, other) for c in sizes}
            values[col] = v * (-1 - short - known.columns.value(tuple(others), const, values))
        if min([values[c] for c in sizes]) > 0 and known.allows(values):
            yield {name: values[c] for c, name in sizes.items()}


def _at_none(known: Known, row: Row, body: Sequence[Ast]) -> Iterator[dict[str, int]]:
    """The size 0 of a row that one is 1 or more, others as in a small nest of loops, if code asks in it (`_asking`).

    A nest of loops alone, of which none inside has an iteration, stays as it is written.
    """
    sizes = {known.columns.ids[name]: name for name in known.columns.sizes}
    (col, _), *_ = row[0]
    if row == (((col, 1),), -1) and col in sizes and _asking(body, sizes[col]):
        values = {c: known.nearest(c, SMALL) for c in sizes}
        values[col] = 0
        if known.allows(values):
            yield {name: values[c] for c, name in sizes.items()}


def _needed(known: Known, body: Sequence[Ast]) -> list[Row]:
    """What all of some code needs of a size beside others that are between numbers, as a block and a thread are.

    At N < 8*b + t mod 8 loops over time find nothing in any iteration, which the iterators of all threads don't say.
    """
    columns = known.columns
    sizes = {columns.ids[name] for name in columns.sizes}
    between = sizes & known.high.keys()
    between |= {c for c, (_, key, _) in columns.floors.items() if between.issuperset([d for d, _ in key])}
    each = [needs(known, node, True) for node in body]
    if any(s.everywhere for s in each):
        return []
    there, out = [known.given(s) for s in each], []
    for row in dict.fromkeys([_without_floors(known, row, between) for s in each for row in s.every_ge()]):
        free = [(c, v) for c, v in row[0] if c not in between]
        if len(free) == 1 < len(row[0]) and free[0][0] in sizes and abs(free[0][1]) == 1:
            if all(place.implies(*row) for place in there):
                out.append(row)
    return out


def _without_floors(known: Known, row: Row, between: Set[int]) -> Row:
    """A row that another one implies, without floors of other sizes that are limited, at their end.

    Of n > 4*b + 64*floor((n/4 - b + 15)/16) there is left n > 4*b, as that floor is 0 at least.
    """
    key, const = row
    for c, v in key:
        if c in known.columns.floors and c not in between:
            most = known.greatest(list(known.columns.floor_rows(c)), ((c, 1 if v > 0 else -1),))
            if abs(most) < inf:  # else nothing limits it, or what is known holds nowhere
                key, const = without(key, c), const + abs(v) * floor(most)
    return key, const


def _shared(known: Known, pieces: Sequence[Piece]) -> list[Row]:
    """What numbers say of sizes in all of some pieces, beyond what is known: the weakest in any.

    Of one size alone also what rows of a piece say together: 0 <= a < n needs n >= 1 as 0 <= i < n does.
    """
    found: dict[tuple, int] | None = None
    systems: list[System] = []
    with suppress(BudgetExceeded):
        for piece in pieces:
            gone = {c for c in piece.system.columns() if c >= LOCAL}
            s = bounded(WORTH, beyond_quotients(piece.system).without, gone, known.low, known.high)
            if s.empty:
                continue
            systems.append(s)
            rows = {key: const for key, const in s.every_ge() if any(abs(v) == 1 for _, v in key)}
            shared = rows if found is None else found
            found = {key: max(const, shared[key]) for key, const in rows.items() if key in shared}
        found = found or {}
        there = [known.given(s) for s in systems]
        alone = {row for s in systems for row in s.every_ge() if len(row[0]) == 1 and row[0] not in found}
        for key, const in sorted(alone):
            if all(place.implies(key, const) for place in there):
                found[key] = min(const, found.get(key, const))
        sizes = {known.columns.ids[name] for name in known.columns.sizes}
        some = [(key, const) for key, const in found.items() if all(c in sizes for c, _ in key)]
        return [row for row in some if not known.implies(*row)]
    return []
