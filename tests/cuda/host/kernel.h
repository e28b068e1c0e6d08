// What a whole kernel's text needs beside `shim.h`: the names of threads and blocks, barriers, shared memory, and the
// way in. `gpu.cpp` has what is declared here.
#pragma once
#include "shim.h"
#include <cstddef>
#include <utility>

#define __global__
#define __launch_bounds__(...)
#define __shared__
#define __align__(bytes) alignas(bytes)
#define __grid_constant__
#define __cluster_dims__(...)

struct Place { unsigned x, y, z; };
struct Names { Place thread, block, block_size, grid; char *shared; };
extern "C" {
extern Names gpu;
void gpu_barrier(int line);
void gpu_warp_barrier(int line);
size_t gpu_shared_address(const void *pointer);
unsigned gpu_shuffle(unsigned mask, unsigned value, int from);
}
#define threadIdx gpu.thread
#define blockIdx gpu.block
#define blockDim gpu.block_size
#define gridDim gpu.grid
#define __syncthreads() gpu_barrier(__LINE__)
#define __syncwarp() gpu_warp_barrier(__LINE__)
#define __shfl_sync(mask, value, from) ((int)gpu_shuffle(mask, value, from))
#define __cvta_generic_to_shared(pointer) gpu_shared_address(pointer)

// of an int and an unsigned number CUDA's are unsigned
#define EXTREMES(type, a, b)                                        \
  static inline type min(a x, b y) { return (type)x < (type)y ? x : y; } \
  static inline type max(a x, b y) { return (type)x > (type)y ? x : y; }
EXTREMES(unsigned, unsigned, unsigned)
EXTREMES(unsigned, int, unsigned)
EXTREMES(unsigned, unsigned, int)

// a kernel called with the addresses of its arguments, as a driver does; they are no memory that it has
template <class... P, size_t... I>
UNWATCHED static void gpu_call(void (*kernel)(P...), void **arguments, std::index_sequence<I...>) {
  kernel(*(P *)arguments[I]...);
}
template <class... P> UNWATCHED static void gpu_call(void (*kernel)(P...), void **arguments) {
  gpu_call(kernel, arguments, std::index_sequence_for<P...>());
}
