// Timeline picture: what ran when on which stream.
#pragma once

#include <string>
#include <string_view>

#include "report/run_record.h"

namespace tokamak {

/// As an SVG file: a row per track, a bar per span, times from the first one on. Spans of one track that overlap, as
/// those of parts of another one, stand below each other.
std::string timelinePicture(const RunRecord& record, std::string_view name, std::string_view id_prefix = "");

}  // namespace tokamak
