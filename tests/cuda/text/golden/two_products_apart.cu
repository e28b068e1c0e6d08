// kern0: E = A @ B * sigmoid(P @ Q); fp16 in memory, fp32 accumulation.
// A[M, K] row-major, B[K, N] col-major, P[M, L] row-major, Q[L, N] col-major, E[M, N] row-major.
// grid ((N + 127) / 128, (M + 127) / 128, 1), block (256, 1, 1), 24576 bytes of dynamic shared memory.
// A, B, P, Q, E are aligned to 16 bytes; ldA, ldB, ldP, ldQ, ldE are multiples of 8.

typedef unsigned short fp16;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint4 half8;          // eight fp16 values, one 128-bit access

// d = 0
static __device__ __forceinline__ void hmma_zero(float (&d)[8]) {
  #pragma unroll
  for (int i = 0; i < 8; i += 1)
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

// the lane's part of the 16x8 fragment at [i, k], value n of it at
// { [lane, n] -> [+i = 8*floor(lane/16) + (lane mod 8), +k = n] : 0 <= lane < 32 and 0 <= n < 8 }
static __device__ __forceinline__ void hmma_load_a_row_swizzled(half8 &v, const half8 *tile, int i, int k, int lane) {
  const half8 *part = tile + 32 * (lane / 16) + (k / 8 ^ lane / 2 % 4) + 4 * (lane % 8);
  v = part[4 * i];
}

// the lane's part of the 8x16 fragment at [k, j], value n of it at
// { [lane, n] -> [+k = n, +j = 4*floor(lane/16) + (lane mod 4) + 8*(floor(lane/8) mod 2)]
//     : 0 <= lane < 32 and 0 <= n < 8 }
static __device__ __forceinline__ void hmma_load_b_col_swizzled(half8 &v, const half8 *tile, int j, int k, int lane) {
  const half8 *part = tile + 16 * (lane / 16) + (k / 8 % 2 ^ lane / 2 % 2) + 4 * (lane % 4) + 32 * (lane / 8 % 2);
  v = part[4 * j + 2 * (k / 16)];
}

// d += a @ b, 8x8x4 in each quad-pair
static __device__ __forceinline__ void mma_m8n8k4_row_col(float *d, unsigned a0, unsigned a1, unsigned b0,
    unsigned b1) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, {%0, %1, %2, %3, %4, %5, %6, %7};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
}

// macro-MMA m16n16k8: d += a @ b, the warp's four quad-pairs side by side
static __device__ __forceinline__ void hmma_row_col(float (&d)[8], half8 a, half8 b) {
  mma_m8n8k4_row_col(d, a.x, a.y, b.x, b.y);
  mma_m8n8k4_row_col(d, a.z, a.w, b.z, b.w);
}

// the chunk that starts at [i, k] of the tile:
// { [i, k] -> [chunk = 4*i + (floor(i/2) mod 4 ^ floor(k/8))] : 0 <= i < 128 and 0 <= k < 32 }
static __device__ __forceinline__ void store_shared_a_row_swizzled(half8 *tile, half8 v, int i, int k) {
  tile[4 * i + (i / 2 % 4 ^ k / 8)] = v;
}

// the chunk that starts at [j, k] of the tile:
// { [k, j] -> [chunk = 4*j + 2*floor(k/16) + (floor(j/2) mod 2 ^ floor(k/8) mod 2)] : 0 <= k < 32 and 0 <= j < 128 }
static __device__ __forceinline__ void store_shared_b_col_swizzled(half8 *tile, half8 v, int j, int k) {
  tile[4 * j + 2 * (k / 16) + (j / 2 % 2 ^ k / 8 % 2)] = v;
}

// the lane's accumulator fragment as fp32, in pieces of 4 values
static __device__ __forceinline__ void exchange_store(half8 *exchange, const float (&acc)[8], int lane) {
  float4 *piece = (float4 *)exchange;
  const int at = 16 * (lane / 16) + (lane / 4 % 2 ^ lane / 8 % 2) + 2 * (lane % 2) + 36 * (lane / 2 % 2)
      + 8 * (lane / 4 % 2);
  piece[at] = make_float4(acc[0], acc[1], acc[4], acc[5]);
  piece[at ^ 4] = make_float4(acc[2], acc[3], acc[6], acc[7]);
}

