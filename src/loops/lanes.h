// Lanes: the vectors that typed loops are written in, so that none depends on a compiler's vectorisers. A loop's body
// is compiled once for every width of vectors; what it calls with vectors is inlined into it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/half.h"
#include "loops/typed_loops.h"

namespace tokamak::lanes {

/// How a wide vector is handed to a function differs between processors: none is, where everything is inlined.
#define TK_LANES inline __attribute__((always_inline))

#if defined(__x86_64__)
#define TK_WIDE_VECTORS __attribute__((target("avx2")))
#endif

/// Bytes of a vector of each width.
inline constexpr int64_t kNarrowBytes = 16;
inline constexpr int64_t kWideBytes = 32;

/// How many lanes fit into a vector of `bytes`, for the widest of some types.
template <int64_t bytes, class... T>
inline constexpr int64_t kLaneCount = bytes / std::max({static_cast<int64_t>(sizeof(T))...});

/// What lanes of a type are stored as (bool as bytes of 0 and 1, half types as their bits), and what they are computed
/// in.
template <class T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, std::conditional_t<is_half<T>, uint16_t, T>>;
template <class T>
using Computed = std::conditional_t<is_half<T>, float, T>;

template <class T, int64_t count>
struct VectorOf {
  typedef T Type __attribute__((vector_size(count * sizeof(T))));  // NOLINT(modernize-use-using): a using cannot say it
};
template <class T, int64_t count>
using Vector = typename VectorOf<Stored<T>, count>::Type;

template <class V>
using Element = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
inline constexpr int64_t kLanesOf = sizeof(V) / sizeof(Element<V>);

template <int64_t bytes>
using SignedOf =
    std::conditional_t<bytes == 1, int8_t,
                       std::conditional_t<bytes == 2, int16_t, std::conditional_t<bytes == 4, int32_t, int64_t>>>;
template <int64_t bytes>
using UnsignedOf = std::make_unsigned_t<SignedOf<bytes>>;
/// The vectors of integers as wide as V's elements; comparisons give the signed ones, 0 or -1 in each lane (a mask).
template <class V>
using SignedLanes = Vector<SignedOf<sizeof(Element<V>)>, kLanesOf<V>>;
template <class V>
using UnsignedLanes = Vector<UnsignedOf<sizeof(Element<V>)>, kLanesOf<V>>;

template <class T, int64_t count>
TK_LANES Vector<T, count> load(const T* from) {
  Vector<T, count> lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

template <class T, class V>
TK_LANES void store(T* to, V lanes) {
  static_assert(sizeof(Element<V>) == sizeof(T));
  std::memcpy(static_cast<void*>(to), &lanes, sizeof(lanes));
}

template <class V>
TK_LANES V splat(Element<V> value) {
  return V{} + value;
}

/// Integers of another size, in steps for which processors have an instruction.
template <class To, class V>
TK_LANES auto resized(V lanes) {
  constexpr int64_t from = sizeof(Element<V>);
  constexpr int64_t to = sizeof(To);
  constexpr int64_t step = to > from ? from * 2 : from / 2;
  if constexpr (to == from) {
    return reinterpret_cast<Vector<To, kLanesOf<V>>>(lanes);
  } else {
    using Step = std::conditional_t<std::is_signed_v<Element<V>>, SignedOf<step>, UnsignedOf<step>>;
    return resized<To>(__builtin_convertvector(lanes, Vector<Step, kLanesOf<V>>));
  }
}

/// The bools of a mask, and the mask over lanes of T of bools.
template <class M>
TK_LANES auto boolsOf(M mask) {
  return resized<uint8_t>(mask) & uint8_t{1};
}
template <class T, class V>
TK_LANES auto maskOf(V bools) {
  return resized<SignedOf<sizeof(T)>>(bools) != 0;
}

template <class V>
TK_LANES V squareRoot(V x);

template <class V, size_t... i, size_t... all>
TK_LANES V squareRootOfHalves(V x, std::index_sequence<i...>, std::index_sequence<all...>) {
  const auto lower = squareRoot(__builtin_shufflevector(x, x, i...));
  const auto upper = squareRoot(__builtin_shufflevector(x, x, (i + sizeof...(i))...));
  return __builtin_shufflevector(lower, upper, all...);
}

// gcc has no word for the square roots of any vector: those of 16 bytes have the processor's.
template <class V>
TK_LANES V squareRoot(V x) {
#if defined(__clang__)
  return __builtin_elementwise_sqrt(x);
#elif defined(__x86_64__)
  if constexpr (sizeof(V) > kNarrowBytes) {
    return squareRootOfHalves(x, std::make_index_sequence<kLanesOf<V> / 2>(), std::make_index_sequence<kLanesOf<V>>());
  } else if constexpr (std::is_same_v<Element<V>, float>) {
    return __builtin_ia32_sqrtps(x);
  } else {
    return __builtin_ia32_sqrtpd(x);
  }
#else
  for (int64_t i = 0; i < kLanesOf<V>; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

template <class Body, class Loop>
struct Widths;
template <class Body, class... Args>
struct Widths<Body, void (*)(Args...)> {
  static void narrow(Args... args) { Body::template run<kNarrowBytes>(args...); }
#ifdef TK_WIDE_VECTORS
  TK_WIDE_VECTORS static void wide(Args... args) { Body::template run<kWideBytes>(args...); }
#else
  static void wide(Args... args) { narrow(args...); }
#endif
};

/// The loop of type Loop whose body is Body::run<bytes of a vector>.
template <class Body, class Loop>
constexpr Loop loopOf(VectorWidth width) {
  return width == VectorWidth::Wide ? &Widths<Body, Loop>::wide : &Widths<Body, Loop>::narrow;
}

}  // namespace tokamak::lanes
