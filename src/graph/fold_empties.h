// Pass fold-empties: folds ops without elements.
//
//   an op whose result has a constant extent 0           ->  full of that shape
//   a reduction, matmul, linear (no bias) over none      ->  full of its identity
//   pad of a tensor without elements                     ->  full of the border
//   cat with parts without elements                      ->  cat of the others, or the only other one
//
// Before: any fusion. After: tensors with a constant extent 0 are inputs or come from full, and only ops that need them
// read them. It runs early, because it makes other ops dead.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> foldEmpties(const Fusion& fusion);

}  // namespace tokamak
