"""Conversions between eight values in registers: packed fp16, single fp16, and fp32.

fp16 is a storage type in a kernel's text, so that it needs no header: `fp16` is an unsigned short, a conversion is
an instruction in inline assembly, and everything that is computed is computed in fp32. (`half` is a class of
<cuda_fp16.h>, beside which a text may be pasted; `half4` and `half8` are nobody else's.)
"""

from __future__ import annotations

from math import gcd

from polyvolta.cuda.text.helpers.device_function import DeviceFunction

WORDS = "xyzw"
VECTORS = {1: "fp16", 2: "unsigned", 4: "half4", 8: "half8"}
"""How many fp16 values -> the C type that holds them: two are a word, the first in its low half."""


def vector(values: int) -> int:
    """How many values of a register element of so many lie in one C variable: 8, 4, 2 or 1.

    >>> vector(16), vector(12), vector(6)
    (8, 4, 2)
    """
    return gcd(values, 8)


def declared(name: str, values: int) -> str:
    """The declarator of so many fp16 values: a vector, or an array of vectors.

    >>> declared("v", 8), declared("(&v)", 16), declared("v", 12)
    ('half8 v', 'half8 (&v)[2]', 'half4 v[3]')
    """
    each = vector(values)
    return f"{VECTORS[each]} {name}{f'[{values // each}]' if values > each else ''}"


def word(name: str, low: int, high: int, of: int) -> str:
    """The 32-bit register with two of the `of` fp16 values of a variable as `declared` declares it, `low` first.

    >>> word("v", 2, 3, 8), word("v", 10, 11, 16), word("v", 1, 0, 2)
    ('v.y', 'v[1].y', '__byte_perm(v, v, 0x5432)')
    """
    each = vector(of)

    def place(value: int) -> str:
        whole = f"{name}[{value // each}]" if of > each else name
        return f"{whole}.{WORDS[value % each // 2]}" if each > 2 else whole

    if each == 1:
        return f"({place(low)} | {place(high)} << 16)"
    return merged(place(low), low % 2, place(high), high % 2)


def merged(low: str, low_half: int, high: str, high_half: int) -> str:
    """The word of two 16-bit halves of words: 0 is the low half.

    >>> merged("a", 0, "a", 1), merged("a", 1, "b", 0)
    ('a', '__byte_perm(a, b, 0x5432)')
    """
    if low == high and (low_half, high_half) == (0, 1):
        return low
    take = 0x10 * (1 + 2 * low_half) + 2 * low_half  # bytes of the first value
    give = 0x10 * (5 + 2 * high_half) + 4 + 2 * high_half  # and of the second
    return f"__byte_perm({low}, {high}, 0x{give << 8 | take:04x})"


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

ROUND_HALF2 = DeviceFunction(
    "round_half2",
    "unsigned",
    ("float low", "float high"),
    (
        "unsigned packed;",
        'asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));',
        "return packed;",
    ),
    "two fp32 values, rounded to nearest even by one instruction, as two fp16 values; the first in the low half",
)

PACK_HALF = DeviceFunction(
    "pack_half",
    "fp16",
    ("float v",),
    ("fp16 packed;", 'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(packed) : "f"(v));', "return packed;"),
    "an fp32 value as fp16, rounded to nearest even",
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

RELU_HALF2 = DeviceFunction(
    "relu_half2",
    "unsigned",
    ("unsigned packed",),
    (
        "unsigned negative;",
        'asm("set.lt.u32.f16x2 %0, %1, %2;" : "=r"(negative) : "r"(packed), "r"(0));',
        "return packed & ~negative;",
    ),
    "two fp16 values, 0 instead of those below 0",
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
