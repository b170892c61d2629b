#include "analysis/sharding.h"

#include <algorithm>
#include <utility>

#include "analysis/device_mesh.h"
#include "analysis/shards.h"
#include "base/require.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

}  // namespace

bool MeshUse::operator==(const MeshUse& other) const {
  if (form != other.form) return false;
  return form == Form::Whole || (form == Form::Chunk ? parts == other.parts : reduction == other.reduction);
}

bool Sharding::isWhole() const { return std::ranges::all_of(uses, &MeshUse::isWhole); }

int64_t Sharding::dimensionOf(int64_t axis) const {
  const auto found =
      std::ranges::find_if(uses, [&](const MeshUse& use) { return use.form == Form::Chunk && use.parts.axis == axis; });
  return found == uses.end() ? -1 : found - uses.begin();
}

Sharding wholeOn(DeviceMesh mesh) {
  std::vector<MeshUse> uses(mesh.shape.size());
  return {.mesh = std::move(mesh), .uses = std::move(uses)};
}

Sharding shardingOf(const TensorView& tensor) {
  Sharding sharding = wholeOn(tensor.mesh());
  for (const Shard& shard : shardsOf(tensor)) {
    if (shard.devices == 1) continue;
    auto parts = markedPartsOf(tensor, *shard.loop_axis);
    TK_CHECK(parts.has_value(), "a shard of {} is no part of its shape", toString(tensor));
    sharding.uses[shard.dimension] = {.form = Form::Chunk, .parts = *std::move(parts)};
  }
  for (const Partial& partial : tensor.partials()) {
    const auto dimension = meshDimension(tensor.mesh(), partial.type);
    TK_REQUIRE(dimension.has_value(), HostProgram, "shards: {}: {}", nameOf(tensor), partialProblem(tensor));
    if (tensor.mesh().shape[*dimension] > 1)
      sharding.uses[*dimension] = {.form = Form::Partial, .reduction = partial.kind};
  }
  return sharding;
}

std::vector<Partial> trueTerms(const TensorView& tensor) {
  std::vector<Partial> terms = tensor.partials();
  std::erase_if(terms, [&](const Partial& term) {
    const auto dimension = meshDimension(tensor.mesh(), term.type);
    return dimension && tensor.mesh().shape[*dimension] == 1;
  });
  return terms;
}

bool isResharding(const Expr& expr) {
  const auto* set = expr.as<LoadStoreOp>();
  if (set == nullptr || (set->in->mesh().empty() && set->out->mesh().empty())) return false;
  const Sharding from = shardingOf(*set->in);
  const Sharding to = shardingOf(*set->out);
  if (from.mesh.empty()) return !to.isWhole();
  return !(from == to);
}

}  // namespace tokamak
