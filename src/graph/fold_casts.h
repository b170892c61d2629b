// Pass fold-casts: takes away casts whose work another cast undoes or does again.
//
//   cast(cast(x, A), B)  ->  cast(x, B)   when A holds every value of x's type
//   cast(x, type of x)   ->  x
//   cast(f(cast(x, A)), type of x)  ->  f(x)   the same, where f moves elements (permute, reshape, slice, ...)
//
// A cast that loses something (f32 to bf16 and back) stays: folding it would change the numbers. Before: any fusion.
// After: no expression reads a value-preserving cast only to cast it again. It stands early, since definitions insert
// casts freely.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// Whether every value of `from` is a value of `to`.
bool preservesValues(DataType from, DataType to);

std::unique_ptr<Fusion> foldCasts(const Fusion& fusion);

}  // namespace tokamak
