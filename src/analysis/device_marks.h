// Device marks: meshes, and axes on DIDx, DIDy, DIDz, for programs of several devices.
#pragma once

#include <string_view>

#include "ir/fusion.h"

namespace tokamak {

/// Programs run on one device; those for several exist as text only. `operation`: for the message. Errors: Unsupported
/// for a tensor with a mesh or a device axis.
void requireOneDevice(std::string_view operation, const Fusion& program);

}  // namespace tokamak
