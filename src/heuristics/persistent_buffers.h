// Persistent buffers: tensors that a kernel with rows reads several times at one index, so that a thread may keep them.
#pragma once

#include <vector>

#include "heuristics/reduction_structure.h"

namespace tokamak {

/// An input, or a computed tensor that is worth the registers or shared memory that it takes.
struct PersistentBuffer {
  TensorView* tensor = nullptr;
  AxisNumbers rows;   ///< the tensor's axes that are rows, in their order; none: it is the same for all rows
  AxisNumbers inner;  ///< its other axes, in the order of its readers
};

/// What is dropped first where persistent buffers do not fit. A block drops inputs, which are in a cache at least.
/// A cluster drops computed values, as it exists to read inputs once; it may also read inputs at other indices.
enum class PersistentScope : uint8_t { Block, Cluster };

/// The room for persistent buffers.
struct PersistentRoom {
  int64_t bytes = 0;  ///< per element of a row, for all buffers together
  PersistentScope scope = PersistentScope::Block;
  /// Whether there is room elsewhere for all inputs (in shared memory). Then inputs with one element per row count,
  /// too.
  bool has_room_for_inputs = false;
  bool has_room_for_outer_inputs = false;  ///< the same for inputs that all rows share
};

/// The tensors that at least two stored tensors read at their own coordinates, in one order of axes, and that nothing
/// reads at others: inputs, and values that are expensive or made of several inputs.
/// Returns no more than there is room for, producers first.
std::vector<PersistentBuffer> findPersistentBuffers(const ReductionStructure& structure, const PersistentRoom& room);

/// Whether the expression is an approximated function or a random number: these cost more than reading their operands
/// again.
bool isExpensive(const Expr& expr);

}  // namespace tokamak
