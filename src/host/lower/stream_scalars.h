// Named scalars of host programs, and sizes of buffers as expressions.
#pragma once

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// The named scalar that counts the iterations of stream loops, "StreamIdx"; one per program.
Scalar* streamIndex(HostIrContainer& program);

/// The number of elements a buffer for `tensor` holds: the product of its extents without reduction and broadcast axes.
Scalar* elementCount(HostIrContainer& program, const TensorView& tensor);

}  // namespace tokamak
