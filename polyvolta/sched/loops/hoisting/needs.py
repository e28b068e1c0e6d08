"""What code needs of what is outside of a loop: congruences without which it has no value, and conditions inside.

    for c2:                                    if N % 2 = 1:
        if 4*c0 + 4*c2 + 1 = N: S(c2)    ->        for c2: ...
        if 4*c0 + 4*c2 + 3 = N: T(c2)

The projections of instances have most of this, before any loop is made; but not what a guard below the loop asks, and
not what alternatives have in common. It is stated around the loop, and around those outside of it as far as it goes.
So is what the step of a loop leaves of a congruence inside: of even c0 with (N - c0) mod 4 = 3 it is that N is odd.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from operator import is_

from polyvolta.sched.loops.ast import AnyOf, Ast, Block, Call, Condition, For, If, negation, nodes
from polyvolta.sched.loops.conditions import beyond, exactly, has_rows, implied
from polyvolta.sched.loops.hoisting.met import closer
from polyvolta.sched.loops.hoisting.plain import cases_of, periodic, under
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import LOOP, Congruence, Key, System, coefficient, negated, plus
from polyvolta.sets import Aff, BudgetExceeded
from polyvolta.sets.budgets import bounded

CASES = 4  # alternatives in a loop beyond which they are not looked at
WORTH = 1000  # steps that one of these may take


def whole(known: Known, shadow: System, col: int) -> list[Congruence]:
    """What is congruent outside where a column has a value: c0 + 2*c1 = 1 mod 4 where c0 is odd."""
    rows = System(mods=[row for row in shadow.mods if coefficient(row[0], col) not in (-1, 0, 1)])
    return [row for row in rows.without((col,)).mods if not known.implies_mod(*row)] if rows.mods else []


def seldom(known: Known, key: Key, const: int) -> bool:
    """Whether a row `>= 0` holds at no large sizes that are alike: N is 4 at most, or less than M."""
    found = growth(known, key, const)
    return found is not None and (found[0] < 0 or (found[0] == 0 and found[1] < 0))


def of_remainders(known: Known, key: Key) -> bool:
    """Whether a row `>= 0` over sizes holds for some remainders alone."""
    return known.columns.of_sizes(key) and periodic(known.columns.aff(key, 0))


def growth(known: Known, key: Key, const: int | Fraction) -> tuple[int, int | Fraction] | None:
    """What a row becomes as all sizes do, (g, c) for multiples of g*n + c at most; None where it speaks of more."""
    rate, den = 0, 1  # per unit of all sizes, as a fraction
    for c, v in key:
        least, most = known.low.get(c), known.high.get(c)
        if c >= LOOP or (least is not None and most is not None):  # no size
            end = most if v > 0 else least
            inside = known.columns.floors.get(c)
            if inside is not None and all(col < LOOP for col, _ in inside[1]):
                rate = rate * inside[0] + v * den * sum(w for _, w in inside[1])
                den *= inside[0]
                const += Fraction(v * inside[2] - min(v, 0) * (inside[0] - 1), inside[0])
            elif end is not None:
                const += v * end
            else:
                return None
        else:
            rate += v * den
    return rate, const


def needed(outer: Known, inner: Known, body: Sequence[Ast], col: int, loop: System) -> System:
    """The rows over what is outside of a loop without which nothing in it runs, beyond those that are known there.

    Parameters
    ----------
    outer, inner : what is known outside, and inside.
    col : the column of the loop.
    loop : its bounds.
    """
    each = [needs(inner, node) for node in body]
    if any(s.everywhere for s in each):
        return System()
    gone = _varying(inner.columns, col, each)
    found = _common_outside(outer, inner, [s.without(gone, outer.low, outer.high) for s in each], gone)
    within = _common_outside(outer, inner, [s.add(loop).without(gone, outer.low, outer.high) for s in each], gone)
    for row in within.ineqs.items():
        if seldom(outer, *row) or of_remainders(outer, row[0]):
            found.ge(*row)
    for row in within.mods:
        found.mod(*row)
    return beyond(outer, found) if has_rows(found) else found


def _common_outside(outer: Known, inner: Known, each: Sequence[System], gone: Collection[int]) -> System:
    """What systems share that have no column that is gone: by what is known inside, unless it brings one in.

    A remainder is told in fewer names by that of another one, which may be the loop's: `n + c0` modulo 3 by `c0 - 1`.
    """
    found = _common(inner, each)
    return found if found.columns().isdisjoint(gone) else _common(outer, each)


def limiting(inner: Known, body: Sequence[Ast], col: int) -> list[tuple[Key, int, int]]:
    """What all parts of the body of a loop need of its own column, as sides of `Bounds`.

    A guard below loops may leave nothing of what made them long: where i >= 3 is kept out by it, of i <= n, a loop of
    tiles i/4 to n/4 has 4*c0 <= i <= 2 inside, and needs no more than c0 <= 0.
    """
    if any(isinstance(node, Call) for node in body):
        return []
    rows = required(inner, body).every_ge()
    gone = inner.columns.floors_of(col)  # which are no bounds: they vary with it
    found = [(key, const, abs(coefficient(key, col))) for key, const in rows if gone.isdisjoint(c for c, _ in key)]
    return [side for side in found if side[2]]


def _varying(columns: Columns, col: int, each: Sequence[System]) -> set[int]:
    """The column of a loop and the floors that it is in; the systems get what those in them are."""
    gone = {col, *columns.floors_of(col)}
    for s in each:
        for floor in (s.columns() & gone).difference({col}):
            for row in columns.floor_rows(floor):
                s.ge(*row)
    return gone


def of_sizes(known: Known, system: System) -> list[System]:
    """Where values of loops that are known of satisfy a system, as disjoint ones over sizes; changes it."""
    for row in known.ineqs.items():
        system.ge(*row)
    gone: set[int] = set()
    while True:
        more = {c for c in system.columns() if not known.columns.of_sizes(((c, 1),))} - gone
        if not more:
            return exactly(known.columns, system, tuple(gone))
        for floor in more & known.columns.floors.keys():
            for row in known.columns.floor_rows(floor):
                system.ge(*row)
        gone |= more


def needed_by_all(known: Known, body: Sequence[Ast]) -> System:
    """Conditions on sizes without which nothing in the whole code runs, and that hold but at small ones."""
    out = System()
    if len(body) == 1 and isinstance(body[0], Block):  # what is above a mark may not know of names below it
        inside = needed_by_all(known, body[0].body).ineqs
        out.ineqs = {row: const for row, const in inside.items() if known.columns.of_loops(row)}
        return out
    if len(body) == 1 and isinstance(body[0], If):  # a guard above all
        return needed_by_all(known.given(stating(known, body[0].conditions)), body[0].body)
    if len(body) < 2 or not any(seldom(known, *row) for node in body for row in _tested(known, node)):
        return out
    each = [needs(known, node, True) for node in body]
    if len(each) > 1 and not any(s.everywhere for s in each):
        out.ineqs = {row: const for row, const in _common(known, each).ineqs.items() if seldom(known, row, const)}
    return out


def _tested(known: Known, node: Ast) -> Iterator[tuple[Key, int]]:
    """The inequalities of which some code may need one: of each condition, and that outermost loops run."""
    match node:
        case If(conditions, body):
            yield from _stated(known, conditions)
            for inner in body:
                yield from _tested(known, inner)
        case Block(_, body):
            for inner in body:
                yield from _tested(known, inner)
        case For(_, lower, upper):
            for low, high in product(lower, upper):
                if isinstance(low, Aff) and isinstance(high, Aff):
                    yield known.columns.row(high - low)


def _stated(known: Known, conditions: Sequence[Condition]) -> Iterator[tuple[Key, int]]:
    """The rows of conditions and of their alternatives, an equality as two."""
    for c in conditions:
        if isinstance(c, AnyOf):
            for case in c.alternatives:
                yield from _stated(known, case)
            continue
        key, const = known.columns.row(c[1])
        yield key, const
        if c[0] == "eq":
            yield negated(key), -const


def less(body: Sequence[Ast], conditions: Sequence[Condition]) -> tuple[Ast, ...]:
    """The code where some conditions hold, which it need not test."""
    if not conditions:
        return tuple(body)
    out: list[Ast] = []
    for node in body:
        if isinstance(node, If):
            left = tuple([d for c in node.conditions if c not in conditions for d in under(c, conditions)])
            inside = less(node.body, conditions)
            same = inside is node.body and left == node.conditions
            out += ((node if same else replace(node, conditions=left, body=inside)),) if left else inside
        else:
            out.append(replace(node, body=less(node.body, conditions)) if isinstance(node, Block) else node)
    return body if isinstance(body, tuple) and all(map(is_, out, body)) and len(out) == len(body) else tuple(out)


def needs(known: Known, node: Ast, loops: bool = False, below: bool = False) -> System:
    """What some code needs; that `loops` have an iteration is a part of that if it is asked for.

    Parameters
    ----------
    below : whether conditions stand around it that are not known.
    """
    if loops and isinstance(node, For):
        return _with_loops(known, node, below).copy()
    out = System()
    match node:
        case If(conditions, body, _, other):
            out = stating(known, conditions).add(required(known, body, loops, True))
            if other:  # what both branches need
                there = stating(known, negation(conditions)).add(required(known, other, loops, True))
                out = System() if out.everywhere or there.everywhere else _common(known, [out, there])
        case Block(_, body):  # what surrounds it may not know of names inside
            for row in required(known, body, loops, below).every_ge():
                if known.columns.of_loops(row[0]):
                    out.ge(*row)
    return out


def _with_loops(known: Known, node: For, below: bool) -> System:
    """What a loop needs to have an iteration, and all of its parts of what is outside of it; not to be changed.

    It is asked of the loop alone, beside others, and of what is around them: what is found is remembered. It is the
    same wherever no condition is in between and the same is known of sizes: it was asked first where the loops around,
    which are in between now, were known.
    """
    remembered = known.loops if below else known.columns.loops
    what = (id(node),) if below else (id(node), known.loopless())
    if (found := remembered.get(what)) is not None:
        return found[1]
    out = System()
    for (low, least), (high, most) in product(known.columns.bounds(node.lower), known.columns.bounds(node.upper)):
        out.ge(plus(1, high, -1, low), most - least)
    with suppress(BudgetExceeded):  # of a loop with much in it less is known
        out.add(bounded(WORTH, _of_loop, known, node, below))
        remembered[what] = node, out  # kept, or another one could have its identity
    return out


def _of_loop(known: Known, node: For, below: bool) -> System:
    """What all parts of a loop need of what is outside of it, that loops have an iteration included."""
    if any(isinstance(inner, Call) for inner in node.body):  # as of most innermost ones: it needs nothing
        return System()
    col, loop = known.columns.ids[node.var], extent(known, node)
    there = known.given(loop)
    each = [s for inner in node.body for s in _cases(there, inner, below)]
    if any(s.everywhere for s in each):
        return System()
    if not known.columns.floors and not any(col in s.columns() for s in each):
        return _common(known, each)  # nothing varies with it, and that it has an iteration is said beside
    each = [s.add(loop) for s in each]
    gone = _varying(known.columns, col, each)
    each = [s.without(gone, known.low, known.high) for s in each]
    return closer(known, each, _by_remainders(known, each, _common(known, each)))


def _cases(known: Known, node: Ast, below: bool) -> list[System]:
    """What some code needs in each of a few alternatives of its conditions; of many what they share.

    One of them holds where it runs, so that what all of these systems and those beside imply is needed: of two equal
    remainders, 1 or 3 of (n + m) mod 5, two rows share nothing, and both imply that it is 1 at least. Where there are
    no floors rows share what they may. Cost: a projection for each alternative.
    """
    if isinstance(node, If) and not node.other and known.columns.floors:
        cases = list(islice(cases_of(node.conditions), CASES + 1))
        if 1 < len(cases) <= CASES:
            inside = required(known, node.body, below=True)
            return [stating(known, case).add(inside) for case in cases]
    return [needs(known, node, True, below)]


def _by_remainders(known: Known, each: Sequence[System], found: System) -> System:
    """Rows that some systems share, and those over remainders of sizes that they do by what equalities leave of sums.

    (n + m) mod 3 >= 1 holds where n + m - 1 = 3*floor((n + m - 1)/3), which is another floor: rational numbers may be
    between the two, and what is known has congruences of single columns. So the equality is said modulo its floor's
    coefficient; it is the same for integers. Cost: a linear program for each such row and each other system, where one
    of the systems has an equality with a floor. Changes the rows that are found.
    """
    stepping = [_modulo_floors(known.columns, s) for s in each]
    if len(each) < 2 or not any(s.mods for s in stepping):
        return found
    there = [known.given(steps).given(s) for s, steps in zip(each, stepping, strict=True)]  # the finest ones first
    for row in dict.fromkeys(row for s in each for row in s.ineqs.items()):
        if of_remainders(known, row[0]) and not known.given(found).implies(*row):
            if all(place.implies(*place.loose(*row)) for place in there):
                found.ge(*row)
    return found


def _modulo_floors(columns: Columns, system: System) -> System:
    """The equalities of a system as congruences by the coefficients of floors in them."""
    out = System()
    for key, const in system.eqs:
        for d in {abs(v) for c, v in key if c in columns.floors} - {1}:
            out.mod(tuple([(c, v) for c, v in key if v % d]), const, d)
    return out


def extent(known: Known, node: For) -> System:
    """The bounds of a loop that are expressions, as rows."""
    out, here = System(), ((known.columns.ids[node.var], 1),)
    for key, const in known.columns.bounds(node.lower):
        out.ge(plus(1, here, -1, key), -const)
    for key, const in known.columns.bounds(node.upper):
        out.ge(plus(1, key, -1, here), const)
    return out


def of_columns(known: Known, body: Sequence[Ast]) -> bool:
    """Whether all loops are of these columns: code of one case of sizes may be of another scan's, in which they are."""
    return all(node.var in known.columns.ids for node in nodes(body) if isinstance(node, For))


