#include "tools/lowering_options.h"

#include "base/require.h"
#include "compile/choose_pipeline.h"

namespace tokamak::tools {

std::optional<StreamTransfers> streamTransfersNamed(const std::string& text) {
  for (const StreamTransfers transfers : kAllStreamTransfers)
    if (text == nameOf(transfers)) return transfers;
  TK_REQUIRE(text == "chosen", Usage, "--stream-transfers {}: it must be one of none, direct, permute, ring, chosen",
             text);
  return std::nullopt;
}

Grouping groupingNamed(const std::string& text) {
  if (text == "fused") return Grouping::Fused;
  if (text == "segments") return Grouping::Segments;
  TK_REQUIRE(text == "single", Usage, "--grouping {}: it must be one of single, segments, fused", text);
  return Grouping::Single;
}

OutputLayouts outputLayoutsNamed(const std::string& text) {
  if (text == "inferred") return OutputLayouts::Inferred;
  TK_REQUIRE(text == "row-major", Usage, "--output-layouts {}: it must be one of inferred, row-major", text);
  return OutputLayouts::RowMajor;
}

SegmentMode segmentModeOf(const std::string& text) {
  return groupingNamed(text) == Grouping::Fused ? SegmentMode::Kernels : SegmentMode::OpByOp;
}

}  // namespace tokamak::tools
