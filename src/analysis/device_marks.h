// Device marks: meshes, and axes on DIDx, DIDy, DIDz, for programs of several devices.
#pragma once

#include <string_view>

#include "ir/fusion.h"

namespace tokamak {

/// What is for one device takes no program over several. `operation`: for the message. Errors: Unsupported
/// for a tensor with a mesh or a device axis.
void requireOneDevice(std::string_view operation, const Fusion& program);

}  // namespace tokamak
