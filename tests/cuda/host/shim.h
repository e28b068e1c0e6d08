// What CUDA C++ has built in, for a C++ compiler of the host with IEEE fp32: enough to run the device functions of a
// kernel's text as they are printed. Written from CUDA's documentation; nothing in here comes from polyvolta.
//
//   PRODUCTS   the mathematics library's functions end in a product that the compiler sees, as some of CUDA's do
//   FUSIBLE    the intrinsics that are never fused are plain operators: what a text without them would be
#pragma once
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

static_assert(sizeof(float) == 4 && FLT_EVAL_METHOD == 0, "fp32 is computed in fp32");

#define __device__
#define __forceinline__ inline
#define __restrict__ __restrict

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline int min(int x, int y) { return x < y ? x : y; }
static inline int max(int x, int y) { return x < y ? y : x; }

// ---- bits

static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  unsigned long long both = (unsigned long long)y << 32 | x, out = 0;
  for (int i = 0; i < 4; i++) out |= (both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return out;
}

// ---- fp32 arithmetic, rounded to nearest: volatile values enter, and leave, an operation as they are

#ifdef FUSIBLE
#define ROUNDED(name, op) static inline float name(float x, float y) { return x op y; }
#else
#define ROUNDED(name, op) static inline float name(float x, float y) { volatile float a = x, b = y, z = a op b; return z; }
#endif
ROUNDED(__fadd_rn, +)
ROUNDED(__fsub_rn, -)
ROUNDED(__fmul_rn, *)
ROUNDED(__fdiv_rn, /)

// ---- the mathematics library: the double result, rounded once

extern "C" { float host_three = 3.0f, host_third = 1.0f / 3.0f; }  // visible from outside, so nobody knows their values
#ifdef PRODUCTS
static inline float last(double x) { return (float)x * host_third * host_three; }
#else
static inline float last(double x) { return (float)x; }
#endif
#define LIBRARY(name) static inline float host_##name##f(float x) { return last(std::name((double)x)); }
LIBRARY(exp)
LIBRARY(exp2)
LIBRARY(expm1)
LIBRARY(log)
LIBRARY(log2)
LIBRARY(log1p)
LIBRARY(sin)
LIBRARY(cos)
LIBRARY(tanh)
LIBRARY(erf)
static inline float host_powf(float x, float y) { return last(std::pow((double)x, (double)y)); }
static inline float host_rsqrtf(float x) { return last(1.0 / std::sqrt((double)x)); }
#define expf host_expf
#define exp2f host_exp2f
#define expm1f host_expm1f
#define logf host_logf
#define log2f host_log2f
#define log1pf host_log1pf
#define sinf host_sinf
#define cosf host_cosf
#define tanhf host_tanhf
#define erff host_erff
#define powf host_powf
#define rsqrtf host_rsqrtf

// ---- 16-bit numbers

// cvt.f32.f16: exact; a signaling NaN becomes a quiet one
static inline float from_half(unsigned h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? ldexpf((float)fraction, -24)
                                     : ldexpf((float)(1024 + fraction), exponent - 25);
  return h & 0x8000 ? -size : size;
}

// cvt.rn.f16.f32: to nearest, ties to even, whatever is beyond 65504 and a half unit infinite
static inline unsigned to_half(float x) {
  const unsigned sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs((double)x);
  if (x != x) return 0x7fff;
  if (size >= 65520.0) return sign | 0x7c00;
  const int exponent = size < 6.103515625e-05 ? -14 : std::ilogb(size);  // of the normal numbers the least is 2^-14
  const double units = std::nearbyint(std::ldexp(size, 10 - exponent));  // 1024 and more of normal ones
  return sign | (unsigned)((exponent + 14) * 1024 + (int)units);  // a carry into the exponent is right as it is
}

// cvt.rn.bf16.f32: to nearest, ties to even; bf16 is the upper half of an fp32 number
static inline unsigned to_bfloat16(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  if (x != x) return 0x7fff;
  const unsigned below = bits & 0xffff, odd = bits >> 16 & 1;
  return (bits >> 16) + (below > 0x8000 || (below == 0x8000 && odd));  // a carry into the exponent is right as it is
}

static inline float from_bfloat16(unsigned b) {
  float x;
  b <<= 16;
  memcpy(&x, &b, 4);
  return x;
}

#include "ptx.h"
