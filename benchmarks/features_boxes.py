"""Checks: tensor maps as arguments of a launch, and the boxes that Hopper's copy engine moves with them."""

from __future__ import annotations

import sys
import time

import numpy as np
from features_common import POISON, SKIPPED, check

from polyvolta.cuda.run import launch
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.run.tensor_maps import encode, takes

THROUGH = """
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// A box into shared memory; what lies there, chunk by chunk, into `seen`; and out again through the other map.
extern "C" __global__ void through(int run, const __grid_constant__ TensorMap from, int line, unsigned short *seen,
                                   const __grid_constant__ TensorMap to, int values) {
  extern __shared__ unsigned char room[];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned base = (unsigned)__cvta_generic_to_shared(room), box = (base + 1023) / 1024 * 1024;
  unsigned arrived = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(arrived) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(arrived), "r"(2 * values) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(box), "l"(&from), "r"(run), "r"(line), "r"(arrived) : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile("{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n"
                 "selp.u32 %0, 1, 0, p;\\n}" : "=r"(done) : "r"(arrived) : "memory");
  const unsigned short *there = (const unsigned short *)(room + (box - base));
  for (int i = threadIdx.x; i < values; i += blockDim.x) seen[i] = there[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&to), "r"(run), "r"(line), "r"(box) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
"""


def swizzled(box: np.ndarray, swizzle: int) -> np.ndarray:
    """The box's values in the order of shared memory: bits 4 to 6 of an address change with its bits 7 to 9."""
    lines, run = box.shape
    memory = np.empty(lines * run, box.dtype)
    for line in range(lines):
        for at in range(0, run, 8):
            address = 2 * (line * run + at)
            address ^= (address >> 7 & swizzle // 16 - 1 if swizzle else 0) << 4
            memory[address // 2 : address // 2 + 8] = box[line, at : at + 8]
    return memory


@check
def tensor_maps_move_boxes() -> str:
    """All swizzles, both types, views amid poison, boxes over the far edges, as kernels have them: at whole units of 16
    bytes. What is stored ends with a unit, which is filled up with zeros. (At value 1 of a line, and at line -3, value
    -8, the engine of an H200 stops with an illegal instruction.)"""
    import torch

    if int(launch.device_arch().removeprefix("sm_")) < 90:
        print(f"{launch.device_arch()} has no copy engine for boxes")
        sys.exit(SKIPPED)
    kernel = launch.load(compile_cubin(THROUGH, launch.device_arch(), name="through").image, "through", 64 * 1024)
    rng, count = np.random.default_rng(7), 0
    for swizzle in (128, 64, 32, 0):
        for lines, run in ((64, swizzle // 2 or 40), (8, swizzle // 2 or 256), (256, swizzle // 2 or 8)):
            for height, width, ld, offset in ((100, 72, 72, 0), (257, 130, 200, 8), (1, 5, 8, 16)):
                values = rng.integers(0, 2**16, (height, width), dtype=np.uint16)
                poison = torch.full((offset + height * ld + 64,), POISON, dtype=torch.int16, device="cuda")
                sides = poison, poison.clone()
                source, target = (s[offset:].as_strided((height, width), (ld, 1)) for s in sides)
                source.copy_(torch.from_numpy(values.view(np.int16)))
                kind = ("half", "bfloat16")[count % 2]
                matrix = kind, (height, width), 2 * ld, (lines, run), swizzle
                maps = [encode(t.data_ptr(), *matrix) for t in (source, target)]
                for line, at in ((0, 0), (height - 1, (width - 1) // 8 * 8), (height // 2, 8), (height, 0)):
                    whole = np.zeros((height + 2 * 300, width + 2 * 300), np.uint16)  # the matrix amid zeros
                    whole[300 : 300 + height, 300 : 300 + width] = values
                    box = whole[300 + line : 300 + line + lines, 300 + at : 300 + at + run]
                    seen = torch.zeros(lines * run, dtype=torch.int16, device="cuda")
                    sides[1].fill_(POISON)
                    torch.cuda.synchronize()
                    args = (at, maps[0], line, launch.DevicePtr(seen.data_ptr()), maps[1], lines * run)
                    kernel.launch((1, 1, 1), (128, 1, 1), 34 * 1024, args)
                    launch.synchronize()
                    case = swizzle, (lines, run), (height, width, ld, offset), (line, at), kind
                    assert np.array_equal(seen.cpu().numpy().view(np.uint16), swizzled(box, swizzle)), case
                    expected = np.full(sides[1].shape, POISON, np.int16)
                    units = -(-width // 8) * 8
                    inner = np.lib.stride_tricks.as_strided(expected[offset:], (height, units), (2 * ld, 2))
                    part = whole[300 : 300 + height, 300 : 300 + units].view(np.int16)
                    rows, columns = slice(line, line + lines), slice(at, at + run)
                    inner[rows, columns] = part[rows, columns]
                    assert np.array_equal(sides[1].cpu().numpy(), expected), case
                    count += 1
    pointer, took = torch.empty(1 << 20, dtype=torch.int16, device="cuda").data_ptr(), []
    for _ in "first", "again":
        start = time.perf_counter()
        for n in range(1000):
            encode(pointer + 16 * n, "half", (512, 512), 1024, (128, 64), 128)
        took.append(1000 * (time.perf_counter() - start))  # us a map
    return f"{count} boxes; a map takes {took[0]:.1f} us, again {took[1]:.2f} us"


@check
def tensor_maps_are_refused_as_the_driver_refuses_them() -> str:
    """What `takes` refuses the driver refuses, and the other way round."""
    import torch

    from polyvolta.cuda.run import tensor_maps

    if int(launch.device_arch().removeprefix("sm_")) < 90:
        print(f"{launch.device_arch()} has no copy engine for boxes")
        sys.exit(SKIPPED)
    start = torch.empty(4096, dtype=torch.float16, device="cuda").data_ptr()
    objection, disagreed, count = tensor_maps._objection, [], 0
    tensor_maps._objection = lambda *matrix: None
    try:
        for pointer in (start, start + 8, start + 16):
            for extents in ((1, 1), (100, 72), (0, 72), (100, 0), (2**32, 8), (2**32 + 1, 8), (8, 2**32 + 1)):
                for stride in (16, 144, 146, 152, 2**40 - 16, 2**40):
                    try:
                        encode(pointer, "half", extents, stride, (64, 64), 128)
                        taken = True
                    except tensor_maps.BadTensorMap:
                        taken = False
                    count += 1
                    if taken != (objection(pointer, extents, stride) is None):
                        disagreed.append((pointer, extents, stride, taken))
    finally:
        tensor_maps._objection = objection
    assert not any(taken is False for *_, taken in disagreed), f"taken by `takes` alone: {disagreed}"
    assert takes(start, (100, 72), 144)
    return f"{count} matrices, {len(disagreed)} that the driver takes beyond its manual: {disagreed[:4]}"
