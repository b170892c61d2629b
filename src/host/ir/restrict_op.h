// Restricts an op to slices of its operands and results along an axis.
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

/// Other replaced tensors.
using OtherTensors = std::unordered_map<const TensorView*, TensorView*>;
/// Attributes with other values, by name; they are then adjusted like the others.
using OtherAttributes = std::map<std::string_view, FieldValue>;

/// Appends the op on the slices to the program, with attributes about axes adjusted (AxisRelation in ir/fields.h). The
/// op must be independent along the sliced axes; if it depends on positions, the result's slice must keep its axis.
Expr* restrictOp(Fusion& program, const Expr& expr, const AxisSlices& slices, const OtherTensors& others = {},
                 const OtherAttributes& attributes = {});

/// Changes a field of an op for a slice of `field.of` that keeps its axis: its extent, or where positions begin. The
/// slice and the fields are in scalars of `program`.
void cutField(Fusion& program, const Fields& fields, Field& field, const AxisSlice& slice);

/// The sliced axis in the slice: a broadcast axis stays one, or becomes an ordinary axis.
enum class CutAxis : uint8_t { LikeWhole, Counted };

/// A Local tensor like `tensor`, without the axis or with `extent` elements along it (logical axis number). Devices
/// have the same parts of its other axes. Errors: those of shardsOf() where `tensor` has a mesh.
TensorView* makeSliceTensor(Fusion& program, const TensorView& tensor, int64_t logical_axis, Scalar* extent,
                            CutAxis cut = CutAxis::LikeWhole);

/// Conversion between numbers of logical axes and of visible axes (those without reductions).
int64_t visibleAxisNumber(const TensorView& tensor, const IterDomain& axis);
int64_t logicalAxisNumber(const TensorView& tensor, const IterDomain& axis);

}  // namespace tokamak
