// PartForm: how an axis is cut into one part for each device of a dimension of a mesh.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/shards.h"
#include "schedule/transforms.h"

namespace tokamak {

/// A split of which the outer part is cut on, or is the devices' in the end.
struct Cut {
  Scalar* factor = nullptr;
  SplitSide side = SplitSide::Inner;
};

struct PartForm {
  std::vector<Cut> cuts;    ///< none: the axis itself
  Scalar* chunk = nullptr;  ///< how many indices a part has, but for the last ones
};

/// The splits that made the shard's loop axis of its logical one.
std::vector<Cut> cutsOf(const Shard& shard);

/// What these cuts make of an axis; nothing if it would not have one part for each device, provably.
/// This and the next one make scalars in the extent's fusion.
std::optional<PartForm> formOfCuts(Scalar& extent, std::vector<Cut> cuts, int64_t devices);

/// Parts of `elements` elements each, of an axis whose index has `behind` of them: the axis itself, as many parts as
/// there are devices, or parts of a size. Nothing where none of these is so, provably.
std::optional<PartForm> formOfElements(Scalar& extent, Scalar& behind, const Scalar& elements, int64_t devices);

}  // namespace tokamak
