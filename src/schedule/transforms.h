// The schedule commands on one tensor's loop nest: split, merge, reorder, parallelize.
//
// They edit the loop domain only. Axes are positions in the loop domain, reductions included; negative ones count from the end.
// Errors: Schedule, naming the command, the tensor, the axis and what is legal.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "define/operand.h"

namespace tokamak {

/// Which of the two axes that a split makes has the factor as its extent.
enum class SplitSide : uint8_t { Inner, Outer };

/// Axis a of extent n becomes a and a + 1: with Inner of extents ceilDiv(n, factor) and factor, with Outer of extents factor
/// and ceilDiv(n, factor). The factor is positive; the last part may be short.
void split(TensorView* tensor, int64_t axis, Operand factor, SplitSide side = SplitSide::Inner);
void inner_split(TensorView* tensor, int64_t axis, Operand factor);
void outer_split(TensorView* tensor, int64_t axis, Operand factor);

/// Axes a (outer) and a + 1 (inner) become axis a, row-major. A reduction axis merges with reduction and broadcast axes only.
void merge(TensorView* tensor, int64_t axis);

/// The new axis i is the old axis order[i]; a permutation of all axes.
void reorder(TensorView* tensor, const std::vector<int64_t>& order);

/// Marks the axis. Whether the mark can be carried out is the lowering's question.
void parallelize(TensorView* tensor, int64_t axis, ParallelType type);

/// `axis` in [0, number of axes). Errors: Schedule.
int64_t normalLoopAxis(std::string_view command, const TensorView& tensor, int64_t axis);

/// The step on given axes: records it and gives the new axes; `loop` is not touched. What split and merge are made of.
const DomainExpr* splitStep(IterDomain* axis, Scalar* factor, SplitSide side);
const DomainExpr* mergeStep(IterDomain* outer, IterDomain* inner);

}  // namespace tokamak
