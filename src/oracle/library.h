// The functions of the table by name: those of the C++ mathematical library, and our own where it has none of that name
// or one with another meaning. A row whose name the library has needs nothing here.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

namespace tokamak::oracle::library {

// A name that is not declared below is looked up in the standard library.
using namespace std;  // NOLINT(google-build-using-namespace): this namespace exists to be looked through

template <class T>
inline constexpr bool is_wrapping = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr int kWidth = static_cast<int>(sizeof(T) * 8);

// --- arithmetic: integers wrap ---

template <class T>
T add(T x, T y) {
  if constexpr (!is_wrapping<T>)
    return x + y;
  else {
    T result;
    static_cast<void>(__builtin_add_overflow(x, y, &result));
    return result;
  }
}

template <class T>
T sub(T x, T y) {
  if constexpr (!is_wrapping<T>)
    return x - y;
  else {
    T result;
    static_cast<void>(__builtin_sub_overflow(x, y, &result));
    return result;
  }
}

template <class T>
T mul(T x, T y) {
  if constexpr (!is_wrapping<T>)
    return x * y;
  else {
    T result;
    static_cast<void>(__builtin_mul_overflow(x, y, &result));
    return result;
  }
}

template <class T>
T neg(T x) {
  if constexpr (is_wrapping<T>)
    return sub(T{0}, x);
  else
    return -x;
}

template <class T>
T abs(T x) {
  if constexpr (is_wrapping<T>)
    return x < 0 ? neg(x) : x;
  else
    return std::fabs(x);
}

/// Of integers towards zero; by 0 it is 0.
template <class T>
T div(T x, T y) {
  if constexpr (!is_wrapping<T>)
    return x / y;
  else if (y == 0)
    return 0;
  else
    return y == -1 ? neg(x) : static_cast<T>(x / y);
}

template <class T>
T truediv(T x, T y) {
  return x / y;
}
template <class T>
T reciprocal(T x) {
  return T{1} / x;
}

/// What is left of a division towards zero; by 0 it is 0 on integers.
template <class T>
T fmod(T x, T y) {
  if constexpr (is_wrapping<T>)
    return y == 0 || y == -1 ? T{0} : static_cast<T>(x % y);
  else
    return std::fmod(x, y);
}
template <class T>
T mod(T x, T y) {
  return fmod(x, y);
}

/// What is left of a division towards minus infinity.
template <class T>
T remainder(T x, T y) {
  const T rest = fmod(x, y);
  if (rest == T{0} || (rest < T{0}) == (y < T{0})) return rest;
  return add(rest, y);
}

/// Integers modulo 2^width; negative exponents give 1/x towards zero, and 0 for x = 0.
template <class T>
T pow(T x, T y) {
  if constexpr (!is_wrapping<T>) {
    // glibc's powl gives +inf for pow(-inf, -2^63) on x86; it is the reciprocal of what the zero of that sign gives.
    if (x == -numeric_limits<T>::infinity()) return T{1} / std::pow(-T{0}, y);
    return std::pow(x, y);
  } else {
    const auto isOdd = [](T v) { return (v & 1) != 0; };
    if (y < 0) return x == 1 ? T{1} : x == -1 ? (isOdd(y) ? T{-1} : T{1}) : T{0};
    uint64_t result = 1;
    auto base = static_cast<uint64_t>(static_cast<int64_t>(x));
    for (auto exponent = static_cast<uint64_t>(y); exponent != 0; exponent /= 2, base *= base) {
      if (exponent % 2 == 1) result *= base;
    }
    return static_cast<T>(result);
  }
}

template <class T>
T gcd(T x, T y) {
  const auto magnitude = [](T v) {
    const auto wide = static_cast<int64_t>(v);
    return wide < 0 ? uint64_t{0} - static_cast<uint64_t>(wide) : static_cast<uint64_t>(wide);
  };
  return static_cast<T>(std::gcd(magnitude(x), magnitude(y)));
}

// --- bits ---

template <class T>
T bitwise_not(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else
    return static_cast<T>(~x);
}
template <class T>
T bitwise_and(T x, T y) {
  return static_cast<T>(x & y);
}
template <class T>
T bitwise_or(T x, T y) {
  return static_cast<T>(x | y);
}
template <class T>
T bitwise_xor(T x, T y) {
  return static_cast<T>(x ^ y);
}

template <class T>
T bitwise_left_shift(T x, T count) {
  return count < 0 || count >= kWidth<T> ? T{0} : static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << count);
}
/// Keeps the sign, also where everything is shifted out.
template <class T>
T bitwise_right_shift(T x, T count) {
  if (count < 0 || count >= kWidth<T>) return x < 0 ? T{-1} : T{0};
  return static_cast<T>(x >> count);
}
template <class T>
T logical_right_shift(T x, T count) {
  return count < 0 || count >= kWidth<T> ? T{0} : static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) >> count);
}

// --- rounding: integers stay what they are ---

