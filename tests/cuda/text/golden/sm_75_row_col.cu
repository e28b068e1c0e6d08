// kern0: C = A @ B; fp16 in memory, fp32 accumulation.
// A[M, K] row-major, B[K, N] col-major, C[M, N] row-major.
// grid ((N + 127) / 128, (M + 127) / 128, 1), block (128, 1, 1), 16384 bytes of dynamic shared memory.
// A, B, C are aligned to 16 bytes; ldA, ldB, ldC are multiples of 8.

typedef unsigned short fp16;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint4 half8;          // eight fp16 values, one 128-bit access

// d = 0
static __device__ __forceinline__ void hmma_zero(float (&d)[16]) {
  #pragma unroll
  for (int i = 0; i < 16; i += 1)
    d[i] = 0.0f;
}

// matrix[line, run .. run+7], lines ld apart, in one 128-bit load
static __device__ __forceinline__ half8 load_global_128(const fp16 *__restrict__ matrix, long long line, int run,
    int ld) {
  return *(const half8 *)(matrix + line * ld + run);
}

// eight single fp16 values as one vector
static __device__ __forceinline__ half8 join_half8(const fp16 *v) {
  return make_uint4(v[0] | v[1] << 16, v[2] | v[3] << 16, v[4] | v[5] << 16, v[6] | v[7] << 16);
}

// matrix[line, run .. run+7], with zeros for what is outside of the matrix
static __device__ __forceinline__ half8 load_global_128_guarded(const fp16 *__restrict__ matrix, long long line,
    int run, int ld, int lines, int length) {
  if (line < lines && run + 8 <= length)
    return load_global_128(matrix, line, run, ld);
  fp16 part[8];
  #pragma unroll
  for (int i = 0; i < 8; i += 1)
    part[i] = line < lines && run + i < length ? matrix[line * ld + run + i] : (fp16)0;
  return join_half8(part);
}

// a place in shared memory as instructions name it, in 32 bits
static __device__ __forceinline__ unsigned shared_address(const void *p) {
  return __cvta_generic_to_shared(p);
}

// four 8x8 matrices of shared memory, a register of each; lane l names line l % 8 of matrix l / 8
static __device__ __forceinline__ void load_matrix_x4(unsigned &r0, unsigned &r1, unsigned &r2, unsigned &r3,
    unsigned line) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(line) : "memory");
}

// the lane's part of the 16x16 fragment at [i, k], value n of it at
// { [lane, n] -> [+i = floor(lane/4) + 8*(floor(n/2) mod 2), +k = 8*floor(n/4) + 2*(lane mod 4) + (n mod 2)]
//     : 0 <= lane < 32 and 0 <= n < 8 }
// for it the lane names the line that starts at
// { [lane] -> [+i = lane mod 16, +k = 8*floor(lane/16)] : 0 <= lane < 32 }
static __device__ __forceinline__ void hmma_load_a_row_swizzled(half8 &v, const half8 *tile, int i, int k, int lane) {
  const int own = 64 * (lane % 16) + 16 * (lane / 2 % 4 ^ lane / 16);
  load_matrix_x4(v.x, v.y, v.z, v.w, ((own + 64 * i) ^ 32 * (k / 16)) + shared_address(tile));
}

// the lane's part of the 16x32 fragment at [k, j], value n of it at
// { [lane, n]
//     -> [+k = 8*floor(n/8) + 2*(lane mod 4) + (n mod 2), +j = floor(lane/4) + 6*floor(lane/8) + 2*(floor(n/2) mod 4)]
//     : 0 <= lane < 32 and 0 <= n < 16 }
// for it the lane names in load n the line that starts at
// { [lane, n] -> [+k = 8*n, +j = 2*floor(lane/8) + (lane mod 2) + 8*(floor(lane/2) mod 4)]
//     : 0 <= lane < 32 and 0 <= n < 2 }
static __device__ __forceinline__ void hmma_load_b_col_swizzled(half8 (&v)[2], const half8 *tile, int j, int k,
    int lane) {
  const int own = 128 * (lane / 8) + 64 * (lane % 2) + 512 * (lane / 2 % 4) + 16 * (lane / 2 % 4);
  load_matrix_x4(v[0].x, v[0].y, v[0].z, v[0].w, ((own + 64 * j) ^ 32 * (k / 16)) + shared_address(tile));
  load_matrix_x4(v[1].x, v[1].y, v[1].z, v[1].w, ((own + 64 * j) ^ (32 * (k / 16) + 16)) + shared_address(tile));
}

