"""Device functions run on the host: their C text between a few definitions, compiled with g++.

fp16 values are small whole numbers here, kept in 16 bits as they are, so that what is moved can be told apart
exactly; the two functions that convert fp16 by an instruction are replaced to say so.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from polyvolta.cuda.text.helpers.device_function import DeviceFunction, DeviceFunctions
from polyvolta.cuda.text.helpers.values import PACK_HALF2, UNPACK_HALF2
from polyvolta.cuda.text.printer import PRELUDE

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")

HOST = """
#include <cmath>
#include <cstring>
#define __device__
#define __forceinline__ inline
#define __restrict__ __restrict
struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static float2 make_float2(float x, float y) { return {x, y}; }
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  unsigned long long both = (unsigned long long)y << 32 | x, out = 0;
  for (int i = 0; i < 4; i++) out |= (both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return out;
}
"""
WHOLE_NUMBERS = {
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
    source = folder / "device.cpp"
    source.write_text("\n".join([HOST, PRELUDE, *texts, 'extern "C" {', *wrappers, "}"]))
    made = source.with_suffix(".so")
    command = ["g++", "-w", "-O1", "-fno-strict-aliasing", "-shared", "-fPIC", "-o", made, source]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(made))
