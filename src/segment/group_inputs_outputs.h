// The inputs and outputs of a group of ops: which tensors it reads from outside, and which it gives to the outside.
#pragma once

#include <span>

#include "segment/segmenter.h"

namespace tokamak {

/// The group of these ops (in program order) with its inputs and outputs, everything that is not one of them being
/// outside.
SegmentedGroup groupOf(const Fusion& fusion, std::vector<Expr*> exprs);

}  // namespace tokamak
