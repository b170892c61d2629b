// Fusion picture: the data-flow graph of a fusion.
#pragma once

#include <string>
#include <string_view>

#include "ir/fusion.h"

namespace tokamak {

/// The ops that outputs depend on, as an SVG file: inputs above what reads them, outputs below all (docs/pictures.md).
/// `id_prefix` keeps pictures on one page apart. Errors: none but of memory.
std::string fusionPicture(const Fusion& fusion, std::string_view id_prefix = "");

}  // namespace tokamak
