// Restricting an op to a part of an axis: the same op on slices of its operands and results.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

/// A tensor replaced by a slice of it along one axis of its visible shape.
struct AxisSlice {
  TensorView* slice = nullptr;
  int64_t axis = 0;        ///< of the whole tensor's visible shape
  bool drops_axis = true;  ///< the slice lacks the axis; else it has `extent` elements from `start` on
  Scalar* start = nullptr;
  Scalar* extent = nullptr;
};
using AxisSlices = std::unordered_map<const TensorView*, AxisSlice>;

/// Tensors that are replaced as they are.
using OtherTensors = std::unordered_map<const TensorView*, TensorView*>;
/// Attributes that have other values on the part, by name; then what is said below of slices is done with these.
using OtherAttributes = std::map<std::string_view, FieldValue>;

/// The op on the slices, appended to the program. Attributes that speak of axes follow (AxisRelation in ir/fields.h);
/// the op must be independent along the sliced axes, and if it depends on positions its result's slice must keep its
/// axis.
Expr* restrictOp(Fusion& program, const Expr& expr, const AxisSlices& slices, const OtherTensors& others = {},
                 const OtherAttributes& attributes = {});

/// What the axis that is cut is in the slice: a plain broadcast axis keeps its one element, or is one that is counted.
enum class CutAxis : uint8_t { LikeWhole, Counted };

/// A Local tensor like `tensor`, without the axis or with `extent` elements along it (logical axis number).
TensorView* makeSliceTensor(Fusion& program, const TensorView& tensor, int64_t logical_axis, Scalar* extent,
                            CutAxis cut = CutAxis::LikeWhole);

/// Conversion between numbers of logical axes and of visible axes (those without reductions).
int64_t visibleAxisNumber(const TensorView& tensor, const IterDomain& axis);
int64_t logicalAxisNumber(const TensorView& tensor, const IterDomain& axis);

}  // namespace tokamak
