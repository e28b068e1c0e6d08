"""The 16-bit floating-point formats of a kernel's tensors, over numpy arrays.

              bits of the exponent   significant bits   largest    a value is off by at most
    fp16                5                  11           65504          2^-11 of itself
    bf16                8                   8          3.4e38          2^-8  of itself

bf16 is the upper half of fp32: as large a range, 8 significant bits. numpy has no such type, so arrays of it are arrays
of bit patterns here, uint16, and two functions go between these and fp32: `narrowed` rounds as the instruction
`cvt.rn.bf16.f32` does, `widened` is exact. An array's dtype so tells its format: float16, uint16 (bf16), float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

PATTERNS = np.dtype(np.uint16)
"""Of arrays that hold bit patterns of bf16."""
NAN = np.uint16(0x7FFF)
"""The only NaN that a conversion to bf16 makes."""


@dataclass(frozen=True, slots=True)
class Format:
    """A 16-bit format.

    Parameters
    ----------
    dtype : numpy's (ml_dtypes') name, as tensors of a graph have it.
    short : what texts call it.
    kind : what the kernel IR calls it.
    storage : of arrays that hold its values.
    digits : significant bits.
    """

    dtype: str
    short: str
    kind: str
    storage: np.dtype
    digits: int

    @property
    def unit(self) -> float:
        """How much of itself a normal number may be off by after it was rounded."""
        return 2.0**-self.digits

    def rounded(self, x: Any) -> Any:
        """float64 numbers, rounded once to the nearest of the format, ties to even, in float64.

        >>> FP16.rounded(np.float64(2049)), BF16.rounded(np.array([1 + 2**-8, 3.4e38]))
        (np.float64(2048.0), array([ 1., inf]))
        """
        if self.storage != PATTERNS:
            return np.asarray(x, np.float64).astype(self.storage).astype(np.float64)[()]
        return widened(narrowed(odd(x))).astype(np.float64)[()]


FP16 = Format("float16", "fp16", "half", np.dtype(np.float16), 11)
BF16 = Format("bfloat16", "bf16", "bfloat16", PATTERNS, 8)
FORMATS = {f.dtype: f for f in (FP16, BF16)}
"""By dtype."""
KINDS = {f.kind: f for f in FORMATS.values()}
"""By the IR's kind."""


def narrowed(x: Any) -> Any:
    """fp32 numbers as bit patterns of bf16, rounded to nearest even; NaN becomes `NAN`, what is too large infinite.

    >>> [hex(b) for b in narrowed(np.array([1, -2.5, 1 + 2**-8, 3.4e38, np.nan], np.float32))]
    ['0x3f80', '0xc020', '0x3f80', '0x7f80', '0x7fff']
    """
    x = np.asarray(x, np.float32)
    bits = x.view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    made = ((bits + (even + np.uint32(0x7FFF))) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(x), NAN, made)


def widened(x: Any) -> Any:
    """Numbers of any of the formats, or fp32, in fp32: exact. uint16 is bit patterns of bf16.

    >>> widened(np.array([0x3F80, 0xC020, 0x7F80], np.uint16))
    array([ 1. , -2.5,  inf], dtype=float32)
    """
    x = np.asarray(x)
    if x.dtype != PATTERNS:
        return x.astype(np.float32, copy=False)
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)


def cast(x: Any, dtype: np.dtype) -> Any:
    """Numbers in another of the formats, or fp32, rounded to nearest even; what has it already as it is."""
    x = np.asarray(x)
    if x.dtype == dtype:
        return x
    return narrowed(widened(x)) if dtype == PATTERNS else widened(x).astype(dtype, copy=False)


def odd(x: Any) -> Any:
    """float64 numbers in fp32, to be rounded further: what is between two numbers becomes the one with an odd last bit.

    Rounded to nearest after that, to at most 22 bits, is rounded once (Boldo and Melquiond, 2008).
    """
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        near = x.astype(np.float32)
        bits = near.view(np.uint32)
        bits = np.where(np.abs(near) > np.abs(x), bits - np.uint32(1), bits)  # towards 0
        return np.where((near == x) | np.isnan(x), near, (bits | np.uint32(1)).view(np.float32))
