// The inputs and outputs of a group of ops: tensors that it reads from outside, and tensors that are read outside.
#pragma once

#include <span>

#include "segment/segmenter.h"

namespace tokamak {

/// The group of these ops (in program order), with its inputs and outputs.
SegmentedGroup groupOf(const Fusion& fusion, std::vector<Expr*> exprs);

}  // namespace tokamak
