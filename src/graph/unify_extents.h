// Pass unify-extents: replaces symbols that must be equal by one.
//
// Ops say which extents must be equal (ElementRule::equal_extents): axes of two operands of an addition, the k of a
// matrix product. A constant or else the first symbol replaces the others; binding sizes still checks all of them.
// A symbol stays if other extents are computed from it, if it must equal a computed one, or if a slice or pad mentions
// it: types depend on these values.
// Before: any fusion without a schedule on the symbols' axes. After: such extents are one scalar, so that comparing
// extents finds them equal. It runs first.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

std::unique_ptr<Fusion> unifyExtents(const Fusion& fusion);

}  // namespace tokamak
