// Input marks: a Stream mark on an input asks that what is computed from it runs in a stream loop along that axis.
#pragma once

#include <memory>

#include "ir/fusion.h"

namespace tokamak {

/// A copy of the fusion in which the Stream marks of inputs have gone to what reads them, and to what reads that; null
/// where no input is marked. A mark goes as far as ops are independent along the axis and their results have no mark of
/// their own. One that goes nowhere stays on its input alone, where lower-streams refuses it.
std::unique_ptr<Fusion> carryInputMarks(const Fusion& fusion);

}  // namespace tokamak
