// Pass fold-ranges: folds slices, pads and concatenations of one another.
//
//   slice(slice(x))             ->  slice(x)
//   slice(cat([.., x, ..]))     ->  x, or slice(x): the range lies in one part
//   slice(pad(x))               ->  slice(x): the range lies within x
//   pad(pad(x))                 ->  pad(x): of the same value, nothing cut
//   cat([cat([x, y]), z])       ->  cat([x, y, z]): along the same axis, the inner one not used elsewhere
//   cat([x[0:k], x[k:n]])       ->  x, or the range that the parts are together
//   cat([f(x[0:k]), f(x[k:n])]) ->  f(x): f moves or casts elements, and keeps the parts adjacent
//   cat([x[0], x[1], ..])       ->  x, or the range: positions with a new axis, permuted if it is another axis
//   cat([x])                    ->  x
//
// Positions are compared if they are constants or the same expressions. Before: any fusion. After: none of these forms,
// except where a result has a schedule or layout; an output that equals x is a slice of all of x.
// It runs after fold-movement, which makes such ops adjacent, and runs that and fold-casts again if it changes
// anything.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> foldRanges(const Fusion& fusion);

}  // namespace tokamak
