// The schedule commands on one tensor's loop nest: split, merge, reorder, swizzle, parallelize.
//
// They change the loop domain only, and no loop that is shared with another tensor (schedule/inline.h). Axes are
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

/// Which axis of a split has the factor as its extent.
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

/// Axes x and y (two different ones) become axes of the same extents with permuted elements: see DomainExpr. Xor takes
/// constant extents, that of y a power of two and that of x no larger.
TOKAMAK_EXPORT void swizzle(TensorView* tensor, int64_t axis_x, int64_t axis_y, SwizzleType type);

/// Marks the axis. One axis of a tensor may have a given device, block or thread dimension. Vectorize: the innermost
/// axis, of constant extent; Unroll: axes of constant extent; Bulk: copies. Vectorize, Group, Mma and Bulk: no shared
/// loop. Lowering checks the rest.
TOKAMAK_EXPORT void parallelize(TensorView* tensor, int64_t axis, ParallelType type);

/// Whether tensors may share a loop of this type: not Vectorize, Group, Mma or Bulk.
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

/// Records a step on these axes and returns it; no loop domain changes. split and merge are made of these.
TOKAMAK_EXPORT const DomainExpr* splitStep(IterDomain* axis, Scalar* factor, SplitSide side);
TOKAMAK_EXPORT const DomainExpr* mergeStep(IterDomain* outer, IterDomain* inner);
TOKAMAK_EXPORT const DomainExpr* swizzleStep(IterDomain* x, IterDomain* y, SwizzleType type);
/// A step like `form` on these axes; `second` is null for a split.
TOKAMAK_EXPORT const DomainExpr* stepLike(const DomainExpr& form, IterDomain* first, IterDomain* second);
/// Whether axes of these kinds merge: a reduction axis with reduction and broadcast axes only.
TOKAMAK_EXPORT bool canMerge(const IterDomain& outer, const IterDomain& inner);
/// Whether the axes may be swizzled. (Broadcast axes may, for the tensors that they map to.)
TOKAMAK_EXPORT bool canSwizzle(const IterDomain& x, const IterDomain& y, SwizzleType type);
/// Whether a vectorized axis of the tensor is still the innermost one in this order.
TOKAMAK_EXPORT bool keepsVectorInnermost(const TensorView& tensor, const std::vector<IterDomain*>& order);
/// Replaces the step's input axes in a loop domain by its outputs: the parts of a split side by side, a merged axis at
/// the outer one's position.
TOKAMAK_EXPORT void replaceAxes(std::vector<IterDomain*>& loop, const DomainExpr& step);

/// Whether the fusion has a schedule for a kernel. Stream loops, and steps that lead to them, do not count.
TOKAMAK_EXPORT bool isScheduled(const Fusion& fusion);
/// The same for one tensor.
TOKAMAK_EXPORT bool isScheduled(const TensorView& tensor);
/// Checks that symbolic factors are at least 1 under the bindings. Errors: Schedule.
TOKAMAK_EXPORT void requireLegalFactors(const Fusion& fusion, const ScalarBindings& bindings);
/// Checks that splits that do not divide add few iterations: no tensor may have over 2^30 and also over 1,024 for each
/// element. Errors: Schedule.
TOKAMAK_EXPORT void requireFewIterations(const Fusion& fusion, const ScalarBindings& bindings);
/// Removes all steps and marks, those of stream loops included. Tensors made by rfactor stay.
TOKAMAK_EXPORT void dropSchedule(Fusion& fusion);

}  // namespace tokamak