// d += a @ b, 16x8x8 by the whole warp
static __device__ __forceinline__ void mma_m16n8k8_row_col(float *d, unsigned a0, unsigned a1, unsigned b0) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(b0));
}

// 4 x 2 macro-MMAs m16n32k16: d += a @ b, the whole warp together; all rows with a part of b before the next
// part, back and forth, so that an instruction has an operand of the one before
static __device__ __forceinline__ void hmma_row_col(float (&d)[4][2][16], const half8 (&a)[4], const half8 (&b)[2][2]) {
  #pragma unroll
  for (int j = 0; j < 2; j += 1) {
    #pragma unroll
    for (int i = 0; i < 4; i += 1)
      mma_m16n8k8_row_col(d[i][j], a[i].x, a[i].y, b[j][0].x);
    #pragma unroll
    for (int i = 3; i >= 0; i -= 1)
      mma_m16n8k8_row_col(d[i][j] + 4, a[i].x, a[i].y, b[j][0].y);
    #pragma unroll
    for (int i = 0; i < 4; i += 1)
      mma_m16n8k8_row_col(d[i][j] + 8, a[i].x, a[i].y, b[j][0].z);
    #pragma unroll
    for (int i = 3; i >= 0; i -= 1)
      mma_m16n8k8_row_col(d[i][j] + 12, a[i].x, a[i].y, b[j][0].w);
    #pragma unroll
    for (int i = 0; i < 4; i += 1)
      mma_m16n8k8_row_col(d[i][j], a[i].z, a[i].w, b[j][1].x);
    #pragma unroll
    for (int i = 3; i >= 0; i -= 1)
      mma_m16n8k8_row_col(d[i][j] + 4, a[i].z, a[i].w, b[j][1].y);
    #pragma unroll
    for (int i = 0; i < 4; i += 1)
      mma_m16n8k8_row_col(d[i][j] + 8, a[i].z, a[i].w, b[j][1].z);
    #pragma unroll
    for (int i = 3; i >= 0; i -= 1)
      mma_m16n8k8_row_col(d[i][j] + 12, a[i].z, a[i].w, b[j][1].w);
  }
}

// the chunk that starts at [i, k] of the tile:
// { [i, k] -> [chunk = 4*i + (floor(i/2) mod 4 ^ floor(k/8))] : 0 <= i < 128 and 0 <= k < 32 }
static __device__ __forceinline__ void store_shared_a_row_swizzled(half8 *tile, half8 v, int i, int k) {
  tile[4 * i + (i / 2 % 4 ^ k / 8)] = v;
}

// the chunk that starts at [j, k] of the tile:
// { [k, j] -> [chunk = 4*j + (floor(j/8) mod 4 ^ floor(k/8))] : 0 <= k < 32 and 0 <= j < 128 }
static __device__ __forceinline__ void store_shared_b_col_swizzled(half8 *tile, half8 v, int j, int k) {
  tile[4 * j + (j / 8 % 4 ^ k / 8)] = v;
}

