"""Hopper's engines on small texts: barriers that count, boxes, products of warpgroups, roles, clusters.

What is expected is `tests.cuda.hopper`'s, written from the manual apart from what runs here, or numpy's.
"""

import ctypes
import re
from functools import lru_cache

import numpy as np
import pytest

from tests.cuda import hopper
from tests.cuda.host import needs_compiler
from tests.cuda.host.launch import ARRIVALS, Text, WrongText, launched, tensor_map

pytestmark = needs_compiler

HEAD = """
typedef unsigned short fp16;
typedef unsigned long long mbarrier;
struct __align__(64) TensorMap { unsigned long long opaque[16]; };
static __device__ unsigned address(const void *p) { return __cvta_generic_to_shared(p); }
static __device__ void begin(mbarrier *b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address(b)), "r"(n) : "memory");
}
static __device__ void fence_begin() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
static __device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
static __device__ void arrive(mbarrier *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address(b)) : "memory");
}
static __device__ void expect(mbarrier *b, int n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(b)), "r"(n) : "memory");
}
static __device__ void await(mbarrier *b, int parity) {
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}"
               :: "r"(address(b)), "r"(parity) : "memory");
}
static __device__ void load(void *to, const TensorMap &map, int line, int run, mbarrier *b) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];"
               :: "r"(address(to)), "l"(&map), "r"(run), "r"(line), "r"(address(b)) : "memory");
}
static __device__ void store(const TensorMap &map, int line, int run, const void *from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
               :: "l"(&map), "r"(run), "r"(line), "r"(address(from)) : "memory");
}
static __device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
static __device__ void read0() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
static __device__ void numbered(int n, int threads) {
  asm volatile("bar.sync %0, %1;" :: "r"(n), "r"(threads) : "memory");
}
static __device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ void close() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
static __device__ void done() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
static __device__ void but_one() { asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); }
static __device__ void product(float (&d)[8], unsigned long long a, unsigned long long b, bool adds) {
  asm volatile("{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"
               " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, TURN_A, TURN_B;}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "l"(a), "l"(b), "r"((int)adds));
}
static __device__ void matrix(void *to, unsigned value) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(address(to)), "r"(value) : "memory");
}
extern "C" __global__ void small(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap made,
                                 fp16 *__restrict__ out) {
  extern __shared__ __align__(1024) uint4 shared_memory[];
  fp16 *const shared = (fp16 *)shared_memory;
  mbarrier *const full = (mbarrier *)(shared + 8192), *const empty = full + 1;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
"""
BEGUN = "if (t == 0) { begin(full, 1); begin(empty, 1); fence_begin(); } __syncthreads();"
SHARED = 16384 + 64  # bytes
SEEDS = range(12)
LAZY = ARRIVALS.index("lazy")


def run(
    body, seed=0, threads=64, matrix=(20, 48), box=(8, 64, 128), own=64, watch=True, turns=(0, 0), blocks=1, head=HEAD
):
    """What a body makes of `in`, a matrix of 0, 1, ..., with lines of 64 values: `out`, and the matrix `made`.

    Parameters
    ----------
    matrix : lines and values of a line that the maps say.
    box : lines, values of a line, bytes of the swizzle's spans.
    own : values of a line of `made` that may be written.
    turns : of a product's A and B, whether they are MN-major.
    blocks : of a cluster.
    """
    lines, run = matrix
    memory = np.zeros(2 * 64 * lines + 64, np.uint16)
    start = -memory.ctypes.data % 128 // 2
    given, made = (memory[start + n * 64 * lines :][: 64 * lines].reshape(lines, 64) for n in (0, 1))
    given[:] = np.arange(lines * 64).reshape(lines, 64)
    written = np.zeros(4096, np.uint16)
    maps = [tensor_map(x.ctypes.data, (lines, run), 128, box[:2], box[2]) for x in (given, made)]
    head = head.replace("small(", f"__cluster_dims__({blocks}, 1, 1) small(", blocks > 1)
    head = head.replace("TURN_A", str(turns[0])).replace("TURN_B", str(turns[1]))
    text, grid = small(f"{head}{body}\n}}\n"), (blocks, 1, 1)
    arrays = [(given, False), (made[:, :own], True), (written, True)]
    values = [*maps, ctypes.c_void_p(written.ctypes.data)]
    launched(text, values, grid, threads, SHARED, arrays, seed, watch)
    return written, made


