// Random marks of devices on the tensors of a fusion.
#pragma once

#include <cstdint>

#include "ir/fusion.h"
#include "random.h"

namespace tokamak::generator {

enum class DrawnMarks : uint8_t {
  OfMost,  ///< few tensors have no mesh
  OfFew,   ///< propagation decides on most
};

/// Gives tensors meshes of ranks below `ranks`, and device axes. Most are on one mesh. An output that updates an input
/// has its marks: none.
void drawMarks(Fusion& fusion, Random& random, int64_t ranks, DrawnMarks which = DrawnMarks::OfMost);

/// Marks a loop of a tensor that an op makes Stream, maybe in other parts than devices have. Errors: Schedule.
void drawStream(Fusion& fusion, Random& random);

}  // namespace tokamak::generator
