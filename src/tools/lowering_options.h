// The values of --grouping and --output-layouts.
#pragma once

#include <optional>
#include <string>

#include "compile/lower_fusion.h"
#include "host/ir/segment_mode.h"

namespace tokamak::tools {

/// single, segments or fused. Errors: Usage.
Grouping groupingNamed(const std::string& text);
/// none, direct, permute or ring; nothing for `chosen`, by the model of a machine. Errors: Usage for another word.
std::optional<StreamTransfers> streamTransfersNamed(const std::string& text);

/// inferred or row-major. Errors: Usage.
OutputLayouts outputLayoutsNamed(const std::string& text);

/// How the segments that this grouping makes are run. Errors: Usage.
SegmentMode segmentModeOf(const std::string& text);

}  // namespace tokamak::tools