@lru_cache(maxsize=400)
def small(source):
    """A text, compiled."""
    return Text(source, "small", 90, own=True)


def assert_refused(body, said, seeds=range(3), **more):
    for seed in seeds:
        with pytest.raises(WrongText, match=said):
            run(body, seed, **more)


def assert_told(body, said, **how):
    """It is refused, with a message; or, where that is None, fine."""
    if said is not None:
        assert_refused(body, said, **how)
        return
    for seed in range(3):
        run(body, seed, **how)


# ---- barriers whose phases count


@pytest.mark.parametrize("seed", range(6))
def test_phases_order_what_two_warps_do(seed):
    """A value goes there and back, twenty times, in one place."""
    ring = """if (warp) for (int n = 0; n < 20; n++) { await(empty, n + 1 & 1); if (!lane) shared[0] = n;
        __syncwarp(); if (!lane) arrive(full); }
      else for (int n = 0; n < 20; n++) { await(full, n & 1); if (lane == n) out[n] = shared[0] + 1;
        __syncwarp(); if (!lane) arrive(empty); }"""
    assert run(BEGUN + ring, seed)[0][:20].tolist() == list(range(1, 21))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("await(full, 0);", r"deadlock.* 64 from thread 0 on at phase 0 of the barrier .* misses 1 of 1 arrivals, 0 b"),
        ("if (t == 0) expect(full, 16); await(full, 0);", "phase 0 of the barrier.* misses 0 of 1 arrivals, 16 bytes"),
        ("if (t == 0) arrive(full); await(full, 0); await(full, 1);", "deadlock.*phase 1 of the barrier"),
        ("if (t == 0) { expect(full, 16); arrive(full); }", "phase 0 of .* gets more than its 1 arrivals"),
        ("shared[0] = full[0];", "shared memory at byte 16384 is read, where a barrier is"),
        ("if (t == 0) begin(full, 1);", "the barrier at byte 16384 begins again"),
        ("arrive(empty + 1);", "no barrier has begun at byte 16400"),
        ("await(full, 2);", "parity 2"),
    ],
)
def test_barriers_that_are_used_wrongly(body, said):
    assert_refused(BEGUN + body, said)


def test_a_barrier_that_begins_beside_who_uses_it():
    body = "if (t == 0) begin(full, 1); if (t == 32) { numbered_wait }"
    assert_refused(body.replace("numbered_wait", "arrive(full);"), "no barrier has begun|no barrier of threads between")


@pytest.mark.parametrize("seed", range(4))
def test_barriers_by_number_are_of_some_warps(seed):
    body = "shared[t] = t; if (warp < 2) { numbered(3, 64); out[t] = shared[63 - t]; }"
    assert run(body, seed, threads=96)[0][:64].tolist() == list(range(63, -1, -1))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("numbered(1, 64);", "deadlock.*bar.sync 1"),
        ("shared[t] = t; if (warp < 2) { numbered(3 + warp, 32); out[t] = shared[63 - t]; }",
         "no barrier after|before it was written"),
        ("numbered(2, warp ? 64 : 96);", "where others wait for|deadlock"),
        ("numbered(0, 96);", "0 is that of all threads"),
        ("numbered(16, 96);", "bar.sync 16"),
    ],
)  # fmt: skip
def test_barriers_by_number_that_are_wrong(body, said):
    assert_refused(body, said, threads=96)


# ---- boxes

