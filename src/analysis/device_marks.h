// Marks that spread a program over devices: meshes, and axes on DIDx, DIDy, DIDz.
#pragma once

#include <string_view>

#include "ir/fusion.h"

namespace tokamak {

/// Programs run on one device: a program that is spread over several is text only. `operation` is what was asked for.
/// Errors: Unsupported for a tensor with a mesh or a device axis.
void requireOneDevice(std::string_view operation, const Fusion& program);

}  // namespace tokamak
