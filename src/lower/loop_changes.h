// LoopChanges: the indices, variables and tensors that a loop's iterations may change.
#pragma once

#include <set>

#include "kernel/kernel.h"

namespace tokamak {

struct LoopChanges {
  std::set<const Scalar*> indices;
  std::set<const kir::Variable*> variables;
  std::set<const TensorView*> tensors;  ///< written, or allocated in the loop
};

LoopChanges changesOf(const kir::Loop& loop);

}  // namespace tokamak