@pytest.mark.parametrize("width", [128, 64, 32, 0])
@pytest.mark.parametrize("at", [(0, 0), (16, 32), (-3, 16), (24, 0)])
def test_a_box_comes_swizzled_with_zeros_around(width, at):
    run_length = width // 2 or 40
    lines = 8 * 64 // run_length if width else 8
    values = lines * run_length
    body = f"if (t == 0) {{ expect(full, {2 * values}); load(shared, in, {at[0]}, {at[1]}, full); }} await(full, 0);"
    copy = f"for (int i = t; i < {values}; i += 64) out[i] = shared[i];"
    wanted, given = hopper.memory(), np.zeros((64, 256), np.uint16)
    given[8:28, :48] = np.arange(20 * 64).reshape(20, 64)[:, :48]
    hopper.copy_in(wanted, given, (at[0] + 8, at[1]), lines, run_length, width, 0)
    for seed in range(3):
        made, _ = run(BEGUN + body + copy, seed, box=(lines, run_length, width))
        assert np.array_equal(made[:values], wanted[:values])


WRITTEN = BEGUN + "for (int i = t; i < 512; i += 64) shared[i] = i; "
STORED = "if (t == 0) { store(made, 0, 0, shared); commit(); read0(); }"


@pytest.mark.parametrize("extent", [48, 44, 41])
def test_a_stored_box_ends_with_a_whole_unit_of_16_bytes(extent):
    """As an H200 does it: what follows the matrix's line in its last unit is written, too."""
    body = WRITTEN + "fence_proxy(); __syncthreads();" + STORED.replace("0, 0", "14, 32")
    shared, whole = np.arange(512, dtype=np.uint16), np.zeros((22, 64), np.uint16)
    hopper.copy_out(shared, whole, (14, 32), 8, 32, 64, 0)
    whole[:, 48:] = 0
    for seed in range(3):
        _, made = run(body, seed, matrix=(20, extent), box=(8, 32, 64))
        assert np.array_equal(made, whole[:20])


def test_so_a_line_of_another_length_is_no_output_s_own():
    body = WRITTEN + "fence_proxy(); __syncthreads();" + STORED
    run(body, matrix=(20, 48), own=48)
    assert_refused(body, "argument 1 is written at byte 88, outside of what is its own", matrix=(20, 44), own=44)


LOADED = BEGUN + "if (t == 0) { expect(full, 1024); load(shared, in, 0, 0, full); }"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (LOADED + "out[t] = shared[t];", "before that was waited for|no barrier after a box of which|before it was"),
        (LOADED + "if (t < 32) await(full, 0); out[t] = shared[t];", "was waited for|no barrier after a box|before it"),
        (LOADED + "if (t < 32) await(full, 0); __syncthreads(); out[t] = shared[t];", None),
        (LOADED + "await(full, 0); shared[t] = 1;", None),
        (LOADED + "if (t > 31) shared[t] = 1;", "was waited for|no barrier after"),
        (WRITTEN + "fence_proxy(); __syncthreads();" + STORED, None),
        (WRITTEN + "__syncthreads();" + STORED, r"read by an engine, no proxy fence after thread \d+ wrote it"),
        (WRITTEN + "__syncthreads(); fence_proxy();" + STORED, "no proxy fence after thread"),
        (WRITTEN + "fence_proxy();" + STORED, "is read, no barrier after thread|before it was written"),
        (WRITTEN + "fence_proxy(); __syncthreads();" + STORED + " __syncthreads(); shared[t] = 0;", None),
        (WRITTEN + "fence_proxy(); __syncthreads();" + STORED + " shared[64 + t] = 0;",
         r"(read|written), no barrier after (a stored box of )?thread"),
        (WRITTEN + "fence_proxy(); __syncthreads();" + STORED.replace(" read0();", ""),
         "ends while boxes that it has stored"),
        (WRITTEN + "fence_proxy(); __syncthreads();" + STORED.replace(" commit();", ""),
         "ends while boxes that it has stored"),
        (WRITTEN + "__syncthreads(); if (t == 0) { expect(full, 1024); load(shared, in, 0, 0, full); } await(full, 0);",
         "written by an engine, no proxy fence"),
        (BEGUN + "if (t == 0) { expect(full, 1024); load(shared + 8, in, 0, 0, full); }", "no multiple of 128"),
        (BEGUN + "if (t == 0) { expect(full, 1024); load(shared + 7744, in, 0, 0, full); }",
         "leaves shared memory|where a barrier is"),
        (BEGUN + "if (t == 0) { expect(full, 1024); load(shared, *(TensorMap *)shared, 0, 0, full); }",
         "no tensor map"),
        (BEGUN.replace("fence_begin();", "") + "if (t == 0) { expect(full, 1024); load(shared, in, 0, 0, full); }",
         "whose beginning isn't fenced"),
    ],
)  # fmt: skip
def test_boxes_and_what_threads_do_beside(body, said):
    assert_told(body, said)


