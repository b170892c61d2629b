// AxisMap: which axes of an op's operands go with which axes of its result, derived from the op's element rule.
#pragma once

#include "compute/element.h"

namespace tokamak {

enum class CoordinateUse : uint8_t {
  NotUsed,   ///< the operand's elements do not depend on this coordinate of the result
  Identity,  ///< the coordinate is the index along exactly one whole axis of the operand
  Other,     ///< used in any other way: shifted, scaled, divided, along a part of an axis, along several axes
};

struct OperandCoordinateUse {
  CoordinateUse use = CoordinateUse::NotUsed;
  /// The axes (of the operand's visible shape) whose index is exactly this coordinate, sorted. One for Identity; more
  /// than one when the operand is read along a diagonal; with Other also those of a part of an axis.
  std::vector<int64_t> axes;
  bool operator==(const OperandCoordinateUse&) const = default;
};

class AxisMap {
 public:
  /// Of a math op. Makes its element rule.
  explicit AxisMap(const Expr& expr);
  explicit AxisMap(ElementRule rule);

  const ElementRule& rule() const { return rule_; }
  /// How `operand` is indexed by the coordinate of axis `axis` of the result's visible shape, over all places where the
  /// op reads it. A tensor that is no operand is NotUsed.
  OperandCoordinateUse use(const TensorView& operand, int64_t axis) const;
  /// Every operand is NotUsed or Identity along the axis: the op can be done for parts of the axis on the same parts of
  /// the operands.
  bool isIndependentAlong(int64_t axis) const;
  /// The coordinate itself steers or enters the result's elements (iota): parts of the axis must know where they lie.
  bool dependsOnPosition(int64_t axis) const;

 private:
  bool isSameExtent(const Scalar* a, const Scalar* b) const;

  ElementRule rule_;
};

}  // namespace tokamak
