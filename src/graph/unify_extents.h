// Pass unify-extents: symbols that must be equal become one.
//
// What must be equal the ops say (ElementRule::equal_extents): the axes of two operands of an addition, the k of a
// matrix product. The first of equal symbols stays, a constant before all; where sizes are bound the rest is checked as
// before, against that one. A symbol from which other extents are computed, which must be equal to a computed one, or
// which the range of a slice or pad mentions, stays itself: types depend on what comes out there. Before: any fusion
// without a schedule on symbols' axes. After: extents that plainly must be equal are one scalar, so that what compares
// extents sees it. It stands first.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> unifyExtents(const Fusion& fusion);

}  // namespace tokamak
