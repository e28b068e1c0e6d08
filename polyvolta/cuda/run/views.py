"""Arrays as a kernel's arguments: an address, a leading dimension, and how wide an access may be.

A kernel walks through a matrix line by line: element x lies at `x[line] * ld + x[run]`. An array fits when its
values are next to one another along the run, whatever the step from line to line: a whole array in its layout, or
a view into a larger one. How many values one access may move follows from where the array starts and from `ld`:
an access of n values has to lie at a multiple of 2 n bytes in every line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import CHUNK, GlobalTensor, KernelIR

ITEM = 2  # bytes of a value


class BadArray(CudaError, ValueError):
    """An array of the wrong dtype, layout, device or place; nothing was computed."""

    id = "PV515"


def leading_dimension(name: str, shape: Sequence[int], strides: Sequence[int], order: tuple[int, ...]) -> int:
    """The step from line to line, in values, of an array of a tensor's layout; 0 for a vector.

    Parameters
    ----------
    name : what errors call the array.
    shape, strides : of the array, in elements.
    order : the tensor's dimensions, outermost first.

    Raises
    ------
    BadArray : the values of a line are not next to one another, or lines overlap.

    >>> leading_dimension("A", (4, 5), (100, 1), (0, 1)), leading_dimension("A", (4, 5), (1, 8), (1, 0))
    (100, 8)
    """
    run = order[-1]
    if 0 in shape:
        return 0 if len(order) == 1 else -(-shape[run] // CHUNK) * CHUNK
    if shape[run] > 1 and strides[run] != 1:
        raise BadArray(
            f"{name}: the step between neighbours along dimension {run} is {strides[run]} values, not 1",
            where=f'shape {tuple(shape)}, element strides {tuple(strides)}, layout "{_layout(order)}"',
            hint=_contiguous_hint(name, order, strides),
        )
    if len(order) == 1:
        return 0
    line, length = order[0], shape[run]
    if shape[line] == 1:
        return -(-length // CHUNK) * CHUNK  # there is no step: one that hinders no access
    if strides[line] < length:
        what = "the same line again and again" if strides[line] == 0 else "lines that overlap or run backwards"
        raise BadArray(
            f"{name}: {what}, a step of {strides[line]} values between lines of {length}",
            where=f'shape {tuple(shape)}, element strides {tuple(strides)}, layout "{_layout(order)}"',
            hint=_contiguous_hint(name, order, strides),
        )
    return strides[line]


def _layout(order: tuple[int, ...]) -> str:
    return "col" if order == (1, 0) else "row"


def _contiguous_hint(name: str, order: tuple[int, ...], strides: Sequence[int]) -> str:
    if len(order) == 1:
        return f"numpy.ascontiguousarray({name}), or .contiguous() for a torch tensor"
    other = "row" if _layout(order) == "col" else "col"
    convert = "asfortranarray" if _layout(order) == "col" else "ascontiguousarray"
    hint = f"numpy.{convert}({name}), or for a torch tensor .contiguous() on it or its transpose"
    if strides[order[0]] == 1:
        hint += f'; or declare the tensor with layout="{other}"'
    return hint


def widest(ptr: int, ld: int) -> int:
    """How many values an access to an array may move: 8, 4, 2 or 1, the most that its address and `ld` allow.

    >>> widest(4096, 64), widest(4096 + 8, 64), widest(4096, 63)
    (8, 4, 1)
    """
    return gcd(ptr // ITEM, ld, CHUNK) if ptr % ITEM == 0 else 1


def narrowed(ir: KernelIR, aligns: Mapping[str, int]) -> KernelIR:
    """The kernel with other widths of access for the tensors named."""
    return replace(ir, tensors=tuple(replace(t, align=aligns.get(t.name, t.align)) for t in ir.tensors))


def extents(tensor: GlobalTensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A tensor's shape."""
    return tuple(sizes[d] if isinstance(d, str) else d for d in tensor.dims)
