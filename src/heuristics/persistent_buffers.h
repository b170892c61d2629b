// Persistent buffers: what a kernel of rows reads several times at one index, and a thread may keep.
#pragma once

#include <vector>

#include "heuristics/reduction_structure.h"

namespace tokamak {

/// An input, or a tensor whose elements are worth more than the room that they take.
struct PersistentBuffer {
  TensorView* tensor = nullptr;
  AxisNumbers rows;   ///< the tensor's axes that are rows, in the order of the rows; none: it is the same for all rows
  AxisNumbers inner;  ///< the others, in the order in which those of its readers are
};

/// Of too many for a block, inputs are dropped first: they are in a cache at least. A cluster is there so that they are
/// not read again: they are dropped last, and some elements may be read elsewhere, too.
enum class PersistentScope : uint8_t { Block, Cluster };

/// What there is room for.
struct PersistentRoom {
  int64_t bytes = 0;  ///< per element of a row, for all together
  PersistentScope by = PersistentScope::Block;
  /// Inputs have room elsewhere, all of them, as for a cluster. Those of which a row has one element count, too.
  bool has_inputs_apart = false;
  bool has_outer_apart = false;  ///< so have those that are the same for all rows
};

/// Tensors that at least two stored tensors need at their own coordinates, in the same order of axes, and that no other
/// one needs: values that take an approximated function or a random number to compute, or more than one input; and
/// inputs. No more than there is room for. Producers first.
std::vector<PersistentBuffer> findPersistentBuffers(const ReductionStructure& structure, const PersistentRoom& room);

/// An approximated function or a random number: it costs more than reading its operands again.
bool isExpensive(const Expr& expr);

}  // namespace tokamak
