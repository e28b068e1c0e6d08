"""Element types of arrays: fp16 is numpy's own, bf16 comes from the package ml_dtypes.

What a result in host memory is made of is asked here, and only for bf16 is the package needed: arrays that are given
say themselves what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.cuda.errors import CudaError

if TYPE_CHECKING:
    import numpy as np

BFLOAT16 = "bfloat16"
WORDS = ("<V2", "|V2")
"""What ml_dtypes, torch and jax call bf16 in array interfaces: two bytes of which numpy knows no more."""


class NoBfloat16(CudaError, ImportError):
    """An array of bf16 is to be made in host memory, and ml_dtypes isn't installed."""

    id = "PV567"


def numpy_dtype(name: str) -> np.dtype:
    """numpy's dtype of a name, for "bfloat16" that of ml_dtypes.

    Raises
    ------
    NoBfloat16

    >>> numpy_dtype("float16")
    dtype('float16')
    """
    import numpy as np

    if name != BFLOAT16:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as missing:
        raise NoBfloat16(
            "numpy has no bfloat16: its arrays are made with the package ml_dtypes, which isn't installed",
            where=str(missing),
            hint="pip install 'polyvolta[bfloat16]'; arrays of torch on the GPU do without",
        ) from missing
    return np.dtype(ml_dtypes.bfloat16)
