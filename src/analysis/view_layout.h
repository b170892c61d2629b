// View layouts: where the elements of a tensor lie in the memory that it is a view of, as far as that is known without
// sizes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/expr.h"
#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// The way from one element of an axis to the next: `times` elements, or `times` strides of an axis whose stride nobody
/// declares.
struct ViewStride {
  const IterDomain* unit = nullptr;  ///< that axis; null: elements
  Scalar* times = nullptr;           ///< 0 where one element is shown again and again
  bool operator==(const ViewStride&) const = default;
};

struct ViewAxis {
  Scalar* extent = nullptr;
  ViewStride stride;
  size_t place = 0;  ///< among the axes from the slowest to the fastest in memory
};

/// Per visible axis of the tensor. Strides are those of every run in which the tensor has elements; along an axis of
/// one element a stride means nothing.
using ViewLayout = std::vector<ViewAxis>;

/// The layout that the tensor declares: of a fresh buffer, or of what a caller may give for it. Interns scalars in its
/// fusion.
ViewLayout declaredLayout(const TensorView& tensor);

/// The layout of the result of `step`, an op that may be a view and is no `set`, as a view of its operand, which has
/// the layout `in`. Nothing where no strides tell it at all sizes: a reshape merges axes only if each runs on where the
/// next one ends, by the same expressions; it may split any. Interns scalars in the fusion.
std::optional<ViewLayout> layoutAfter(const Expr& step, const ViewLayout& in);

/// Whether a tensor that lies so has the stride order or the layout that it requires; without either any will do.
bool isAsRequired(const TensorView& tensor, const ViewLayout& layout);

}  // namespace tokamak
