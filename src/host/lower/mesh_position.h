// Mesh position: where a rank stands along a dimension of a mesh, as a scalar of the rank's number.
#pragma once

#include <cstdint>
#include <optional>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// The named scalar that is each rank's own number in its local program, "rank"; one per program.
Scalar* rankSymbol(HostIrContainer& program);

/// Of the rank that runs the program, which is in the mesh.
struct MeshPosition {
  Scalar* own = nullptr;  ///< 0 <= own < devices
  size_t dimension = 0;
  int64_t devices = 1;      ///< of the dimension
  Scalar* first = nullptr;  ///< the rank at position 0 that differs from this one in this dimension alone
  int64_t stride = 1;       ///< from one position to the next one

  /// The rank at `position`, which is in [0, devices).
  Scalar* rankAt(HostIrContainer& program, Scalar* position) const;
};

/// Nothing where the mesh's ranks are not first, first + step, first + 2 step, ... for a step of 1 or more: no scalar
/// of a few operations says then where a rank stands.
std::optional<MeshPosition> meshPosition(HostIrContainer& program, const DeviceMesh& mesh, size_t dimension);

}  // namespace tokamak
