// PartAxes: along which axes an op can be done part by part: each rank has a part of the result, and of an operand the
// part that it reads for it (docs/devices.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// An axis of an operand and one of the result that go along with each other. Axes are numbers in visible shapes.
struct PartAxisPair {
  const TensorView* operand = nullptr;
  int64_t operand_axis = 0;
  int64_t result_axis = 0;
  /// Null where an index of one is the same index of the other. Of a reshape, whose outermost axes go along where their
  /// chunks have equally many elements: how many an index has on either side.
  Scalar* operand_elements = nullptr;
  Scalar* result_elements = nullptr;

  bool isSameIndex() const { return operand_elements == nullptr; }
};

/// It follows from the op's element rule (compute/axis_map.h). An operand that is read in two ways has no pair.
class PartAxes {
 public:
  /// Of a math op. It makes scalars in the op's fusion, and counts as a change of it.
  explicit PartAxes(const Expr& op);

  /// By axis of the result.
  std::span<const PartAxisPair> pairs() const { return pairs_; }
  /// Whether a part of this axis of the result can be computed from the same part of operands that go along with it,
  /// and all of the others. Of a reshape: if there is a chunk of the operand that has as many elements.
  bool isLocalAlong(int64_t result_axis) const { return is_local_[static_cast<size_t>(result_axis)]; }

 private:
  void addReshape(const Expr& op);

  std::vector<PartAxisPair> pairs_;
  std::vector<bool> is_local_;
};

/// Whether positions along the result's axes can begin anywhere, as those of iota can.
bool hasMovableOrigin(const Expr& op);

}  // namespace tokamak
