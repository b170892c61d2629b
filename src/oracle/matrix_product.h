// Matrix products of f32 and halves, for sizes at which a Dot per element would take minutes.
#pragma once

#include <span>

#include "oracle/rounding.h"
#include "oracle/tensor.h"

namespace tokamak::oracle {

/// Lines of `inner` elements each: the rows of a left operand, the columns of a right one.
struct Lines {
  std::span<const Element> elements;  ///< from the first element of the first line on
  int64_t count = 0;
  int64_t inner = 0;
  int64_t stride = 0;        ///< from line to line
  int64_t inner_stride = 0;  ///< within a line
};

struct ProductTypes {
  DataType operands = DataType::F32;  ///< of the bias, too
  DataType result = DataType::F32;
};

/// out[i, j] = a's line i times b's line j, plus bias[j] unless there is no bias: the same values, exactness and
/// promises as Dot gives (in exact mode sums are in double, whose own error is added to the bound; in typed mode
/// pairwise in f32). Integers and f64 go through Dot. `out` is row-major.
void multiplyLines(const ProductTypes& types, Mode mode, const Lines& a, const Lines& b, std::span<const Element> bias,
                   std::span<Element> out);

}  // namespace tokamak::oracle
