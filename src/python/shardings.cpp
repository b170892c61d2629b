#include "python/shardings.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "analysis/bind_shape.h"
#include "analysis/device_mesh.h"
#include "analysis/tensor_part.h"
#include "base/require.h"
#include "graph/make_reshardings.h"
#include "graph/propagate_shardings.h"
#include "graph/unify_extents.h"

namespace nb = nanobind;

namespace tokamak::python {

namespace {

OwnPart partWith(const TensorView& tensor, const std::vector<int64_t>& sizes, const ScalarBindings& bindings,
                 int64_t rank) {
  OwnPart part;
  for (const IndexRange& each : partOf(tensor, sizes, bindings, rank)) part.emplace_back(each.start, each.extent);
  return part;
}

bool isOn(const TensorView& tensor, int64_t rank) { return tensor.mesh().empty() || hasRank(tensor.mesh(), rank); }

}  // namespace

std::optional<ShardsTold> shardsToldOf(const TensorView& tensor) {
  if (tensor.mesh().empty()) return std::nullopt;
  ShardsTold told = {.shape = tensor.mesh().shape, .devices = tensor.mesh().devices, .axes = {}};
  const Axes visible = shapeOf(tensor);
  for (const Shard& shard : shardsOf(tensor)) {
    const auto axis = std::ranges::find(visible, shard.logical);
    if (axis != visible.end()) told.axes.emplace_back(static_cast<size_t>(axis - visible.begin()), shard.dimension);
  }
  return told;
}

nb::object toldOf(const std::optional<ShardsTold>& told) {
  if (!told) return nb::none();
  return nb::make_tuple(told->shape, told->devices, told->axes);
}

std::optional<OwnPart> partOfRank(const TensorView& tensor, const std::vector<int64_t>& sizes, int64_t rank) {
  ScalarBindings bindings;
  bindShape(tensor, sizes, bindings);
  if (!isOn(tensor, rank)) return std::nullopt;
  return partWith(tensor, sizes, bindings, rank);
}

std::vector<int64_t> meshDevicesOf(const Fusion& fusion) {
  std::set<int64_t> devices;
  for (const TensorView* tensor : fusion.allTensors())
    devices.insert(tensor->mesh().devices.begin(), tensor->mesh().devices.end());
  return {devices.begin(), devices.end()};
}

// Reshardings give meshes to what no mark reaches.
Shardings::Shardings(const Fusion& fusion) : fusion_(makeReshardings(*propagateShardings(*unifyExtents(fusion)))) {}

std::vector<std::optional<ShardsTold>> Shardings::inputs() const {
  std::vector<std::optional<ShardsTold>> told;
  for (Val* input : fusion_->inputs()) {
    const TensorView* const tensor = asTensor(input);
    told.push_back(tensor == nullptr ? std::nullopt : shardsToldOf(*tensor));
  }
  return told;
}

std::vector<std::optional<ShardsTold>> Shardings::outputs() const {
  std::vector<std::optional<ShardsTold>> told;
  for (TensorView* output : fusion_->outputs()) {
    const auto alias = fusion_->outputAliases().find(output);
    if (alias == fusion_->outputAliases().end() || !alias->second.is_hidden) told.push_back(shardsToldOf(*output));
  }
  return told;
}

std::vector<std::optional<OwnPart>> Shardings::inputParts(const std::vector<std::optional<std::vector<int64_t>>>& sizes,
                                                          int64_t rank) const {
  const std::vector<Val*>& inputs = fusion_->inputs();
  TK_REQUIRE(sizes.size() == inputs.size(), Bind, "shard: {} inputs for a definition that has {}", sizes.size(),
             inputs.size());
  ScalarBindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView* const tensor = asTensor(inputs[i]);
    TK_REQUIRE((tensor == nullptr) == !sizes[i], Bind, "shard: input {} is a {}, and a {} was given", i,
               tensor == nullptr ? "number" : "tensor", tensor == nullptr ? "tensor" : "number");
    if (tensor != nullptr) bindShape(*tensor, *sizes[i], bindings);
  }
  std::vector<std::optional<OwnPart>> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView* const tensor = asTensor(inputs[i]);
    if (tensor == nullptr || !isOn(*tensor, rank))
      parts.emplace_back();
    else
      parts.emplace_back(partWith(*tensor, *sizes[i], bindings, rank));
  }
  return parts;
}

}  // namespace tokamak::python
