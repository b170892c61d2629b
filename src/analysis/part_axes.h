// PartAxes: along which axes an op can be done part by part: each rank has a part of the result, and of an operand the
// part that it reads for it (docs/devices.md). It is the one table of that: propagation, reshardings and local programs
// ask it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/axis_map.h"
#include "ir/fusion.h"

namespace tokamak {

/// An axis of an operand and one of the result that go along with each other. Axes are numbers in visible shapes.
struct PartAxisPair {
  const TensorView* operand = nullptr;
  int64_t operand_axis = 0;
  int64_t result_axis = 0;
  /// Null where an index of one is the same index of the other (or of an expanded axis, of which every index is the
  /// same element, but which has to show the same part). Of a reshape, whose outermost axes go along where their chunks
  /// have equally many elements: how many an index has on either side, simplified.
  Scalar* operand_elements = nullptr;
  Scalar* result_elements = nullptr;
  bool is_proved = true;  ///< of a reshape: that both sides have equally many elements at all

  bool isSameIndex() const { return operand_elements == nullptr; }
};

/// It follows from the op's element rule (compute/axis_map.h). An operand that is read in two ways has no pair.
class PartAxes {
 public:
  /// Of a math op. It makes scalars in the op's fusion, and counts as a change of it.
  explicit PartAxes(const Expr& op);

  /// Along this axis of the result, also where an operand is read otherwise, too.
  std::span<const PartAxisPair> along(int64_t result_axis) const { return at(result_axis).pairs; }
  /// Operands that go along with the axis in no pair: shifted, scaled, or as a part of an axis.
  std::span<const TensorView* const> readOtherwise(int64_t result_axis) const { return at(result_axis).otherwise; }
  /// Whether elements are computed of their positions along the axis, and these cannot begin where a part does.
  bool needsPositions(int64_t result_axis) const { return at(result_axis).needs_positions; }
  /// Whether a part of this axis of the result can be computed from the same part of operands that go along with it,
  /// and all of the others. Of a reshape: if there is a chunk of the operand that has as many elements.
  bool isLocalAlong(int64_t result_axis) const;

  const AxisMap& map() const { return map_; }

 private:
  struct Axis {
    std::vector<PartAxisPair> pairs;
    std::vector<const TensorView*> otherwise;
    bool needs_positions = false;
  };
  const Axis& at(int64_t axis) const { return axes_[static_cast<size_t>(axis)]; }
  void addExpanded(const Expr& op);
  void addReshape(const Expr& op);

  AxisMap map_;
  std::vector<Axis> axes_;  // of the result
};

/// Whether positions along the result's axes can begin anywhere, as those of iota can.
bool hasMovableOrigin(const Expr& op);

}  // namespace tokamak