// eight consecutive values of the fragment, which the lane has itself:
// { [lane, round] -> [row = 8*round + floor(lane/4), col = 8*(lane mod 4)] : 0 <= lane < 32 and 0 <= round < 2 }
static __device__ __forceinline__ void take_run(float (&v)[8], const float (&acc)[16], int round) {
  v[0] = acc[2 * round], v[1] = acc[2 * round + 1], v[2] = acc[2 * round + 4], v[3] = acc[2 * round + 5];
  v[4] = acc[2 * round + 8], v[5] = acc[2 * round + 9], v[6] = acc[2 * round + 12], v[7] = acc[2 * round + 13];
}

// two fp32 values, rounded to nearest even, as two fp16 values; the first in the low half
static __device__ __forceinline__ unsigned pack_half2(float low, float high) {
  unsigned packed;
  asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
      : "=r"(packed) : "f"(low), "f"(high));
  return packed;
}

// eight fp32 values as fp16
static __device__ __forceinline__ half8 pack_half8(const float (&v)[8]) {
  return make_uint4(pack_half2(v[0], v[1]), pack_half2(v[2], v[3]),
                    pack_half2(v[4], v[5]), pack_half2(v[6], v[7]));
}

// matrix[line, run .. run+7] = value, lines ld apart, in one 128-bit store
static __device__ __forceinline__ void store_global_128(fp16 *__restrict__ matrix, long long line, int run, int ld,
    half8 value) {
  *(half8 *)(matrix + line * ld + run) = value;
}

// the eight single fp16 values of a vector
static __device__ __forceinline__ void split_half8(fp16 (&v)[8], half8 packed) {
  v[0] = packed.x, v[1] = packed.x >> 16;
  v[2] = packed.y, v[3] = packed.y >> 16;
  v[4] = packed.z, v[5] = packed.z >> 16;
  v[6] = packed.w, v[7] = packed.w >> 16;
}

// matrix[line, run .. run+7] = value, but for what is outside of the matrix
static __device__ __forceinline__ void store_global_128_guarded(fp16 *__restrict__ matrix, long long line, int run,
    int ld, int lines, int length, half8 value) {
  if (line < lines && run + 8 <= length)
    return store_global_128(matrix, line, run, ld, value);
  fp16 part[8];
  split_half8(part, value);
  #pragma unroll
  for (int i = 0; i < 8; i += 1)
    if (line < lines && run + i < length)
      matrix[line * ld + run + i] = part[i];
}

