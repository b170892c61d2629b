// Loop steps: what the schedule commands are made of, and what they ask first, for those who change loops in another
// way. Errors: Schedule, naming the command, the tensor, the axis and what is legal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/transforms.h"

namespace tokamak {

/// Whether a loop of this type can be shared by several tensors: not when it is run lane by lane or as one instruction.
bool mayBeShared(ParallelType type);
/// Why the axis may not be marked so, or empty.
std::string markProblem(TensorView& tensor, const IterDomain& axis, ParallelType type);
/// Errors: Schedule with that problem; the tensor is not changed.
void requireMarkable(std::string_view command, TensorView& tensor, const IterDomain& axis, ParallelType type);
/// Errors: Schedule, naming the first loop at or after `position` that is shared.
void requireUnshared(std::string_view command, const TensorView& tensor, int64_t position);

/// `axis` in [0, number of axes). Errors: Schedule.
int64_t normalLoopAxis(std::string_view command, const TensorView& tensor, int64_t axis);

/// The step on given axes: records it and gives the new axes; `loop` is not touched. What split and merge are made of.
const DomainExpr* splitStep(IterDomain* axis, Scalar* factor, SplitSide side);
const DomainExpr* mergeStep(IterDomain* outer, IterDomain* inner);
const DomainExpr* swizzleStep(IterDomain* x, IterDomain* y, SwizzleType type);
/// The step of the form of `form` on these axes; `second` is null for a split.
const DomainExpr* stepLike(const DomainExpr& form, IterDomain* first, IterDomain* second);
/// Whether axes of these kinds merge: a reduction axis with reduction and broadcast axes only.
bool canMerge(const IterDomain& outer, const IterDomain& inner);
/// Whether axes may be swizzled so. A broadcast axis takes part for the sake of the tensors that it goes along with.
bool canSwizzle(const IterDomain& x, const IterDomain& y, SwizzleType type);
/// Whether a vectorized axis of the tensor is the innermost one in this order, too.
bool keepsVectorInnermost(const TensorView& tensor, const std::vector<IterDomain*>& order);
/// Does one step on a loop nest in place: parts of a split side by side, a merged axis where its outer one was.
void replaceAxes(std::vector<IterDomain*>& loop, const DomainExpr& step);

}  // namespace tokamak
