// Plain products of packed lines: the inner loops of matrix_product.cpp, for whatever vector unit is there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tokamak::oracle {

/// The lines of a right operand, in panels of kPanel lines with the same inner position side by side; missing lines are
/// 0.
template <class T>
class Panels {
 public:
  static constexpr int64_t kPanel = 64 / sizeof(T);
  Panels(int64_t count, int64_t inner)
      : count_((count + kPanel - 1) / kPanel), inner_(inner), values_(static_cast<size_t>(count_ * kPanel * inner)) {}

  void set(int64_t line, int64_t position, T value) {
    values_[static_cast<size_t>((line / kPanel * inner_ + position) * kPanel + line % kPanel)] = value;
  }
  const T* panel(int64_t number) const { return values_.data() + number * inner_ * kPanel; }
  int64_t panelCount() const { return count_; }
  int64_t inner() const { return inner_; }

 private:
  int64_t count_;
  int64_t inner_;
  std::vector<T> values_;
};

/// Rows of a left operand that are multiplied at once.
inline constexpr int64_t kRowsAtOnce = 4;

/// out[r, j] = sum over k of rows[r, k] * panel[k, j], added one after the other in double. `rows` is kRowsAtOnce x
/// inner, `out` kRowsAtOnce x Panels<double>::kPanel.
void sumProducts(const double* rows, const double* panel, int64_t inner, double* out);

/// out[j] = the sum over k of row[k] * panel[k, j], each product rounded to f32, added pairwise in f32. `out` has
/// Panels<float>::kPanel elements.
void sumProductsPairwise(const float* row, const float* panel, int64_t inner, float* out);

/// The same sums, `block` products one after the other, then block after block.
void sumProductsInBlocks(const float* row, const float* panel, int64_t inner, int64_t block, float* out);

}  // namespace tokamak::oracle
