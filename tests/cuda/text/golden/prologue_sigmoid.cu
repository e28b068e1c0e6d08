// kern0: C = sigmoid(A + shift) @ B; fp16 in memory, fp32 accumulation.
// A[M, K] row-major, shift[K], B[K, N] col-major, C[M, N] row-major.
// grid ((N + 127) / 128, (M + 127) / 128, 1), block (256, 1, 1), 20480 bytes of dynamic shared memory.
// A, shift, B, C are aligned to 16 bytes; ldA, ldB, ldC are multiples of 8.

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

// vector[at .. at+7], in one 128-bit load
static __device__ __forceinline__ half8 load_vector_128(const fp16 *__restrict__ vector, int at) {
  return *(const half8 *)(vector + at);
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

// vector[at .. at+7], with zeros for what is outside of the vector
static __device__ __forceinline__ half8 load_vector_128_guarded(const fp16 *__restrict__ vector, int at, int length) {
  if (at + 8 <= length)
    return load_vector_128(vector, at);
  fp16 part[8];
  #pragma unroll
  for (int i = 0; i < 8; i += 1)
    part[i] = at + i < length ? vector[at + i] : (fp16)0;
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

// two fp16 values as fp32; the first is in the low half
static __device__ __forceinline__ void unpack_half2(float &low, float &high, unsigned packed) {
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
      : "=f"(low), "=f"(high) : "r"(packed));
}

// eight fp16 values as fp32
static __device__ __forceinline__ void unpack_half8(float (&v)[8], half8 packed) {
  unpack_half2(v[0], v[1], packed.x);
  unpack_half2(v[2], v[3], packed.y);
  unpack_half2(v[4], v[5], packed.z);
  unpack_half2(v[6], v[7], packed.w);
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

// y = sigmoid(x0 + x1), in fp32, rounded to fp16
static __device__ __forceinline__ half8 sigmoid_add(half8 packed0, half8 packed1) {
  float x0[8];
  unpack_half8(x0, packed0);
  float x1[8];
  unpack_half8(x1, packed1);
  float y[8];
  #pragma unroll
  for (int i = 0; i < 8; i += 1) {
    const float t0 = x0[i] + x1[i];
    y[i] = expf(t0 < 0.0f ? t0 : 0.0f) * (1.0f / __fadd_rn(1.0f, expf(-fabsf(t0))));
  }
  return pack_half8(y);
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

// y = sigmoid(x0 + x1), in fp32, rounded to fp16; values from number count on are 0
static __device__ __forceinline__ half8 sigmoid_add_inside(half8 packed0, half8 packed1, int count) {
  float x0[8];
  unpack_half8(x0, packed0);
  float x1[8];
  unpack_half8(x1, packed1);
  float y[8];
  #pragma unroll
  for (int i = 0; i < 8; i += 1) {
    const float t0 = x0[i] + x1[i];
    y[i] = i < count ? expf(t0 < 0.0f ? t0 : 0.0f) * (1.0f / __fadd_rn(1.0f, expf(-fabsf(t0)))) : 0.0f;
  }
  return pack_half8(y);
}

// the lane's accumulator fragment as fp16, in pieces of 4 values
static __device__ __forceinline__ void exchange_store(half8 *exchange, const float (&acc)[8], int lane) {
  uint2 *piece = (uint2 *)exchange;
  const int at = 32 * (lane / 16) + 4 * (lane % 2) + lane / 2 % 2 + 24 * (lane / 4 % 2) + 2 * (lane / 8 % 2);
  piece[at] = make_uint2(pack_half2(acc[0], acc[1]), pack_half2(acc[4], acc[5]));
  piece[at ^ 8] = make_uint2(pack_half2(acc[2], acc[3]), pack_half2(acc[6], acc[7]));
}

// eight consecutive values of the fragment, from
// { [lane] -> [row = floor(lane/2), col = 8*(lane mod 2)] : 0 <= lane < 32 }
static __device__ __forceinline__ half8 exchange_load(const half8 *exchange, int lane) {
  const half8 v = exchange[lane ^ 4 * (lane / 8 % 2)];
  return make_uint4(v.x, v.z, v.y, v.w);
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
extern "C" __global__ void __launch_bounds__(256, 1) kern0(int M, int N, int K, const fp16 *__restrict__ A, int ldA,
    const fp16 *__restrict__ shift, const fp16 *__restrict__ B, int ldB, fp16 *__restrict__ C, int ldC) {
  extern __shared__ half8 shared_memory[];
  half8 *const shared_A = shared_memory;  // 512 chunks of 8 values
  half8 *const shared_B = shared_memory + 512;  // 512 chunks of 8 values
  half8 *const exchange = shared_memory + 1024;  // 256 chunks of 8 values

  const int linearId = threadIdx.x;
  const int lane = linearId % 32;
  const int warp = linearId / 32;
  const int warpIdx_x = warp % 4;
  const int warpIdx_y = warp / 4;
  const int blockIdx_x = blockIdx.x;
  const int blockIdx_y = blockIdx.y;

  half8 private_A[2];
  half8 private_shift[2];
  half8 private_B[2];
  half8 hmma_A[4];
  half8 hmma_B[2];
  half8 run_C;
  float hmma_C[4][2][8];

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

  // BAND: load_A, load_shift, load_B, store_A, store_B -> kt - 1; S -> floor(k/32)
  for (int c2 = -1; c2 < (K + 31) / 32; c2 += 1) {
    // global memory -> registers
    if (K >= 32 * c2 + 33) {
      // a full tile: everything is inside
      if (M >= 128 * blockIdx_y + 128 && K >= 32 * c2 + 64 && N >= 128 * blockIdx_x + 128) {
        // BAND: load_A, load_shift, load_B -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_A[c3] = load_global_128(from_A, 64 * c3, 0, ldA);
          private_shift[c3] = load_vector_128(shift, 32 * c2 + 8 * (linearId % 4) + 32);
          private_B[c3] = load_global_128(from_B, 64 * c3, 0, ldB);
        }
      } else {
        // BAND: load_A, load_shift, load_B -> c  (global memory -> registers)
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_A[c3] = load_global_128_guarded(A, 128 * blockIdx_y + 64 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldA, M, K);
          private_shift[c3] = load_vector_128_guarded(shift, 32 * c2 + 8 * (linearId % 4) + 32, K);
          private_B[c3] = load_global_128_guarded(B, 128 * blockIdx_x + 64 * c3 + linearId / 4,
              32 * c2 + 8 * (linearId % 4) + 32, ldB, N, K);
        }
      }
      from_A += 32;
      from_B += 32;
    }
    // shared memory -> fragments; macro-MMAs
    if (c2 >= 0) {
      // BAND: S -> floor(k/8) - 4*floor(k/32)
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
        // BAND: S -> i - 64*floor(i/64)  (macro-MMAs)
        #pragma unroll
        for (int c9 = 0; c9 <= 48; c9 += 16) {
          // BAND: S -> j - 32*floor(j/32)  (macro-MMAs)
          #pragma unroll
          for (int c10 = 0; c10 <= 16; c10 += 16) {
            hmma_row_col(hmma_C[c9 / 16][c10 / 16], hmma_A[c9 / 16], hmma_B[c10 / 16]);
          }
        }
      }
    }
    // the prologue of A, registers -> shared memory; registers -> shared memory
    if (K >= 32 * c2 + 33) {
      __syncthreads();
      // a full tile: everything is inside
      if (K >= 32 * c2 + 64) {
        // BAND: store_A, store_B -> c
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_A[c3] = sigmoid_add(private_A[c3], private_shift[c3]);
          store_shared_a_row_swizzled(shared_A, private_A[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
          store_shared_b_col_swizzled(shared_B, private_B[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
        }
      } else {
        // BAND: store_A, store_B -> c
        #pragma unroll
        for (int c3 = 0; c3 <= 1; c3 += 1) {
          private_A[c3] = sigmoid_add_inside(private_A[c3], private_shift[c3], K - 32 * c2 - 8 * (linearId % 4) - 32);
          store_shared_a_row_swizzled(shared_A, private_A[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
          store_shared_b_col_swizzled(shared_B, private_B[c3], 64 * c3 + linearId / 4, 8 * (linearId % 4));
        }
      }
      __syncthreads();
    }
  }

  // a full tile: everything is inside
  if (M >= 128 * blockIdx_y + 128 && N >= 128 * blockIdx_x + 128) {
    // BAND: exchange_C, gather_C, write_C -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: exchange_C, gather_C, write_C -> j - 32*floor(j/32)
      #pragma unroll
      for (int c5 = 0; c5 <= 16; c5 += 16) {
        exchange_store(exchange + 32 * warp, hmma_C[c4 / 16][c5 / 16], lane);
        __syncwarp();
        run_C = exchange_load(exchange + 32 * warp, lane);
        store_global_128(C, 128 * blockIdx_y + c4 + 64 * warpIdx_y + lane / 2,
            128 * blockIdx_x + c5 + 32 * warpIdx_x + 8 * (lane % 2), ldC, run_C);
        __syncwarp();
      }
    }
  } else {
    // BAND: exchange_C, gather_C, write_C -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: exchange_C, gather_C, write_C -> j - 32*floor(j/32)
      #pragma unroll
      for (int c5 = 0; c5 <= 16; c5 += 16) {
        exchange_store(exchange + 32 * warp, hmma_C[c4 / 16][c5 / 16], lane);
        __syncwarp();
        run_C = exchange_load(exchange + 32 * warp, lane);
        store_global_128_guarded(C, 128 * blockIdx_y + c4 + 64 * warpIdx_y + lane / 2,
            128 * blockIdx_x + c5 + 32 * warpIdx_x + 8 * (lane % 2), ldC, M, N, run_C);
        __syncwarp();
      }
    }
  }
}
