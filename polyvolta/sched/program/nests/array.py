"""`Array`: how an array argument of a nest is annotated for a type checker.

    @nest
    def gemm(A: Array, B: Array, C: Array, M: int, N: int, K: int) -> None:
        ...

Annotations say nothing to `nest`, which reads what an argument is from how the loops use it. They are for checkers,
which in strict mode want one on every parameter.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A numpy array of any type and number of dimensions; parameters and scalars are `int` and `float`."""
