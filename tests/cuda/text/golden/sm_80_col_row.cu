// kern0: C = A @ B; fp16 in memory, fp32 accumulation.
// A[M, K] col-major, B[K, N] row-major, C[M, N] row-major.
// grid ((N + 127) / 128, (M + 127) / 128, 1), block (128, 1, 1), 102400 bytes of dynamic shared memory; blocks in
// groups of 8 rows.
// A, B, C are aligned to 16 bytes; ldA, ldB, ldC, M, N are multiples of 8.

typedef unsigned short fp16;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint4 half8;          // eight fp16 values, one 128-bit access

// d = 0
static __device__ __forceinline__ void hmma_zero(float (&d)[16]) {
  #pragma unroll
  for (int i = 0; i < 16; i += 1)
    d[i] = 0.0f;
}

// where the chunk is that starts at [k, i] of the tile:
// { [i, k] -> [chunk = 16*k + 8*floor(i/64) + (k mod 8 ^ floor(i/8) mod 8)] : 0 <= i < 128 and 0 <= k < 64 }
static __device__ __forceinline__ half8 *chunk_a_col_swizzled(half8 *tile, int k, int i) {
  return tile + 16 * k + 8 * (i / 64) + (k % 8 ^ i / 8 % 8);
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

// where the chunk is that starts at [k, j] of the tile:
// { [k, j] -> [chunk = 16*k + 8*floor(j/64) + (k mod 8 ^ floor(j/8) mod 8)] : 0 <= k < 64 and 0 <= j < 128 }
static __device__ __forceinline__ half8 *chunk_b_row_swizzled(half8 *tile, int k, int j) {
  return tile + 16 * k + 8 * (j / 64) + (k % 8 ^ j / 8 % 8);
}

// the thread's copies since the last commit are a group
static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;");
}

// waits for all of the thread's groups of copies, but for the newest 1
static __device__ __forceinline__ void wait_copies_but_1() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
}

// four 8x8 matrices of shared memory, each transposed, a register of each; lane l names line l % 8 of matrix l / 8
static __device__ __forceinline__ void load_matrix_x4_transposed(unsigned &r0, unsigned &r1, unsigned &r2, unsigned &r3,
    unsigned line) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(line) : "memory");
}

// the lane's part of the 16x16 fragment at [i, k], value n of it at
// { [lane, n] -> [+i = floor(lane/4) + 8*(floor(n/2) mod 2), +k = 8*floor(n/4) + 2*(lane mod 4) + (n mod 2)]
//     : 0 <= lane < 32 and 0 <= n < 8 }
// for it the lane names the line that starts at
// { [lane] -> [+i = 8*(floor(lane/8) mod 2), +k = 8*floor(lane/16) + (lane mod 8)] : 0 <= lane < 32 }
static __device__ __forceinline__ void hmma_load_a_col_swizzled(half8 &v, const half8 *tile, int k, int i, int lane) {
  const int own = 2048 * (lane / 16) + 256 * (lane % 8) + 16 * (lane % 8 ^ lane / 8 % 2);
  load_matrix_x4_transposed(v.x, v.y, v.z, v.w,
      ((own + 256 * k + 128 * (i / 64)) ^ 32 * (i / 16 % 4)) + shared_address(tile));
}

// the lane's part of the 16x32 fragment at [k, j], value n of it at
// { [lane, n] -> [+k = 2*(lane mod 4) + (n mod 2) + 8*(floor(n/2) mod 2), +j = floor(lane/4) + 8*floor(n/4)]
//     : 0 <= lane < 32 and 0 <= n < 16 }
// for it the lane names in load n the line that starts at
// { [lane, n] -> [+k = lane mod 16, +j = 16*n + 8*floor(lane/16)] : 0 <= lane < 32 and 0 <= n < 2 }
static __device__ __forceinline__ void hmma_load_b_row_swizzled(half8 (&v)[2], const half8 *tile, int k, int j,
    int lane) {
  const int own = 256 * (lane % 16) + 16 * (lane % 8 ^ lane / 16);
  load_matrix_x4_transposed(v[0].x, v[0].y, v[0].z, v[0].w,
      ((own + 256 * k + 128 * (j / 64)) ^ 64 * (j / 32 % 2)) + shared_address(tile));
  load_matrix_x4_transposed(v[1].x, v[1].y, v[1].z, v[1].w,
      ((own + 256 * k + 128 * (j / 64)) ^ (64 * (j / 32 % 2) + 32)) + shared_address(tile));
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

// two fp32 values, rounded to nearest even, as two fp16 values; the first in the low half
static __device__ __forceinline__ unsigned pack_half2(float low, float high) {
  unsigned packed;
  asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
      : "=r"(packed) : "f"(low), "f"(high));
  return packed;
}

