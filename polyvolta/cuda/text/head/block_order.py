"""A block's place in the grid, as the first lines of a kernel: the hardware's numbers, or a few divisions.

In groups of rows the place is what `BlockOrder.place` says, line by line: its steps, which the proof is about and the
machine applies to numbers, are applied to C. A product of the grid's columns is no quasi-affine expression, so that
what they are applied to is C's arithmetic itself, `Unsigned`. The numbers are unsigned, as CUDA's are, and fit an int:
a launch of more blocks is refused. For numba's users the same steps are Python (`python_lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from polyvolta.cuda.ir.block_order import BlockOrder, at_most
from polyvolta.cuda.ir.engines.clusters import ALONE, Extents

BLOCKS = {f"blockIdx.{axis}": f"blockIdx_{axis}" for axis in "xyz"}
"""Block indices as ints: CUDA's are unsigned, and so would be every sum with one."""
BLOCKS_OF_HARDWARE = {new: name for name, new in BLOCKS.items()}
SUM, PRODUCT, ATOM = range(3)
"""How strongly an expression binds."""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """An expression of unsigned numbers in C: a floor is a division.

    >>> x, y = Unsigned("x"), Unsigned("y")
    >>> print((x + 3 * y) // (2 * y), x - (x - y) % 4)
    (x + 3 * y) / (2 * y) x - (x - y) % 4
    """

    text: str
    binds: int = ATOM
    floor: ClassVar[str] = "/"
    suffix: ClassVar[str] = "u"
    home: ClassVar[str] = ""  # of the hardware's numbers

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: Unsigned | int) -> Unsigned:
        return _infix("+", self, other, SUM)

    def __sub__(self, other: Unsigned | int) -> Unsigned:
        return _infix("-", self, other, SUM)

    def __mul__(self, other: Unsigned | int) -> Unsigned:
        return _infix("*", self, other, PRODUCT)

    def __rmul__(self, other: int) -> Unsigned:
        return _infix("*", other, self, PRODUCT)

    def __floordiv__(self, other: Unsigned | int) -> Unsigned:
        return _infix(self.floor, self, other, PRODUCT)

    def __mod__(self, other: Unsigned | int) -> Unsigned:
        return _infix("%", self, other, PRODUCT)


class Whole(Unsigned):
    """The same in numba's Python.

    >>> x, y = Whole("x"), Whole("y")
    >>> print((x + 3 * y) // (2 * y), at_most(x, 8))
    (x + 3 * y) // (2 * y) min(8, x)
    """

    __slots__ = ()
    floor, suffix, home = "//", "", "cuda."


@at_most.register
def _(value: Unsigned, limit: int) -> Unsigned:
    return type(value)(f"min({limit}{value.suffix}, {value})")


def _infix(operator: str, left: Unsigned | int, right: Unsigned | int, binds: int) -> Unsigned:
    """An operation; what binds less has parentheses, and at its right also what binds as strongly."""
    kind = next(type(x) for x in (left, right) if isinstance(x, Unsigned))
    a, b = (x if isinstance(x, Unsigned) else kind(str(x)) for x in (left, right))
    before, behind = f"({a})" if a.binds < binds else a, f"({b})" if b.binds <= binds else b
    return kind(f"{before} {operator} {behind}", binds)


