// Values that functions are tried on: special ones, a walk over all bit patterns, and places where algorithms change.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

namespace tokamak::test {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// 1 tries every f32 (TOKAMAK_SWEEP_STRIDE=1: minutes per function); the test's own step is a prime.
inline uint64_t sweepStride() {
  const char* const given = std::getenv("TOKAMAK_SWEEP_STRIDE");
  return given == nullptr ? 5003 : std::strtoull(given, nullptr, 10);
}

template <class T>
std::vector<T> specialValues() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T x : {T(0),
                    Limits::denorm_min(),
                    Limits::min(),
                    Limits::min() / 2,
                    T(1e-20),
                    T(1e-8),
                    T(0.25),
                    T(0.5),
                    T(1),
                    T(1.5),
                    T(2),
                    T(3),
                    T(5),
                    T(10),
                    T(17),
                    T(64),
                    T(1e6),
                    Limits::max(),
                    Limits::infinity(),
                    Limits::quiet_NaN()}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

/// The floats around `centre` and its negative: `reach` on each side.
template <class T>
void addNeighbours(std::vector<T>& values, double centre, int reach) {
  const auto bits = std::bit_cast<Bits<T>>(static_cast<T>(centre));
  for (int i = -reach; i <= reach; ++i) {
    const T x = std::bit_cast<T>(static_cast<Bits<T>>(bits + static_cast<Bits<T>>(i)));
    values.push_back(x);
    values.push_back(-x);
  }
}

/// Special values, the surroundings of the places where algorithms change, and (f32) a walk over all bit patterns or
/// (f64) random ones.
template <class T>
std::vector<T> sweep(int random_count) {
  std::vector<T> values = specialValues<T>();
  for (const double place : {0x1p-149,
                             0x1p-126,
                             0x1p-25,
                             0x1p-24,
                             1e-8,
                             0.25,
                             0.41421356237309503,
                             0.5,
                             0.70710678118654752,
                             1.0,
                             1.41421356237309505,
                             1.5,
                             2.0,
                             2.5,
                             3.0,
                             3.5,
                             4.0,
                             8.0,
                             9.0,
                             10.0,
                             19.5,
                             20.0,
                             22.0,
                             26.5,
                             27.2,
                             30.0,
                             0x1p23,
                             0x1p24,
                             0x1p31,
                             0x1p40,
                             87.3365,
                             88.7228,
                             103.97,
                             104.0,
                             108.5,
                             127.0,
                             128.0,
                             149.0,
                             150.0,
                             709.78,
                             745.13,
                             746.0,
                             800.0,
                             1e9}) {
    addNeighbours(values, place, 100);
  }
  for (int i = 1; i <= 200; ++i) {
    addNeighbours(values, i * 1.5707963267948966, 4);
    addNeighbours(values, i * 0.34657359027997264, 4);
  }
  // The number nearest to a multiple of pi/2 and other hard cases of reduction.
  for (const double hard : {0x1.6ac5b262ca1ffp+849, 0x1.97e7ep+31, 0x1.f9cbe2p+7, 1.0e22, 16367173.0 * 0x1p72}) {
    addNeighbours(values, hard, 4);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < random_count; ++i) {
    const double exponent = std::uniform_real_distribution<double>(-12, 8)(random);
    values.push_back(static_cast<T>(std::exp2(exponent)) * (random() % 2 == 0 ? T(1) : T(-1)));
    values.push_back(std::bit_cast<T>(static_cast<Bits<T>>(random())));
  }
  return values;
}

}  // namespace tokamak::test
