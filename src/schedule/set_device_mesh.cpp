#include "schedule/set_device_mesh.h"

#include <algorithm>
#include <utility>

#include "analysis/device_mesh.h"
#include "analysis/shards.h"
#include "base/error.h"
#include "base/require.h"
#include "define/operand.h"
#include "ir/mesh_problem.h"

namespace tokamak {

namespace {

bool hasDeviceAxis(const TensorView& tensor) {
  return std::ranges::any_of(tensor.loop(), [](const IterDomain* axis) { return isDeviceType(axis->parallelType()); });
}

// What is wrong with the tensor's device axes, or empty.
std::string problemOfShards(const TensorView& tensor) {
  try {
    shardsOf(tensor);
    return "";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::HostProgram) throw;
    return error.message();
  }
}

}  // namespace

void set_device_mesh(TensorView* tensor, DeviceMesh mesh) {
  requireGiven("set_device_mesh", {{"tensor", tensor}});
  TK_REQUIRE(!mesh.empty(), Schedule,
             "set_device_mesh: {}: its mesh names no rank; legal is one or more, as in mesh(0)", toString(*tensor));
  std::string problem = meshProblem(mesh);
  TK_REQUIRE(problem.empty(), Schedule, "set_device_mesh: {}: {}", toString(*tensor), problem);
  DeviceMesh before = tensor->mesh();
  tensor->setMesh(std::move(mesh));
  if (!hasDeviceAxis(*tensor)) return;
  problem = problemOfShards(*tensor);
  if (problem.empty()) return;
  tensor->setMesh(std::move(before));
  TK_RAISE(Schedule, "set_device_mesh: {}", problem);
}

std::string shardProblem(TensorView& tensor, const IterDomain& axis, ParallelType type) {
  const bool is_concerned = isDeviceType(type) || (type == ParallelType::Stream && hasDeviceAxis(tensor));
  if (tensor.mesh().empty() || !is_concerned) return "";
  IterDomain& marked = **std::ranges::find(tensor.loop(), &axis);
  const ParallelType before = marked.parallelType();
  marked.parallelize(type);
  std::string problem = problemOfShards(tensor);
  marked.parallelize(before);
  return problem;
}

}  // namespace tokamak
