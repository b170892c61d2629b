// Inlining: how many of its outer loops a tensor shares with the tensors that read it (docs/kernels.md).
//
// A tensor may share its first p loops with its readers if
// - each maps to the loop at the same position of every reader, and is no reduction loop of the tensor;
// - neither side marks it Vectorize, Group, Mma or Bulk, and all parallel types in one loop are equal;
// - no tensor in a shared loop depends on another one in it through tensors outside: these would be incomplete.
#pragma once

#include <cstdint>
#include <span>

#include "base/export.h"
#include "ir/tensor_view.h"

namespace tokamak {

/// Shares the tensor's first `position` loops with its consumers; -1 means all, -2 all but one. Errors: Schedule, with
/// the largest legal position and its reason.
TOKAMAK_EXPORT void inline_at(TensorView* tensor, int64_t position);

enum class InlineEffort : uint8_t {
  All,   ///< what is not legal is an error
  Best,  ///< the largest legal position is taken in its place
};
/// The same for each of these tensors, consumers first; of one with fewer loops all are shared. `position`: 0 or more.
/// Nothing changes where there is an error.
TOKAMAK_EXPORT void inline_at(std::span<TensorView* const> tensors, int64_t position, InlineEffort effort);

/// Sets the largest legal position of each tensor, consumers first. Inputs and tensors without readers keep 0.
TOKAMAK_EXPORT void inline_most(Fusion& fusion);
/// The same for these tensors alone.
TOKAMAK_EXPORT void inline_most(std::span<TensorView* const> tensors);

}  // namespace tokamak
