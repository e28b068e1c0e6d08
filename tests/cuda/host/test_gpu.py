"""The host's thread blocks themselves: barriers, order, asynchronous copies, and what watching sees, on small texts."""

import ctypes
from itertools import product

import numpy as np
import pytest

from tests.cuda.host import needs_compiler
from tests.cuda.host.launch import ARRIVALS, Text, WrongText, launched

pytestmark = needs_compiler

HEAD = """
typedef unsigned short fp16;
static __device__ unsigned address(const void *p) { return __cvta_generic_to_shared(p); }
static __device__ void copy16(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(address(to)), "l"(from), "r"(bytes) : "memory");
}
static __device__ void copy4(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address(to)), "l"(from) : "memory");
}
static __device__ void commit() { asm volatile("cp.async.commit_group;"); }
static __device__ void wait0() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }
static __device__ void wait1() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
static __device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
static __device__ unsigned matrix(const void *p) {
  unsigned r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(address(p)) : "memory");
  return r;
}
extern "C" __global__ void __launch_bounds__(64) small(const fp16 *__restrict__ in, fp16 *__restrict__ out) {
  extern __shared__ uint4 shared_memory[];
  fp16 *const shared = (fp16 *)shared_memory;
  const int t = threadIdx.x;
"""
COUNT = 512
EAGER, LAZY, RANDOM = (ARRIVALS.index(a) for a in ("eager", "lazy", "random"))


def run(body, seed=0, threads=64, watch=True, grid=(1, 1, 1), shared=1024, head=HEAD):
    """What a body of a kernel makes of 0, 1, 2, ..."""
    text = Text(f"{head}{body}\n}}\n", "small", 80)
    memory = np.zeros(COUNT + 8, np.uint16)
    start = -memory.ctypes.data % 16 // 2  # a multiple of 16 bytes
    given, made = memory[start : start + COUNT], np.zeros(COUNT, np.uint16)
    given[:] = np.arange(COUNT)
    values = [ctypes.c_void_p(a.ctypes.data) for a in (given, made)]
    try:
        launched(text, values, grid, threads, shared, [(given, False), (made, True)], seed, watch)
    finally:
        text.close()
    return made


# ---- order and barriers


@pytest.mark.parametrize("seed", range(4))
def test_a_barrier_orders_what_threads_do(seed):
    made = run("shared[t] = in[t]; __syncthreads(); out[t] = shared[63 - t];", seed)
    assert np.array_equal(made[:64], np.arange(64)[::-1])


def test_without_it_values_differ_from_seed_to_seed():
    body = "shared[t] = in[t]; out[t] = shared[63 - t];"
    results = {tuple(run(body, seed, watch=False)[:64]) for seed in range(6)}
    assert len(results) > 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("shared[t] = 1; out[t] = shared[t ^ 1];", "no barrier after thread|before it was written"),
        ("shared[t] = 1; __syncwarp(); out[t] = shared[t ^ 1];", None),
        ("shared[t] = 1; __syncwarp(); out[t] = shared[t ^ 32];", "no barrier after thread|before it was written"),
        ("shared[t] = 1; __syncthreads(); out[t] = shared[t ^ 32]; shared[t] = 2;", "no barrier after (thread|warp)"),
        ("shared[t] = 1; __syncthreads(); out[t] = shared[t ^ 1]; __syncwarp(); shared[t] = 2;", None),
        ("shared[t / 2] = 1;", "no barrier after thread"),
        ("out[t] = shared[t];", "before it was written"),
        ("out[t] = in[t + 449];", "outside of all arrays is read"),
        ("out[t / 2] = 1;", "written twice"),
        ("((fp16 *)in)[t] = 1;", "argument 0 is written"),
        ("out[t] = out[t + 64];", "argument 1 is read"),
        ("shared[512 + t] = 1;", "shared memory is written at byte 10"),
        ("*(unsigned *)(shared + 2 * t + 1) = 1;", "not aligned"),
        ("fp16 mine[4]; mine[t] = 1; out[t] = mine[t / 16];", "outside of its array"),
    ],
)
def test_what_watching_sees(body, said):
    for seed in range(3):
        if said is None:
            run(body, seed)
            continue
        with pytest.raises(WrongText, match=said):
            run(body, seed)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("if (t != 5) __syncthreads();", r"deadlock.*1 threads have ended; 63 from thread 0 on at a barrier of line"),
        ("if (t < 32) __syncthreads(); else\n __syncthreads();", r"at the barrier of line \d+, where others are at"),
        ("if (t % 2) __syncwarp();", r"deadlock.*a warp's barrier"),
        ("if (t % 2) __syncwarp(); else\n __syncwarp();", "other lanes of its warp"),
        ("shared[t] = 0; __syncthreads(); if (t % 32) matrix(shared); else __syncwarp();", "other lanes of its warp"),
        ("shared[t] = 0; __syncthreads(); matrix(shared + 4);", "ldmatrix from .*, no multiple of 16"),
        ("shared[t] = 0; __syncthreads(); matrix(shared + 512);", "ldmatrix outside of shared memory"),
        ("matrix(shared);", "before it was written"),
    ],
)
def test_threads_that_do_not_come_together(body, said):
    with pytest.raises(WrongText, match=said):
        run(body)


def test_a_message_has_the_line_of_the_text():
    with pytest.raises(WrongText, match=r"line \d+: out\[t\] = shared\[t\];"):
        run("\n  shared[63 - t] = 1;\n  out[t] = shared[t];\n")


