// Whole extents: how a rank finds them from its own inputs (docs/devices_design.md, section 3).
#pragma once

#include <map>

#include "host/ir/host_ir_container.h"
#include "host/local/local_program.h"
#include "host/local/local_tensors.h"

namespace tokamak {

/// Extents that whole axes of the rank's input tensors and scalar inputs tell are known. One that stands in chunks of
/// ceilDiv(n, d) alone becomes d times a symbol, which is the size of a chunk, or is given (`extents`).
/// Default sizes of the copy follow.
/// Gives the extents that are computed of chunks, with the symbol of the chunk in the copy. They are right where all
/// ranks have chunks of that size.
/// Errors: HostProgram, naming the axis, for extents of inputs that are known in neither way.
std::map<const Scalar*, Scalar*> findWholeExtents(const HostIrContainer& program, LocalTensors& tensors,
                                                  WholeExtents extents);

}  // namespace tokamak
