// Rank parts: iterations of a stream loop that have what one rank has, each (docs/devices_design.md, section 6).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "host/ir/host_ir_container.h"
#include "host/lower/stream_axis.h"

namespace tokamak {

/// Whether the i-th iteration of a loop over `axis` has, for each i, the indices along the axis that ranks of
/// coordinate i in `dimension` of the mesh have of `dealt`, which is dealt out over it. Both are of one fusion, in
/// which it makes scalars.
bool hasPartsOfRanks(const StreamAxis& axis, const TensorView& dealt, size_t dimension);

/// The axis of the result of a Set from terms to their sum that is dealt out over the dimension of the terms, as if it
/// was streamed; nothing for other expressions, and where more than that changes. Errors: those of shardingOf().
std::optional<StreamAxis> axisOfReceivers(const Expr& expr);

/// A view of the indices along one axis that the ranks of one coordinate have.
struct RankPart {
  TensorView* of = nullptr;  ///< which is dealt out along the axis, over `dimension` of its mesh
  int64_t axis = 0;          ///< of its visible shape
  size_t dimension = 0;
  Scalar* position = nullptr;  ///< the coordinate
  bool drops_axis = false;     ///< the view lacks the axis, of which each rank has one index
};

/// What a HirAliasSelect or HirAliasSlice in the body of a loop over `index` (null: in none) views, if it is a part of
/// one rank, which all ranks name: an index of an axis of which ranks have one each, or the chunk of the
/// coordinate `index`. Makes scalars in the program.
std::optional<RankPart> rankPartOf(HostIrContainer& program, const Expr& view, Scalar* index);

/// The member of the team at a position that is computed; any one where there is none.
Scalar* memberAt(HostIrContainer& program, std::span<const int64_t> team, Scalar* position);

}  // namespace tokamak
