"""Device functions run on the host: their C text behind `host`'s shim, compiled.

fp16 values are small whole numbers here, kept in 16 bits as they are, so that what is moved can be told apart
exactly; the two functions that convert fp16 by an instruction are replaced to say so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from polyvolta.cuda.text.helpers.device_function import DeviceFunction, DeviceFunctions
from polyvolta.cuda.text.helpers.values import PACK_HALF, PACK_HALF2, UNPACK_HALF2
from polyvolta.cuda.text.printer import PRELUDE
from tests.cuda.host import compiled

WHOLE_NUMBERS = {
    "pack_half": replace(PACK_HALF, body=("return (unsigned)v;",)),
    "pack_half2": replace(PACK_HALF2, body=("return (unsigned)low & 0xffff | (unsigned)high << 16;",)),
    "unpack_half2": replace(UNPACK_HALF2, body=("low = packed & 0xffff, high = packed >> 16;",)),
}


def library(folder: Path, wrapped: Sequence[tuple[DeviceFunction, str]]) -> ctypes.CDLL:
    """A shared library of device functions.

    Parameters
    ----------
    wrapped : functions, each with the definition of an extern "C" function, in which NAME stands for its name.
    """
    needed = DeviceFunctions()
    wrappers = [wrapper.replace("NAME", needed.name(f)) for f, wrapper in wrapped]
    texts = [str(WHOLE_NUMBERS.get(f.name, needed.renamed(f))) for f in needed.names]
    return compiled(folder, "\n".join([PRELUDE, *texts, 'extern "C" {', *wrappers, "}"]))