def test_blocks_do_not_end_before_their_boxes():
    assert_refused(LOADED, "ends while a box comes to byte 0", seeds=[LAZY])


def test_until_the_wait_bytes_are_poisoned():
    late = run(LOADED + "__syncthreads(); out[t] = shared[t]; await(full, 0);", LAZY, watch=False)[0][:64]
    assert set(late) == {0xFFFF}


# ---- products of warpgroups


def descriptor(start, leading, stride, width):
    """The 64 bits, of bytes; shared memory starts at an address of 1024."""
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[width]
    return (start + 1024) >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62


FILL = """for (int i = t; i < 8192; i += 128) shared[i] = 0x3c00 + (i * 2654435761u >> 20 & 0x83ff);
  fence_proxy(); __syncthreads(); float d[8]; for (int i = 0; i < 8; i++) d[i] = 0;"""
OUT = """for (int i = 0; i < 8; i++) {
  unsigned x; memcpy(&x, &d[i], 4); out[16 * t + 2 * i] = x; out[16 * t + 2 * i + 1] = x >> 16; }"""
PLACES = {
    "K-major, 128": ((0, 16, 1024, 128), (8192, 16, 1024, 128), (0, 0)),
    "K-major, 128, second k step": ((32, 16, 1024, 128), (8192 + 64, 16, 1024, 128), (0, 0)),
    "K-major, 64 and 32": ((0, 16, 512, 64), (4096, 16, 256, 32), (0, 0)),
    "K-major, none": ((0, 1024, 128, 0), (4096, 256, 128, 0), (0, 0)),
    "MN-major, 128": ((0, 2048, 1024, 128), (4096, 2048, 1024, 128), (1, 1)),
    "MN-major, 64 and 32": ((0, 1024, 512, 64), (4096, 512, 256, 32), (1, 1)),
    "MN-major, none": ((0, 1024, 128, 0), (4096, 256, 128, 0), (1, 1)),
    "A by rows, B by rows": ((0, 16, 1024, 128), (8192, 512, 256, 32), (0, 1)),
}


def filled():
    i = np.arange(8192, dtype=np.uint64)
    return (0x3C00 + ((i * 2654435761 & 0xFFFFFFFF) >> 20 & 0x83FF)).astype(np.uint16)


