"""Conversions between eight values in registers: packed fp16, single fp16, and fp32.

fp16 is a storage type in a kernel's text, so that it needs no header: `fp16` is an unsigned short, a conversion is
an instruction in inline assembly, and everything that is computed is computed in fp32. (`half` is a class of
<cuda_fp16.h>, beside which a text may be pasted; `half4` and `half8` are nobody else's.)
"""

from __future__ import annotations

from polyvolta.cuda.text.helpers.device_function import DeviceFunction

WORDS = "xyzw"

PACK_HALF2 = DeviceFunction(
    "pack_half2",
    "unsigned",
    ("float low", "float high"),
    (
        "unsigned packed;",
        'asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"',
        '    : "=r"(packed) : "f"(low), "f"(high));',
        "return packed;",
    ),
    "two fp32 values, rounded to nearest even, as two fp16 values; the first in the low half",
)

UNPACK_HALF2 = DeviceFunction(
    "unpack_half2",
    "void",
    ("float &low", "float &high", "unsigned packed"),
    (
        'asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"',
        '    : "=f"(low), "=f"(high) : "r"(packed));',
    ),
    "two fp16 values as fp32; the first is in the low half",
)

PACK_HALF8 = DeviceFunction(
    "pack_half8",
    "half8",
    ("const float (&v)[8]",),
    (
        "return make_uint4(" + ", ".join(f"pack_half2(v[{i}], v[{i + 1}])" for i in (0, 2)) + ",",
        "                  " + ", ".join(f"pack_half2(v[{i}], v[{i + 1}])" for i in (4, 6)) + ");",
    ),
    "eight fp32 values as fp16",
    (PACK_HALF2,),
)

UNPACK_HALF8 = DeviceFunction(
    "unpack_half8",
    "void",
    ("float (&v)[8]", "half8 packed"),
    tuple(f"unpack_half2(v[{2 * k}], v[{2 * k + 1}], packed.{word});" for k, word in enumerate(WORDS)),
    "eight fp16 values as fp32",
    (UNPACK_HALF2,),
)

JOIN_HALF8 = DeviceFunction(
    "join_half8",
    "half8",
    ("const fp16 *v",),
    (
        "return make_uint4(" + ", ".join(f"v[{i}] | v[{i + 1}] << 16" for i in range(0, 8, 2)) + ");",
    ),
    "eight single fp16 values as one vector",
)  # fmt: skip

SPLIT_HALF8 = DeviceFunction(
    "split_half8",
    "void",
    ("fp16 (&v)[8]", "half8 packed"),
    tuple(f"v[{2 * k}] = packed.{word}, v[{2 * k + 1}] = packed.{word} >> 16;" for k, word in enumerate(WORDS)),
    "the eight single fp16 values of a vector",
)
