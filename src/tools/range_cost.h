// What an exported program loses where an extent is a range, beside kernels that know it.
#pragma once

#include <string>

#include "compile/export_options.h"
#include "ir/fusion.h"

namespace tokamak::tools {

/// A sentence with the times of an exported program and of one whose ranges are their largest sizes, each the least of
/// several calls there, alternately; or with why they were not measured. Empty: there are no ranges, or no code
/// for processors.
std::string rangeCost(const Fusion& fusion, const ExportOptions& options, const std::string& exported);

}  // namespace tokamak::tools
