// Transpose template: outputs whose neighbours in memory are far apart in what they read go through shared memory.
#pragma once

#include <optional>
#include <vector>

#include "analysis/addresses.h"
#include "ir/fusion.h"

namespace tokamak {

/// An output that is computed in tiles of two of its axes.
struct TransposedOutput {
  TensorView* output = nullptr;
  size_t out_axis = 0;  ///< neighbours along it are neighbours in the output's memory
  size_t in_axis = 0;   ///< and along this one in the inputs' memory
  /// Inputs that are read at a permutation of the output's coordinates: per axis of the input the axis of the output,
  /// or -1 for a broadcast one.
  struct Input {
    TensorView* tensor = nullptr;
    std::vector<int64_t> axes;
  };
  std::vector<Input> inputs;
  bool has_near = false;  ///< an input that has all axes is read along out_axis
};

/// Nothing where neighbours in the output are neighbours in all large inputs, or where an input is read in another way.
std::optional<TransposedOutput> findTranspose(Fusion& fusion, TensorView& output, const Strides& strides);

/// Gives the output its schedule, and what goes through shared memory: the output's elements where that is less than
/// the inputs', or caches of those inputs. A block makes a tile, which is loaded along in_axis, and stored along
/// out_axis, `vector` elements at a time. What is in shared memory is to be inlined at 1. Gives it.
std::vector<TensorView*> scheduleTranspose(const TransposedOutput& transposed, int64_t vector);

}  // namespace tokamak