extern "C" __global__ void __launch_bounds__(128) kern0(int M, int N, int K, const fp16 *__restrict__ A, int ldA,
    const fp16 *__restrict__ B, int ldB, fp16 *__restrict__ C, int ldC) {
  extern __shared__ half8 shared_memory[];
  half8 *const shared_A = shared_memory;  // 512 chunks of 8 values
  half8 *const shared_B = shared_memory + 512;  // 512 chunks of 8 values

  const int linearId = threadIdx.x;
  const int lane = linearId % 32;
  const int warp = linearId / 32;
  const int warpIdx_x = warp % 2;
  const int warpIdx_y = warp / 2;
  const int blockIdx_x = blockIdx.x;
  const int blockIdx_y = blockIdx.y;

  half8 private_A[4];
  half8 private_B[4];
  half8 hmma_A[4];
  half8 hmma_B[2][2];
  float run_C[2][8];
  float hmma_C[4][2][16];

  // BAND: zero_C -> i - 64*floor(i/64)  (the accumulators start at 0)
  #pragma unroll
  for (int c4 = 0; c4 <= 48; c4 += 16) {
    // BAND: zero_C -> j - 64*floor(j/64)  (the accumulators start at 0)
    #pragma unroll
    for (int c5 = 0; c5 <= 32; c5 += 32) {
      hmma_zero(hmma_C[c4 / 16][c5 / 32]);
    }
  }

  // where the thread's loads of a trip start; the pointers move on with the loop
  const fp16 *from_A = A + (long long)(128 * blockIdx_y + linearId / 4) * ldA + 8 * (linearId % 4);
  const fp16 *from_B = B + (long long)(128 * blockIdx_x + linearId / 4) * ldB + 8 * (linearId % 4);

  // BAND: load_A, load_B, store_A, store_B -> kt - 1; S -> floor(k/32)
  for (int c2 = -1; c2 < (K + 31) / 32; c2 += 1) {
    // global memory -> registers
    if (K >= 32 * c2 + 33) {
      // a full tile: everything is inside
      if (M >= 128 * blockIdx_y + 128 && K >= 32 * c2 + 64 && N >= 128 * blockIdx_x + 128) {
        // BAND: load_A, load_B -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 3; c3 += 1) {
          private_A[c3] = load_global_128(from_A, 32 * c3, 0, ldA);
          private_B[c3] = load_global_128(from_B, 32 * c3, 0, ldB);
        }
      } else {
        // BAND: load_A, load_B -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 3; c3 += 1) {
          private_A[c3] = load_global_128_guarded(A, 128 * blockIdx_y + 32 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldA, M, K);
          private_B[c3] = load_global_128_guarded(B, 128 * blockIdx_x + 32 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldB, N, K);
        }
      }
      from_A += 32;
      from_B += 32;
    }
    // shared memory -> fragments; macro-MMAs
    if (c2 >= 0) {
      // BAND: S -> floor(k/16) - 2*floor(k/32)
      #pragma unroll
      for (int c8 = 0; c8 <= 1; c8 += 1) {
        // BAND: frag_A -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c9 = 0; c9 <= 3; c9 += 1) {
          hmma_load_a_row_swizzled(hmma_A[c9], shared_A + 64 * c9, 64 * warpIdx_y, 16 * c8, lane);
        }
        // BAND: frag_B -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c9 = 0; c9 <= 1; c9 += 1) {
          hmma_load_b_col_swizzled(hmma_B[c9], shared_B + 128 * c9, 64 * warpIdx_x, 16 * c8, lane);
        }
        // BAND: S -> i - 64*floor(i/64)  (macro-MMAs)
        hmma_row_col(hmma_C, hmma_A, hmma_B);
      }
    }
    // registers -> shared memory
    if (K >= 32 * c2 + 33) {
      __syncthreads();
      // BAND: store_A, store_B -> c  (registers -> shared memory)
      #pragma unroll
      for (int c3 = 0; c3 <= 3; c3 += 1) {
        store_shared_a_row_swizzled(shared_A, private_A[c3], 32 * c3 + linearId / 4, 8 * (linearId % 4));
        store_shared_b_col_swizzled(shared_B, private_B[c3], 32 * c3 + linearId / 4, 8 * (linearId % 4));
      }
      __syncthreads();
    }
  }

  // a full tile: everything is inside
  if (M >= 128 * blockIdx_y + 128 && N >= 128 * blockIdx_x + 128) {
    // BAND: take_C, write_C -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: take_C, write_C -> j - 64*floor(j/64)
      #pragma unroll
      for (int c5 = 0; c5 <= 32; c5 += 32) {
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          take_run(run_C[round], hmma_C[c4 / 16][c5 / 32], round);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          store_global_128(C, 128 * blockIdx_y + c4 + 8 * round + 64 * warpIdx_y + lane / 4,
              128 * blockIdx_x + c5 + 64 * warpIdx_x + 8 * (lane % 4), ldC, pack_half8(run_C[round]));
        }
      }
    }
  } else {
    // BAND: take_C, write_C -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: take_C, write_C -> j - 64*floor(j/64)
      #pragma unroll
      for (int c5 = 0; c5 <= 32; c5 += 32) {
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          take_run(run_C[round], hmma_C[c4 / 16][c5 / 32], round);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          store_global_128_guarded(C, 128 * blockIdx_y + c4 + 8 * round + 64 * warpIdx_y + lane / 4,
              128 * blockIdx_x + c5 + 64 * warpIdx_x + 8 * (lane % 4), ldC, M, N, pack_half8(run_C[round]));
        }
      }
    }
  }
}
