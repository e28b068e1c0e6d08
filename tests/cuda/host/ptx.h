// The instructions of inline PTX as functions, named as `ptx.py` makes them of the instruction's name: its operands in
// their order, an array of registers each. What one thread does by itself is here; the rest is `gpu.cpp`'s.
// Written from the PTX ISA; nothing in here comes from polyvolta.
#pragma once

typedef unsigned short b16;
typedef unsigned long long b64;

// ---- one thread: conversions, moves, products

static inline void ptx_cvt_f32_f16(float *d, const b16 *a) { d[0] = from_half(a[0]); }
static inline void ptx_cvt_f32_bf16(float *d, const b16 *a) { d[0] = from_bfloat16(a[0]); }
static inline void ptx_cvt_rn_f16_f32(b16 *d, const float *a) { d[0] = to_half(a[0]); }
static inline void ptx_cvt_rn_bf16_f32(b16 *d, const float *a) { d[0] = to_bfloat16(a[0]); }
// "for .f16x2 the converted input a is stored in the upper half of d, and b in the lower half"
static inline void ptx_cvt_rn_f16x2_f32(unsigned *d, const float *a, const float *b) {
  d[0] = to_half(a[0]) << 16 | to_half(b[0]);
}
static inline void ptx_cvt_rn_bf16x2_f32(unsigned *d, const float *a, const float *b) {
  d[0] = to_bfloat16(a[0]) << 16 | to_bfloat16(b[0]);
}
// "for each half the result is 0xffff where the comparison is true, else 0x0000"; of a NaN it isn't
static inline void ptx_set_lt_u32_f16x2(unsigned *d, const unsigned *a, const unsigned *b) {
  const bool low = from_half(a[0] & 0xffff) < from_half(b[0] & 0xffff), high = from_half(a[0] >> 16) < from_half(b[0] >> 16);
  d[0] = (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
}
static inline void ptx_set_lt_u32_bf16x2(unsigned *d, const unsigned *a, const unsigned *b) {
  const bool low = from_bfloat16(a[0] & 0xffff) < from_bfloat16(b[0] & 0xffff);
  const bool high = from_bfloat16(a[0] >> 16) < from_bfloat16(b[0] >> 16);
  d[0] = (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
}
// mov.b32 d, {a0, a1}: "the first element is placed in the least significant bits"
static inline void ptx_mov_b32_pack(unsigned *d, const b16 *a) { d[0] = a[0] | (unsigned)a[1] << 16; }
static inline void ptx_mov_b32_unpack(b16 *d, const unsigned *a) { d[0] = a[0] & 0xffff, d[1] = a[0] >> 16; }
static inline void ptx_mov_b32(unsigned *d, const unsigned *a) { d[0] = a[0]; }
static inline void ptx_mov_b32_float(float *d, const unsigned *a) { memcpy(d, a, 4); }
static inline void ptx_setp_ne_b32(bool *p, const unsigned *a, const unsigned *b) { p[0] = a[0] != b[0]; }
static inline void ptx_selp_b32(unsigned *d, const unsigned *a, const unsigned *b, const bool *p) { d[0] = p[0] ? a[0] : b[0]; }
// mul.wide.s32: "d is twice the size of a and b"
static inline void ptx_mul_wide_s32(b64 *d, const unsigned *a, const unsigned *b) {
  d[0] = (b64)((long long)(int)a[0] * (int)b[0]);
}

// ---- a warp, and memory

enum Mma { M8N8K4_ROW_ROW, M8N8K4_ROW_COL, M8N8K4_COL_ROW, M8N8K4_COL_COL,
           M16N8K8_F16, M16N8K8_BF16, M16N8K16_F16, M16N8K16_BF16 };

extern "C" {
void gpu_mma(Mma kind, float *d, const unsigned *a, const unsigned *b, const float *c);
void gpu_ldmatrix(int count, bool transposed, unsigned *d, unsigned address);
void gpu_copy(unsigned shared, const char *global, unsigned size, unsigned source, unsigned least);
void gpu_commit();
void gpu_wait(int pending);  // negative: for what is in no group, too
}

// a product of warpgroups: descriptors, columns, what the elements are, whether A and B lie transposed, whether it is
// added to the accumulators, whether A is in registers
struct Wgmma { b64 a, b; int n, brain, turn_a, turn_b, adds, negated, held; };

extern "C" {
void gpu_stmatrix(int count, bool transposed, unsigned address, const unsigned *values);
bool gpu_elect(unsigned mask);
void gpu_registers(int count);
void gpu_numbered(unsigned number, unsigned threads);
void gpu_phases_begin(unsigned address, unsigned count);
void gpu_fence_begun();
void gpu_fence_proxy();
void gpu_arrive(unsigned address, long bytes);
bool gpu_try_wait(unsigned address, unsigned parity);
void gpu_prefetch_map(const void *map);
void gpu_await_grids();
void gpu_load_box(unsigned to, const void *map, int run, int line, unsigned barrier, unsigned mask);
void gpu_store_box(const void *map, int run, int line, unsigned from);
void gpu_commit_boxes();
void gpu_wait_boxes(int pending);
void gpu_wgmma(const Wgmma *what, float *const *registers, const unsigned *const *left);
void gpu_wgmma_fence();
void gpu_wgmma_commit();
void gpu_wgmma_wait(int pending);
void gpu_cluster_arrive(bool releases, bool aligned);
void gpu_cluster_wait(bool aligned);
unsigned gpu_rank();
unsigned gpu_map_address(unsigned address, unsigned rank);
void gpu_load_cluster(unsigned address, unsigned bytes, void *to);
}

#define MMA(name, kind)                                                                                   \
  static inline void ptx_mma_sync_aligned_##name(float *d, const unsigned *a, const unsigned *b, const float *c) { \
    gpu_mma(kind, d, a, b, c);                                                                            \
  }
MMA(m8n8k4_row_row_f32_f16_f16_f32, M8N8K4_ROW_ROW)
MMA(m8n8k4_row_col_f32_f16_f16_f32, M8N8K4_ROW_COL)
MMA(m8n8k4_col_row_f32_f16_f16_f32, M8N8K4_COL_ROW)
MMA(m8n8k4_col_col_f32_f16_f16_f32, M8N8K4_COL_COL)
MMA(m16n8k8_row_col_f32_f16_f16_f32, M16N8K8_F16)
MMA(m16n8k8_row_col_f32_bf16_bf16_f32, M16N8K8_BF16)
MMA(m16n8k16_row_col_f32_f16_f16_f32, M16N8K16_F16)
MMA(m16n8k16_row_col_f32_bf16_bf16_f32, M16N8K16_BF16)

#define LDMATRIX(count, suffix, transposed)                                                     \
  static inline void ptx_ldmatrix_sync_aligned_m8n8_x##count##suffix(unsigned *d, const unsigned *a) { \
    gpu_ldmatrix(count, transposed, d, a[0]);                                                   \
  }
