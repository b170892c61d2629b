// StreamAxis: the meaning of a Stream mark: the logical axes that the loop runs over, and the part of an iteration.
#pragma once

#include <optional>

#include "analysis/logical_part.h"

namespace tokamak {

/// What one iteration has.
using StreamAxis = LogicalPart;

/// The Stream axis of `tensor`'s loop domain, if it has one. Errors: HostProgram for two of them, for a reduction axis,
/// for an inner part of a split (its indices are not consecutive), for splits of merged axes, and for a reduction that
/// rfactor has cut.
std::optional<StreamAxis> findStreamAxis(const TensorView& tensor);

}  // namespace tokamak