// the lane's accumulator fragment as fp16, in pieces of 2 values
static __device__ __forceinline__ void exchange_store(half8 *exchange, const float (&acc)[16], int lane) {
  unsigned *piece = (unsigned *)exchange;
  const int at = lane + 12 * (lane / 4) + 4 * (lane / 8);
  piece[at] = pack_half2(acc[0], acc[1]);
  piece[at + 128] = pack_half2(acc[2], acc[3]);
  piece[at ^ 4] = pack_half2(acc[4], acc[5]);
  piece[(at ^ 4) + 128] = pack_half2(acc[6], acc[7]);
  piece[at ^ 8] = pack_half2(acc[8], acc[9]);
  piece[(at ^ 8) + 128] = pack_half2(acc[10], acc[11]);
  piece[at ^ 12] = pack_half2(acc[12], acc[13]);
  piece[(at ^ 12) + 128] = pack_half2(acc[14], acc[15]);
}

// eight consecutive values of the fragment, from
// { [lane, round] -> [row = 8*round + floor(lane/4), col = 8*(lane mod 4)] : 0 <= lane < 32 and 0 <= round < 2 }
static __device__ __forceinline__ half8 exchange_load(const half8 *exchange, int round, int lane) {
  const half8 v = exchange[32 * round + (lane ^ lane / 8)];
  return make_uint4(v.x, v.y, v.z, v.w);
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
  half8 *const shared_A = shared_memory;  // 3 buffers of 1024 chunks of 8 values
  half8 *const shared_B = shared_memory + 3072;  // 3 buffers of 1024 chunks of 8 values
  half8 *const exchange = shared_memory + 6144;  // 256 chunks of 8 values

  const int linearId = threadIdx.x;
  const int lane = linearId % 32;
  const int warp = linearId / 32;
  const int warpIdx_x = warp % 2;
  const int warpIdx_y = warp / 2;
  // blocks in groups of 8 rows, a group column by column: the L2 cache serves those that run together
  const unsigned group = (gridDim.x * blockIdx.y + blockIdx.x) / (8 * gridDim.x);
  const unsigned place = (gridDim.x * blockIdx.y + blockIdx.x) % (8 * gridDim.x);
  const unsigned height = min(8u, gridDim.y - 8 * group);
  const int blockIdx_x = place / height;
  const int blockIdx_y = 8 * group + place % height;

  half8 hmma_A[2][4];
  half8 hmma_B[2][2][2];
  half8 run_C[2];
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
      copy_global_128_guarded(chunk_a_col_swizzled(shared_A + 1024 * c2 + 2048, linearId / 16, 8 * (linearId % 16))
          + 128 * c4, A, 64 * c2 + 8 * c4 + linearId / 16 + 128, 128 * blockIdx_y + 8 * (linearId % 16), ldA, K, M);
      copy_global_128_guarded(chunk_b_row_swizzled(shared_B + 1024 * c2 + 2048, linearId / 16, 8 * (linearId % 16))
          + 128 * c4, B, 64 * c2 + 8 * c4 + linearId / 16 + 128, 128 * blockIdx_x + 8 * (linearId % 16), ldB, K, N);
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
          hmma_load_a_col_swizzled(hmma_A[0][c6], shared_A, 0, 16 * c6 + 64 * warpIdx_y, lane);
        }
        // BAND: frag_B -> f  (shared memory -> fragments)
        #pragma unroll
        for (int c6 = 0; c6 <= 1; c6 += 1) {
          hmma_load_b_row_swizzled(hmma_B[0][c6], shared_B, 0, 32 * c6 + 64 * warpIdx_x, lane);
        }
      }
    }
  }

  // where the thread's loads of a trip start; the pointers move on with the loop
  const fp16 *from_A = A + (long long)(linearId / 16 + 128) * ldA + 128 * blockIdx_y + 8 * (linearId % 16);
  const fp16 *from_B = B + (long long)(linearId / 16 + 128) * ldB + 128 * blockIdx_x + 8 * (linearId % 16);

  // the tiles of a trip and of those to come; the rings turn with the loop
  half8 *ring_A[3] = {shared_A, shared_A + 1024, shared_A + 2048};
  half8 *ring_B[3] = {shared_B, shared_B + 1024, shared_B + 2048};

  // BAND: copy_A, copy_B -> kt - 2; frag_A, frag_B -> kt + floor((ks + 3)/4) - 1; S -> floor(k/64)
  for (int c2 = 0; c2 < (K + 63) / 64; c2 += 1) {
    // BAND: copy_A, copy_B -> c  (global memory -> shared memory)
    #pragma unroll
    for (int c4 = 0; c4 <= 7; c4 += 1) {
      copy_global_128_guarded(chunk_a_col_swizzled(ring_A[2], linearId / 16, 8 * (linearId % 16)) + 128 * c4, from_A,
          8 * c4, 0, ldA, K - 64 * c2 - linearId / 16 - 128, M - 128 * blockIdx_y - 8 * (linearId % 16));
      copy_global_128_guarded(chunk_b_row_swizzled(ring_B[2], linearId / 16, 8 * (linearId % 16)) + 128 * c4, from_B,
          8 * c4, 0, ldB, K - 64 * c2 - linearId / 16 - 128, N - 128 * blockIdx_x - 8 * (linearId % 16));
    }
    commit_copies();
    // BAND: frag_A -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_col_swizzled(hmma_A[1][c6], ring_A[0] + 256, 0, 16 * c6 + 64 * warpIdx_y, lane);
    }
    // BAND: frag_B -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_row_swizzled(hmma_B[1][c6], ring_B[0] + 256, 0, 32 * c6 + 64 * warpIdx_x, lane);
    }
    // BAND: S -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[0], hmma_B[0]);
    // BAND: frag_A -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_col_swizzled(hmma_A[0][c6], ring_A[0] + 512, 0, 16 * c6 + 64 * warpIdx_y, lane);
    }
    // BAND: frag_B -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_row_swizzled(hmma_B[0][c6], ring_B[0] + 512, 0, 32 * c6 + 64 * warpIdx_x, lane);
    }
    // BAND: S -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[1], hmma_B[1]);
    // BAND: frag_A -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 3; c6 += 1) {
      hmma_load_a_col_swizzled(hmma_A[1][c6], ring_A[0] + 768, 0, 16 * c6 + 64 * warpIdx_y, lane);
    }
    // BAND: frag_B -> f  (shared memory -> fragments)
    #pragma unroll
    for (int c6 = 0; c6 <= 1; c6 += 1) {
      hmma_load_b_row_swizzled(hmma_B[1][c6], ring_B[0] + 768, 0, 32 * c6 + 64 * warpIdx_x, lane);
    }
    // BAND: S -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[0], hmma_B[0]);
    wait_copies_but_1();
    __syncthreads();
    // shared memory -> fragments
    if (K >= 64 * c2 + 65) {
      // BAND: frag_A -> f  (shared memory -> fragments)
      #pragma unroll
      for (int c6 = 0; c6 <= 3; c6 += 1) {
        hmma_load_a_col_swizzled(hmma_A[0][c6], ring_A[1], 0, 16 * c6 + 64 * warpIdx_y, lane);
      }
      // BAND: frag_B -> f  (shared memory -> fragments)
      #pragma unroll
      for (int c6 = 0; c6 <= 1; c6 += 1) {
        hmma_load_b_row_swizzled(hmma_B[0][c6], ring_B[1], 0, 32 * c6 + 64 * warpIdx_x, lane);
      }
    }
    // BAND: S -> i - 64*floor(i/64)  (macro-MMAs)
    hmma_row_col(hmma_C, hmma_A[1], hmma_B[1]);
    from_A += 64LL * ldA;
    from_B += 64LL * ldB;
    turn_ring_of_3(ring_A);
    turn_ring_of_3(ring_B);
  }

  // BAND: commit -> kt - 2; wait, sync_read -> kt - 1
  for (int c2 = (K + 63) / 64; c2 <= (K + 63) / 64 + 1; c2 += 1) {
    commit_copies();
    if (K + 63 >= 64 * c2) {
      wait_copies_but_1();
      __syncthreads();
    }
  }

  // a full tile: everything is inside
  if (M >= 128 * blockIdx_y + 128 && N >= 128 * blockIdx_x + 128) {
    // BAND: exchange_C, gather_C, write_C -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: exchange_C, gather_C, write_C -> j - 64*floor(j/64)
      #pragma unroll
      for (int c5 = 0; c5 <= 32; c5 += 32) {
        exchange_store(exchange + 64 * warp, hmma_C[c4 / 16][c5 / 32], lane);
        __syncwarp();
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          run_C[round] = exchange_load(exchange + 64 * warp, round, lane);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          store_global_128(C, 128 * blockIdx_y + c4 + 8 * round + 64 * warpIdx_y + lane / 4,
              128 * blockIdx_x + c5 + 64 * warpIdx_x + 8 * (lane % 4), ldC, run_C[round]);
        }
        __syncwarp();
      }
    }
  } else {
    // BAND: exchange_C, gather_C, write_C -> i - 64*floor(i/64)
    #pragma unroll
    for (int c4 = 0; c4 <= 48; c4 += 16) {
      // BAND: exchange_C, gather_C, write_C -> j - 64*floor(j/64)
      #pragma unroll
      for (int c5 = 0; c5 <= 32; c5 += 32) {
        exchange_store(exchange + 64 * warp, hmma_C[c4 / 16][c5 / 32], lane);
        __syncwarp();
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          run_C[round] = exchange_load(exchange + 64 * warp, round, lane);
        }
        #pragma unroll
        for (int round = 0; round <= 1; round += 1) {
          store_global_128_guarded(C, 128 * blockIdx_y + c4 + 8 * round + 64 * warpIdx_y + lane / 4,
              128 * blockIdx_x + c5 + 64 * warpIdx_x + 8 * (lane % 4), ldC, M, N, run_C[round]);
        }
        __syncwarp();
      }
    }
  }
}
