// kern0: E = relu(A @ B - 0.5 * (P @ Q)); fp16 in memory, fp32 accumulation.
// A[M, K] row-major, B[K, N] col-major, P[M, L] row-major, Q[L, N] col-major, E[M, N] row-major.
// grid ((N + 127) / 128, (M + 127) / 128, 1), block (128, 1, 1), 98304 bytes of dynamic shared memory; blocks in groups
// of 8 rows.
// A, B, P, Q, E are aligned to 16 bytes; ldA, ldB, ldP, ldQ, ldE, K, L are multiples of 8.

typedef unsigned short fp16;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint4 half8;          // eight fp16 values, one 128-bit access

// d = 0
static __device__ __forceinline__ void hmma_zero(float (&d)[16]) {
  #pragma unroll
  for (int i = 0; i < 16; i += 1)
    d[i] = 0.0f;
}

// where the chunk is that starts at [i, k] of the tile:
// { [i, k] -> [chunk = 8*i + (i mod 8 ^ floor(k/8))] : 0 <= i < 128 and 0 <= k < 64 }
static __device__ __forceinline__ half8 *chunk_a_row_swizzled(half8 *tile, int i, int k) {
  return tile + 8 * i + (i % 8 ^ k / 8);
}

// a * b in 64 bits, by the instruction for it: the compiler would widen a factor outside of a loop, and have the
// product of two wide ones inside
static __device__ __forceinline__ long long wide_product(int a, int b) {
  long long product;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}

// a place in shared memory as instructions name it, in 32 bits
static __device__ __forceinline__ unsigned shared_address(const void *p) {
  return __cvta_generic_to_shared(p);
}

// 16 bytes from global to shared memory, some time later: the first ones, so many, and zeros
static __device__ __forceinline__ void copy_async_16_guarded(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}

// matrix[line, run .. run+7] to a chunk of shared memory, lines ld apart, in one piece, with zeros for what is outside
// of the matrix
static __device__ __forceinline__ void copy_global_128_guarded(half8 *chunk, const fp16 *__restrict__ matrix, int line,
    int run, int ld, int lines, int length) {
  copy_async_16_guarded(chunk, matrix + wide_product(line, ld) + run, line < lines && run < length ? 16 : 0);
}

// where the chunk is that starts at [j, k] of the tile:
// { [k, j] -> [chunk = 8*j + ((j mod 2) + 2*(floor(j/8) mod 4) ^ floor(k/8))] : 0 <= k < 64 and 0 <= j < 128 }
static __device__ __forceinline__ half8 *chunk_b_col_swizzled(half8 *tile, int j, int k) {
  return tile + 8 * j + ((j % 2 + 2 * (j / 8 % 4)) ^ k / 8);
}

// the thread's copies since the last commit are a group
static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;");
}

// waits for all of the thread's groups of copies, but for the newest 1
static __device__ __forceinline__ void wait_copies_but_1() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
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
  const int own = 128 * (lane % 16) + 16 * (lane % 8 ^ lane / 16);
  load_matrix_x4(v.x, v.y, v.z, v.w, ((own + 128 * i) ^ 32 * (k / 16)) + shared_address(tile));
}

// the lane's part of the 16x32 fragment at [k, j], value n of it at
// { [lane, n]
//     -> [+k = 2*(lane mod 4) + (n mod 2) + 8*(floor(n/2) mod 2), +j = floor(lane/4) + 6*floor(lane/8) + 2*floor(n/4)]
//     : 0 <= lane < 32 and 0 <= n < 16 }
// for it the lane names in load n the line that starts at
// { [lane, n] -> [+k = 8*(floor(lane/8) mod 2), +j = 4*n + 2*floor(lane/16) + (lane mod 2) + 8*(floor(lane/2) mod 4)]
//     : 0 <= lane < 32 and 0 <= n < 2 }
static __device__ __forceinline__ void hmma_load_b_col_swizzled(half8 (&v)[2], const half8 *tile, int j, int k,
    int lane) {
  const int own = 256 * (lane / 16) + 128 * (lane % 2) + 1024 * (lane / 2 % 4) + 16 * (lane % 8 ^ lane / 8 % 2);
  const unsigned line = ((own + 128 * j) ^ 32 * (k / 16)) + shared_address(tile);
  load_matrix_x4(v[0].x, v[0].y, v[0].z, v[0].w, line);
  load_matrix_x4(v[1].x, v[1].y, v[1].z, v[1].w, line + 512);
}

