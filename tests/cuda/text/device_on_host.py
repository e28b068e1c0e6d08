"""Device functions run on the host: their C text behind `host`'s shim, compiled.

fp16 values are small whole numbers here, kept in 16 bits as they are, so that what is moved can be told apart
exactly; the functions that convert fp16 by an instruction are replaced to say so. Likewise asynchronous copies, which
move and fill at once, and loads of matrices, of which each register becomes the address that the lane names.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from polyvolta.cuda.target import LDMATRIX
from polyvolta.cuda.text.helpers import async_copy, matrix_load
from polyvolta.cuda.text.helpers.device_function import DeviceFunction, DeviceFunctions
from polyvolta.cuda.text.helpers.matrix_load import SHARED_ADDRESS
from polyvolta.cuda.text.helpers.values import PACK_HALF, PACK_HALF2, UNPACK_HALF2
from polyvolta.cuda.text.printer import PRELUDE
from tests.cuda.host import compiled

WHOLE_NUMBERS = {
    "pack_half": replace(PACK_HALF, body=("return (unsigned)v;",)),
    "pack_half2": replace(PACK_HALF2, body=("return (unsigned)low & 0xffff | (unsigned)high << 16;",)),
    "unpack_half2": replace(UNPACK_HALF2, body=("low = packed & 0xffff, high = packed >> 16;",)),
}
ADDRESS = replace(SHARED_ADDRESS, body=("return (unsigned)(unsigned long long)p;",))
REPLACED = {**WHOLE_NUMBERS, ADDRESS.name: ADDRESS}
for count, transposed in product(LDMATRIX.counts, (False, True)):
    load = matrix_load.instruction(LDMATRIX, count, transposed)
    REPLACED[load.name] = replace(load, body=tuple(f"r{n} = line;" for n in range(count)))
for width, guarded in product((16, 8, 4), (False, True)):
    copy = async_copy.instruction(width, guarded)
    byte = "i < bytes ? ((const char *)from)[i] : 0" if guarded else "((const char *)from)[i]"
    lines = ("if ((unsigned long long)to % W || (unsigned long long)from % W)", "  __builtin_trap();",
             "for (int i = 0; i < W; i += 1)", f"  ((char *)to)[i] = {byte};")  # fmt: skip
    REPLACED[copy.name] = replace(copy, body=tuple(line.replace("W", str(width)) for line in lines))


def library(folder: Path, wrapped: Sequence[tuple[DeviceFunction, str]]) -> ctypes.CDLL:
    """A shared library of device functions.

    Parameters
    ----------
    wrapped : functions, each with the definition of an extern "C" function, in which NAME stands for its name.
    """
    needed = DeviceFunctions()
    wrappers = [wrapper.replace("NAME", needed.name(f)) for f, wrapper in wrapped]
    texts = [str(REPLACED.get(f.name, needed.renamed(f))) for f in needed.names]
    return compiled(folder, "\n".join([PRELUDE, *texts, 'extern "C" {', *wrappers, "}"]))
