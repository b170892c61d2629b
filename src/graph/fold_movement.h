// Pass fold-movement: removes data movement that other data movement undoes or repeats.
//
//   permute(permute(x))      ->  permute(x), or x      reshape(reshape(x))    ->  reshape(x), or x
//   broadcast(broadcast(x))  ->  broadcast(x)          squeeze(squeeze(x))    ->  squeeze(x)
//   squeeze(broadcast(x))    ->  x, broadcast(x) or squeeze(x)
//   broadcast(squeeze(x))    ->  x, where the axes are the same
//   expand(expand(x))        ->  expand(x)             identity permute, reshape, expand, slice -> x
//
// Before: any fusion. After: none of these forms, except where a result is an output or has a schedule or layout. It
// runs before the passes that look at operands.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> foldMovement(const Fusion& fusion);

}  // namespace tokamak
