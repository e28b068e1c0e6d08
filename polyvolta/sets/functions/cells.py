"""Cells of piecewise functions: a conjunct over named dimensions, and the expressions that hold there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.implies import plainly_apart, subtract
from ..conjuncts.project import with_known_divs
from ..errors import NotAFunction
from ..hulls.coalesce import plainly_coalesced
from ..values.aff import Aff
from ..values.build import Constraint, RowBuilder, affs_of, expression
from .extreme import Extreme

Values = tuple[Aff, ...]
Cell = tuple[Conjunct, Values]
Piece = tuple[Conjunct, tuple[Extreme, ...]]  # a cell whose values may be minima and maxima
Meeting = tuple[Conjunct, Conjunct | None, Conjunct | None]  # another's cell, what is won of it and lost to it


def where(names: Sequence[str], atoms: Iterable[Constraint]) -> Conjunct | None:
    """The conjunct of some constraints over named dimensions; None when plainly contradictory."""
    return RowBuilder(names).conjunct(atoms)


def refined(c: Conjunct, names: Sequence[str], atoms: Iterable[Constraint]) -> Conjunct | None:
    """The points of a conjunct with some more constraints; None when there is none. Exact."""
    more = where(names, atoms)
    both = None if more is None else cj.conjoin(c, more)
    if more is None or both is None:
        return None
    return both if cj.plainly_meet(c, more) or not both.is_empty else None


def atoms_of(c: Conjunct, names: Sequence[str]) -> list[Constraint]:
    """The constraints of a conjunct with known divs, as expressions in `names`."""
    table = affs_of(c, names)
    return [("eq", expression(r, table)) for r in c.eqs] + [("ge", expression(r, table)) for r in c.ineqs]


def disjoint(names: Sequence[str], cells: Iterable[Cell], culprit: object) -> list[Cell]:
    """Cells made disjoint: what a later one shares with an earlier one is dropped, after a check that both agree.

    Raises
    ------
    NotAFunction : two cells give different values at one point.
    """
    done: list[Cell] = []
    for c, values in cells:
        left = [c]
        for d, others in done:
            both = cj.conjoin(c, d)
            if both is None or both.is_empty:
                continue
            if not agree(names, [both], values, others):
                raise NotAFunction(
                    "two pieces give different values at one point",
                    where=str(culprit),
                    hint="make the conditions exclusive",
                )
            for k in with_known_divs(d):
                left = [p for part in left for p in subtract(part, k)]
        done += [(p, values) for p in left if not p.is_empty]
    return done


def knives(cs: Iterable[Conjunct]) -> Sequence[Conjunct]:
    """The same points as few conjuncts with known divs, which cut less to pieces; by the rows at hand."""
    known = tuple(dict.fromkeys([k for c in cs for k in with_known_divs(c)]))
    return plainly_coalesced(known)


def without(c: Conjunct, knives: Sequence[Conjunct]) -> list[Conjunct]:
    """What is left of a conjunct beside some with known divs, in disjoint conjuncts."""
    left = [c]
    for k in knives:
        left = [p for part in left for p in subtract(part, k)]
    return [p for p in left if not p.is_empty]


def better(
    names: Sequence[str],
    functions: tuple[Sequence[Cell], Sequence[Cell]],
    domains: tuple[Sequence[Conjunct], Sequence[Conjunct]],
    sign: int,
) -> list[Cell]:
    """The greater (sign 1) or lesser of two functions of one value where both have one, elsewhere the one that has one.

    Where a cell's value is taken is the cell without where others are better. That is one difference, or what it wins
    of each other cell and what lies beside them all; here it is whichever has fewer pieces. `domains` are those of the
    functions, in conjuncts with known divs.
    """
    mine, theirs = functions
    met: tuple[list[list[Meeting]], ...] = ([[] for _ in mine], [[] for _ in theirs])
    for i, (c, (x,)) in enumerate(mine):
        for j, (d, (y,)) in enumerate(theirs):
            both = cj.conjoin(c, d)
            if both is None or both.is_empty:
                continue
            won, lost = [
                (both if gap.const >= 0 else None) if gap.is_constant else refined(both, names, [("ge", gap)])
                for gap in ((x - y) * sign, (y - x) * sign - 1)
            ]
            met[0][i].append((d, won, lost))
            met[1][j].append((c, lost, won))
    out: list[Cell] = []
    for cells, found, beside in zip(functions, met, reversed(domains), strict=True):
        out += [(p, vs) for (c, vs), meetings in zip(cells, found, strict=True) for p in _kept(c, meetings, beside)]
    return out


def _kept(c: Conjunct, meetings: Sequence[Meeting], beside: Sequence[Conjunct]) -> list[Conjunct]:
    """What is left of a cell after its meetings with those of another function, whose domain is `beside`."""
    lost = [m for m in meetings if m[2] is not None]
    if not lost:
        return without(c, ())
    whole = [won for _, won, less in meetings if won is not None and less is None]
    partly = [won for _, won, less in lost if won is not None]
    ways = [[*whole, *partly, *without(c, beside)]]
    if whole:
        ways.append([*partly, *without(c, knives(d for d, _, _ in lost))])
    best = min(ways, key=len)
    if partly and len(best) > 1 + len(partly):  # it parts the two pieces that print as one minimum or maximum
        as_one = without(c, knives(less for _, _, less in lost if less is not None))
        best = as_one if len(as_one) + len(partly) < len(best) else best
    return best


def apart(cs: Sequence[Conjunct]) -> list[list[Conjunct]]:
    """For each conjunct what is left of it, so that no point is in two; coalescing may let pieces overlap.

    Those with more equalities are cut by the others, which is mostly in fewer pieces. O(m^2) emptiness tests.
    """
    left: list[list[Conjunct]] = [[] for _ in cs]
    done: list[Conjunct] = []
    for at in sorted(range(len(cs)), key=lambda k: len(cs[k].eqs)):
        left[at] = without(cs[at], [k for d in done if not plainly_apart(cs[at], d) for k in with_known_divs(d)])
        done.append(cs[at])
    return left


def agree(names: Sequence[str], cs: Iterable[Conjunct], a: Values, b: Values) -> bool:
    """Whether the expressions are equal at all points of the conjuncts; at one point of each, first."""
    cs = list(cs)
    gaps = [gap for x, y in zip(a, b, strict=True) if not (gap := x - y).is_constant or gap.const]
    if not gaps:
        return True
    for c in cs:
        point = cj.sample(c)
        at = None if point is None else dict(zip(names, point, strict=True))
        if at is not None and any(gap.evaluate(at) for gap in gaps):
            return False
    return not any(refined(c, names, [("ge", e - 1)]) for c in cs for gap in gaps for e in (gap, -gap))


def holds(c: Conjunct, at: Sequence[Any]) -> Any:
    """Whether a conjunct with known divs holds at a point (elementwise for arrays)."""
    columns: list[Any] = [1, *at]

    def value(row: Sequence[int]) -> Any:
        return sum((v * columns[k] for k, v in enumerate(row) if v), 0)

    for div in c.divs:
        assert div is not None, "divs are known here"
        den, row = div
        columns.append(value(row) // den)
    inside: Any = True
    for row in c.eqs:
        inside = inside & (value(row) == 0)
    for row in c.ineqs:
        inside = inside & (value(row) >= 0)
    return inside
