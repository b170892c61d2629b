// View outputs: the outputs of a fusion that need no memory and no kernel, because they are views of an input or of
// another output (docs/views.md).
#pragma once

#include <memory>
#include <vector>

#include "ir/clone.h"

namespace tokamak {

struct ViewOutput {
  TensorView* output = nullptr;
  /// Permutes, reshapes, slices, selects, squeezes, broadcasts and expands, each of what the one before gives. The
  /// first reads an input, or an output that is none of these.
  std::vector<const Expr*> chain;
};

/// In the order of the outputs. None of them, and no tensor on the way, has a schedule, memory of another kind, or a
/// place on other devices; none updates an input, or comes from an input that is updated or an output that updates one.
/// Strides tell each step, and the output has the layout that it requires, if the memory of what the chain starts at is
/// as declared (analysis/view_layout.h).
std::vector<ViewOutput> viewOutputsOf(const Fusion& fusion);

/// What is left to compute when views cost nothing.
struct FusionWithoutViews {
  std::vector<ViewOutput> views;   ///< of the source
  std::unique_ptr<Fusion> fusion;  ///< what the source's other outputs depend on, with these alone
  std::unique_ptr<Cloner> cloner;  ///< from the source, which outlives it, to `fusion`
};

FusionWithoutViews takeViewOutputs(const Fusion& source);

}  // namespace tokamak
