"""Names of a kernel's text, and what gives way where a user has the same one.

in the kernel's body        tensors, sizes and scalars can't be called so: `KERNEL_NAMES`
of functions of C and CUDA  a kernel can't be called so, and a user's function is NAME_of in the text: `FUNCTIONS_OF_C`
of what tools trip over     a kernel can't be called so: `NOT_FOR_KERNELS`
of device functions         a device function takes another name beside what is called so
in device functions         nobody notices: a scalar that is an argument there has another name inside
"""

from __future__ import annotations

import re

from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.names import reserved

KERNEL_NAMES = re.compile(
    r"linearId|lane|warp|(block|warp)Idx_[xyz]|half[48]?|fp16|bf16(x[48])?|exchange|(shared_)?memory|round|c\d+|kern\d+"
    r"|(private|shared|hmma|run|load|store|exchange|mma|pack|unpack|join|split|make)_\w+|ld\w+"
)
"""Names that a kernel's text uses, so that tensors, sizes and scalars can't be called so.

A tensor's tile is shared_NAME, so that one called `memory` would have the name of all shared memory.
"""

ENGINE_NAMES = re.compile(
    r"rank|full|empty|operands|vacant|order|mbarrier|slot|parity|TensorMap|elected|map_\w+|warpgroupIdx_[xyz]"
)
"""Likewise of a kernel whose tiles come by boxes, and whose warps have roles."""

_OF_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf
    erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb
    j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
    norm norm3d norm4d normcdf normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round
    rsqrt scalbln scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn""".split()
FUNCTIONS_OF_C = frozenset(
    [*_OF_MATH, *(f"{name}f" for name in _OF_MATH)]
    + """
    abs labs llabs min max umin umax ullmin ullmax llmin llmax isnan isinf isfinite signbit trap saturate
    free malloc memcpy memset printf clock clock64 make_uint2 make_uint4 make_float2 make_float4""".split()
)
"""What C's mathematics library and CUDA declare without a header."""
NOT_FOR_KERNELS = frozenset({"std", "WARP_SZ", "A7"})
"""What a kernel can't be called besides: C++'s namespace, a constant of PTX, and a name at which NVRTC 12.9 ends in a
segmentation fault (of 11,732 names of two and three characters the only one; A7 as a tensor is fine)."""

_CALLED = {f for x in FUNCTIONS.values() for f in re.findall(r"\w+(?=\()", x.c)}
OWN_NAMES = re.compile(rf"i|y|count|(x|t|packed)\d+|{'|'.join(sorted(_CALLED))}")
"""Names in the device functions of pointwise operations."""

_TYPES = frozenset("fp16 half4 half8 bf16 bf16x4 bf16x8 std".split())  # types of the text, and C++'s namespace


def c_name(name: str) -> str:
    """What a device function may be called in C.

    >>> c_name("swish"), c_name("tanh"), c_name("double")
    ('swish', 'tanh_of', 'double_of')
    """
    return f"{name}_of" if reserved(name) or name in FUNCTIONS_OF_C | _TYPES else name
