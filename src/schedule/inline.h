// Inlining: how many of its outer loops a tensor shares with the tensors that read it (docs/kernels.md).
//
// A tensor may share its first p loops when each of them goes along with the loop at the same index of every tensor
// that reads it, is no reduction loop of its own and is run lane by lane in neither (Vectorize, Group, Mma, Bulk); when
// all tensors in a loop that have a parallel type there have the same one; and when no tensor in a shared loop depends
// on another one in it by a way that leaves the loop: that would be read before it is complete.
#pragma once

#include <span>
#include <string>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

class DomainGraph;

/// The tensor's first `position` loops are those of its consumers; -1 means all, -2 all but one. Errors: Schedule,
/// saying the largest legal position and what limits it.
TOKAMAK_EXPORT void inline_at(TensorView* tensor, int64_t position);

/// Gives each tensor the largest legal position, consumers before producers; inputs and tensors that nothing reads keep
/// 0.
TOKAMAK_EXPORT void inline_most(Fusion& fusion);
/// The same for these tensors alone.
TOKAMAK_EXPORT void inline_most(std::span<TensorView* const> tensors);

/// How many of its first loops the tensor shares with its consumers or with tensors that it reads.
TOKAMAK_EXPORT int64_t sharedLoopCount(const TensorView& tensor);

/// Why the loop at `position`, if it is shared, cannot be run in this way: another tensor in it has another type. Or
/// empty.
TOKAMAK_EXPORT std::string sharedTypeProblem(TensorView* tensor, int64_t position, ParallelType type);

/// What is wrong with the inline positions of a fusion, or empty. The commands keep them legal; this is for who changes
/// domains in another way.
TOKAMAK_EXPORT std::string inlineProblem(const Fusion& fusion, const DomainGraph& graph);

}  // namespace tokamak
