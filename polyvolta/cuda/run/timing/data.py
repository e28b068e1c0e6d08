"""Random data in GPU memory, and results compared there: two small kernels, so that no array travels.

Data decides how fast a kernel runs: of zeros no bit changes, and a GPU at its power limit runs faster. So inputs are
nearly normal: each value is a sum of four uniform ones, made from its position and a seed by a hash, the same in every
process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.run import launch, nvrtc
from polyvolta.cuda.run.device_array import DeviceArray
from polyvolta.cuda.run.dtypes import BFLOAT16

if TYPE_CHECKING:
    import numpy as np

TEXT = r"""
__device__ unsigned mixed(unsigned x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

__device__ unsigned short narrow(float x) {
#if BF16
  unsigned bits = __float_as_uint(x);
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#else
  unsigned short out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(x));
  return out;
#endif
}

__device__ float wide(unsigned short x) {
#if BF16
  return __uint_as_float((unsigned)x << 16);
#else
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x));
  return out;
#endif
}

extern "C" __global__ void random_values(int lines, int run, int seed, unsigned short *x) {
  long long count = (long long)lines * run, step = (long long)gridDim.x * blockDim.x;
  for (long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x; n < count; n += step) {
    unsigned low = mixed((unsigned)n ^ mixed((unsigned)(n >> 32) + (unsigned)seed)), high = mixed(low + 0x9e3779b9u);
    float sum = (float)(low & 0xffffu) + (float)(low >> 16) + (float)(high & 0xffffu) + (float)(high >> 16);
    x[n] = narrow((sum * (1.0f / 65536.0f) - 2.0f) * 1.7320508f);
  }
}

extern "C" __global__ void compared(int lines, int run, float room, const unsigned short *x, const unsigned short *y,
                                    double *sums) {
  long long count = (long long)lines * run, step = (long long)gridDim.x * blockDim.x;
  double apart = 0, size = 0, far = 0;
  for (long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x; n < count; n += step) {
    float a = wide(x[n]), b = wide(y[n]);
    bool there = fabsf(a) <= 3.4e38f, same = fabsf(b) <= 3.4e38f;
    if (there && same) {
      apart += (double)(a - b) * (a - b);
      size += (double)b * b;
      far += fabsf(a - b) > 0.03125f * fabsf(b) + room;
    } else {
      far += there != same;
    }
  }
  for (int off = 16; off > 0; off /= 2) {
    apart += __shfl_down_sync(0xffffffffu, apart, off);
    size += __shfl_down_sync(0xffffffffu, size, off);
    far += __shfl_down_sync(0xffffffffu, far, off);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(sums, apart);
    atomicAdd(sums + 1, size);
    atomicAdd(sums + 2, far);
  }
}
"""
BLOCKS, THREADS = 1024, 256


@dataclass(frozen=True, slots=True)
class Difference:
    """How far results are from others.

    Attributes
    ----------
    apart, size : sums of squares, of differences and of the others; of values that are finite in both.
    far : values that differ by more than a 32nd and the room given, or of which one alone is finite.
    count : of all values.
    """

    apart: float
    size: float
    far: int
    count: int

    @property
    def relative(self) -> float:
        """The relative L2 difference."""
        return (self.apart / (self.size or 1.0)) ** 0.5

    @property
    def typical(self) -> float:
        """The root of the mean square of the others."""
        return (self.size / max(1, self.count)) ** 0.5


@dataclass(frozen=True, slots=True)
class Values:
    """Random data and comparisons for one element type, "float16" or "bfloat16", on the current GPU, on a stream."""

    dtype: str
    stream: int

    def _kernel(self, entry: str) -> launch.LoadedKernel:
        text = f"#define BF16 {int(self.dtype == BFLOAT16)}\n{TEXT}"
        code = nvrtc.compile_cubin(text, launch.device_arch(), name="timing_data")
        return launch.load(code.image, entry)

    def random(self, array: DeviceArray, seed: int) -> None:
        """Fill an array without gaps."""
        lines, run = _extents(array)
        self._kernel("random_values").launch((BLOCKS, 1, 1), (THREADS, 1, 1), 0, (lines, run, seed, array), self.stream)

    def difference(self, array: DeviceArray, other: DeviceArray, room: float) -> Difference:
        """How far an array is from another of its shape and layout, both without gaps; waits for the stream."""
        import numpy as np

        (lines, run), sums = _extents(array), launch.to_device(np.zeros(3), self.stream)
        arguments = (lines, run, float(room), array, other, sums)
        self._kernel("compared").launch((BLOCKS, 1, 1), (THREADS, 1, 1), 0, arguments, self.stream)
        apart, size, far = map(float, launch.copy_to_host(sums, self.stream))
        return Difference(apart, size, int(far), lines * run)


def _extents(array: DeviceArray) -> tuple[int, int]:
    """Two ints whose product is the number of values, which an int may not hold."""
    first, *rest = array.shape
    return first, prod(rest)


def host_values(array: DeviceArray, stream: Any = None) -> np.ndarray:
    """A copy in host memory, bf16 as float32; waits for the stream."""
    import numpy as np

    if array.dtype != BFLOAT16:
        return launch.copy_to_host(array, stream)
    bits = launch.copy_to_host(replace(array, dtype="uint16"), stream)
    return (bits.astype(np.uint32) << 16).view(np.float32)
