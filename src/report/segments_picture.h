// Segments picture: the data-flow graph of a program's segments, each with its ops.
#pragma once

#include <string>
#include <string_view>

#include "device/kernel_target.h"
#include "host/ir/host_ir_container.h"

namespace tokamak {

/// As an SVG file: a coloured box per segment, and between them the tensors that they exchange, each with the reason
/// why there is a cut (docs/pictures.md). `program` is what makeHostProgram() makes for `target`. Numbers tensors of
/// segments that have no name. Errors: none but of memory.
std::string segmentsPicture(const HostIrContainer& program, const KernelTarget& target,
                            std::string_view id_prefix = "");

}  // namespace tokamak
