"""Who makes a product together, and what of it follows for promotion: a warp, or a warpgroup of four.

A block's tile is shared out among those who make a product together, so loops are mapped to the indices of warps, or
of warpgroups. A fragment of the result is what the epilogue works on at a time: the macro-MMA's accumulators of a
warp, or, as those of a warpgroup are wide, 16 columns of them, of which each warp has 16 rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANES
from polyvolta.cuda.target.macro_mma import Composition, MacroMma
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.sets import Aff, aff, var

WARPS = ("warpIdx_y", "warpIdx_x", "warpIdx_z")
"""What the loops over warps are mapped to: rows, columns and depth."""
WARPGROUPS = ("warpgroupIdx_y", "warpgroupIdx_x", "warpgroupIdx_z")
"""Likewise those over warpgroups, where four warps make a product together."""
COLUMNS = 16
"""Of a fragment of a warpgroup's result: 16 x 16 values of a warp are runs of eight for all its lanes."""


@dataclass(frozen=True, slots=True)
class Makers:
    """Who makes a product together.

    Parameters
    ----------
    names : what loops over their tiles are mapped to, rows, columns and depth.
    warps : of each.
    everyone : the scope of barriers among all of them in a block.
    columns : of a fragment of the result; 0: all that the macro-MMA has.
    offset : where the rows and columns of a thread's warp start in a fragment.
    """

    names: tuple[str, str, str] = WARPS
    warps: int = 1
    everyone: str = "block"
    columns: int = 0
    offset: tuple[Aff, Aff] = (aff(0), aff(0))

    def result(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Rows and columns of a fragment of the result, and the depth."""
        return (shape[0], self.columns or shape[1], shape[2])

    def of_warp(self, macro: MacroMma) -> MacroMma:
        """The share of a warp in a fragment of the result, as a macro-MMA of its own: who has which element."""
        if not self.columns:
            return macro
        (lane, lanes), (i, _) = (found := macro.instruction.of_warp("d")).inputs
        own = IndexMap(((lane, lanes), (i, self.columns * macro.shape[0] // self.warps // LANES)), found.outputs)
        rows = macro.shape[0] // self.warps
        shape, name = (rows, self.columns, macro.shape[2]), f"m{rows}n{self.columns} of {macro.name}"
        return replace(macro, name=name, shape=shape, d=own.simplified())


ONE_WARP = Makers()


def makers_of(macro_mma: Composition | WarpgroupMma) -> Makers:
    """Who makes its products together."""
    if not isinstance(macro_mma, WarpgroupMma):
        return ONE_WARP
    return _warpgroup(macro_mma.instructions[0].scope.threads // LANES, macro_mma.shape[0])


@lru_cache(maxsize=16)
def _warpgroup(warps: int, height: int) -> Makers:
    """A warpgroup whose macro-MMA has so many rows."""
    rows = height // warps
    return Makers(WARPGROUPS, warps, "role", COLUMNS, (rows * (var("warp") % warps), aff(0)))
