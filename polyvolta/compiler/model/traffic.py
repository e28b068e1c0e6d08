"""Who reads what: how many blocks there are, in how many waves, and how many bytes come from L2 and from memory.

Each block reads a strip of A and one of B, all K long. Of L2 it takes them all, less what a cluster shares. Of memory
comes what blocks that run side by side don't have in common: in groups of G rows of blocks, S blocks that run together
are G rows and S / G columns of tiles, so they need G strips of A and S / G of B. What one wave has brought the next one
finds, if L2 still has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polyvolta.compiler.model.columns import Array, Columns

VALUE = 2
"""Bytes of a tensor's value."""


def ceil_div(a: Array | int, b: Array | int) -> Array:
    """⌈a / b⌉."""
    return np.ceil(np.asarray(a) / b)


def tiles(c: Columns, rows: Array | int, cols: Array | int) -> tuple[Array, Array]:
    """Rows and columns of tiles, by the macro-MMA's, at least one; of clusters whole ones.

    Parameters
    ----------
    rows, cols : of the result.
    """
    m, n = np.where(c.swap, cols, rows), np.where(c.swap, rows, cols)
    down, across = ceil_div(m, c.rows * c.high), ceil_div(n, c.cols * c.wide)
    return np.maximum(1, down) * c.high, np.maximum(1, across) * c.wide


def fetched(c: Columns, left: Array | float = 1, right: Array | float = 1) -> Array:
    """Bytes that a block has brought from L2 in a step: blocks of a cluster each a part of what they share.

    Parameters
    ----------
    left, right : by how much more L2 delivers for the operand along the macro-MMA's rows, and along its columns.
    """
    return VALUE * c.depth * (left * c.rows / c.wide + right * c.cols / c.high)


def outside(c: Columns, rows: Array | int, cols: Array | int, down: Array, across: Array) -> tuple[Array, Array]:
    """Of a step of all blocks the bytes of boxes that lie outside of tensors, and how many blocks have some.

    Parameters
    ----------
    rows, cols : of the result.
    down, across : rows and columns of tiles.
    """
    m, n = np.where(c.swap, cols, rows), np.where(c.swap, rows, cols)
    low, far = down * c.rows - m, across * c.cols - n
    last_row, last_col = np.where(low > 0, across, 0), np.where(far > 0, down, 0)
    blocks = last_row + last_col - np.where((low > 0) & (far > 0), 1, 0)
    return VALUE * c.depth * c.parts * (low * across / c.wide + far * down / c.high), c.parts * blocks


def from_memory(c: Columns, down: Array, across: Array, together: Array, length: Array | int, kept: float) -> Array:
    """Bytes of operands that come from memory.

    Parameters
    ----------
    down, across : rows and columns of tiles.
    together : blocks that run at a time.
    length : terms of the sums of all products.
    kept : bytes that L2 keeps from one wave to the next.
    """
    strip = VALUE * length
    once = strip * (down * c.rows + across * c.cols)
    waves = np.maximum(1, down * across / together)
    rows, cols = strips(np.minimum(together, down * across), down, across, c.group * c.high)
    each = strip * (rows * c.rows + cols * c.cols)
    again = np.clip((once - kept) / np.maximum(once, 1), 0, 1)  # the share that is gone before it is needed again
    return once + again * np.maximum(0, waves * each - once)


def strips(blocks: Array, down: Array, across: Array, group: Array) -> tuple[Array, Array]:
    """How many rows and columns of tiles the first blocks need, in groups of some rows.

    Parameters
    ----------
    blocks : that many, at most all.
    down, across : rows and columns of tiles that there are.
    group : rows that go together.

    >>> rows, cols = strips(np.array([7.0, 21.0]), np.array([5.0, 5.0]), np.array([6.0, 6.0]), np.array([3.0, 3.0]))
    >>> rows.tolist(), cols.tolist()
    ([3.0, 5.0], [3.0, 6.0])
    """
    high = np.minimum(group, down)
    whole = np.floor(blocks / (group * across))  # groups
    rest = blocks - whole * group * across
    last = np.clip(down - whole * group, 1, high)  # rows of the group that is begun
    rows = np.minimum(down, whole * group + np.minimum(rest, last))
    cols = np.where(whole > 0, across, ceil_div(rest, last))
    return rows, np.minimum(cols, across)
