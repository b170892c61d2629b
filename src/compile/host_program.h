// Host programs that were written by hand: how they run. Users call compileHostProgram() (compile/program.h).
#pragma once

#include "device/kernel_target.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/segment_mode.h"

namespace tokamak {

/// Kernels, where each segment may be one on the target; else op by op: who writes a host program is not asked for
/// segments that may.
SegmentMode segmentModeFor(const HostIrContainer& program, const KernelTarget& target);

}  // namespace tokamak
