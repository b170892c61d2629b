#include "host/local/rank_team.h"

#include "analysis/device_mesh.h"

namespace tokamak {

namespace {

// The team of the rank: a row of the mesh, where the statement names the first one of a dimension, else as it is named.
std::vector<int64_t> rowOfRank(const std::vector<int64_t>& named, const DeviceMesh& mesh, int64_t rank) {
  if (!hasRank(mesh, rank)) return named;
  for (size_t dimension = 0; dimension < mesh.shape.size(); ++dimension) {
    if (teamOf(mesh, mesh.devices[0], dimension) == named) return teamOf(mesh, rank, dimension);
  }
  return named;
}

}  // namespace

std::vector<int64_t> teamOfRank(const Communication& op, int64_t rank) {
  const bool is_between_meshes = op.in != nullptr && op.out != nullptr && op.in->mesh() != op.out->mesh();
  if (is_between_meshes || (op.in == nullptr && op.out == nullptr)) return op.team;
  return rowOfRank(op.team, (op.in != nullptr ? op.in : op.out)->mesh(), rank);
}

std::vector<int64_t> teamOfRank(const CollectivePermute& op, int64_t rank) {
  return rowOfRank(op.team, op.in->mesh(), rank);
}

}  // namespace tokamak
