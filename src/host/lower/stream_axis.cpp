#include "host/lower/stream_axis.h"

#include "base/require.h"

namespace tokamak {

std::optional<StreamAxis> findStreamAxis(const TensorView& tensor) {
  IterDomain* marked = nullptr;
  for (IterDomain* axis : tensor.loop()) {
    if (!axis->isStream()) continue;
    TK_REQUIRE(marked == nullptr, HostProgram, "Stream on {} and on {}: a tensor can be streamed along one axis only",
               describeAxis(tensor, *marked), describeAxis(tensor, *axis));
    marked = axis;
  }
  if (marked == nullptr) return std::nullopt;
  requireUncut(tensor, *marked);
  const StreamAxis result = logicalPartOf(tensor, *marked);
  TK_REQUIRE(!marked->isReduction() && !result.logical->isReduction(), HostProgram,
             "Stream on {}: it is a reduction axis; its iterations would all write the same elements",
             describeAxis(tensor, *marked));
  return result;
}

}  // namespace tokamak
