#include "oracle/line_products.h"

#include <algorithm>
#include <cstring>

namespace tokamak::oracle {

namespace {

// One cache line of elements; the compiler cuts it into the registers that there are.
using Doubles [[gnu::vector_size(64)]] = double;
using Floats [[gnu::vector_size(64)]] = float;

[[gnu::always_inline]] inline void sumRows(const double* rows, const double* panel, int64_t inner, double* out) {
  Doubles sum0{};
  Doubles sum1{};
  Doubles sum2{};
  Doubles sum3{};
  for (int64_t k = 0; k < inner; ++k) {
    Doubles right;
    std::memcpy(&right, panel + k * Panels<double>::kPanel, sizeof(right));
    sum0 += rows[k] * right;
    sum1 += rows[inner + k] * right;
    sum2 += rows[2 * inner + k] * right;
    sum3 += rows[3 * inner + k] * right;
  }
  std::memcpy(out, &sum0, sizeof(sum0));
  std::memcpy(out + Panels<double>::kPanel, &sum1, sizeof(sum1));
  std::memcpy(out + 2 * Panels<double>::kPanel, &sum2, sizeof(sum2));
  std::memcpy(out + 3 * Panels<double>::kPanel, &sum3, sizeof(sum3));
}

// Four products as a tree of depth two; a product and a sum stay two roundings.
[[gnu::always_inline]] inline void productTree(const float* row, const float* panel, Floats& total) {
  Floats products[4];
  for (int k = 0; k < 4; ++k) {
    Floats right;
    std::memcpy(&right, panel + k * Panels<float>::kPanel, sizeof(right));
    products[k] = row[k] * right;
  }
  const Floats left = products[0] + products[1];
  const Floats right = products[2] + products[3];
  total = left + right;
}

// A binary counter of partial sums: level l holds the sum of 4 * 2^l products, so that equals are added to equals.
[[gnu::always_inline]] inline void sumPairwise(const float* row, const float* panel, int64_t inner, float* out) {
  constexpr int kLevels = 62;
  Floats levels[kLevels];
  uint64_t trees = 0;
  int64_t k = 0;
  for (; k + 4 <= inner; k += 4, ++trees) {
    Floats sum;
    productTree(row + k, panel + k * Panels<float>::kPanel, sum);
    int level = 0;
    for (; (trees >> level & 1U) != 0; ++level) sum = levels[level] + sum;
    levels[level] = sum;
  }
  Floats rest{};
  for (; k < inner; ++k) {
    Floats right;
    std::memcpy(&right, panel + k * Panels<float>::kPanel, sizeof(right));
    const Floats product = row[k] * right;
    rest += product;
  }
  for (int level = 0; level < kLevels; ++level) {
    if ((trees >> level & 1U) != 0) rest = levels[level] + rest;
  }
  std::memcpy(out, &rest, sizeof(rest));
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void sumRowsWide(const double* rows, const double* panel, int64_t inner, double* out) {
  sumRows(rows, panel, inner, out);
}
[[gnu::target("avx2")]] void sumPairwiseWide(const float* row, const float* panel, int64_t inner, float* out) {
  sumPairwise(row, panel, inner, out);
}
bool isWide() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return has_avx2;
}
#else
void sumRowsWide(const double*, const double*, int64_t, double*) {}
void sumPairwiseWide(const float*, const float*, int64_t, float*) {}
bool isWide() { return false; }
#endif

}  // namespace

void sumProducts(const double* rows, const double* panel, int64_t inner, double* out) {
  if (isWide())
    sumRowsWide(rows, panel, inner, out);
  else
    sumRows(rows, panel, inner, out);
}

void sumProductsPairwise(const float* row, const float* panel, int64_t inner, float* out) {
  if (isWide())
    sumPairwiseWide(row, panel, inner, out);
  else
    sumPairwise(row, panel, inner, out);
}

void sumProductsInBlocks(const float* row, const float* panel, int64_t inner, int64_t block, float* out) {
  Floats total{};
  for (int64_t first = 0; first < inner; first += block) {
    Floats sum{};
    for (int64_t k = first; k < std::min(first + block, inner); ++k) {
      Floats right;
      std::memcpy(&right, panel + k * Panels<float>::kPanel, sizeof(right));
      const Floats product = row[k] * right;
      sum += product;
    }
    total += sum;
  }
  std::memcpy(out, &total, sizeof(total));
}

}  // namespace tokamak::oracle