@pytest.mark.parametrize("where", PLACES)
def test_a_product_reads_where_descriptors_say(where):
    *places, turns = PLACES[where]
    a, b = (f"{descriptor(*p):#x}ull" for p in places)
    body = f"{FILL} fence(); product(d, {a}, {b}, false); product(d, {a}, {b}, true); close(); done(); {OUT}"
    memory = np.full(8192 + 512, 0xFFFF, np.uint16)  # addresses from 1024 on, as there
    memory[512:] = filled()
    x, y = (
        hopper.operand(memory, descriptor(*p), turned, extent).view(np.float16).astype(np.float64)
        for p, turned, extent in zip(places, turns, (64, 16))
    )
    once = (x @ y.T).astype(np.float32)
    for seed in range(3):
        made = run(body, seed, threads=128, turns=turns)[0][:2048].view(np.float32).reshape(128, 8)
        for thread in (0, 37, 127):
            for i in range(8):
                row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
                assert made[thread, i] == once[row, 8 * (i // 4) + 2 * (thread % 4) + i % 2] * np.float32(2)


A, B = (f"{descriptor(*p):#x}ull" for p in PLACES["K-major, 128"][:2])
MULTIPLY = f"product(d, {A}, {B}, true);"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"fence(); {MULTIPLY} close(); {OUT} done();", "an accumulator is read, and products that may write it"),
        (f"fence(); {MULTIPLY} close(); d[3] = 1; done();", "an accumulator is written, and products"),
        (f"fence(); {MULTIPLY} close(); but_one(); {OUT} done();", "an accumulator is read"),
        (f"fence(); {MULTIPLY} close(); close(); but_one(); {OUT}", None),
        (f"fence(); {MULTIPLY} done(); {OUT}", "an accumulator is read"),
        (f"{MULTIPLY} close(); done(); {OUT}", "before any wgmma.fence"),
        (f"fence(); d[2] = 1; {MULTIPLY} close(); done(); {OUT}", "has written since its last wgmma.fence"),
        (f"fence(); {MULTIPLY} close(); done(); d[2] = 1; {MULTIPLY} close(); done();", "written since its last"),
        (f"fence(); {MULTIPLY} close(); done(); d[2] = 1; fence(); {MULTIPLY} close(); done(); {OUT}", None),
        (f"fence(); {MULTIPLY} close(); shared[t] = 1; done();",
         "written, no barrier after a product of warpgroup 0|no proxy fence|no barrier after thread"),
        (f"fence(); {MULTIPLY} close(); done(); if (t < 8) shared[t] = 1;", None),
        (f"fence(); {MULTIPLY} close();", "ends while products of its warpgroup may run"),
        (f"fence(); if (lane) {MULTIPLY}", "deadlock|other lanes"),
        (f"fence(); if (warp) {{ {MULTIPLY} }} close(); done();", "deadlock.*products|another product"),
        (f"fence(); product(d, {A} + lane, {B}, true); close(); done();", "the lanes of its warp name other operands"),
        (f"fence(); product(d, {A} + warp, {B}, true); close(); done();", "another product than that of other warps"),
        ("if (t == 0) shared[0] = 1; __syncthreads(); fence(); " + MULTIPLY + " close(); done();",
         "no proxy fence after"),
        (f"if (t == 0) {{ shared[0] = 1; fence_proxy(); }} fence(); {MULTIPLY} close(); done();",
         "is read, no barrier after thread 0"),
        (f"fence(); product(d, {A} + (1ull << 49), {B}, true); close(); done();", "base offset"),
        (f"fence(); product(d, {A} + 1100, {B}, true); close(); done();", "wgmma reads A at byte"),
    ],
)  # fmt: skip
def test_products_and_what_threads_do_beside(body, said):
    assert_told(FILL + body, said, threads=128)


def test_until_the_wait_accumulators_are_poisoned():
    body = f"{FILL} fence(); {MULTIPLY} close(); {OUT} __syncthreads(); done();"
    late, _ = run(body, LAZY, threads=128, watch=False)
    assert set(late[:2048]) == {0xFFFF}


# ---- a warp


@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_is_stored_as_the_manual_says(transposed):
    body = """matrix(shared + 8 * (t % 8), 2 * t | 2 * t + 1 << 16); __syncwarp();
      out[t] = shared[t]; out[32 + t] = shared[32 + t];"""
    head = HEAD.replace(".x1.shared", ".x1.trans.shared") if transposed else HEAD
    wanted = np.zeros(256, np.uint16)
    registers = [[2 * lane, 2 * lane + 1] for lane in range(32)]
    hopper.stmatrix(wanted, [16 * (lane % 8) for lane in range(32)], registers, 1, transposed)
    made, _ = run(body, threads=32, head=head)
    assert np.array_equal(made[:64], wanted[:64])


def test_one_lane_is_elected_always_the_same_and_not_always_lane_0():
    elect = '{unsigned x; asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p;}" : "=r"(x));'
    body = f"int n = 0; for (int i = 0; i < 3; i++) {elect} n += x; }} out[t] = n;"
    found = set()
    for seed in range(4):
        made = run(body, seed)[0][:64]
        (lane,) = np.flatnonzero(made[:32])
        assert made[:32].tolist() == made[32:].tolist() and made[lane] == 3
        found.add(int(lane))
    assert len(found) > 1


