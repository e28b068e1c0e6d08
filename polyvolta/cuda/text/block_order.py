"""A block's place in the grid, as the first lines of a kernel: the hardware's numbers, or a few divisions.

In groups of rows the place is what `BlockOrder.place` says, line by line. The numbers are unsigned, as CUDA's are, and
fit an int: a launch of more blocks is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from polyvolta.cuda.ir.block_order import BlockOrder

BLOCKS = {f"blockIdx.{axis}": f"blockIdx_{axis}" for axis in "xyz"}
"""Block indices as ints: CUDA's are unsigned, and so would be every sum with one."""


def place_of_block(order: BlockOrder, used: Callable[[str], bool], free: Callable[[str], str]) -> list[str]:
    """Lines that declare the names of a block's place that are used.

    Parameters
    ----------
    used : whether the body has a name.
    free : a name like a wish that nothing else has.

    >>> print(*place_of_block(BlockOrder(8), lambda name: name != "blockIdx_z", str), sep="\\n")
      // blocks in groups of 8 rows, a group column by column: the L2 cache serves those that run together
      const unsigned group = (gridDim.x * blockIdx.y + blockIdx.x) / (8 * gridDim.x);
      const unsigned place = (gridDim.x * blockIdx.y + blockIdx.x) % (8 * gridDim.x);
      const unsigned height = min(8u, gridDim.y - 8 * group);
      const int blockIdx_x = place / height;
      const int blockIdx_y = 8 * group + place % height;
    >>> print(*place_of_block(BlockOrder(1), lambda name: name == "blockIdx_x", str))
      const int blockIdx_x = blockIdx.x;
    """
    names = {new: name for name, new in BLOCKS.items() if used(new)}
    if order.plain or not {"blockIdx_x", "blockIdx_y"} & names.keys():
        return [f"  const int {new} = {name};" for new, name in names.items()]
    rows, number = order.group, "gridDim.x * blockIdx.y + blockIdx.x"
    group, place, height = (free(name) for name in ("group", "place", "height"))
    values = names | {"blockIdx_x": f"{place} / {height}", "blockIdx_y": f"{rows} * {group} + {place} % {height}"}
    return [
        f"  // blocks in groups of {rows} rows, a group column by column: the L2 cache serves those that run together",
        f"  const unsigned {group} = ({number}) / ({rows} * gridDim.x);",
        f"  const unsigned {place} = ({number}) % ({rows} * gridDim.x);",
        f"  const unsigned {height} = min({rows}u, gridDim.y - {rows} * {group});",
        *(f"  const int {new} = {values[new]};" for new in names),
    ]