LDMATRIX(1, _shared_b16, false)
LDMATRIX(2, _shared_b16, false)
LDMATRIX(4, _shared_b16, false)
LDMATRIX(1, _trans_shared_b16, true)
LDMATRIX(2, _trans_shared_b16, true)
LDMATRIX(4, _trans_shared_b16, true)

// .ca copies 4, 8 or 16 bytes, .cg 16; bytes from the source size on are zeros. Hints about L2 change nothing.
#define COPY(cache, hint, least)                                                                               \
  static inline void ptx_cp_async_##cache##_shared_global##hint(const unsigned *d, const b64 *a, int size,     \
                                                                const unsigned *source) {                     \
    gpu_copy(d[0], (const char *)a[0], size, source[0], least);                                                \
  }                                                                                                            \
  static inline void ptx_cp_async_##cache##_shared_global##hint(const unsigned *d, const b64 *a, int size) {   \
    gpu_copy(d[0], (const char *)a[0], size, size, least);                                                     \
  }
COPY(ca, , 4)
COPY(ca, _L2_64B, 4)
COPY(ca, _L2_128B, 4)
COPY(ca, _L2_256B, 4)
COPY(cg, , 16)
COPY(cg, _L2_64B, 16)
COPY(cg, _L2_128B, 16)
COPY(cg, _L2_256B, 16)

