// Pass fold-casts: removes casts that another cast undoes or repeats.
//
//   cast(cast(x, A), B)  ->  cast(x, B)   when A holds every value of x's type
//   cast(x, type of x)   ->  x
//   cast(f(cast(x, A)), type of x)  ->  f(x)   likewise, if f moves elements (permute, reshape, slice, ...)
//
// Casts that lose precision (f32 to bf16 and back) stay, because folding them would change results. Before: any fusion.
// After: no cast of a value-preserving cast. It runs early, because definitions insert casts freely.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// Whether every value of `from` is a value of `to`.
bool preservesValues(DataType from, DataType to);

std::unique_ptr<Fusion> foldCasts(const Fusion& fusion);

}  // namespace tokamak
