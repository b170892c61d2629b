// Persistent buffers: tensors that a kernel with rows reads several times at one index, and that a thread may keep.
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

/// What is dropped where persistent buffers do not fit. A block drops inputs first, as a cache has them at least.
/// A cluster exists so that inputs are not read again: it drops them last, and may read some elements elsewhere.
enum class PersistentScope : uint8_t { Block, Cluster };

/// The room for persistent buffers.
struct PersistentRoom {
  int64_t bytes = 0;  ///< per element of a row, for all buffers together
  PersistentScope by = PersistentScope::Block;
  /// Whether all inputs have room of their own, as in a cluster. Inputs with one element per row count, too.
  bool has_inputs_apart = false;
  bool has_outer_apart = false;  ///< whether inputs that all rows share have room of their own
};

/// Tensors that at least two stored tensors need at their own coordinates, in one order of axes, and that nothing needs
/// elsewhere. They are inputs, and values that take an approximated function, a random number or more than one input to
/// compute. Gives no more than there is room for, producers first.
std::vector<PersistentBuffer> findPersistentBuffers(const ReductionStructure& structure, const PersistentRoom& room);

/// Whether the expression is an approximated function or a random number: these cost more than reading their operands
/// again.
bool isExpensive(const Expr& expr);

}  // namespace tokamak
