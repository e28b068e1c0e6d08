"""Reading single-valued maps as expressions: what equalities say of the outputs, or that an optimum gives them."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from ..budgets import remembered
from ..conjuncts.conjunct import Conjunct, Row
from ..engine.rows import solved_for
from ..errors import NotAFunction
from ..values.aff import Aff
from ..values.build import affs_of, expression
from ..values.space import Space
from .lexrel import conjunct_optimum

if TYPE_CHECKING:
    from ..values.map import Map


def solved_outputs(c: Conjunct, n_params: int, space: Space) -> tuple[Row, ...] | None:
    """For each output the row that gives it from columns that hold no output, if equalities say so plainly.

    Divs that lean on an output are unknowns here: Gaussian elimination, divs first, solves
    `b = floor(i/32), p = i mod 32` for i = 32b + p.
    """
    return _solved_outputs(c, n_params + space.n_in)


@remembered(1 << 12)
def _solved_outputs(c: Conjunct, n_fixed: int) -> tuple[Row, ...] | None:
    """`solved_outputs` behind so many parameters and inputs."""
    base = 1 + c.n
    outputs = range(1 + n_fixed, base)
    if not c.divs:
        plain = _given_outputs(c, outputs)
        if not isinstance(plain, bool):
            return plain
    bound = set(outputs)
    for k, div in enumerate(c.divs):
        if div is None or any(div[1][col] for col in bound if col < len(div[1])):
            bound.add(base + k)
    rows, solved = list(c.eqs), {}
    for col in sorted(bound, reverse=True):
        pivot = min((r for r in rows if r[col]), key=lambda r: abs(r[col]), default=None)
        if pivot is None:
            continue
        rows = [_cleared(r, pivot, col) for r in rows if r is not pivot]
        solved = {k: _cleared(r, pivot, col) for k, r in solved.items()}
        solved[col] = pivot
    found: list[Row] = []
    for col in outputs:
        row = solved.get(col)
        if row is None or abs(row[col]) != 1 or any(row[b] for b in bound if b != col):
            return None
        found.append(solved_for(row, col))
    return tuple(found)


def _given_outputs(c: Conjunct, outputs: range) -> tuple[Row, ...] | None | bool:
    """`_solved_outputs` where one equality gives each output, or none speaks of one; False where it takes more."""
    found: list[Row] = []
    for col in outputs:
        users = [r for r in c.eqs if r[col]]
        if not users:
            return None
        row = users[0]
        if len(users) > 1 or abs(row[col]) != 1 or any(row[other] for other in outputs if other != col):
            return False
        found.append(solved_for(row, col))
    return tuple(found)


def _cleared(row: Row, pivot: Row, col: int) -> Row:
    """A primitive combination of the row with the pivot row in which column `col` vanishes."""
    if not row[col]:
        return row
    g = gcd(row[col], pivot[col])
    up, down = pivot[col] // g, row[col] // g
    out = [up * a - down * b for a, b in zip(row, pivot, strict=True)]
    g = gcd(*out)
    return tuple(v // g for v in out) if g else tuple(out)


def output_affs(relation: Map) -> tuple[Aff, ...]:
    """See `Map.as_affs`."""
    from ..layouts.recognise_layout import inverse_affs

    space = relation.space
    if not relation.param_names and [solved_outputs(c, 0, space) for c in relation.parts[0][1]] == [None]:
        back = inverse_affs(relation)
        if back is not None:
            return back
    pieces = [c for c in relation.parts[0][1] if not c.is_empty]
    if not pieces:
        raise not_a_function(relation, "an empty relation says nothing of its outputs")
    found = {_piece_affs(relation, space, c) for c in pieces}
    if len(found) > 1:
        raise not_a_function(relation, f"{len(pieces)} pieces cannot be read as one expression")
    return found.pop()


def _piece_affs(relation: Map, space: Space, c: Conjunct) -> tuple[Aff, ...]:
    names = (*relation.param_names, *space.dims[: space.n_in])
    rows = solved_outputs(c, len(relation.param_names), space)
    if rows is not None:
        table = affs_of(c, (*names, *space.out.dims))
        return tuple(expression(r, table) for r in rows)
    if not relation._of(relation.param_names, [(space, (c,))]).is_single_valued():
        raise not_a_function(relation, "some input has several outputs")
    optima = conjunct_optimum(c, len(names), -1)
    found = set()
    for divs, values, _ in optima:
        table = affs_of(Conjunct(len(names), tuple(divs), (), ()), names)
        found.add(tuple(expression(v, table) for v in values))
    if len(found) != 1:
        raise not_a_function(relation, "the outputs need more than one expression")
    return found.pop()


def not_a_function(relation: Map, why: str) -> NotAFunction:
    return NotAFunction(why, where=str(relation), hint="use lexmin() to choose one output")
