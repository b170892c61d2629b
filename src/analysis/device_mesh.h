// Device meshes: where a rank stands in a mesh, and its team: the ranks that differ from it in one dimension.
#pragma once

#include <optional>
#include <vector>

#include "ir/tensor_view.h"

namespace tokamak {

/// The mark of device axes that are dealt out over dimension `dimension` of the mesh: DIDx is the last one, DIDy the
/// one before, DIDz the one before that. Nothing for dimensions that have no mark.
std::optional<ParallelType> deviceTypeOf(const DeviceMesh& mesh, size_t dimension);
/// The dimension that a mark (DIDx, DIDy, DIDz) means, or nothing if the mesh has too few.
std::optional<size_t> meshDimension(const DeviceMesh& mesh, ParallelType type);
inline bool isDeviceType(ParallelType type) { return type >= ParallelType::DIDx && type <= ParallelType::DIDz; }

/// The rank's coordinate in each dimension of the mesh; nothing if it is not in it, or the mesh is not filled.
std::optional<std::vector<int64_t>> coordinatesOf(const DeviceMesh& mesh, int64_t rank);
inline bool hasRank(const DeviceMesh& mesh, int64_t rank) { return coordinatesOf(mesh, rank).has_value(); }

/// The ranks that differ from `rank`, which is in the mesh, in this dimension alone, itself included, by their
/// coordinate.
std::vector<int64_t> teamOf(const DeviceMesh& mesh, int64_t rank, size_t dimension);

}  // namespace tokamak
