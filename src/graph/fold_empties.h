// Pass fold-empties: nothing is computed where there are no elements.
//
//   an op whose result has a constant extent 0           ->  full of that shape
//   a reduction, matmul, linear (no bias) over none      ->  full of its identity
//   pad of a tensor without elements                     ->  full of the border
//   cat with parts without elements                      ->  cat of the others, or the only other one
//
// Before: any fusion. After: tensors with a constant extent 0 come from full or are inputs, and are read by what cannot
// do without them. It stands early: what only an empty tensor needed is dead.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> foldEmpties(const Fusion& fusion);

}  // namespace tokamak
