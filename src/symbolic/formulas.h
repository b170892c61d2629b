// The words the function table's formulas are written in, with one meaning on every device.
//
// Integers wrap. x / 0 and x mod 0 are 0; the smallest integer / -1 wraps to itself. A shift count outside [0, width)
// shifts everything out (right shifts keep the sign). Rounding functions are the identity on integers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tokamak::formula {

template <class T>
using Unsigned = std::make_unsigned_t<std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, T, int>>;

template <class T>
inline constexpr bool is_wrapping = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
T add(T x, T y) {
  if constexpr (is_wrapping<T>)
    return static_cast<T>(static_cast<Unsigned<T>>(x) + static_cast<Unsigned<T>>(y));
  else
    return x + y;
}

template <class T>
T subtract(T x, T y) {
  if constexpr (is_wrapping<T>)
    return static_cast<T>(static_cast<Unsigned<T>>(x) - static_cast<Unsigned<T>>(y));
  else
    return x - y;
}

template <class T>
T multiply(T x, T y) {
  if constexpr (is_wrapping<T>)
    return static_cast<T>(static_cast<Unsigned<T>>(x) * static_cast<Unsigned<T>>(y));
  else
    return x * y;
}

template <class T>
T negate(T x) {
  if constexpr (is_wrapping<T>)
    return subtract(T(0), x);
  else
    return -x;
}

template <class T>
T absolute(T x) {
  if constexpr (is_wrapping<T>)
    return x < 0 ? negate(x) : x;
  else
    return std::fabs(x);
}

template <class T>
T bitNot(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else
    return static_cast<T>(~x);
}

/// Truncates on integers.
template <class T>
T divide(T x, T y) {
  if constexpr (is_wrapping<T>) {
    if (y == 0) return 0;
    return y == -1 ? negate(x) : static_cast<T>(x / y);
  } else {
    return x / y;
  }
}

/// The sign of the result is that of x.
template <class T>
T truncatedRemainder(T x, T y) {
  if constexpr (is_wrapping<T>)
    return (y == 0 || y == -1) ? T(0) : static_cast<T>(x % y);
  else
    return std::fmod(x, y);
}

/// The sign of the result is that of y.
template <class T>
T flooredRemainder(T x, T y) {
  const T r = truncatedRemainder(x, y);
  const bool has_other_sign = r != T(0) && ((r < T(0)) != (y < T(0)));
  return has_other_sign ? add(r, y) : r;
}

template <class T>
T shiftLeft(T x, T count) {
  const auto width = static_cast<T>(sizeof(T) * 8);
  return count < 0 || count >= width ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(x) << count);
}

template <class T>
T shiftRight(T x, T count) {
  const auto width = static_cast<T>(sizeof(T) * 8);
  return static_cast<T>(x >> (count < 0 || count >= width ? width - 1 : count));
}

template <class T>
T shiftRightLogical(T x, T count) {
  const auto width = static_cast<T>(sizeof(T) * 8);
  return count < 0 || count >= width ? T(0) : static_cast<T>(static_cast<Unsigned<T>>(x) >> count);
}

/// Of the magnitudes; gcd(0, 0) = 0.
template <class T>
T greatestCommonDivisor(T x, T y) {
  auto a = static_cast<Unsigned<T>>(absolute(x));
  auto b = static_cast<Unsigned<T>>(absolute(y));
  while (b != 0) {
    const auto r = a % b;
    a = b;
    b = r;
  }
  return static_cast<T>(a);
}

template <class T>
bool isNaN(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x != x;
  else
    return (static_cast<void>(x), false);
}

template <class T>
bool isInfinite(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isinf(x);
  else
    return (static_cast<void>(x), false);
}

template <class T>
bool isFinite(T x) {
  return !isNaN(x) && !isInfinite(x);
}

template <class T>
bool hasSign(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::signbit(x);
  else
    return x < T(0);
}

/// NaN if either is NaN; of two zeros the positive one is the larger.
template <class T>
T larger(T x, T y) {
  if (isNaN(x)) return x;
  if constexpr (std::is_floating_point_v<T>) {
    if (x == y) return std::signbit(x) ? y : x;
  }
  return x > y ? x : y;
}

