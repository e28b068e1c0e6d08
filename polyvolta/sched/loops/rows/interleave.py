"""Statements that take turns: of [2i] and [2i + 1] one has the even values of a member, the other the odd ones.

A loop of step 1 over both would ask at every value whose it is. Instead the values are c + r for a loop variable c that
steps from one multiple to the next: lanes whose residues modulo the step differ stand one after another in the body,
in the order of r. isl's generator shifts the statements' values likewise (Grosser, Verdoolaege and Cohen, TOPLAS 37,
2015).

Lanes are shifted before their values are cut (`groups`, `unions`): in terms of c, [2i] and [2i + 1] have the same ones,
where cells of the member's own values would end between two that share an iteration. As r is less than the step,
lanes run in the order of c, then of r (`order`). What a cut leaves of lanes may be shifted further.
"""

from __future__ import annotations

from math import gcd

from polyvolta.sched.loops.rows.bounds import sides
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.lanes import Group, Lane, classes, shadow
from polyvolta.sched.loops.rows.linear import System, plus
from polyvolta.sched.loops.rows.strides import grid


def interleaved(known: Known, group: Group, k: int, col: int, alike: bool = False) -> Group:
    """The lanes shifted by their residues modulo the step that all share, counted from one that has a shift of 0.

    Which residue that is is chosen such that the lanes differ least in their bounds. As they are, but counted from the
    least, where residues are alike or unknown.

    Parameters
    ----------
    alike : only where that is the step of each: around one value, or to where lanes of a wider step end, values are
        better cut as they are first (`unions`), and what is left shifted.
    """
    group = _from_least(group, k, col)
    each = classes(group.lanes, k, col)
    if len(each) < 2:
        return group
    grids = [grid(known, shadow(c, k, col), col) for c in each]
    step = gcd(*[s for s, _ in grids])
    if step < 2 or (alike and any(s != step for s, _ in grids)):
        return group
    first = grids[0][1]
    residues = []
    for _, (key, const) in grids:
        whole, shift = known.grid(plus(1, key, -1, first[0]))
        if whole % step:
            return group
        residues.append((shift + const - first[1]) % step)
    if len(set(residues)) == 1:
        return group
    return min(
        (_from(base, step, residues, each, k, col) for base in sorted(set(residues))),
        key=lambda g: _apart(known, g, k, col),
    )


def _from_least(group: Group, k: int, col: int) -> Group:
    """The group with a least shift of 0."""
    least = min(lane.shift for lane in group.lanes)
    if not least:
        return group
    cell = None if group.cell is None else group.cell.copy()
    if cell is not None:
        cell.replace(col, ((col, 1),), -least)
    return Group([lane.shifted(k, col, -least) for lane in group.lanes], cell)


def _from(base: int, step: int, residues: list[int], each: list[list[Lane]], k: int, col: int) -> Group:
    """The lanes shifted by their residues, counted from one of them."""
    lanes = []
    for r, some in zip(residues, each, strict=True):
        by = (r - base) % step
        lanes += [lane.shifted(k, col, by) for lane in some] if by else some
    return Group(sorted(lanes, key=lambda lane: lane.shift))


def _apart(known: Known, group: Group, k: int, col: int) -> tuple[int, int]:
    """How many different things are said of the column: bounds, within its residue class, and shadows."""
    found = set()
    each = group.classes(k, col)
    for s in each:
        beside = known.given(System(mods=s.mods))
        found |= {beside.tight(key, const) for low_or_high in sides(s, col) for key, const, _ in low_or_high}
    return len(found), len(each)