template <class T>
T ceil(T x) {
  if constexpr (is_wrapping<T>)
    return x;
  else
    return std::ceil(x);
}
template <class T>
T floor(T x) {
  if constexpr (is_wrapping<T>)
    return x;
  else
    return std::floor(x);
}
template <class T>
T trunc(T x) {
  if constexpr (is_wrapping<T>)
    return x;
  else
    return std::trunc(x);
}
/// Ties to even, unlike std::round.
template <class T>
T round(T x) {
  if constexpr (is_wrapping<T>)
    return x;
  else
    return std::nearbyint(x);
}
template <class T>
T frac(T x) {
  return sub(x, trunc(x));
}

// --- tests, comparisons, logic ---

template <class T>
bool isnan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return static_cast<void>(x), false;
}
template <class T>
bool isinf(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isinf(x);
  else
    return static_cast<void>(x), false;
}
template <class T>
bool isfinite(T x) {
  return !isnan(x) && !isinf(x);
}
template <class T>
bool isposinf(T x) {
  return isinf(x) && x > T{0};
}
template <class T>
bool isneginf(T x) {
  return isinf(x) && x < T{0};
}
template <class T>
bool isreal(T) {
  return true;
}
template <class T>
bool signbit(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::signbit(x);
  else
    return x < T{0};
}

template <class T>
bool eq(T x, T y) {
  return x == y;
}
template <class T>
bool ne(T x, T y) {
  return x != y;
}
template <class T>
bool lt(T x, T y) {
  return x < y;
}
template <class T>
bool le(T x, T y) {
  return x <= y;
}
template <class T>
bool gt(T x, T y) {
  return x > y;
}
template <class T>
bool ge(T x, T y) {
  return x >= y;
}

inline bool logical_not(bool x) { return !x; }
inline bool logical_and(bool x, bool y) { return x && y; }
inline bool logical_or(bool x, bool y) { return x || y; }

// --- choices ---

/// NaN if either is; of two zeros the positive one.
template <class T>
T maximum(T x, T y) {
  if (isnan(x) || isnan(y)) return isnan(x) ? x : y;
  if (x == y) return signbit(x) ? y : x;
  return x < y ? y : x;
}
template <class T>
T minimum(T x, T y) {
  if (isnan(x) || isnan(y)) return isnan(x) ? x : y;
  if (x == y) return signbit(x) ? x : y;
  return x < y ? x : y;
}
/// The number if one is NaN; of two zeros the positive one.
template <class T>
T fmax(T x, T y) {
  return isnan(x) ? y : isnan(y) ? x : maximum(x, y);
}
template <class T>
T fmin(T x, T y) {
  return isnan(x) ? y : isnan(y) ? x : minimum(x, y);
}
template <class T>
T clamp(T x, T low, T high) {
  return minimum(maximum(x, low), high);
}
template <class T>
T relu(T x) {
  return x < T{0} ? T{0} : x;
}
template <class T>
T sign(T x) {
  if (isnan(x)) return x;
  return x > T{0} ? T{1} : x < T{0} ? T{-1} : T{0};
}
template <class T>
T threshold(T x, T limit, T otherwise) {
  return x <= limit ? otherwise : x;
}
template <class T>
T where(bool condition, T x, T y) {
  return condition ? x : y;
}

// --- formulas of several operations ---

template <class T>
T add_alpha(T x, T y, T z) {
  return add(x, mul(y, z));
}
template <class T>
T sub_alpha(T x, T y, T z) {
  return sub(x, mul(y, z));
}
template <class T>
T addcmul(T x, T y, T z, T w) {
  return add(x, mul(w, mul(y, z)));
}
template <class T>
T lerp(T x, T y, T t) {
  return x + t * (y - x);
}

// --- random bits ---

/// Philox 4x32-10 of a counter and a key, as published (Salmon and others, 2011): ten rounds, the key moves on between
/// them.
std::array<uint32_t, 4> philoxBlock(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

template <class T>
T philox(T index, T number, T seed, T offset) {
  const auto bits = [](T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  const auto half = [](uint64_t value, int which) { return static_cast<uint32_t>(value >> (32 * which)); };
  const uint64_t block = bits(index) / 4 + bits(offset);
  const auto words = philoxBlock({half(block, 0), half(block, 1), half(bits(number), 0), half(bits(number), 1)},
                                 {half(bits(seed), 0), half(bits(seed), 1)});
  return static_cast<T>(words[bits(index) % 4]);
}

// --- functions that the library lacks ---

template <class T>
T rsqrt(T x) {
  return T{1} / std::sqrt(x);
}
template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
template <class T>
T exp_term(T x) {
  return std::exp(x);
}

template <class T>
T silu(T x) {
  return x / (T{1} + std::exp(-x));
}

/// The roots of erf(y) = x and erfc(y) = x, to the last bits of long double.
long double inverseOfErf(long double x);
long double inverseOfErfc(long double x);
/// log|gamma(x)| without the global that std::lgamma writes.
long double logOfGamma(long double x);

template <class T>
T erfinv(T x) {
  return static_cast<T>(inverseOfErf(x));
}
template <class T>
T erfcinv(T x) {
  return static_cast<T>(inverseOfErfc(x));
}
template <class T>
T lgamma(T x) {
  return static_cast<T>(logOfGamma(x));
}

}  // namespace tokamak::oracle::library
