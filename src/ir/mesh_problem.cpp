#include "ir/mesh_problem.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

std::string meshProblem(const DeviceMesh& mesh) {
  if (!mesh.isFilled())
    return fmt::format("its mesh of the shape [{}] has {} ranks; it needs one for each place", joined(mesh.shape),
                       mesh.devices.size());
  std::vector<int64_t> sorted = mesh.devices;
  std::ranges::sort(sorted);
  if (sorted[0] < 0) return fmt::format("its mesh names rank {}; ranks are 0 or more", sorted[0]);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) return fmt::format("its mesh names rank {} twice; each stands in one place", *twice);
  return "";
}

}  // namespace tokamak
