// View outputs: outputs that need no memory and no kernel, as they are views of an input or of another output
// (docs/views.md).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/view_layout.h"
#include "ir/clone.h"

namespace tokamak {

struct ViewOutput {
  TensorView* output = nullptr;
  /// A chain of permutes, reshapes, slices, selects, squeezes, broadcasts and expands. The first reads an input, or an
  /// output that is no view.
  std::vector<const Expr*> chain;
};

/// The view outputs, in the order of outputs. No tensor of the chain has a schedule, another kind of memory, or a
/// device mark; no output updates an input, or is a view of an updated tensor.
/// Each step can be expressed by strides, and the output has its required layout if the chain's first tensor is as
/// declared (analysis/view_layout.h).
std::vector<ViewOutput> viewOutputsOf(const Fusion& fusion);

/// Whether the op's result can be a view of its operand, which strides express (no `set`: that asks for a copy).
bool isViewStep(const Expr* expr);

/// The layout of the last result as a view of `source`, which the first step reads, as the second reads the first one's
/// result. Nothing if strides do not express it, or a result has a schedule, a device mark, or another kind of memory
/// than the source. Interns scalars in the fusion.
std::optional<ViewLayout> layoutOfChain(const TensorView& source, std::span<const Expr* const> chain);

/// A fusion without its view outputs.
struct FusionWithoutViews {
  std::vector<ViewOutput> views;   ///< of the source
  std::unique_ptr<Fusion> fusion;  ///< the source with the other outputs only
  std::unique_ptr<Cloner> cloner;  ///< from the source, which outlives it, to `fusion`
};

FusionWithoutViews takeViewOutputs(const Fusion& source);

}  // namespace tokamak