static inline void ptx_cp_async_commit_group() { gpu_commit(); }
static inline void ptx_cp_async_wait_group(int pending) { gpu_wait(pending); }
static inline void ptx_cp_async_wait_all() { gpu_wait(-1); }

// ---- Hopper: barriers that count, boxes, products of warpgroups, clusters

#define STMATRIX(count, suffix, transposed)                                                          \
  static inline void ptx_stmatrix_sync_aligned_m8n8_x##count##suffix(const unsigned *a, const unsigned *v) { \
    gpu_stmatrix(count, transposed, a[0], v);                                                        \
  }
STMATRIX(1, _shared_b16, false)
STMATRIX(2, _shared_b16, false)
STMATRIX(4, _shared_b16, false)
STMATRIX(1, _trans_shared_b16, true)
STMATRIX(2, _trans_shared_b16, true)
STMATRIX(4, _trans_shared_b16, true)

static inline void ptx_elect_sync(bool *p, const unsigned *mask) { p[0] = gpu_elect(mask[0]); }
static inline void ptx_setmaxnreg_inc_sync_aligned_u32(int count) { gpu_registers(count); }
static inline void ptx_setmaxnreg_dec_sync_aligned_u32(int count) { gpu_registers(count); }
static inline void ptx_bar_sync(const unsigned *number, const unsigned *threads) { gpu_numbered(number[0], threads[0]); }

static inline void ptx_mbarrier_init_shared_cta_b64(const unsigned *a, const unsigned *n) { gpu_phases_begin(a[0], n[0]); }
static inline void ptx_fence_mbarrier_init_release_cluster() { gpu_fence_begun(); }
static inline void ptx_fence_proxy_async() { gpu_fence_proxy(); }
static inline void ptx_fence_proxy_async_shared_cta() { gpu_fence_proxy(); }
static inline void ptx_mbarrier_arrive_shared_cta_b64(const unsigned *a) { gpu_arrive(a[0], 0); }
static inline void ptx_mbarrier_arrive_shared_cluster_b64(const unsigned *a) { gpu_arrive(a[0], 0); }
static inline void ptx_mbarrier_arrive_release_cluster_shared_cluster_b64(const unsigned *a) { gpu_arrive(a[0], 0); }
static inline void ptx_mbarrier_arrive_expect_tx_shared_cta_b64(const unsigned *a, const unsigned *bytes) {
  gpu_arrive(a[0], bytes[0]);
}
static inline void ptx_mbarrier_try_wait_parity_shared_cta_b64(bool *p, const unsigned *a, const unsigned *parity) {
  p[0] = gpu_try_wait(a[0], parity[0]);
}

// coordinates: "the contiguous dimension first"
static inline void ptx_griddepcontrol_wait() { gpu_await_grids(); }
static inline void ptx_griddepcontrol_launch_dependents() {}
static inline void ptx_prefetch_tensormap(const b64 *map) { gpu_prefetch_map((const void *)map[0]); }
static inline void ptx_cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes(
    const unsigned *to, const b64 *map, const unsigned *at, const unsigned *barrier) {
  gpu_load_box(to[0], (const void *)map[0], at[0], at[1], barrier[0], 0);
}
static inline void ptx_cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster(
    const unsigned *to, const b64 *map, const unsigned *at, const unsigned *barrier, const b16 *mask) {
  gpu_load_box(to[0], (const void *)map[0], at[0], at[1], barrier[0], mask[0]);
}
static inline void ptx_cp_async_bulk_tensor_2d_global_shared_cta_tile_bulk_group(const b64 *map, const unsigned *at,
                                                                                const unsigned *from) {
  gpu_store_box((const void *)map[0], at[0], at[1], from[0]);
}
static inline void ptx_cp_async_bulk_commit_group() { gpu_commit_boxes(); }
static inline void ptx_cp_async_bulk_wait_group(int pending) { gpu_wait_boxes(pending); }
static inline void ptx_cp_async_bulk_wait_group_read(int pending) { gpu_wait_boxes(pending); }

