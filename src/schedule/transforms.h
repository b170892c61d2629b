// The schedule commands on one tensor's loop nest: split, merge, reorder, swizzle, parallelize.
//
// They edit the loop domain only, and of that no loop that is shared with another tensor (schedule/inline.h). Axes are
// positions in the loop domain, reductions included; negative ones count from the end.
// Errors: Schedule, naming the command, the tensor, the axis and what is legal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/export.h"
#include "define/operand.h"

namespace tokamak {

/// Which of the two axes that a split makes has the factor as its extent.
enum class SplitSide : uint8_t { Inner, Outer };

/// Axis a of extent n becomes a and a + 1: with Inner of extents ceilDiv(n, factor) and factor, with Outer of extents
/// factor and ceilDiv(n, factor). The factor is positive; the last part may be short.
TOKAMAK_EXPORT void split(TensorView* tensor, int64_t axis, Operand factor, SplitSide side = SplitSide::Inner);
TOKAMAK_EXPORT void inner_split(TensorView* tensor, int64_t axis, Operand factor);
TOKAMAK_EXPORT void outer_split(TensorView* tensor, int64_t axis, Operand factor);

/// Axes a (outer) and a + 1 (inner) become axis a, row-major. A reduction axis merges with reduction and broadcast axes
/// only.
TOKAMAK_EXPORT void merge(TensorView* tensor, int64_t axis);

/// The new axis i is the old axis order[i]; a permutation of all axes.
TOKAMAK_EXPORT void reorder(TensorView* tensor, const std::vector<int64_t>& order);

/// Axes x and y (two different ones) become axes of the same extents at their places, in which the elements are dealt
/// out in another way: see DomainExpr. Xor takes constant extents, that of y a power of two and that of x no larger.
TOKAMAK_EXPORT void swizzle(TensorView* tensor, int64_t axis_x, int64_t axis_y, SwizzleType type);

/// Marks the axis. A device, block or thread dimension is given to one axis of a tensor; Vectorize to the innermost
/// one, of constant extent; Unroll to axes of constant extent; Bulk to copies; Vectorize, Group, Mma and Bulk to no
/// shared loop. The rest is the lowering's question.
TOKAMAK_EXPORT void parallelize(TensorView* tensor, int64_t axis, ParallelType type);

/// Whether a loop of this type can be shared by several tensors: not when it is run lane by lane or as one instruction.
TOKAMAK_EXPORT bool mayBeShared(ParallelType type);
/// Why the axis may not be marked so, or empty.
TOKAMAK_EXPORT std::string markProblem(TensorView& tensor, const IterDomain& axis, ParallelType type);
/// Errors: Schedule with that problem; the tensor is not changed.
TOKAMAK_EXPORT void requireMarkable(std::string_view command, TensorView& tensor, const IterDomain& axis,
                                    ParallelType type);
/// Errors: Schedule, naming the first loop at or after `position` that is shared.
TOKAMAK_EXPORT void requireUnshared(std::string_view command, const TensorView& tensor, int64_t position);

/// `axis` in [0, number of axes). Errors: Schedule.
TOKAMAK_EXPORT int64_t normalLoopAxis(std::string_view command, const TensorView& tensor, int64_t axis);

/// The step on given axes: records it and gives the new axes; `loop` is not touched. What split and merge are made of.
TOKAMAK_EXPORT const DomainExpr* splitStep(IterDomain* axis, Scalar* factor, SplitSide side);
TOKAMAK_EXPORT const DomainExpr* mergeStep(IterDomain* outer, IterDomain* inner);
TOKAMAK_EXPORT const DomainExpr* swizzleStep(IterDomain* x, IterDomain* y, SwizzleType type);
/// The step of the form of `form` on these axes; `second` is null for a split.
TOKAMAK_EXPORT const DomainExpr* stepLike(const DomainExpr& form, IterDomain* first, IterDomain* second);
/// Whether axes of these kinds merge: a reduction axis with reduction and broadcast axes only.
TOKAMAK_EXPORT bool canMerge(const IterDomain& outer, const IterDomain& inner);
/// Whether axes may be swizzled so. A broadcast axis takes part for the sake of the tensors that it goes along with.
TOKAMAK_EXPORT bool canSwizzle(const IterDomain& x, const IterDomain& y, SwizzleType type);
/// Whether a vectorized axis of the tensor is the innermost one in this order, too.
TOKAMAK_EXPORT bool keepsVectorInnermost(const TensorView& tensor, const std::vector<IterDomain*>& order);
/// Does one step on a loop nest in place: parts of a split side by side, a merged axis where its outer one was.
TOKAMAK_EXPORT void replaceAxes(std::vector<IterDomain*>& loop, const DomainExpr& step);

/// Whether somebody said how a kernel of the fusion is to be made. Loops that are dealt out over streams do not say
/// that, nor steps that lead to them.
TOKAMAK_EXPORT bool isScheduled(const Fusion& fusion);
/// Whether somebody said it of this tensor.
TOKAMAK_EXPORT bool isScheduled(const TensorView& tensor);
/// Factors that are not constant have to be at least 1 under the bindings. Errors: Schedule.
TOKAMAK_EXPORT void requireLegalFactors(const Fusion& fusion, const ScalarBindings& bindings);
/// Loops of splits that do not divide go beyond the elements: no tensor's may have over 2^30 iterations and over 1,024
/// for each element. Errors: Schedule.
TOKAMAK_EXPORT void requireFewIterations(const Fusion& fusion, const ScalarBindings& bindings);
/// Loops as they were before anything was said of them, those over streams included. Tensors that come from an rfactor
/// stay.
TOKAMAK_EXPORT void dropSchedule(Fusion& fusion);

}  // namespace tokamak
