"""In which order the blocks of a grid compute which tiles: in groups of some rows of blocks, for the L2 cache's sake.

A GPU starts blocks by number, the ones along x first. In the *plain* order block number n of a grid with X columns
computes the tile in row n / X and column n mod X: the blocks that run side by side need some rows of A, and all of B
before the second row of tiles begins. In groups of G rows, a group column by column, they need G rows' worth of A and a
few columns of B, which the L2 cache holds:

    number  0  1  2  3  4  5           0  3  6  9 12 15
            6  7  8  9 10 11    and    1  4  7 10 13 16    for 6 columns, 5 rows, in groups of 3
           12 13 14 15 16 17           2  5  8 11 14 17
           18 19 20 21 22 23          18 20 22 24 26 28
           24 25 26 27 28 29          19 21 23 25 27 29

The grid stays what it is, columns by rows; what changes is which of its places a block computes. A kernel's names
blockIdx.x and blockIdx.y are that *place*, in the IR and in all that reads it; the text computes it from the hardware's
numbers in a few lines (`text.head.block_order`), the machine by `place`: both from the same steps, which take numbers,
arrays and expressions.

Where blocks form clusters, what is ordered so are the clusters, places in a cluster being what they are; a number is
a cluster's then, and so are columns and rows.

That each place is one block's is the law of a `BlockOrder`. A number of columns times a group's rows is no quasi-affine
expression, so that the proof is one by lemmas: `proof` has them, each with what decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from itertools import product
from typing import Any

import numpy as np

from polyvolta.display.shown import Record
from polyvolta.sets import Map, var

MOST_BLOCKS = 2**31 - 1  # of a grid in groups: numbers of blocks are ints
HIGHEST = 64  # rows of a group


@singledispatch
def at_most(value: Any, limit: int) -> Any:
    """A number, or one of another kind, or a limit where it is above that."""
    return min(value, limit)


@at_most.register
def _(value: np.ndarray, limit: int) -> np.ndarray:
    return np.minimum(value, limit)


@dataclass(frozen=True, slots=True)
class Lemma(Record):
    """A step of a proof.

    Parameters
    ----------
    statement : in words.
    relation : what is decided, as sets and maps, or as an identity.
    holds : whether it is so.
    """

    statement: str
    relation: str
    holds: bool


@dataclass(frozen=True, slots=True)
class BlockOrder(Record):
    """Blocks in groups of `group` rows; of one row each it is the plain order.

    >>> order = BlockOrder(3)
    >>> order.place(7, 6, 5), order.number(2, 1, 6, 5)
    ((2, 1), 7)
    >>> order.place(21, 6, 5)
    (1, 4)
    """

    group: int = 1

    @property
    def plain(self) -> bool:
        """Whether a block's place in the grid is the hardware's."""
        return self.group == 1

    def within(self, place: Any, height: Any) -> tuple[Any, Any]:
        """(column, row) in a group of `height` rows of its block at a place, in numbers, arrays or expressions."""
        return place // height, place % height

    def counted(self, column: Any, row: Any, height: Any) -> Any:
        """The place of a column and row in a group of `height` rows: the inverse of `within`."""
        return column * height + row

    def split(self, row: Any) -> tuple[Any, Any]:
        """The group of a row of the grid, and which of its rows it is."""
        return row // self.group, row % self.group

    def grouped(self, number: Any, columns: Any) -> tuple[Any, Any]:
        """A block's group, and its place there."""
        return number // (self.group * columns), number % (self.group * columns)

    def height(self, group: Any, rows: Any) -> Any:
        """The rows of a group: all that there are of it, at least one."""
        return at_most(rows - self.group * group, self.group)

    def placed(self, group: Any, inside: Any, height: Any) -> tuple[Any, Any]:
        """(column, row) in the grid of the block at a place of a group of so many rows."""
        column, row = self.within(inside, height)
        return column, self.group * group + row

    def place(self, number: Any, columns: int, rows: int) -> tuple[Any, Any]:
        """(column, row) of the tile that a block computes: its blockIdx.x and blockIdx.y in the IR.

        Parameters
        ----------
        number : of the block, those along x first; or an array of numbers.
        columns, rows : blocks of the grid along x and y.
        """
        group, inside = self.grouped(number, columns)
        return self.placed(group, inside, self.height(group, rows))

    def number(self, column: Any, row: Any, columns: int, rows: int) -> Any:
        """The number of the block that computes the tile at a place: the inverse of `place`."""
        group, inside = self.split(row)
        return self.group * columns * group + self.counted(column, inside, self.height(group, rows))

    def blocks(self, grid: Sequence[int], first: int, end: int) -> np.ndarray:
        """[3, end - first]: blockIdx.x, .y, .z of the places of blocks by number, in the order in which they start."""
        return self.places(grid, np.arange(first, end))

    def places(self, grid: Sequence[int], numbers: np.ndarray) -> np.ndarray:
        """[3, ...]: likewise of any numbers, each below the product of the grid's extents."""
        columns, rows = int(grid[0]), int(grid[1])
        x, y = self.place(numbers % (columns * rows), columns, rows)
        return np.stack([x, y, numbers // (columns * rows)])

    def fits(self, grid: Sequence[int]) -> bool:
        """Whether no number that the text computes is beyond an int: the plain order computes none."""
        columns, rows, _ = grid
        return self.plain or columns * -(-rows // self.group) * self.group <= MOST_BLOCKS

    def proof(self) -> tuple[Lemma, ...]:
        """That `place` is a bijection from the numbers below columns * rows to the places of the grid, `number` its
        inverse: lemmas that together say so, for all numbers of columns and rows.

        They are about the functions that `place` and `number` are made of, applied to variables.

        Cost: some milliseconds for each row of a group, once.
        """
        return _proof(self)

    def __str__(self) -> str:
        return "plain" if self.plain else f"groups of {self.group} rows"


PLAIN = BlockOrder()


@lru_cache(maxsize=HIGHEST)
def _proof(order: BlockOrder) -> tuple[Lemma, ...]:
    return tuple(_lemmas(order))


def _lemmas(order: BlockOrder) -> Iterator[Lemma]:
    """With X columns and Y rows, X, Y > 0, G rows a group, n a number of a block:

    n is (G X) g + p for one g and one p in [0, G X), by division with remainder: g is n's group, p its place there.
    n < X Y says p < X (Y - G g), and so with p < G X that p < X h, where h = min(G, Y - G g) are the group's rows.
    These p go to the h rows and X columns of the group, each to one place, whichever of 1 .. G the height is; and the
    groups' rows are the grid's.
    """
    group = order.group
    yield Lemma(
        "a number is in one group, at one place of it: division with remainder by G*X, which is not 0",
        f"n = {group}*X*g + p, 0 <= p < {group}*X, g = floor(n/({group}*X))",
        group >= 1,
    )
    yield Lemma(
        "numbers below X*Y are those whose place in group g is below X*(Y - G*g): an identity, linear in each variable",
        f"X*Y - ({group}*X*g + p) = X*(Y - {group}*g) - p",
        _identical(lambda x, y, g, p: x * y - (group * x * g + p) - (x * (y - group * g) - p), 4),
    )
    for height in range(1, group + 1):
        column, row = order.within(var("p"), height)
        places = Map(f"[X] -> {{ [p] -> [{column}, {row}] : 0 <= p < {height}X }}")
        number = order.counted(var("c"), var("r"), height)
        numbers = Map(f"[X] -> {{ [c, r] -> [{number}] : 0 <= c < X and 0 <= r < {height} }}")
        yield Lemma(
            f"the places of a group of {height} rows are its numbers below {height}*X, one each: inverse functions",
            f"{places} and {numbers}",
            bool(places.reverse().is_equal(numbers)),
        )
    g, r = order.split(var("y"))
    split = Map(f"[Y] -> {{ [y] -> [{g}, {r}] : 0 <= y < Y }}")
    rows = Map(f"[Y] -> {{ [g, r] -> [{group}g + r] : 0 <= g and 0 <= r < {group} and r < Y - {group}g }}")
    yield Lemma(
        "the rows of the grid are those of the groups, min(G, Y - G*g) of group g: inverse functions",
        f"{split} and {rows}",
        bool(split.reverse().is_equal(rows)),
    )


def shared_out() -> tuple[Lemma, ...]:
    """That each number of a place is one block's, in one turn, where block b of g has the numbers b, b + g, b + 2 g and
    so on as far as there are places: for any number of blocks that are launched, one or more.

    >>> [lemma.holds for lemma in shared_out()]
    [True, True]
    """
    few = range(1, 9)
    turns = (Map(f"{{ [n] -> [b = n mod {g}, t = floor(n/{g})] : n >= 0 }}") for g in few)
    numbers = (Map(f"{{ [b, t] -> [n = {g}t + b] : 0 <= b < {g} and t >= 0 }}") for g in few)
    return (
        Lemma(
            "a number is one block's, in one turn: division with remainder by g, which is not 0",
            "n = g*t + b, 0 <= b < g, t = floor(n/g)",
            all(one.reverse().is_equal(other) for one, other in zip(turns, numbers, strict=True)),
        ),
        Lemma(
            "a block's numbers grow from turn to turn: those below the number of places are its first ones",
            "g*(t + 1) + b - (g*t + b) = g",
            _identical(lambda g, t, b: g * (t + 1) + b - (g * t + b) - g, 3),
        ),
    )


def _identical(difference: Callable[..., int], variables: int) -> bool:
    """Whether a polynomial that is linear in each of its variables is 0: so it is if it vanishes at all 0s and 1s."""
    return all(difference(*point) == 0 for point in product((0, 1), repeat=variables))
