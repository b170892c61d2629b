// OracleTensor: a tensor's elements in logical order, each with a bound of what a correct program may differ by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "symbolic/data_type.h"

namespace tokamak::oracle {

/// One element. Floating types use `number`, integers and bool `integer`.
///
/// A correct result differs from the value by at most `bound`; 0 means the same bits (of zeros the sign too), infinity
/// that nothing is promised (an uncertain operand met a discontinuity). A bound above 0 on a zero leaves its sign open;
/// kOpenSign leaves nothing but the sign open.
struct Element {
  double number = 0;
  int64_t integer = 0;
  double bound = 0;
  bool is_overflow =
      false;  ///< an f32 product of finite numbers beyond f32's: in a sum it may be finite (lower/fma_contraction.h)
};

/// The bound of a zero that is exact but for its sign (as of a sum of -0s, which may start from +0).
inline constexpr double kOpenSign = std::numeric_limits<double>::denorm_min();
inline bool isOpenZero(const Element& element) { return element.number == 0 && element.bound == kOpenSign; }
/// How far the number itself is uncertain: nothing where only the sign of a zero is.
inline double boundOf(const Element& element) { return isOpenZero(element) ? 0 : element.bound; }

struct OracleTensor {
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes = {};
  std::vector<Element> elements = {};  ///< row-major

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t count() const { return static_cast<int64_t>(elements.size()); }
  Element& at(std::span<const int64_t> index) { return elements[offsetOf(index)]; }
  const Element& at(std::span<const int64_t> index) const { return elements[offsetOf(index)]; }
  size_t offsetOf(std::span<const int64_t> index) const;
};

/// Elements as stored: what runs of a program read and write.
struct StoredTensor {
  DataType dtype = DataType::F32;
  std::span<const int64_t> sizes = {};
  std::span<const int64_t> strides = {};  ///< in elements; empty: dense and row-major; 0 repeats an element
  const std::byte* data = nullptr;        ///< of the element at index 0
};

/// The number of elements of a shape.
int64_t countOf(std::span<const int64_t> sizes);
/// A tensor of zeros without bounds.
OracleTensor zeros(DataType dtype, std::span<const int64_t> sizes);
/// The tensor of these numbers in row-major order, each converted exactly or rounded to `dtype`.
OracleTensor fromNumbers(DataType dtype, std::span<const int64_t> sizes, std::span<const double> numbers);

/// The stored elements, without bounds.
OracleTensor load(const StoredTensor& stored);
/// The elements as dense row-major bytes, rounded to the type.
std::vector<std::byte> store(const OracleTensor& tensor);

/// The element stored at `data`, and storing one.
Element loadElement(DataType dtype, const std::byte* data);
void storeElement(DataType dtype, const Element& element, std::byte* data);

}  // namespace tokamak::oracle