def _of_hardware(kind: type[Unsigned], cluster: Extents = ALONE) -> tuple[Unsigned, Unsigned, Unsigned]:
    """A block's number, and the columns and rows of its grid; or its cluster's, of the grid of clusters."""
    names = ("gridDim.x", "gridDim.y", "blockIdx.x", "blockIdx.y")
    hardware = (kind(f"{kind.home}{name}") for name in names)
    columns, rows, x, y = (e // n if n > 1 else e for e, n in zip(hardware, 2 * cluster[:2], strict=True))
    return columns * y + x, columns, rows


def _inside(placed: Sequence[Unsigned], cluster: Extents) -> tuple[Unsigned, ...]:
    """Column, row and layer of a block by those of its cluster, in which its place is the hardware's."""
    found = []
    for e, n, name in zip(placed, cluster, BLOCKS, strict=False):
        own = type(e)(f"{e.home}{name}")
        found.append(n * (e if e.binds == ATOM else type(e)(f"({e})")) + own % n if n > 1 else e)
    return tuple(found)


def _steps(
    order: BlockOrder, names: Sequence[Unsigned], number: Unsigned, columns: Unsigned, rows: Unsigned
) -> tuple[Sequence[Unsigned], ...]:
    """A number's group, its place there and the group's height; and column and row by the names of the three."""
    group, place, height = names
    return (*order.grouped(number, columns), order.height(group, rows)), order.placed(group, place, height)


def python_lines(order: BlockOrder) -> list[str]:
    """The body of a Python function that returns (column, row) of a block's place in the grid, as numba reads it.

    >>> print(*python_lines(BlockOrder(8)), sep="\\n")
    group = (cuda.gridDim.x * cuda.blockIdx.y + cuda.blockIdx.x) // (8 * cuda.gridDim.x)
    place = (cuda.gridDim.x * cuda.blockIdx.y + cuda.blockIdx.x) % (8 * cuda.gridDim.x)
    height = min(8, cuda.gridDim.y - 8 * group)
    return place // height, 8 * group + place % height
    """
    if order.plain:
        return ["return cuda.blockIdx.x, cuda.blockIdx.y"]
    names = [Whole(name) for name in ("group", "place", "height")]
    values, (column, row) = _steps(order, names, *_of_hardware(Whole))
    return [*(f"{name} = {value}" for name, value in zip(names, values)), f"return {column}, {row}"]


def place_of_block(
    order: BlockOrder, used: Callable[[str], bool], free: Callable[[str], str], cluster: Extents = ALONE
) -> list[str]:
    """Lines that declare the names of a block's place that are used.

    Parameters
    ----------
    cluster : blocks of a cluster along x, y and z; the order is one of clusters.
    used : whether the body has a name.
    free : a name like a wish that nothing else has.

    >>> print(*place_of_block(BlockOrder(8), lambda name: name != "blockIdx_z", str), sep="\\n")
      // blocks in groups of 8 rows, a group column by column: the L2 cache serves those that run together
      const unsigned group = (gridDim.x * blockIdx.y + blockIdx.x) / (8 * gridDim.x);
      const unsigned place = (gridDim.x * blockIdx.y + blockIdx.x) % (8 * gridDim.x);
      const unsigned height = min(8u, gridDim.y - 8 * group);
      const int blockIdx_x = place / height;
      const int blockIdx_y = 8 * group + place % height;
    >>> print(*place_of_block(BlockOrder(4), lambda name: name == "blockIdx_y", str, (1, 2, 1)), sep="\\n")
      // clusters in groups of 4 rows, a group column by column: the L2 cache serves those that run together
      const unsigned group = (gridDim.x * (blockIdx.y / 2) + blockIdx.x) / (4 * gridDim.x);
      const unsigned place = (gridDim.x * (blockIdx.y / 2) + blockIdx.x) % (4 * gridDim.x);
      const unsigned height = min(4u, gridDim.y / 2 - 4 * group);
      const int blockIdx_y = 2 * (4 * group + place % height) + blockIdx.y % 2;
    >>> print(*place_of_block(BlockOrder(1), lambda name: name == "blockIdx_x", str))
      const int blockIdx_x = blockIdx.x;
    """
    names = {new: name for name, new in BLOCKS.items() if used(new)}
    if order.plain or not {"blockIdx_x", "blockIdx_y"} & names.keys():
        return [f"  const int {new} = {name};" for new, name in names.items()]
    what = "blocks" if cluster == ALONE else "clusters"
    return [
        f"  // {what} in groups of {order.group} rows, a group column by column: the L2 cache serves those that run "
        "together",
        *(f"  {line}" for line in _in_groups(order, names, _of_hardware(Unsigned, cluster), free, cluster)),
    ]


def place_of_number(
    order: BlockOrder, number: str, extents: Sequence[str], used: Callable[[str], bool], free: Callable[[str], str],
    cluster: Extents = ALONE,
) -> list[str]:  # fmt: skip
    """Lines that declare the names of the place of a number that are used, in a grid of such extents.

    Parameters
    ----------
    number : a name; numbers along x come first, then those along y.
    extents : of the grid along x, y and z; "1" where there is no other place. Of clusters, where these are numbered.
    used, free, cluster : as of `place_of_block`.

    >>> print(*place_of_number(BlockOrder(1), "number", ("columns", "rows", "1"), lambda name: True, str), sep="\\n")
    const int blockIdx_x = number % columns;
    const int blockIdx_y = number / columns;
    const int blockIdx_z = 0;
    >>> lines = place_of_number(BlockOrder(4), "number", ("columns", "rows", "1"), lambda name: "z" not in name, str)
    >>> print(*lines, sep="\\n")
    const unsigned group = number / (4 * columns);
    const unsigned place = number % (4 * columns);
    const unsigned height = min(4u, rows - 4 * group);
    const int blockIdx_x = place / height;
    const int blockIdx_y = 4 * group + place % height;
    >>> lines = place_of_number(BlockOrder(1), "n", ("columns", "rows", "1"), lambda name: "y" in name, str, (1, 2, 1))
    >>> print(*lines, sep="\\n")
    const int blockIdx_y = 2 * (n / columns) + blockIdx.y % 2;
    """
    names = {new: name for name, new in BLOCKS.items() if used(new)}
    columns, rows, depth = map(Unsigned, extents)
    layer, inside = Unsigned("0"), Unsigned(number)
    if depth.text != "1":
        layer, inside = inside // (columns * rows), inside % (columns * rows)
    *_, layer = _inside((inside % columns, inside // columns, layer), cluster)
    lines = [f"const int blockIdx_z = {layer};"] if "blockIdx_z" in names else []
    flat = [new for new in names if new != "blockIdx_z"]
    if order.plain or not flat:
        plain = dict(zip(BLOCKS_OF_HARDWARE, _inside((inside % columns, inside // columns), cluster), strict=False))
        return [*(f"const int {new} = {plain[new]};" for new in flat), *lines]
    return [*_in_groups(order, flat, (inside, columns, rows), free, cluster), *lines]


def _in_groups(
    order: BlockOrder, names: Iterable[str], of: tuple[Unsigned, Unsigned, Unsigned], free: Callable[[str], str],
    cluster: Extents = ALONE,
) -> list[str]:  # fmt: skip
    """Lines for the names of a place of a number, where rows go together.

    Parameters
    ----------
    of : the number, and columns and rows of the grid; of clusters, where these are numbered.
    """
    steps = [Unsigned(free(name)) for name in ("group", "place", "height")]
    values, placed = _steps(order, steps, *of)
    column, row = _inside(placed, cluster)
    places = {**BLOCKS_OF_HARDWARE, "blockIdx_x": column, "blockIdx_y": row}
    return [
        *(f"const unsigned {name} = {value};" for name, value in zip(steps, values)),
        *(f"const int {new} = {places[new]};" for new in names),
    ]