template <class T>
T smaller(T x, T y) {
  if (isNaN(x)) return x;
  if constexpr (std::is_floating_point_v<T>) {
    if (x == y) return std::signbit(x) ? x : y;
  }
  return x < y ? x : y;
}

/// As larger, but the number if one is NaN; NaN if both are.
template <class T>
T largerNumber(T x, T y) {
  if (isNaN(x)) return y;
  return isNaN(y) ? x : larger(x, y);
}

template <class T>
T smallerNumber(T x, T y) {
  if (isNaN(x)) return y;
  return isNaN(y) ? x : smaller(x, y);
}

template <class T, class Round>
T roundWith(T x, Round round) {
  if constexpr (std::is_floating_point_v<T>)
    return round(x);
  else
    return (static_cast<void>(round), x);
}

/// x + t (y - x), from the nearer end.
template <class T>
T interpolate(T x, T y, T t) {
  return std::fabs(t) < T(0.5) ? x + t * (y - x) : y - (y - x) * (T(1) - t);
}

/// On integers by squaring, wrapping; a negative exponent gives 1/x truncated (0 unless |x| = 1; x = 0 gives 0).
template <class T>
T power(T x, T y) {
  if constexpr (is_wrapping<T>) {
    if (y < 0) {
      if (x == 1) return 1;
      if (x == -1) return (y % 2) == 0 ? T(1) : T(-1);
      return 0;
    }
    T result = 1;
    for (T base = x; y != 0; y = static_cast<T>(y >> 1), base = multiply(base, base)) {
      if ((y & 1) != 0) result = multiply(result, base);
    }
    return result;
  } else {
    return std::pow(x, y);
  }
}

/// 32 random bits, as T: word index % 4 of Philox 4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1,
/// 2, 3", 2011) with the seed as key and the counter whose low half is index / 4 + offset and whose high half is
/// `number`. Operands are 64 bits.
template <class T>
T philoxWord(T index, T number, T seed, T offset) {
  const uint64_t position = static_cast<uint64_t>(static_cast<int64_t>(index));
  const uint64_t low = (position >> 2U) + static_cast<uint64_t>(static_cast<int64_t>(offset));
  const auto high = static_cast<uint64_t>(static_cast<int64_t>(number));
  const auto key = static_cast<uint64_t>(static_cast<int64_t>(seed));
  uint32_t counter[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32U), static_cast<uint32_t>(high),
                         static_cast<uint32_t>(high >> 32U)};
  uint32_t keys[2] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32U)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter[0] = static_cast<uint32_t>(second >> 32U) ^ counter[1] ^ keys[0];
    counter[1] = static_cast<uint32_t>(second);
    counter[2] = static_cast<uint32_t>(first >> 32U) ^ counter[3] ^ keys[1];
    counter[3] = static_cast<uint32_t>(first);
    keys[0] += 0x9E3779B9U;
    keys[1] += 0xBB67AE85U;
  }
  return static_cast<T>(counter[position & 3U]);
}

/// Thread-safe log|gamma(x)| in double precision; defined in formulas.cpp.
double logGammaDouble(double x);
/// The inverse of erfc on (0, 2) to about 1 ulp of double; outside NaN, at 0 and 2 infinite. Defined in formulas.cpp.
double inverseErfcDouble(double x);
/// The inverse of erf on (-1, 1). Defined in formulas.cpp.
double inverseErfDouble(double x);

template <class T>
T logGamma(T x) {
  return static_cast<T>(logGammaDouble(x));
}
template <class T>
T inverseErf(T x) {
  return static_cast<T>(inverseErfDouble(x));
}
template <class T>
T inverseErfc(T x) {
  return static_cast<T>(inverseErfcDouble(x));
}

/// The number `value` as type To: float to integer truncates, saturates, and takes NaN to 0; to bool is "not zero".
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From limit = static_cast<From>(uint64_t{1} << (sizeof(To) * 8 - 1));
    if (value != value) return 0;
    if (value >= limit) return std::numeric_limits<To>::max();
    if (value < -limit) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tokamak::formula