def required(known: Known, body: Sequence[Ast], loops: bool = True, below: bool = False) -> System:
    """What all parts of some code need; that `loops` have an iteration is a part of that if it is asked for."""
    each: list[System] = []
    for node in () if any(isinstance(node, Call) for node in body) else body:  # a call needs nothing
        each.append(needs(known, node, loops, below))
        if each[-1].everywhere:
            return System()
    return _common(known, each) if each else System()


def at_a_place(known: Known, node: Ast) -> System | None:
    """The conditions at one place in some code, of those in the fewest, outside of loops; None where all are marked.

    They say all that the code needs, and are found in a fraction of the time where there are many in one another.
    """
    places: list[tuple[Ast, tuple[Condition, ...]]] = [(node, ())]
    for inner, conditions in places:  # which grows
        if isinstance(inner, Call | For):
            return stating(known, conditions)
        if isinstance(inner, If):
            places += [(one, (*conditions, *inner.conditions)) for one in inner.body]
    return None


def stating(known: Known, conditions: Sequence[Condition]) -> System:
    """Conditions as rows; of alternatives what they share."""
    out = System()
    for c in conditions:
        if isinstance(c, AnyOf):
            out.add(_common(known, [stating(known, case) for case in c.alternatives]))
        elif c[0] == "eq":
            out.eq(*known.columns.row(c[1]))
        else:
            out.ge(*known.columns.row(c[1]))
    return out


def alternatives(known: Known, conditions: Sequence[Condition], most: int) -> tuple[System, ...] | None:
    """The systems of which one holds where conditions do; None of more than so many."""
    cases = list(islice(cases_of(conditions), most + 1))
    return tuple([stating(known, case) for case in cases]) if len(cases) <= most else None


def _common(known: Known, each: Sequence[System]) -> System:
    return each[0] if len(each) == 1 else implied(known, each)
