"""What promotion adds to a schedule tree: data tiles, and statements that move their data."""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.sets import Aff, Map, Tuple, var
from polyvolta.sets.box import Box
from polyvolta.sets.build import RowBuilder
from polyvolta.sets.space import Space, distinct


@dataclass(frozen=True, slots=True)
class Movement:
    """What an instance of an added statement does.

    Parameters
    ----------
    statement, dims : its name and dimensions.
    kind : "zero", "global_load", "shared_store", "fragment_load", "mma", "store" or "barrier".
    tensor : the array whose data moves; "" for a barrier.
    index : where, in expressions of `dims`: the tensor's element for global accesses, tile-local elsewhere.
    element : the place in the register array, in expressions of `dims`.
    operand : "a", "b" or "d".
    """

    statement: str
    dims: tuple[str, ...]
    kind: str
    tensor: str = ""
    index: tuple[Aff, ...] = ()
    element: tuple[Aff, ...] = ()
    operand: str = ""

    @property
    def touches(self) -> tuple[frozenset[str], frozenset[str]]:
        """The memories of the tensor that an instance reads and writes: global, staging, shared, fragments."""
        reads, writes = {
            "zero": ("", "fragments"),
            "global_load": ("global", "staging"),
            "shared_store": ("staging", "shared"),
            "fragment_load": ("shared", "fragments"),
            "mma": ("fragments", "fragments"),
            "store": ("fragments", "global"),
            "barrier": ("", ""),
        }[self.kind]
        name = lambda memory: frozenset([f"{memory} {self.tensor}"] if memory else [])  # noqa: E731
        return name(reads), name(writes)

    @property
    def relation(self) -> Map:
        """{ statement[dims] -> tensor[index] }."""
        outs = distinct((f"x{k}" for k in range(len(self.index))), self.dims)
        c = RowBuilder((*self.dims, *outs)).conjunct([("eq", e - var(o)) for o, e in zip(outs, self.index)])
        return Map._of((), [(Space(Tuple(self.statement, self.dims), Tuple(self.tensor, outs)), (c,))])


@dataclass(frozen=True, slots=True)
class Tile:
    """A promoted data tile: its box, and what was chosen about its copy.

    Parameters
    ----------
    tensor : the array; `order` its dimensions, outermost first, the last contiguous.
    operand : "a", "b" or "d" of the macro-MMA.
    block, warp : boxes of what a block and a warp touch; offsets in the outer members.
    copies : 128-bit copies that each thread makes of the block's tile.
    fragment : extents of a macro-MMA fragment along the tensor's dimensions.
    """

    tensor: str
    order: tuple[int, ...]
    operand: str
    block: Box
    warp: Box
    copies: int
    fragment: tuple[int, ...]

    @property
    def fragments(self) -> tuple[int, ...]:
        """How many fragments the warp's tile has along each dimension."""
        return tuple(s // f for s, f in zip(self.warp.size, self.fragment))
