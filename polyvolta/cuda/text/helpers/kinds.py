"""Device functions in the words of a kernel's kind of 16-bit values.

A device function is written for fp16: `half8` is a vector of eight of its values, `pack_half8` makes one of fp32. What
it does is to move bits, so that for bf16 it is the same function with other names of types (`bf16x8`). The conversions
to and from fp32 differ, and so does what is computed of two values at once: these are written for each kind, and all
others are made of them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import NARROW
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.values import PACK_HALF, PACK_HALF2, RELU_HALF2, ROUND_HALF2, UNPACK_HALF2

WORDS = {
    "half": {},
    "bfloat16": {
        "fp16": "bf16",
        "half4": "bf16x4",
        "half8": "bf16x8",
        "pack_half": "pack_bf16",
        "pack_half2": "pack_bf16x2",
        "pack_half8": "pack_bf16x8",
        "round_half2": "pack_bf16x2",
        "relu_half2": "relu_bf16x2",
        "unpack_half2": "unpack_bf16x2",
        "unpack_half8": "unpack_bf16x8",
        "join_half8": "join_bf16x8",
        "split_half8": "split_bf16x8",
    },
}
"""For each kind, what stands in the place of fp16's words."""

PACK_BF16X2 = DeviceFunction(
    "pack_bf16x2",
    "unsigned",
    ("float low", "float high"),
    (
        "unsigned packed;",
        'asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));',
        "return packed;",
    ),
    "two fp32 values, rounded to nearest even, as two bf16 values; the first in the low half",
)

PACK_BF16 = DeviceFunction(
    "pack_bf16",
    "bf16",
    ("float v",),
    ("bf16 packed;", 'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(packed) : "f"(v));', "return packed;"),
    "an fp32 value as bf16, rounded to nearest even",
)

UNPACK_BF16X2 = DeviceFunction(
    "unpack_bf16x2",
    "void",
    ("float &low", "float &high", "unsigned packed"),
    ("low = __uint_as_float(packed << 16);", "high = __uint_as_float(packed & 0xffff0000u);"),
    "two bf16 values as fp32, of which each is the upper half; the first is in the low half",
)

RELU_BF16X2 = replace(
    RELU_HALF2,
    name="relu_bf16x2",
    body=tuple(line.replace("f16x2", "bf16x2") for line in RELU_HALF2.body),
    about="two bf16 values, 0 instead of those below 0",
)

CONVERSIONS = {
    "half": {},
    "bfloat16": {
        PACK_HALF2: PACK_BF16X2,
        ROUND_HALF2: PACK_BF16X2,
        PACK_HALF: PACK_BF16,
        UNPACK_HALF2: UNPACK_BF16X2,
        RELU_HALF2: RELU_BF16X2,
    },
}
"""For each kind, what stands in the place of fp16's own functions."""


def in_kind(text: str, kind: str) -> str:
    """A text about fp16 in the words of a kind.

    >>> in_kind("half8 v = pack_half8(y);  // eight fp16 values", "bfloat16")
    'bf16x8 v = pack_bf16x8(y);  // eight bf16 values'
    """
    words = WORDS[kind]
    return _PATTERN.sub(lambda found: words.get(found[0], found[0]), text) if words else text


_PATTERN = re.compile(rf"\b(?:{'|'.join({w for words in WORDS.values() for w in words})})\b")


@lru_cache(maxsize=256)
def function_in(function: DeviceFunction, kind: str) -> DeviceFunction:
    """A device function for fp16 as that for a kind."""
    if kind == "half":
        return function
    if (own := CONVERSIONS[kind].get(function)) is not None:
        return own
    return replace(
        function,
        name=in_kind(function.name, kind),
        result=in_kind(function.result, kind),
        parameters=tuple(in_kind(p, kind) for p in function.parameters),
        body=tuple(in_kind(line, kind) for line in function.body),
        about=in_kind(function.about, kind),
        needs=tuple(function_in(f, kind) for f in function.needs),
    )


def written(kind: str) -> str:
    """The kind that device functions are written for, in the place of one of 16 bits."""
    return "half" if kind in NARROW else kind
