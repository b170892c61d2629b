// The value of --grouping.
#pragma once

#include <string>

#include "host/lower_fusion.h"
#include "host/unit_mode.h"

namespace tokamak::tools {

/// single, units or fused. Errors: Usage.
Grouping groupingNamed(const std::string& text);

/// How the units that this grouping makes are run. Errors: Usage.
UnitMode unitModeOf(const std::string& text);

}  // namespace tokamak::tools
