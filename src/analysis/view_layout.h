// View layouts: the strides of a view in the memory that it is a view of, as far as known without sizes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/expr.h"
#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// A stride: `times` elements, or `times` the stride of an axis whose stride is not declared.
struct ViewStride {
  const IterDomain* unit = nullptr;  ///< that axis; null: elements
  Scalar* times = nullptr;           ///< 0 along a broadcast axis
  bool operator==(const ViewStride&) const = default;
};

struct ViewAxis {
  Scalar* extent = nullptr;
  ViewStride stride;
  size_t place = 0;  ///< the position among the axes in memory, slowest first
};

/// Per visible axis of the tensor. Strides hold for all sizes with elements; the stride of an axis of one element means
/// nothing.
using ViewLayout = std::vector<ViewAxis>;

/// The declared layout: of a new buffer, or of a caller's buffer. Interns scalars in its fusion.
ViewLayout declaredLayout(const TensorView& tensor);

/// The layout of the result of `step`, a movement that is no `set`, as a view of its operand with the layout `in`.
/// Nothing if no strides express it for all sizes: a reshape merges only axes that are contiguous by the same
/// expressions, and may split any. Interns scalars in the fusion.
std::optional<ViewLayout> layoutAfter(const Expr& step, const ViewLayout& in);

/// Whether the layout meets the tensor's required stride order or layout, if it has one.
bool isAsRequired(const TensorView& tensor, const ViewLayout& layout);

}  // namespace tokamak