// registers that an instruction writes some time later, by their addresses; what lists them is nobody's access
#define UNWATCHED __attribute__((no_sanitize("thread"), no_sanitize("alignment")))
template <int N> struct Registers { float *at[N]; };
template <class... F> UNWATCHED __attribute__((noinline)) static Registers<sizeof...(F)> registers(F &...d) { return {{&d...}}; }

template <int N, bool BRAIN>
static inline void ptx_wgmma(const Registers<N / 2> &d, const b64 *a, const b64 *b, const bool *adds, int plus_a, int plus_b,
                             int turn_a, int turn_b) {
  const Wgmma what = {a[0], b[0], N, BRAIN, turn_a, turn_b, adds[0], plus_a != 1 || plus_b != 1, false};
  gpu_wgmma(&what, d.at, nullptr);
}

struct Left { const unsigned *at[4]; };
template <class... W> UNWATCHED __attribute__((noinline)) static Left read_later(const W &...a) { return {{&a...}}; }

template <int N, bool BRAIN>
static inline void ptx_wgmma_of_registers(const Registers<N / 2> &d, const Left &a, const b64 *b, const bool *adds,
                                          int plus_a, int plus_b, int turn_b) {
  const Wgmma what = {0, b[0], N, BRAIN, 0, turn_b, adds[0], plus_a != 1 || plus_b != 1, true};
  gpu_wgmma(&what, d.at, a.at);
}
static inline void ptx_wgmma_fence_sync_aligned() { gpu_wgmma_fence(); }
static inline void ptx_wgmma_commit_group_sync_aligned() { gpu_wgmma_commit(); }
static inline void ptx_wgmma_wait_group_sync_aligned(int pending) { gpu_wgmma_wait(pending); }

static inline void ptx_mapa_shared_cluster_u32(unsigned *d, const unsigned *a, const unsigned *rank) {
  d[0] = gpu_map_address(a[0], rank[0]);
}
static inline void ptx_mov_u32_cluster_ctarank(unsigned *d) { d[0] = gpu_rank(); }
#define CLUSTER_BARRIER(suffix, aligned)                                                                \
  static inline void ptx_barrier_cluster_arrive##suffix() { gpu_cluster_arrive(true, aligned); }        \
  static inline void ptx_barrier_cluster_arrive_release##suffix() { gpu_cluster_arrive(true, aligned); } \
  static inline void ptx_barrier_cluster_arrive_relaxed##suffix() { gpu_cluster_arrive(false, aligned); } \
  static inline void ptx_barrier_cluster_wait##suffix() { gpu_cluster_wait(aligned); }                  \
  static inline void ptx_barrier_cluster_wait_acquire##suffix() { gpu_cluster_wait(aligned); }
CLUSTER_BARRIER(, false)
CLUSTER_BARRIER(_aligned, true)
static inline void ptx_ld_shared_cluster_f32(float *d, const unsigned *a) { gpu_load_cluster(a[0], 4, d); }
static inline void ptx_ld_shared_cluster_v2_f32(float *d, const unsigned *a) { gpu_load_cluster(a[0], 8, d); }
static inline void ptx_ld_shared_cluster_v4_f32(float *d, const unsigned *a) { gpu_load_cluster(a[0], 16, d); }
static inline void ptx_ld_shared_cluster_u32(unsigned *d, const unsigned *a) { gpu_load_cluster(a[0], 4, d); }
static inline void ptx_ld_shared_cluster_v4_u32(unsigned *d, const unsigned *a) { gpu_load_cluster(a[0], 16, d); }
