// CUDA's words in C++ for one processor: threads are contexts, and `tk_now` is the machine that switches between them.
// Compiled with -fsanitize=thread, whose calls before each access to memory come here: no library of the sanitizer is
// linked.
#pragma once

#include "context_machine.h"

#define TK_PLAIN static inline __attribute__((no_sanitize("thread"), unused))
extern "C" {
tokamak::contexts::ContextMachine* tk_now;
extern char __ehdr_start __attribute__((visibility("hidden")));
extern char _end __attribute__((visibility("hidden")));
__attribute__((no_sanitize("thread"))) void tk_image(char** begin, char** end) {
  *begin = &__ehdr_start;
  *end = &_end;
}
#define TK_HOOK(name, bytes, is_write) \
  __attribute__((no_sanitize("thread"))) void __tsan_##name(void* place) { tk_now->access(place, bytes, is_write); }
#define TK_HOOKS(bytes)              \
  TK_HOOK(read##bytes, bytes, false) \
  TK_HOOK(write##bytes, bytes, true) \
  TK_HOOK(unaligned_read##bytes, bytes, false) TK_HOOK(unaligned_write##bytes, bytes, true)
TK_HOOKS(1)
TK_HOOKS(2)
TK_HOOKS(4)
TK_HOOKS(8)
TK_HOOKS(16)

__attribute__((no_sanitize("thread"))) void __tsan_read_range(void* at, unsigned long n) {
  tk_now->access(at, n, false);
}
__attribute__((no_sanitize("thread"))) void __tsan_write_range(void* at, unsigned long n) {
  tk_now->access(at, n, true);
}
void __tsan_init() {}
}

#define __CUDA_ARCH__ 900
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(condition)     \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (0)
#define threadIdx (tk_now->thread)
#define blockIdx (tk_now->block)
#define __syncthreads() tk_now->barrier(__LINE__)
#define __threadfence() tk_now->fence()
#define atomicAdd(place, value) tk_now->add(place, value)
template <class T>
TK_PLAIN T& tk_shared_of(int site) {
  return *(T*)tk_now->shared(site, sizeof(T));
}

struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
struct __align__(8) uint2 {
  unsigned x, y;
};
template <class To, class From>
TK_PLAIN To tk_as(From from) {
  To to = To();
  __builtin_memcpy(&to, &from, sizeof(to) < sizeof(from) ? sizeof(to) : sizeof(from));
  return to;
}
template <class T>
TK_PLAIN T tk_shuffle(unsigned mask, T value, int lanes, int line) {
  return tk_as<T>(tk_now->shuffle(mask, tk_as<unsigned long long>(value), lanes, line));
}
#define __shfl_xor_sync(mask, value, lanes) tk_shuffle(mask, value, lanes, __LINE__)
template <class T>
TK_PLAIN T __ldcg(const T* place) {
  tk_now->access(place, sizeof(T), false);
  return *place;
}
template <class T>
TK_PLAIN T* tk_remote(T* place, unsigned block) {
  return (T*)tk_now->remote(place, block);
}

TK_PLAIN float __int_as_float(int bits) { return tk_as<float>(bits); }
TK_PLAIN int __float_as_int(float x) { return tk_as<int>(x); }
TK_PLAIN double __longlong_as_double(long long bits) { return tk_as<double>(bits); }
TK_PLAIN long long __double_as_longlong(double x) { return tk_as<long long>(x); }
TK_PLAIN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
TK_PLAIN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned __int128)a * b >> 64;
}
TK_PLAIN int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
TK_PLAIN float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
#define __fmaf_rn __builtin_fmaf
#define __fma_rn __builtin_fma
#define __fsqrt_rn __builtin_sqrtf
#define __dsqrt_rn __builtin_sqrt
#define fabsf __builtin_fabsf
#define copysignf __builtin_copysignf
#define rintf __builtin_rintf
#define floorf __builtin_floorf
#define ceilf __builtin_ceilf
#define truncf __builtin_truncf

// The instructions of the texts in device_code; those that approximate give the rounded result.
TK_PLAIN float tk_flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }
// 0 is larger than -0.
TK_PLAIN float ptx_max_NaN_f32(float x, float y) {
  if (x == y) return __builtin_signbit(x) ? y : x;
  return x != x ? x : y != y ? y : x > y ? x : y;
}
TK_PLAIN float ptx_min_NaN_f32(float x, float y) {
  if (x == y) return __builtin_signbit(x) ? x : y;
  return x != x ? x : y != y ? y : x < y ? x : y;
}
TK_PLAIN int ptx_set_gt_u32_s32(int x, int y) { return x > y ? -1 : 0; }
TK_PLAIN int ptx_mov_b32(int x) { return x; }
TK_PLAIN float ptx_ex2_approx_ftz_f32(float x) { return tk_flushed((float)__builtin_exp2(tk_flushed(x))); }
TK_PLAIN float ptx_rcp_approx_ftz_f32(float x) { return tk_flushed((float)(1.0 / tk_flushed(x))); }
TK_PLAIN float ptx_rsqrt_approx_ftz_f32(float x) { return tk_flushed((float)(1.0 / __builtin_sqrt(tk_flushed(x)))); }
TK_PLAIN float ptx_lg2_approx_ftz_f32(float x) { return (float)__builtin_log2(tk_flushed(x)); }
TK_PLAIN float ptx_from_bf16(unsigned short x) { return tk_as<float>((unsigned)x << 16); }
TK_PLAIN unsigned short ptx_cvt_rn_bf16_f32(float x) {
  const unsigned bits = tk_as<unsigned>(x);
  return x != x ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TK_PLAIN float ptx_cvt_f32_f16(unsigned short x) { return (float)tk_as<_Float16>(x); }
TK_PLAIN unsigned short ptx_cvt_rn_f16_f32(float x) { return tk_as<unsigned short>((_Float16)x); }

/// Calls a kernel as a driver does: each argument is behind a pointer.
template <unsigned... numbers>
struct tk_numbers {};
template <class... P, unsigned... I>
TK_PLAIN void tk_call(void (*kernel)(P...), void* const* arguments, tk_numbers<I...>) {
  kernel(*(P*)arguments[I]...);
}
#define TK_ENTRY(name) \
  extern "C" void call_##name(void* const* arguments) { tk_call_all(name, arguments); }
template <class... P>
TK_PLAIN void tk_call_all(void (*kernel)(P...), void* const* arguments) {
  tk_call(kernel, arguments, tk_numbers<__integer_pack(sizeof...(P))...>());
}
