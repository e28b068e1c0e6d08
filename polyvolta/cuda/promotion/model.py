"""What promotion adds to a schedule tree: statements that move data, and where they go.

An added statement is a `Movement`: its name, its dimensions, and what an instance does, as operations of the kernel IR
whose expressions are in those dimensions. Lowering only puts a call's arguments in. A `Piece` is a part of a
block's program: the subtree of some statements, to become a child of the block's sequence, and the extensions that
add their instances.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.kernel_ir import Op, RegisterArray, SharedTile
from polyvolta.sched.tree import Node
from polyvolta.sets import Aff, Map


@dataclass(frozen=True, slots=True)
class Movement:
    """What an instance of a statement does.

    Parameters
    ----------
    statement, dims : its name and dimensions.
    ops : operations in expressions of `dims`, in order. Those that may reach outside of a tensor are guarded.
    full : conditions `e >= 0` in `dims` and sizes under which no value is outside, so that the guards can be left
        out; () where nothing is guarded. They don't depend on the dimensions of the copies' own loops.
    phrase : what it does, in a few words, for comments.
    """

    statement: str
    dims: tuple[str, ...]
    ops: tuple[Op, ...]
    full: tuple[Aff, ...] = ()
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A child of a block's sequence.

    Parameters
    ----------
    statements : those of its filter, added ones and the tree's own.
    node : the subtree below the filter.
    extensions : { [members of the block's band] -> statement[dims] } for the added statements that enter above it.
    movements : what the instances of its statements do, added ones and the tree's own.
    tiles, registers : the arrays that it introduces.
    """

    statements: tuple[str, ...]
    node: Node
    extensions: tuple[Map, ...]
    movements: tuple[Movement, ...]
    tiles: tuple[SharedTile, ...] = ()
    registers: tuple[RegisterArray, ...] = ()
