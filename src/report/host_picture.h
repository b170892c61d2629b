// Host picture: the statements of a host program, in the lanes of the streams that they are enqueued on.
#pragma once

#include <string>
#include <string_view>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// As an SVG file: a column per stream as the program names it, a frame per loop and choice, arrows for values and
/// waits (docs/pictures.md). Errors: none but of memory.
std::string hostPicture(const HostIrContainer& program, std::string_view id_prefix = "");

}  // namespace tokamak
