// Random: numbers reproducible from one seed on every machine (xoshiro256** seeded by splitmix64; D. Blackman, S.
// Vigna).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace tokamak::generator {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      uint64_t z = seed;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31U);
    }
  }

  uint64_t next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// In [0, n); n > 0.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  /// In [0, 1), with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// Nearly normal, mean 0 and variance 1, by a sum of uniform numbers: the same bits everywhere.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

  /// An element of an array, span or vector that is not empty.
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(std::size(list))))];
  }
  /// An index with probability in proportion to its weight.
  size_t weighted(std::span<const int> weights) {
    int64_t total = 0;
    for (const int weight : weights) total += weight;
    int64_t at = below(total);
    size_t i = 0;
    while (at >= weights[i]) at -= weights[i++];
    return i;
  }

 private:
  uint64_t state_[4] = {};
};

}  // namespace tokamak::generator
