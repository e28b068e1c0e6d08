"""What promotion adds to a schedule tree: statements that move data, and where they go.

An added statement is a `Movement`: its name, its dimensions, and what an instance does, as operations of the kernel IR
whose expressions are in those dimensions. Lowering only puts a call's arguments in. A `Piece` is a part of a
block's program: the subtree of some statements, to become a child of the block's sequence, and the extensions that
add their instances.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Protocol

from polyvolta.cuda.build.promotion.makers import Makers
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import LANES, BoxMap, Loop, Op, PhaseBarriers, RegisterArray, SharedTile, Stmt
from polyvolta.cuda.ir.memories import ZERO, Arrays
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.graph.functions.formula import Call, Formula, nodes
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.sched.tree import Member, Node, Schedule
from polyvolta.sets import Aff, Map, Set


class Tiling(Protocol):
    """What promotion reads of a compilation's options; `polyvolta.compiler.options` says what it means."""

    @property
    def buffers(self) -> int: ...
    @property
    def prefetch(self) -> int: ...
    @property
    def fragments(self) -> int: ...
    @property
    def persistent(self) -> bool: ...
    @property
    def pingpong(self) -> bool: ...
    @property
    def cluster(self) -> tuple[int, int]: ...
    @property
    def split_k(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Movement:
    """What an instance of a statement does.

    Parameters
    ----------
    statement, dims : its name and dimensions.
    ops : operations in expressions of `dims`, in order, unrolled loops of operations among them. Those that may reach
        outside of a tensor are guarded.
    full : conditions `e >= 0` in `dims` and sizes under which no value is outside, so that the guards can be left
        out; () where nothing is guarded, -1 where something is outside always. They don't depend on the dimensions
        of the copies' own loops.
    phrase : what it does, in a few words, for comments.
    """

    statement: str
    dims: tuple[str, ...]
    ops: tuple[Op | Loop, ...]
    full: tuple[Aff, ...] = ()
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A child of a block's sequence.

    Parameters
    ----------
    statements : those of its filter, added ones and the tree's own.
    node : the subtree below the filter.
    extensions : { [by, bx] -> statement[dims] } for the added statements that enter below the block's band.
    movements : what the instances of its statements do, added ones and the tree's own.
    tiles, registers : the arrays that it introduces; the tiles start at chunk 0, the assembly moves them.
    maps, barriers : of boxes that it has copied or stored.
    """

    statements: tuple[str, ...]
    node: Node
    extensions: tuple[Map, ...]
    movements: tuple[Movement, ...]
    tiles: tuple[SharedTile, ...] = ()
    registers: tuple[RegisterArray, ...] = ()
    maps: tuple[BoxMap, ...] = ()
    barriers: tuple[PhaseBarriers, ...] = ()


@dataclass(frozen=True, slots=True)
class Nest:
    """A statement's schedule, read off the tree: the members of its bands from the root, wherever bands are cut.

    For a product they are (by, bx, k tile, wy, wx, wz, 0, 0, strip, point, point, point), of the levels `BLOCK`,
    `TILE`, `WARP`, `STRIP` and `POINT`, and what further loops somebody put between; one without a loop is a constant.

    Parameters
    ----------
    statement : its name.
    iterators : its dimensions.
    members : those of its bands, outermost first.
    names : what promotion calls the values of the members above the points, None for a constant one.
    cluster : rows and columns of blocks that start together.
    real : its scalar instances.
    padded : those of every started tile: what the kernel computes on, with zeros where there is no data.
    """

    statement: str
    iterators: tuple[str, ...]
    members: tuple[Member, ...]
    names: tuple[str | None, ...]
    real: Set
    padded: Set
    cluster: tuple[int, int] = (1, 1)

    def depth(self, level: str) -> int:
        """How many members there are from the root down to the last one of a level.

        Raises
        ------
        CannotPromote : no member is of that level.
        """
        found = [k for k, m in enumerate(self.members, 1) if m.level == level]
        if not found:
            raise CannotPromote(
                f"no loop of {self.statement} is of the level {level!r}", hint="set_level says it of a band's member"
            )
        return found[-1]

    def above(self, level: str) -> tuple[str | None, ...]:
        """The names of the members down to the last one of a level."""
        return self.names[: self.depth(level)]

    @property
    def k_tile(self) -> str | None:
        """The name of the k tile; None where there is one."""
        return self.above(TILE)[-1]

    def below(self, level: str) -> range:
        """The positions of the members below a level."""
        return range(self.depth(level), len(self.members))

    def between(self, outer: str, inner: str) -> range:
        """The positions of the members below one level, down to the last one of another."""
        return range(self.depth(outer), self.depth(inner))


class CannotPromote(CudaError):
    """A tree or a data tile that cannot be promoted as asked."""

    id = "PV512"


BLOCK, TILE, WARP, STRIP, POINT = "block", "tile", "warp", "strip", "point"
"""The levels of a decomposed tree: of blocks, of their k tiles, of warps, of the macro-MMAs' strips of k, of points."""
PART_OF_CLUSTER = "blockIdx.z"
"""Which block of a cluster it is of those that split K."""
CONSUMER, PRODUCER = "consumer", "producer"
"""Roles: who multiplies, and who has tiles copied."""
PER_THREAD = frozenset({
    "linearId", "lane", "warp", "rank", *(f"{unit}Idx_{axis}" for unit in ("warp", "warpgroup") for axis in "xyz"),
})  # fmt: skip
"""The names that have another value in each thread, or in each warp."""


@dataclass(frozen=True, slots=True)
class Operands:
    """The k loops of a plan's products, one piece each, and the macro-MMAs that they use.

    The macro-MMAs have one accumulator map. The instances of a product's statement add to `hmma_<accumulator>[m][n]`,
    where m and n number the fragments of a warp's tile of the result by rows and columns.

    Parameters
    ----------
    barriers, maps : of loops whose tiles are boxes.
    count : how many k tiles of boxes these loops have, all together.
    producing : the statements of a role of its own that has these copied; all others are the consumers'.
    """

    pieces: tuple[Piece, ...]
    macros: tuple[MacroMma, ...]
    barriers: tuple[PhaseBarriers, ...] = ()
    maps: tuple[BoxMap, ...] = ()
    producing: frozenset[str] = frozenset()
    count: Aff = ZERO


@dataclass(frozen=True, slots=True)
class Turns:
    """How the blocks of a kernel go from tile to tile of the result: the `Tiles` around the program of each role.

    Parameters
    ----------
    turn : what the number of a block's tile is called, from 0 on.
    counters : names of sums over a block's tiles before, and what each tile adds.
    closing : what consumers do behind their last tile.
    takers : how many sets of consumers take turns at the tiles.
    """

    turn: str
    counters: tuple[tuple[str, Aff], ...]
    closing: tuple[Stmt, ...] = ()
    takers: int = 1


@dataclass(frozen=True, slots=True)
class Promotion:
    """A promoted tree and what its statements do.

    Parameters
    ----------
    schedule : BAND(by, bx) > EXTENSION > SEQUENCE of the pieces' filters.
    movements : what an instance does, by statement.
    arrays : all that they name: tensors, tiles with their places in shared memory, register arrays.
    units : of those who make products together, along y, x and z.
    makers : who these are.
    producing : the statements that a warp of its own runs; () where there is none.
    turns : of blocks that compute several tiles; None: they compute one.
    registers : of a thread of each role, where a block's are shared out anew; roles have whole warpgroups then, of
        which some warps may have nothing to do.
    cluster : rows and columns of blocks that share boxes.
    parts : blocks of a cluster that split K.
    grid : how many values names of blocks have, where that isn't what instances have of them.
    """

    schedule: Schedule
    movements: Mapping[str, Movement]
    arrays: Arrays
    units: tuple[int, int, int]
    makers: Makers
    producing: frozenset[str] = frozenset()
    turns: Turns | None = None
    registers: Mapping[str, int] = field(default_factory=dict)
    cluster: tuple[int, int] = (1, 1)
    grid: Mapping[str, Aff] = field(default_factory=dict)
    parts: int = 1

    @property
    def consumers(self) -> int:
        """Warps that make products, of all who take turns at it."""
        return self.takers * prod(self.units) * self.makers.warps

    @property
    def takers(self) -> int:
        """Sets of consumers that take turns at tiles."""
        return self.turns.takers if self.turns is not None else 1

    @property
    def roles(self) -> dict[str, tuple[int, int]]:
        """The first warp of each role, and how many it has; none where all warps do the same."""
        if not self.producing:
            return {}
        return {CONSUMER: (0, self.consumers), PRODUCER: (self.consumers, 1)}

    @property
    def extents(self) -> dict[str, int | Aff]:
        """Of the names of threads, and of blocks, that members are mapped to."""
        if not self.producing:
            return {"linearId": self.threads}
        return {"lane": LANES, "rank": LANES * self.makers.warps, **self.grid}

    @property
    def threads(self) -> int:
        """Threads of a block."""
        warps = self.consumers + bool(self.producing)
        return LANES * (-(-warps // self.makers.warps) * self.makers.warps if self.registers else warps)


def free_name(wish: str, taken: Container[str]) -> str:
    """The wish, with a number behind it where it is taken: for what the C text names, where there are no primes.

    >>> free_name("run_C", ("run_A", "run_C", "run_C_2"))
    'run_C_3'
    """
    numbered = (f"{wish}_{n}" for n in count(2))
    return wish if wish not in taken else next(name for name in numbered if name not in taken)


def accumulator_name(array: str) -> str:
    """The register array of an accumulator's fragments; likewise below, operand fragments and tiles."""
    return f"hmma_{array}"


def fragment_name(operand: str) -> str:
    return f"hmma_{operand}"


def shared_name(operand: str) -> str:
    """The tile in shared memory."""
    return f"shared_{operand}"


def staging_name(tensor: str) -> str:
    """The registers on the way from global memory to shared memory."""
    return f"private_{tensor}"


def operation_name(formula: Formula, otherwise: str, given: str = "") -> str:
    """What the device function of a formula is called: after its functions, the outermost first.

    Parameters
    ----------
    otherwise : the name where there are more than four functions.
    given : the name of the operation in the graph, such as "relu_sub" or a user's "swish". It stays, unless it is
        long or part of it is done by the accumulators, so that less is left in the formula.

    >>> from polyvolta.graph.functions.formula import Input, Number
    >>> half = Call("mul", (Input(0), Number(0.5)))
    >>> operation_name(Call("relu", (half,)), "epilogue"), operation_name(half, "epilogue", "add_mul")
    ('relu_mul', 'mul')
    >>> erf = Call("erf", (Call("add", (half, Number(1))),))
    >>> operation_name(Call("mul", (Input(0), Call("exp", (erf,)))), "epilogue", "my_gelu")
    'my_gelu'
    """
    functions = [n.function for n in reversed(nodes(formula)) if isinstance(n, Call)]
    if _ALL_BUILT_IN.fullmatch(given):
        parts = _BUILT_IN.findall(given)
        stays = len(parts) <= 4 and (len(parts) < len(functions) or sorted(parts) == sorted(functions))
    else:
        stays = 0 < len(given) <= LONGEST
    if stays:
        return given
    return "_".join(functions) if 0 < len(functions) <= 4 else otherwise


LONGEST = 32
"""Characters of an operation's name that has a user's function in it."""
_ANY = "|".join(sorted(FUNCTIONS, key=len, reverse=True))
_ALL_BUILT_IN = re.compile(rf"(?:{_ANY})(?:_(?:{_ANY}))*")
_BUILT_IN = re.compile(rf"(?:{_ANY})(?=_|$)")
