// Transpose template: an output whose contiguous axis is not that of its inputs goes through tiles in shared memory.
#pragma once

#include <optional>
#include <vector>

#include "analysis/addresses.h"
#include "ir/fusion.h"

namespace tokamak {

/// An output that is computed in tiles of two of its axes.
struct TransposedOutput {
  TensorView* output = nullptr;
  size_t out_axis = 0;  ///< the output's contiguous axis
  size_t in_axis = 0;   ///< the contiguous axis of the inputs
  /// Inputs that are read at a permutation of the output's coordinates. `axes`: per axis of the input the axis of the
  /// output, or -1 for a broadcast axis.
  struct Input {
    TensorView* tensor = nullptr;
    std::vector<int64_t> axes;
  };
  std::vector<Input> inputs;
  bool has_untransposed_input = false;  ///< another input with all axes is contiguous along out_axis
};

/// Nothing where no input is contiguous along another axis than the output, or where one is not read at a permutation.
std::optional<TransposedOutput> findTranspose(Fusion& fusion, TensorView& output, const Strides& strides);

/// Schedules the output, and caches in shared memory: of the output where it has fewer bytes, else of those inputs.
/// A block computes a tile, which is loaded along in_axis and stored along out_axis in vectors of `vector` elements.
/// Returns the caches, whose inline position has to be 1.
std::vector<TensorView*> scheduleTranspose(const TransposedOutput& transposed, int64_t vector);

}  // namespace tokamak
