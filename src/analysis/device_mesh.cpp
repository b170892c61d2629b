#include "analysis/device_mesh.h"

#include <algorithm>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

std::optional<ParallelType> deviceTypeOf(const DeviceMesh& mesh, size_t dimension) {
  constexpr ParallelType kTypes[] = {ParallelType::DIDx, ParallelType::DIDy, ParallelType::DIDz};
  const size_t from_last = mesh.shape.size() - 1 - dimension;
  return from_last < std::size(kTypes) ? std::optional(kTypes[from_last]) : std::nullopt;
}

std::optional<size_t> meshDimension(const DeviceMesh& mesh, ParallelType type) {
  for (size_t dimension = 0; dimension < mesh.shape.size(); ++dimension) {
    if (deviceTypeOf(mesh, dimension) == type) return dimension;
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> coordinatesOf(const DeviceMesh& mesh, int64_t rank) {
  const auto found = std::ranges::find(mesh.devices, rank);
  if (found == mesh.devices.end() || !mesh.isFilled()) return std::nullopt;
  std::vector<int64_t> coordinates(mesh.shape.size());
  int64_t rest = found - mesh.devices.begin();
  for (size_t i = mesh.shape.size(); i-- > 0;) {
    coordinates[i] = rest % mesh.shape[i];
    rest /= mesh.shape[i];
  }
  return coordinates;
}

std::vector<int64_t> teamOf(const DeviceMesh& mesh, int64_t rank, size_t dimension) {
  const auto coordinates = coordinatesOf(mesh, rank);
  TK_CHECK(coordinates && dimension < mesh.shape.size(), "rank {} has no team in dimension {} of the mesh ({})", rank,
           dimension, joined(mesh.devices));
  int64_t stride = 1;
  for (size_t i = dimension + 1; i < mesh.shape.size(); ++i) stride *= mesh.shape[i];
  const int64_t own = std::ranges::find(mesh.devices, rank) - mesh.devices.begin();
  const int64_t first = own - (*coordinates)[dimension] * stride;
  std::vector<int64_t> team;
  for (int64_t i = 0; i < mesh.shape[dimension]; ++i)
    team.push_back(mesh.devices[static_cast<size_t>(first + i * stride)]);
  return team;
}

}  // namespace tokamak
