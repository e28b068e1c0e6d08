"""Kernels whose blocks compute one tile, made ones that go on with the next: a loop over tiles around each role's body.

The ring goes on counting: what is about the n-th k tile of a result's tile is about number tiles + n of the block.
What waits at the end of the program for boxes that are stored stays behind all tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyvolta.cuda.ir.kernel_ir import KernelIR, Op, Phase, Role, Roles, SharedTile, Stmt, Tiles, WaitStores, When
from polyvolta.cuda.ir.memories import Part
from polyvolta.cuda.ir.walk import operations, put, walk
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import Floor

TURN, TILES = "turn", "tiles"


def persistent(ir: KernelIR, tiles: Aff, resident: int = 132, by_turn: tuple[str, ...] = ()) -> KernelIR:
    """A kernel that computes tile after tile.

    Parameters
    ----------
    tiles : k tiles of a result's tile.
    by_turn : rows of barriers with a phase for each tile; all others have one for each k tile.
    """
    *before, split = ir.body
    assert isinstance(split, Roles)
    roles = tuple(_of_role(ir, role, tiles, by_turn) for role in split.roles)
    ranges = {**ir.ranges, TURN: (0, None), TILES: (0, None)}
    return replace(ir, body=(*before, replace(split, roles=roles)), resident=resident, ranges=ranges)


def _of_role(ir: KernelIR, role: Role, tiles: Aff, by_turn: tuple[str, ...]) -> Role:
    last = len(role.body) - (1 if any(isinstance(op, WaitStores) for op in operations(role.body[-1:])) else 0)
    body = tuple(_further(ir, s, by_turn) for s in role.body[:last])
    return replace(role, body=(Tiles(TURN, ((TILES, tiles),), body), *role.body[last:]))


def _further(ir: KernelIR, s: Stmt, by_turn: tuple[str, ...]) -> Stmt:
    """A statement about the tiles of all turns."""
    def change(part: Any) -> Any:
        match part:
            case Phase():
                return _phase(ir, part, by_turn)
            case tuple():
                return tuple(change(x) for x in part)
            case Part():
                own = {f: change(getattr(part, f)) for f in part.__dataclass_fields__}
                if "buffer" in own and not isinstance(part, SharedTile):
                    own["buffer"] = _slot(own["buffer"])
                return replace(part, **own)
        return part

    return change(s)


def _phase(ir: KernelIR, phase: Phase, by_turn: tuple[str, ...]) -> Phase:
    if phase.barriers in by_turn:
        return replace(phase, number=phase.number + var(TURN))
    slots = ir.phases(phase.barriers).slots
    number = slots * phase.number + phase.slot + var(TILES)
    return replace(phase, slot=number % slots, number=number // slots)


def _slot(slot: Aff) -> Aff:
    """e mod S of the tiles of all turns."""
    for atom, c in slot.terms:
        if isinstance(atom, Floor) and "c2" in atom.num.names():
            line = slot - c * Aff(((atom, 1),))
            return (line + var(TILES)) % -c
    return slot