def test_a_shuffle_takes_the_value_of_a_lane():
    assert run("out[t] = __shfl_sync(0xffffffffu, t, 5);")[0][:64].tolist() == [5] * 32 + [37] * 32


# ---- clusters

WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'


def test_a_dependent_grid_reaches_global_memory_behind_its_wait():
    last = 'asm volatile("griddepcontrol.launch_dependents;" ::: "memory");'
    assert run(f"shared[t] = t; {WAIT} out[t] = t; {last}")[0][:64].tolist() == [*range(64)]
    with pytest.raises(WrongText, match="griddepcontrol.wait, and it has reached global memory before"):
        run(f"out[t] = t; {WAIT}")


CLUSTER = """unsigned rank; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  auto together = [] {
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory"); };
  auto of = [](const void *p, unsigned rank) { unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(p)), "r"(rank)); return there; };
  auto value = [](unsigned at) { unsigned x;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory"); return x; };
"""


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_a_cluster_read_one_another_s_memory(seed):
    by_warps = CLUSTER.replace(".release;", ".release.aligned;").replace(".acquire;", ".acquire.aligned;")
    body = (by_warps if seed % 2 else CLUSTER) + """((unsigned *)shared)[t] = 1000 * rank + t; together();
      out[64 * rank + t] = value(of((unsigned *)shared + t, 1 - rank)); together();"""
    made = run(body, seed, blocks=2)[0][:128]
    assert made.tolist() == [*range(1000, 1064), *range(64)]


def test_without_their_barrier_it_is_a_race():
    body = CLUSTER + """((unsigned *)shared)[t] = t; BEFORE
      out[64 * rank + t] = value(of((unsigned *)shared + t, 1 - rank)); together();"""
    assert_refused(body.replace("BEFORE", "__syncthreads();"), "before it was written|no barrier after", blocks=2)
    ends = CLUSTER + """((unsigned *)shared)[t] = t; together();
      if (rank) out[64 * rank + t] = value(of((unsigned *)shared + t, 1 - rank));"""
    found = []
    for seed in SEEDS:
        try:
            run(ends, seed, blocks=2)
        except WrongText as wrong:
            found.append(str(wrong))
    assert found and all("from a block that has ended" in x for x in found)


@pytest.mark.parametrize("seed", range(6))
def test_a_box_for_several_blocks_counts_in_each_of_them(seed):
    """One block loads a box for both; arrivals in another block's barrier say that its place is free."""
    load = re.search(r"static __device__ void load.*?\n}", HEAD, re.S)[0]
    many = load.replace("void load", "void load_all").replace("::bytes\"", "::bytes.multicast::cluster\"")
    many = many.replace("[%4];", "[%4], %5;").replace('"r"(address(b)) :', '"r"(address(b)), "h"((unsigned short)3) :')
    remote = """asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(of(empty, 0)) : "memory");"""
    body = CLUSTER + f"""if (t == 0) {{ begin(full, 1); begin(empty, 2); fence_begin(); }} together();
      for (int n = 0; n < 3; n++) {{
        if (t == 0) expect(full, 1024);
        if (rank == 0 && t == 0) {{ if (n) await(empty, n - 1 & 1); load_all(shared, in, n, 0, full); }}
        await(full, n & 1);
        out[256 * rank + 64 * n + t] = shared[t];
        __syncthreads();
        if (t == 0) {remote}
      }} together();"""
    head = HEAD.replace('extern "C" __global__', f'{many}\nextern "C" __global__')
    made, _ = run(body, seed, blocks=2, head=head)
    for rank in range(2):
        lines = made[256 * rank : 256 * rank + 192].reshape(3, 64)
        for n in range(3):
            assert np.array_equal(lines[n, :48], 64 * n + np.arange(48)) and not lines[n, 48:].any()
