"""Statements that take turns: of [2i] and [2i + 1] one has the even values of a member, the other the odd ones.

A loop of step 1 over both would ask at every value whose it is. Instead the values are c + r for a loop variable c that
steps from one multiple to the next: lanes whose residues modulo the step differ stand one after another in the body,
in the order of r. isl's generator shifts the statements' values likewise (Grosser, Verdoolaege and Cohen, TOPLAS 37,
2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from polyvolta.sched.loops.rows.bounds import sides
from polyvolta.sched.loops.rows.groups import classes, shadow
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Lane
from polyvolta.sched.loops.rows.linear import System, plus
from polyvolta.sched.loops.rows.strides import grid

Parts = list[tuple[int, list[Lane]]]  # r, and the lanes at c + r, whose column is c


def interleaved(known: Known, lanes: Sequence[Lane], k: int, col: int) -> Parts:
    """The lanes by residue modulo the step that all share, in order; all at r = 0 where residues are alike or unknown.

    Which residue is called r = 0 is chosen such that the lanes differ least in their bounds.
    """
    alone = [(0, list(lanes))]
    each = classes(lanes, k, col)
    if len(each) < 2:
        return alone
    grids = [grid(known, shadow(c, k, col), col) for c in each]
    step = gcd(*[s for s, _ in grids])
    if step < 2:
        return alone
    first = grids[0][1]
    residues = []
    for _, (key, const) in grids:
        whole, shift = known.grid(plus(1, key, -1, first[0]))
        if whole % step:
            return alone
        residues.append((shift + const - first[1]) % step)
    if len(set(residues)) == 1:
        return alone
    return min(
        (_from(base, step, residues, each, k, col) for base in sorted(set(residues))),
        key=lambda p: _apart(known, p, k, col),
    )


def _from(base: int, step: int, residues: list[int], each: list[list[Lane]], k: int, col: int) -> Parts:
    """The lanes by residue, counted from one of them."""
    found: dict[int, list[Lane]] = {}
    for r, some in zip(residues, each, strict=True):
        shift = (r - base) % step
        found.setdefault(shift, []).extend([lane.fix(k, col, ((col, 1),), shift) for lane in some] if shift else some)
    return sorted(found.items())


def _apart(known: Known, parts: Parts, k: int, col: int) -> tuple[int, int]:
    """How many different things are said of the column: bounds, within its residue class, and shadows."""
    found = set()
    each = [shadow(c, k, col) for c in classes([lane for _, lanes in parts for lane in lanes], k, col)]
    for s in each:
        stepping = System()
        stepping.mods = s.mods
        beside = known.given(stepping)
        found |= {beside.tight(key, const) for low_or_high in sides(s, col) for key, const, _ in low_or_high}
    return len(found), len(each)