// d += a @ b, 16x8x16 by the whole warp
static __device__ __forceinline__ void mma_m16n8k16_row_col(float *d, unsigned a0, unsigned a1, unsigned a2,
    unsigned a3, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// 4 x 2 macro-MMAs m16n32k16: d += a @ b, the whole warp together; all rows with a part of b before the next
// part, back and forth, so that an instruction has an operand of the one before
static __device__ __forceinline__ void hmma_row_col(float (&d)[4][2][16], const half8 (&a)[4], const half8 (&b)[2][2]) {
  #pragma unroll
  for (int j = 0; j < 2; j += 1) {
    #pragma unroll
    for (int i = 0; i < 4; i += 1)
      mma_m16n8k16_row_col(d[i][j], a[i].x, a[i].y, a[i].z, a[i].w, b[j][0].x, b[j][0].y);
    #pragma unroll
    for (int i = 3; i >= 0; i -= 1)
      mma_m16n8k16_row_col(d[i][j] + 4, a[i].x, a[i].y, a[i].z, a[i].w, b[j][0].z, b[j][0].w);
    #pragma unroll
    for (int i = 0; i < 4; i += 1)
      mma_m16n8k16_row_col(d[i][j] + 8, a[i].x, a[i].y, a[i].z, a[i].w, b[j][1].x, b[j][1].y);
    #pragma unroll
    for (int i = 3; i >= 0; i -= 1)
      mma_m16n8k16_row_col(d[i][j] + 12, a[i].x, a[i].y, a[i].z, a[i].w, b[j][1].z, b[j][1].w);
  }
}

// the next trip's tiles: each comes a place nearer, the first one last
static __device__ __forceinline__ void turn_ring_of_3(half8 *(&ring)[3]) {
  half8 *const first = ring[0];
  ring[0] = ring[1], ring[1] = ring[2], ring[2] = first;
}

// d = d * factor
static __device__ __forceinline__ void hmma_scale(float (&d)[16], float factor) {
  #pragma unroll
  for (int i = 0; i < 16; i += 1)
    d[i] *= factor;
}

// x, in a way that the compiler does not know it for what it was
static __device__ __forceinline__ int again(int x) {
  int same;
  asm volatile("mov.b32 %0, %1;" : "=r"(same) : "r"(x));
  return same;
}

// eight consecutive values of the fragment, which the lane has itself:
// { [lane, round] -> [row = 8*round + floor(lane/4), col = 8*(lane mod 4)] : 0 <= lane < 32 and 0 <= round < 2 }
static __device__ __forceinline__ void take_run(float (&v)[8], const float (&acc)[16], int round) {
  v[0] = acc[2 * round], v[1] = acc[2 * round + 1], v[2] = acc[2 * round + 4], v[3] = acc[2 * round + 5];
  v[4] = acc[2 * round + 8], v[5] = acc[2 * round + 9], v[6] = acc[2 * round + 12], v[7] = acc[2 * round + 13];
}

// y = relu(neg(0.5 * x0)), in fp32
static __device__ __forceinline__ void relu_neg_mul(float (&y)[8], const float (&x0)[8]) {
  #pragma unroll
  for (int i = 0; i < 8; i += 1) {
    const float t0 = -(0.5f * x0[i]);
    y[i] = t0 < 0.0f ? 0.0f : t0;
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
extern "C" __global__ void __launch_bounds__(128, 1) kern0(int M, int N, int K, int L, const fp16 *__restrict__ A,
    int ldA, const fp16 *__restrict__ B, int ldB, const fp16 *__restrict__ P, int ldP, const fp16 *__restrict__ Q,
    int ldQ, fp16 *__restrict__ E, int ldE) {
  extern __shared__ half8 shared_memory[];
  half8 *const shared_A = shared_memory;  // 3 buffers of 1024 chunks of 8 values
  half8 *const shared_B = shared_memory + 3072;  // 3 buffers of 1024 chunks of 8 values
  half8 *const shared_P = shared_memory;  // 3 buffers of 1024 chunks of 8 values
  half8 *const shared_Q = shared_memory + 3072;  // 3 buffers of 1024 chunks of 8 values

  int linearId = threadIdx.x;
  int lane = linearId % 32;
  int warp = linearId / 32;
  int warpIdx_x = warp % 2;
  int warpIdx_y = warp / 2;
  // blocks in groups of 8 rows, a group column by column: the L2 cache serves those that run together
  const unsigned group = (gridDim.x * blockIdx.y + blockIdx.x) / (8 * gridDim.x);
  const unsigned place = (gridDim.x * blockIdx.y + blockIdx.x) % (8 * gridDim.x);
  const unsigned height = min(8u, gridDim.y - 8 * group);
  const int blockIdx_x = place / height;
  const int blockIdx_y = 8 * group + place % height;

  half8 hmma_A[2][4];
  half8 hmma_B[2][2][2];
  half8 hmma_P[2][4];
  half8 hmma_Q[2][2][2];
  float run_C[2][8];
  float run_E[2][8];
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

  // BAND: copy_A, copy_B -> kt - 2; frag_A, frag_B -> kt + floor((ks + 3)/4) - 1
  #pragma unroll
  for (int c2 = -2; c2 <= -1; c2 += 1) {
    // BAND: copy_A, copy_B -> c  (global memory -> shared memory)
    #pragma unroll
    for (int c4 = 0; c4 <= 7; c4 += 1) {
      copy_global_128_guarded(chunk_a_row_swizzled(shared_A + 1024 * c2 + 2048, linearId / 8, 8 * (linearId % 8))
          + 128 * c4, A, 128 * blockIdx_y + 16 * c4 + linearId / 8, 64 * c2 + 8 * (linearId % 8) + 128, ldA, M, K);
      copy_global_128_guarded(chunk_b_col_swizzled(shared_B + 1024 * c2 + 2048, linearId / 8 + 16 * (c4 % 2),
          8 * (linearId % 8)) + 256 * (c4 / 2), B, 128 * blockIdx_x + 16 * c4 + linearId / 8,
          64 * c2 + 8 * (linearId % 8) + 128, ldB, N, K);
    }
    commit_copies();
    // shared memory -> fragments
    if (c2 + 1 >= 0) {
      wait_copies_but_1();
      __syncthreads();
      // shared memory -> fragments
      if (K >= 1) {
        // BAND: frag_A -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c6 = 0; c6 <= 3; c6 += 1) {
          hmma_load_a_row_swizzled(hmma_A[0][c6], shared_A + 128 * c6, 64 * warpIdx_y, 0, lane);
        }
        // BAND: frag_B -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c6 = 0; c6 <= 1; c6 += 1) {
          hmma_load_b_col_swizzled(hmma_B[0][c6], shared_B + 256 * c6, 64 * warpIdx_x, 0, lane);
        }
      }
    }
  }

  // where the thread's loads of a trip start; the pointers move on with the loop
  const fp16 *from_A = A + (long long)(128 * blockIdx_y + linearId / 8) * ldA + 8 * (linearId % 8) + 128;
  const fp16 *from_B = B + (long long)(128 * blockIdx_x + linearId / 8) * ldB + 8 * (linearId % 8) + 128;

  // the tiles of a trip and of those to come; the rings turn with the loop
  half8 *ring_A[3] = {shared_A, shared_A + 1024, shared_A + 2048};
  half8 *ring_B[3] = {shared_B, shared_B + 1024, shared_B + 2048};

  // BAND: copy_A, copy_B -> kt - 2; frag_A, frag_B -> kt + floor((ks + 3)/4) - 1; S1 -> floor(k/64)
  for (int c2 = 0; c2 < (K + 63) / 64; c2 += 1) {
    // BAND: copy_A, copy_B -> c  (global memory -> shared memory)
    #pragma unroll
    for (int c4 = 0; c4 <= 7; c4 += 1) {
      copy_global_128_guarded(chunk_a_row_swizzled(ring_A[2], linearId / 8, 8 * (linearId % 8)) + 128 * c4, from_A,
          16 * c4, 0, ldA, M - 128 * blockIdx_y - linearId / 8, K - 64 * c2 - 8 * (linearId % 8) - 128);
      copy_global_128_guarded(chunk_b_col_swizzled(ring_B[2], linearId / 8 + 16 * (c4 % 2), 8 * (linearId % 8))
          + 256 * (c4 / 2), from_B, 16 * c4, 0, ldB, N - 128 * blockIdx_x - linearId / 8,
          K - 64 * c2 - 8 * (linearId % 8) - 128);
    }
    commit_copies();
    // BAND: frag_A -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_row_swizzled(hmma_A[1][c6], ring_A[0] + 128 * c6, 64 * warpIdx_y, 16, lane);
    }
    // BAND: frag_B -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_col_swizzled(hmma_B[1][c6], ring_B[0] + 256 * c6, 64 * warpIdx_x, 16, lane);
    }
    // BAND: S1 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[0], hmma_B[0]);
    // BAND: frag_A -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_row_swizzled(hmma_A[0][c6], ring_A[0] + 128 * c6, 64 * warpIdx_y, 32, lane);
    }
    // BAND: frag_B -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_col_swizzled(hmma_B[0][c6], ring_B[0] + 256 * c6, 64 * warpIdx_x, 32, lane);
    }
    // BAND: S1 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[1], hmma_B[1]);
    // BAND: frag_A -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_row_swizzled(hmma_A[1][c6], ring_A[0] + 128 * c6, 64 * warpIdx_y, 48, lane);
    }
    // BAND: frag_B -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_col_swizzled(hmma_B[1][c6], ring_B[0] + 256 * c6, 64 * warpIdx_x, 48, lane);
    }
    // BAND: S1 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[0], hmma_B[0]);
    wait_copies_but_1();
    __syncthreads();
    // shared memory -> fragments
    if (K >= 64 * c2 + 65) {
      // BAND: frag_A -> f  (shared memory -> fragments)
      #pragma unroll
      for (int c6 = 0; c6 <= 3; c6 += 1) {
        hmma_load_a_row_swizzled(hmma_A[0][c6], ring_A[1] + 128 * c6, 64 * warpIdx_y, 0, lane);
      }
      // BAND: frag_B -> f  (shared memory -> fragments)
      #pragma unroll
      for (int c6 = 0; c6 <= 1; c6 += 1) {
        hmma_load_b_col_swizzled(hmma_B[0][c6], ring_B[1] + 256 * c6, 64 * warpIdx_x, 0, lane);
      }
    }
    // BAND: S1 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[1], hmma_B[1]);
    from_A += 64;
    from_B += 64;
    turn_ring_of_3(ring_A);
    turn_ring_of_3(ring_B);
  }

  // BAND: commit_S1 -> kt - 2; wait_S1, sync_read_S1 -> kt - 1
  for (int c2 = (K + 63) / 64; c2 <= (K + 63) / 64 + 1; c2 += 1) {
    commit_copies();
    if (K + 63 >= 64 * c2) {
      wait_copies_but_1();
      __syncthreads();
    }
  }

  // BAND: scale_C -> i - 64*floor(i/64)  (the accumulators times -2)
  #pragma unroll
  for (int c4 = 0; c4 <= 48; c4 += 16) {
    // BAND: scale_C -> j - 64*floor(j/64)  (the accumulators times -2)
    #pragma unroll
    for (int c5 = 0; c5 <= 32; c5 += 32) {
      hmma_scale(hmma_C[c4 / 16][c5 / 32], -2.0f);
    }
  }

  // the thread's numbers again: nothing that depends on them is kept across the loop before
  linearId = again(threadIdx.x);
  lane = linearId % 32;
  warp = linearId / 32;
  warpIdx_x = warp % 2;
  warpIdx_y = warp / 2;

  // BAND: copy_P, copy_Q -> kt - 2; frag_P, frag_Q -> kt + floor((ks + 3)/4) - 1
  #pragma unroll
  for (int c2 = -2; c2 <= -1; c2 += 1) {
    // BAND: copy_P, copy_Q -> c  (global memory -> shared memory)
    #pragma unroll
    for (int c4 = 0; c4 <= 7; c4 += 1) {
      copy_global_128_guarded(chunk_a_row_swizzled(shared_P + 1024 * c2 + 2048, linearId / 8, 8 * (linearId % 8))
          + 128 * c4, P, 128 * blockIdx_y + 16 * c4 + linearId / 8, 64 * c2 + 8 * (linearId % 8) + 128, ldP, M, L);
      copy_global_128_guarded(chunk_b_col_swizzled(shared_Q + 1024 * c2 + 2048, linearId / 8 + 16 * (c4 % 2),
          8 * (linearId % 8)) + 256 * (c4 / 2), Q, 128 * blockIdx_x + 16 * c4 + linearId / 8,
          64 * c2 + 8 * (linearId % 8) + 128, ldQ, N, L);
    }
    commit_copies();
    // shared memory -> fragments
    if (c2 + 1 >= 0) {
      wait_copies_but_1();
      __syncthreads();
      // shared memory -> fragments
      if (L >= 1) {
        // BAND: frag_P -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c6 = 0; c6 <= 3; c6 += 1) {
          hmma_load_a_row_swizzled(hmma_P[0][c6], shared_P + 128 * c6, 64 * warpIdx_y, 0, lane);
        }
        // BAND: frag_Q -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c6 = 0; c6 <= 1; c6 += 1) {
          hmma_load_b_col_swizzled(hmma_Q[0][c6], shared_Q + 256 * c6, 64 * warpIdx_x, 0, lane);
        }
      }
    }
  }

  // where the thread's loads of a trip start; the pointers move on with the loop
  const fp16 *from_P = P + (long long)(128 * blockIdx_y + linearId / 8) * ldP + 8 * (linearId % 8) + 128;
  const fp16 *from_Q = Q + (long long)(128 * blockIdx_x + linearId / 8) * ldQ + 8 * (linearId % 8) + 128;

  // the tiles of a trip and of those to come; the rings turn with the loop
  half8 *ring_P[3] = {shared_P, shared_P + 1024, shared_P + 2048};
  half8 *ring_Q[3] = {shared_Q, shared_Q + 1024, shared_Q + 2048};

  // BAND: copy_P, copy_Q -> kt - 2; frag_P, frag_Q -> kt + floor((ks + 3)/4) - 1; S2 -> floor(k/64)
  for (int c2 = 0; c2 < (L + 63) / 64; c2 += 1) {
    // BAND: copy_P, copy_Q -> c  (global memory -> shared memory)
    #pragma unroll
    for (int c4 = 0; c4 <= 7; c4 += 1) {
      copy_global_128_guarded(chunk_a_row_swizzled(ring_P[2], linearId / 8, 8 * (linearId % 8)) + 128 * c4, from_P,
          16 * c4, 0, ldP, M - 128 * blockIdx_y - linearId / 8, L - 64 * c2 - 8 * (linearId % 8) - 128);
      copy_global_128_guarded(chunk_b_col_swizzled(ring_Q[2], linearId / 8 + 16 * (c4 % 2), 8 * (linearId % 8))
          + 256 * (c4 / 2), from_Q, 16 * c4, 0, ldQ, N - 128 * blockIdx_x - linearId / 8,
          L - 64 * c2 - 8 * (linearId % 8) - 128);
    }
    commit_copies();
    // BAND: frag_P -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_row_swizzled(hmma_P[1][c6], ring_P[0] + 128 * c6, 64 * warpIdx_y, 16, lane);
    }
    // BAND: frag_Q -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_col_swizzled(hmma_Q[1][c6], ring_Q[0] + 256 * c6, 64 * warpIdx_x, 16, lane);
    }
    // BAND: S2 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_P[0], hmma_Q[0]);
    // BAND: frag_P -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_row_swizzled(hmma_P[0][c6], ring_P[0] + 128 * c6, 64 * warpIdx_y, 32, lane);
    }
    // BAND: frag_Q -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_col_swizzled(hmma_Q[0][c6], ring_Q[0] + 256 * c6, 64 * warpIdx_x, 32, lane);
    }
    // BAND: S2 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_P[1], hmma_Q[1]);
    // BAND: frag_P -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_row_swizzled(hmma_P[1][c6], ring_P[0] + 128 * c6, 64 * warpIdx_y, 48, lane);
    }
    // BAND: frag_Q -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_col_swizzled(hmma_Q[1][c6], ring_Q[0] + 256 * c6, 64 * warpIdx_x, 48, lane);
    }
    // BAND: S2 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_P[0], hmma_Q[0]);
    wait_copies_but_1();
    __syncthreads();
    // shared memory -> fragments
    if (L >= 64 * c2 + 65) {
      // BAND: frag_P -> f  (shared memory -> fragments)
      #pragma unroll
      for (int c6 = 0; c6 <= 3; c6 += 1) {
        hmma_load_a_row_swizzled(hmma_P[0][c6], ring_P[1] + 128 * c6, 64 * warpIdx_y, 0, lane);
      }
      // BAND: frag_Q -> f  (shared memory -> fragments)
      #pragma unroll
      for (int c6 = 0; c6 <= 1; c6 += 1) {
        hmma_load_b_col_swizzled(hmma_Q[0][c6], ring_Q[1] + 256 * c6, 64 * warpIdx_x, 0, lane);
      }
    }
    // BAND: S2 -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_P[1], hmma_Q[1]);
    from_P += 64;
    from_Q += 64;
    turn_ring_of_3(ring_P);
    turn_ring_of_3(ring_Q);
  }

  // BAND: commit_S2 -> kt - 2; wait_S2, sync_read_S2 -> kt - 1
  for (int c2 = (L + 63) / 64; c2 <= (L + 63) / 64 + 1; c2 += 1) {
    commit_copies();
    if (L + 63 >= 64 * c2) {
      wait_copies_but_1();
      __syncthreads();
    }
  }

  // a full tile: everything is inside
  if (M >= 128 * blockIdx_y + 128 && N >= 128 * blockIdx_x + 128) {
    // BAND: take_C, S3, write_E -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: take_C, S3, write_E -> j - 64*floor(j/64)
      #pragma unroll
      for (int c5 = 0; c5 <= 32; c5 += 32) {
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          take_run(run_C[round], hmma_C[c4 / 16][c5 / 32], round);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          relu_neg_mul(run_E[round], run_C[round]);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          store_global_128(E, 128 * blockIdx_y + c4 + 8 * round + 64 * warpIdx_y + lane / 4,
              128 * blockIdx_x + c5 + 64 * warpIdx_x + 8 * (lane % 4), ldE, pack_half8(run_E[round]));
        }
      }
    }
  } else {
    // BAND: take_C, S3, write_E -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: take_C, S3, write_E -> j - 64*floor(j/64)
      #pragma unroll
      for (int c5 = 0; c5 <= 32; c5 += 32) {
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          take_run(run_C[round], hmma_C[c4 / 16][c5 / 32], round);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          relu_neg_mul(run_E[round], run_C[round]);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          store_global_128_guarded(E, 128 * blockIdx_y + c4 + 8 * round + 64 * warpIdx_y + lane / 4,
              128 * blockIdx_x + c5 + 64 * warpIdx_x + 8 * (lane % 4), ldE, M, N, pack_half8(run_E[round]));
        }
      }
    }
  }
}