def test_every_block_runs_with_poisoned_memory():
    body = """if (t == 0) shared[0] = blockIdx.x + gridDim.x * blockIdx.y;
      __syncthreads(); if (t == 1) out[shared[0]] = shared[0] + 1;"""
    assert np.array_equal(run(body, grid=(5, 3, 1))[:15], np.arange(1, 16))
    assert set(run("out[t] = shared[t];", watch=False)[:64]) == {0xFFFF}


# ---- asynchronous copies


@pytest.mark.parametrize("seed", range(6))
def test_a_copy_has_arrived_after_wait_and_barrier(seed):
    body = "copy16(shared + 8 * t, in + 8 * t, 16); commit(); wait0(); __syncthreads(); for (int i = 0; i < 8; i++)"
    made = run(f"{body} out[8 * t + i] = shared[8 * (63 - t) + i];", seed)
    assert np.array_equal(made.reshape(64, 8)[::-1].ravel(), np.arange(COUNT))


@pytest.mark.parametrize("size", [0, 2, 6, 16])
def test_what_is_beyond_the_source_size_is_zero(size):
    body = f"copy16(shared + 8 * t, in + 8 * t, {size}); commit(); wait0(); for (int i = 0; i < 8; i++)"
    made = run(f"{body} out[8 * t + i] = shared[8 * t + i];").reshape(64, 8)
    wanted = np.arange(COUNT).reshape(64, 8) * (np.arange(8) < size // 2)
    assert np.array_equal(made, wanted)


BEFORE = "copy4(shared + 2 * t, in + 2 * t); commit(); {} out[2 * t] = shared[2 * t];"


def test_until_the_wait_a_copy_may_or_may_not_have_arrived():
    wanted = {EAGER: set(range(0, 128, 2)), LAZY: {0xFFFF}}
    for seed, values in wanted.items():
        assert set(run(BEFORE.format(""), seed, watch=False)[:128:2]) == values
    random = run(BEFORE.format("__syncthreads();"), RANDOM, watch=False)[:128:2]
    assert 0xFFFF in random and len(set(random)) > 1


@pytest.mark.parametrize(("wait", "seed"), [*product(("", "wait1();"), (EAGER, LAZY, RANDOM))])
def test_a_read_before_the_wait_is_seen(wait, seed):
    with pytest.raises(WrongText, match=r"is read while thread \d+ copies it"):
        run(BEFORE.format(wait), seed)


def test_other_threads_need_a_barrier_after_the_wait():
    body = "copy4(shared + 2 * t, in + 2 * t); commit(); wait0(); {} out[t] = shared[2 * (t ^ 32)];"
    assert np.array_equal(run(body.format("__syncthreads();"))[:64], 2 * (np.arange(64) ^ 32))
    with pytest.raises(WrongText, match="no barrier after|copies it|before it was written"):
        run(body.format(""))


GROUPS = """copy4(shared + 2 * t, in + 2 * t); commit(); copy4(shared + 128 + 2 * t, in + 128 + 2 * t); {}
  out[2 * t] = shared[2 * t]; {}"""
LATER = "out[2 * t + 1] = shared[128 + 2 * t];"


@pytest.mark.parametrize(
    ("between", "after", "right"),
    [
        ("commit(); wait1();", "", True),
        ("commit(); wait1();", LATER, False),
        ("commit(); wait0();", LATER, True),
        ("wait0();", LATER, False),  # the second copy is in no group
        ("wait1();", "", False),
        ("wait_all();", LATER, True),
        ("commit(); commit(); wait1();", LATER, True),  # the newest group is empty
    ],
)
def test_groups_are_waited_for_oldest_first(between, after, right):
    for seed in (EAGER, LAZY, RANDOM):
        if not right:
            with pytest.raises(WrongText, match="copies it"):
                run(GROUPS.format(between, after), seed)
            continue
        made = run(GROUPS.format(between, after), seed)[:128]
        assert np.array_equal(made[::2], 2 * np.arange(64))
        assert not after or np.array_equal(made[1::2], 128 + 2 * np.arange(64))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("copy16(shared + 8 * t, in + 8 * t, 18);", "cp.async of 16 bytes, 18 of them"),
        ("copy16(shared + 8 * t, in + 8 * t + 2, 16);", "no multiple of that"),
        ("copy16(shared + 8 * t + 4, in + 8 * t, 16);", "no multiple of that"),
        ("copy16(shared + 8 * t + 8, in + 8 * t, 16);", "cp.async outside of shared memory"),
        ("copy16(shared + 8 * t, in + 8 * t + 8, 16);", "outside of all arrays is read"),
        ("copy16(shared + 8 * (t / 2), in, 16);", "is written while thread"),
        ("shared[8 * t] = 1; copy16(shared + 8 * (t ^ 1), in, 16);", "no barrier after thread|copies it"),
    ],
)
def test_copies_that_are_wrong(body, said):
    with pytest.raises(WrongText, match=said):
        run(body)


# ---- matrices


@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_goes_to_the_lanes_that_the_manual_says(transposed):
    """Register of lane l: row l / 4, elements 2 (l mod 4) and the next; transposed: column l / 4."""
    body = """shared[t] = in[t]; __syncthreads(); const unsigned r = matrix(shared + 8 * (t % 8));
      if (t < 32) out[2 * t] = r, out[2 * t + 1] = r >> 16;"""
    made = run(body, head=HEAD.replace(".x1.shared", ".x1.trans.shared") if transposed else HEAD)
    rows = np.arange(64).reshape(8, 8)
    for lane in range(32):
        line, at = lane // 4, 2 * (lane % 4)
        wanted = rows[at : at + 2, line] if transposed else rows[line, at : at + 2]
        assert made[2 * lane : 2 * lane + 2].tolist() == wanted.tolist()
