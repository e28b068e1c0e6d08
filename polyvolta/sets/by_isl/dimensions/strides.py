"""isl's strides: the number s and the function r such that a dimension is r mod s at every point.

A stride here is the greatest that all points have of those that some piece states: of `{ [3]; [7]; [15] }` it is 1, as
in isl. Where pieces state different ones, `i mod 4 = 1 or i mod 6 = 5`, it is what these have in common, 2, and isl's
may be 1. A dimension that is r itself has the stride 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...hulls.box import residue_class
from ...values import kinds
from ..expressions import on_space
from ..objects.values import Val

if TYPE_CHECKING:
    from ...functions.pwaff import PwAff
    from ...values.map import Map
    from ...values.set import Set


@dataclass(frozen=True, slots=True)
class StrideInfo:
    """A stride with its offset.

    >>> from polyvolta.sets import Set
    >>> info = Set("[N] -> { [i] : (i - 2N) mod 6 = 1 }").get_stride_info(0)
    >>> print(info.get_stride(), info.get_offset())
    6 [N] -> { [i] -> [(2*N + 1)] }
    """

    stride: int
    offset: PwAff

    def get_stride(self) -> Val:
        """The number."""
        return Val(self.stride)

    def get_offset(self) -> PwAff:
        """The function of what is known."""
        return self.offset


def get_stride_info(self: Set, pos: int) -> StrideInfo:
    """The stride of a dimension, by the parameters and the other dimensions."""
    dim = kinds.spread(self, kinds.dim_type.set, pos)[0]
    stride, offset = residue_class(self, [n for n in (*self.param_names, *self.space.dims) if n != dim], dim, True)
    return StrideInfo(stride or 1, on_space(self, offset if stride > 1 else offset * 0))


def get_range_stride_info(self: Map, pos: int) -> StrideInfo:
    """The stride of an output, by the parameters and the inputs."""
    dim = kinds.spread(self, kinds.dim_type.out, pos)[0]
    stride, offset = residue_class(self, (*self.param_names, *self.space.dims[: self.space.n_in]), dim, True)
    return StrideInfo(stride or 1, on_space(self.domain(), offset if stride > 1 else offset * 0))


def dim_residue_class_val(self: Set, pos: int) -> tuple[Val, Val]:
    """The stride of a dimension and a number for an offset; a stride of 0 where it is that number."""
    dim = kinds.spread(self, kinds.dim_type.set, pos)[0]
    stride, offset = residue_class(self, (), dim)
    return Val(stride), Val(offset.const)


METHODS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("Set", "get_stride", lambda self, pos: get_stride_info(self, pos).get_stride()),
    ("Set", "get_stride_info", get_stride_info),
    ("Set", "dim_residue_class_val", dim_residue_class_val),
    ("Map", "get_range_stride_info", get_range_stride_info),
)
"""Classes, isl's names, and the method."""
