// Pass fold-ranges: takes away parts, borders and concatenations that meet one another.
//
//   slice(slice(x))             ->  slice(x)
//   slice(cat([.., x, ..]))     ->  x, or slice(x): the range lies in one part
//   slice(pad(x))               ->  slice(x): the range lies within x
//   pad(pad(x))                 ->  pad(x): of the same value, nothing cut
//   cat([cat([x, y]), z])       ->  cat([x, y, z]): along the same axis, the inner one not used elsewhere
//   cat([x[0:k], x[k:n]])       ->  x, or the range that the parts are together
//   cat([f(x[0:k]), f(x[k:n])]) ->  f(x): f moves elements or casts them, and keeps the parts behind one another
//   cat([x[0], x[1], ..])       ->  x, or the range: positions with a new axis, permuted where it is another one
//   cat([x])                    ->  x
//
// Positions are compared where they are constants, or the same expressions. Before: any fusion. After: none of these
// forms, apart from results that are outputs or have been spoken about: an output that is x is a slice that cuts
// nothing. It stands after fold-movement, which brings such ops together; where it changes something, casts and
// movement are folded again.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> foldRanges(const Fusion& fusion);

}  // namespace tokamak