// eight consecutive values of the fragment, from
// { [lane] -> [row = floor(lane/2), col = 8*(lane mod 2)] : 0 <= lane < 32 }
static __device__ __forceinline__ void exchange_load(float (&v)[8], const half8 *exchange, int lane) {
  const float4 *vector = (const float4 *)exchange;
  const float4 low = vector[lane ^ lane / 8 % 2], high = vector[(lane ^ (lane / 8 % 2 + 4)) + 32];
  v[0] = low.x, v[1] = low.y, v[2] = high.x, v[3] = high.y;
  v[4] = low.z, v[5] = low.w, v[6] = high.z, v[7] = high.w;
}

// y = x0 * sigmoid(x1), in fp32
static __device__ __forceinline__ void mul_sigmoid(float (&y)[8], const float (&x0)[8], const float (&x1)[8]) {
  #pragma unroll
  for (int i = 0; i < 8; i += 1) {
    const float t0 = expf(x1[i] < 0.0f ? x1[i] : 0.0f) * (1.0f / __fadd_rn(1.0f, expf(-fabsf(x1[i]))));
    y[i] = x0[i] * t0;
  }
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

// one block on a multiprocessor is enough: to fit in more, ptxas would spill a few values
extern "C" __global__ void __launch_bounds__(256, 1) kern0(int M, int N, int K, int L, const fp16 *__restrict__ A,
    int ldA, const fp16 *__restrict__ B, int ldB, const fp16 *__restrict__ P, int ldP, const fp16 *__restrict__ Q,
    int ldQ, fp16 *__restrict__ E, int ldE) {
  extern __shared__ half8 shared_memory[];
  half8 *const shared_A = shared_memory;  // 512 chunks of 8 values
  half8 *const shared_B = shared_memory + 512;  // 512 chunks of 8 values
  half8 *const shared_P = shared_memory;  // 512 chunks of 8 values
  half8 *const shared_Q = shared_memory + 512;  // 512 chunks of 8 values
  half8 *const exchange = shared_memory + 1024;  // 512 chunks of 8 values

  const int linearId = threadIdx.x;
  const int lane = linearId % 32;
  const int warp = linearId / 32;
  const int warpIdx_x = warp % 4;
  const int warpIdx_y = warp / 4;
  const int blockIdx_x = blockIdx.x;
  const int blockIdx_y = blockIdx.y;

  half8 private_A[2];
  half8 private_B[2];
  half8 hmma_A[4];
  half8 hmma_B[2];
  half8 private_P[2];
  half8 private_Q[2];
  half8 hmma_P[4];
  half8 hmma_Q[2];
  float run_C[8];
  float run_D[8];
  float run_E[8];
  float hmma_C[4][2][8];
  float hmma_D[4][2][8];

  // BAND: zero_C -> i - 64*floor(i/64)  (the accumulators start at 0)
  #pragma unroll
  for (int c4 = 0; c4 <= 48; c4 += 16) {
    // BAND: zero_C -> j - 32*floor(j/32)  (the accumulators start at 0)
    #pragma unroll
    for (int c5 = 0; c5 <= 16; c5 += 16) {
      hmma_zero(hmma_C[c4 / 16][c5 / 16]);
    }
  }

  // where the thread's loads of a trip start; the pointers move on with the loop
  const fp16 *from_A = A + (long long)(128 * blockIdx_y + linearId / 4) * ldA + 8 * (linearId % 4);
  const fp16 *from_B = B + (long long)(128 * blockIdx_x + linearId / 4) * ldB + 8 * (linearId % 4);

  // BAND: load_A, load_B, store_A, store_B -> kt - 1; S1 -> floor(k/32)
  for (int c2 = -1; c2 < (K + 31) / 32; c2 += 1) {
    // global memory -> registers
    if (K >= 32 * c2 + 33) {
      // a full tile: everything is inside
      if (M >= 128 * blockIdx_y + 128 && K >= 32 * c2 + 64 && N >= 128 * blockIdx_x + 128) {
        // BAND: load_A, load_B -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_A[c3] = load_global_128(from_A, 64 * c3, 0, ldA);
          private_B[c3] = load_global_128(from_B, 64 * c3, 0, ldB);
        }
      } else {
        // BAND: load_A, load_B -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_A[c3] = load_global_128_guarded(A, 128 * blockIdx_y + 64 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldA, M, K);
          private_B[c3] = load_global_128_guarded(B, 128 * blockIdx_x + 64 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldB, N, K);
        }
      }
      from_A += 32;
      from_B += 32;
    }
    // shared memory -> fragments; macro-MMAs
    if (c2 >= 0) {
      // BAND: S1 -> floor(k/8) - 4*floor(k/32)
      #pragma unroll
      for (int c8 = 0; c8 <= 3; c8 += 1) {
        // BAND: frag_A -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c9 = 0; c9 <= 3; c9 += 1) {
          hmma_load_a_row_swizzled(hmma_A[c9], shared_A, 16 * c9 + 64 * warpIdx_y, 8 * c8, lane);
        }
        // BAND: frag_B -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c9 = 0; c9 <= 1; c9 += 1) {
          hmma_load_b_col_swizzled(hmma_B[c9], shared_B, 16 * c9 + 32 * warpIdx_x, 8 * c8, lane);
        }
        // BAND: S1 -> i - 64*floor(i/64)  (macro-MMAs)
        #pragma unroll
        for (int c9 = 0; c9 <= 48; c9 += 16) {
          // BAND: S1 -> j - 32*floor(j/32)  (macro-MMAs)
          #pragma unroll
          for (int c10 = 0; c10 <= 16; c10 += 16) {
            hmma_row_col(hmma_C[c9 / 16][c10 / 16], hmma_A[c9 / 16], hmma_B[c10 / 16]);
          }
        }
      }
    }
    // registers -> shared memory
    if (K >= 32 * c2 + 33) {
      __syncthreads();
      // BAND: store_A, store_B -> c  (registers -> shared memory)
      #pragma unroll
      for (int c3 = 0; c3 <= 1; c3 += 1) {
        store_shared_a_row_swizzled(shared_A, private_A[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
        store_shared_b_col_swizzled(shared_B, private_B[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
      }
      __syncthreads();
    }
  }

  // BAND: zero_D -> i - 64*floor(i/64)  (the accumulators start at 0)
  #pragma unroll
  for (int c4 = 0; c4 <= 48; c4 += 16) {
    // BAND: zero_D -> j - 32*floor(j/32)  (the accumulators start at 0)
    #pragma unroll
    for (int c5 = 0; c5 <= 16; c5 += 16) {
      hmma_zero(hmma_D[c4 / 16][c5 / 16]);
    }
  }

  // where the thread's loads of a trip start; the pointers move on with the loop
  const fp16 *from_P = P + (long long)(128 * blockIdx_y + linearId / 4) * ldP + 8 * (linearId % 4);
  const fp16 *from_Q = Q + (long long)(128 * blockIdx_x + linearId / 4) * ldQ + 8 * (linearId % 4);

  // BAND: load_P, load_Q, store_P, store_Q -> kt - 1; S2 -> floor(k/32)
  for (int c2 = -1; c2 < (L + 31) / 32; c2 += 1) {
    // global memory -> registers
    if (L >= 32 * c2 + 33) {
      // a full tile: everything is inside
      if (M >= 128 * blockIdx_y + 128 && L >= 32 * c2 + 64 && N >= 128 * blockIdx_x + 128) {
        // BAND: load_P, load_Q -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_P[c3] = load_global_128(from_P, 64 * c3, 0, ldP);
          private_Q[c3] = load_global_128(from_Q, 64 * c3, 0, ldQ);
        }
      } else {
        // BAND: load_P, load_Q -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_P[c3] = load_global_128_guarded(P, 128 * blockIdx_y + 64 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldP, M, L);
          private_Q[c3] = load_global_128_guarded(Q, 128 * blockIdx_x + 64 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldQ, N, L);
        }
      }
      from_P += 32;
      from_Q += 32;
    }
    // shared memory -> fragments; macro-MMAs
    if (c2 >= 0) {
      // BAND: S2 -> floor(k/8) - 4*floor(k/32)
      #pragma unroll
      for (int c8 = 0; c8 <= 3; c8 += 1) {
        // BAND: frag_P -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c9 = 0; c9 <= 3; c9 += 1) {
          hmma_load_a_row_swizzled(hmma_P[c9], shared_P, 16 * c9 + 64 * warpIdx_y, 8 * c8, lane);
        }
        // BAND: frag_Q -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c9 = 0; c9 <= 1; c9 += 1) {
          hmma_load_b_col_swizzled(hmma_Q[c9], shared_Q, 16 * c9 + 32 * warpIdx_x, 8 * c8, lane);
        }
        // BAND: S2 -> i - 64*floor(i/64)  (macro-MMAs)
        #pragma unroll
        for (int c9 = 0; c9 <= 48; c9 += 16) {
          // BAND: S2 -> j - 32*floor(j/32)  (macro-MMAs)
          #pragma unroll
          for (int c10 = 0; c10 <= 16; c10 += 16) {
            hmma_row_col(hmma_D[c9 / 16][c10 / 16], hmma_P[c9 / 16], hmma_Q[c10 / 16]);
          }
        }
      }
    }
    // registers -> shared memory
    if (L >= 32 * c2 + 33) {
      __syncthreads();
      // BAND: store_P, store_Q -> c  (registers -> shared memory)
      #pragma unroll
      for (int c3 = 0; c3 <= 1; c3 += 1) {
        store_shared_a_row_swizzled(shared_P, private_P[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
        store_shared_b_col_swizzled(shared_Q, private_Q[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
      }
      __syncthreads();
    }
  }

  // a full tile: everything is inside
  if (M >= 128 * blockIdx_y + 128 && N >= 128 * blockIdx_x + 128) {
    // BAND: exchange_C, gather_C, exchange_D, gather_D, S3, write_E -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: exchange_C, gather_C, exchange_D, gather_D, S3, write_E -> j - 32*floor(j/32)
      #pragma unroll
      for (int c5 = 0; c5 <= 16; c5 += 16) {
        exchange_store(exchange + 64 * warp, hmma_C[c4 / 16][c5 / 16], lane);
        __syncwarp();
        exchange_load(run_C, exchange + 64 * warp, lane);
        __syncwarp();
        exchange_store(exchange + 64 * warp, hmma_D[c4 / 16][c5 / 16], lane);
        __syncwarp();
        exchange_load(run_D, exchange + 64 * warp, lane);
        mul_sigmoid(run_E, run_C, run_D);
        store_global_128(E, 128 * blockIdx_y + c4 + 64 * warpIdx_y + lane / 2,
            128 * blockIdx_x + c5 + 32 * warpIdx_x + 8 * (lane % 2), ldE, pack_half8(run_E));
        __syncwarp();
      }
    }
  } else {
    // BAND: exchange_C, gather_C, exchange_D, gather_D, S3, write_E -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: exchange_C, gather_C, exchange_D, gather_D, S3, write_E -> j - 32*floor(j/32)
      #pragma unroll
      for (int c5 = 0; c5 <= 16; c5 += 16) {
        exchange_store(exchange + 64 * warp, hmma_C[c4 / 16][c5 / 16], lane);
        __syncwarp();
        exchange_load(run_C, exchange + 64 * warp, lane);
        __syncwarp();
        exchange_store(exchange + 64 * warp, hmma_D[c4 / 16][c5 / 16], lane);
        __syncwarp();
        exchange_load(run_D, exchange + 64 * warp, lane);
        mul_sigmoid(run_E, run_C, run_D);
        store_global_128_guarded(E, 128 * blockIdx_y + c4 + 64 * warpIdx_y + lane / 2,
            128 * blockIdx_x + c5 + 32 * warpIdx_x + 8 * (lane % 2), ldE, M, N, pack_half8(run_E));
        __syncwarp();
      }
    }
  }
}
