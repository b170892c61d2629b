// Pass fold-movement: takes away data movement that other data movement undoes or does again.
//
//   permute(permute(x))      ->  permute(x), or x      reshape(reshape(x))    ->  reshape(x), or x
//   broadcast(broadcast(x))  ->  broadcast(x)          squeeze(squeeze(x))    ->  squeeze(x)
//   squeeze(broadcast(x))    ->  x, broadcast(x) or squeeze(x)
//   broadcast(squeeze(x))    ->  x, where the axes are the same
//   expand(expand(x))        ->  expand(x)             permute, reshape, expand, slice that change nothing -> x
//
// Before: any fusion. After: none of these forms, apart from results that are outputs or have been spoken about. It
// stands before the passes that look at what ops read.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> foldMovement(const Fusion& fusion);

}  // namespace tokamak
