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
// mov.b32 d, {a0, a1}: "the first element is placed in the least significant bits"
static inline void ptx_mov_b32_pack(unsigned *d, const b16 *a) { d[0] = a[0] | (unsigned)a[1] << 16; }
static inline void ptx_mov_b32_unpack(b16 *d, const unsigned *a) { d[0] = a[0] & 0xffff, d[1] = a[0] >> 16; }
static inline void ptx_mov_b32(unsigned *d, const unsigned *a) { d[0] = a[0]; }
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
