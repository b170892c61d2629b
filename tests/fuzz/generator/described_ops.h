// Ops that the generator draws from their descriptions alone: a new op takes part in random programs at once.
#pragma once

#include <vector>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak::generator {

/// A math op of one tensor operand whose attributes keep their defaults, but for one axis or one list of axes.
struct DescribedOp {
  OpKind kind;
  AxisRelation relation = AxisRelation::None;  ///< None, Number or Numbers
  bool only_moves = true;                      ///< every element of the result is an element of the operand
};

/// Those that have no draw of their own; one of them that refuses a plain f32[2, 3] is left out.
std::vector<DescribedOp> describedOps();

/// The op's result on `in`; `numbers` is its axis or its axes. Errors: Definition; Internal for ops of another form.
TensorView* defineDescribed(Fusion& fusion, OpKind kind, TensorView& in, const std::vector<int64_t>& numbers);

}  // namespace tokamak::generator
