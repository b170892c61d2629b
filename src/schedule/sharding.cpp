#include "schedule/sharding.h"

#include <algorithm>
#include <utility>

#include "analysis/device_mesh.h"
#include "analysis/shards.h"
#include "base/require.h"
#include "ir/ops/math/load_store_op.h"
#include "schedule/loop_steps.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

using Form = MeshUse::Form;

bool isDevice(const IterDomain* axis) { return isDeviceType(axis->parallelType()); }

// The steps from a logical axis to the marked one, as they are on another tensor's axis. Gives the marked axis.
IterDomain* copySteps(const IterDomain& marked, IterDomain* axis, Axes& loop) {
  std::vector<const DomainExpr*> steps;
  for (const IterDomain* at = &marked; at->definition() != nullptr; at = at->definition()->in[0])
    steps.insert(steps.begin(), at->definition());
  for (const DomainExpr* step : steps) {
    const DomainExpr* made = stepLike(*step, axis, nullptr);
    replaceAxes(loop, *made);
    axis = made->out[0];
  }
  return axis;
}

// The outer part of the axis in chunks of ceilDiv(n, devices); the axis itself where it has as many indices.
IterDomain* outerPart(Fusion& fusion, IterDomain* axis, int64_t devices, Axes& loop) {
  if (axis->visibleExtent()->constantInt() == devices) return axis;
  const DomainExpr* made = splitStep(axis, fusion.constant(devices), SplitSide::Outer);
  replaceAxes(loop, *made);
  return made->out[0];
}

}  // namespace

bool isSameUse(const MeshUse& a, const MeshUse& b) {
  if (a.form != b.form) return false;
  switch (a.form) {
    case Form::Whole: return true;
    case Form::Chunk: return a.axis == b.axis && a.chunk == b.chunk;
    case Form::Partial: return a.reduction == b.reduction;
  }
  TK_RAISE(Internal, "a use of a mesh's dimension without a form");
}

bool Sharding::isWhole() const {
  return std::ranges::all_of(uses, [](const MeshUse& use) { return use.form == Form::Whole; });
}

int64_t Sharding::dimensionOf(size_t axis) const {
  const auto found =
      std::ranges::find_if(uses, [&](const MeshUse& use) { return use.form == Form::Chunk && use.axis == axis; });
  return found == uses.end() ? -1 : found - uses.begin();
}

bool isSameSharding(const Sharding& a, const Sharding& b) {
  return a.mesh == b.mesh && std::ranges::equal(a.uses, b.uses, isSameUse);
}

Sharding wholeOn(DeviceMesh mesh) {
  std::vector<MeshUse> uses(mesh.shape.size());
  return {.mesh = std::move(mesh), .uses = std::move(uses)};
}

Sharding shardingOf(const TensorView& tensor) {
  Sharding sharding = wholeOn(tensor.mesh());
  const Axes shape = shapeOf(tensor);
  for (const Shard& shard : shardsOf(tensor)) {
    if (shard.devices == 1) continue;
    const auto axis = static_cast<size_t>(std::ranges::find(shape, shard.logical) - shape.begin());
    sharding.uses[shard.dimension] = {
        .form = Form::Chunk, .axis = axis, .chunk = simplify(shard.chunk), .marked = shard.loop_axis};
  }
  for (const Partial& partial : tensor.partials()) {
    const auto dimension = meshDimension(tensor.mesh(), partial.type);
    TK_REQUIRE(dimension.has_value(), HostProgram, "shards: {}: {}", nameOf(tensor), partialProblem(tensor));
    if (tensor.mesh().shape[*dimension] > 1)
      sharding.uses[*dimension] = {.form = Form::Partial, .reduction = partial.kind};
  }
  return sharding;
}

void shard(TensorView& tensor, const Sharding& sharding) {
  tensor.setMesh(sharding.mesh);
  const Axes shape = shapeOf(tensor);
  Axes& loop = tensor.mutableDomain().loop;
  std::vector<Partial> partials;
  for (size_t dimension = 0; dimension < sharding.uses.size(); ++dimension) {
    const MeshUse& use = sharding.uses[dimension];
    if (use.form == Form::Whole) continue;
    const auto type = deviceTypeOf(sharding.mesh, dimension);
    TK_CHECK(type.has_value(), "dimension {} of a mesh has no mark", dimension);
    if (use.form == Form::Partial) {
      partials.push_back({.kind = use.reduction, .type = *type});
      continue;
    }
    IterDomain* axis = shape[use.axis];
    IterDomain* marked = use.marked != nullptr ? copySteps(*use.marked, axis, loop)
                                               : outerPart(tensor.fusion(), axis, sharding.mesh.shape[dimension], loop);
    marked->parallelize(*type);
  }
  std::ranges::sort(partials, {}, &Partial::type);
  tensor.setPartials(std::move(partials));
}

bool isResharding(const Expr& expr) {
  const auto* set = expr.as<LoadStoreOp>();
  if (set == nullptr || (set->in->mesh().empty() && set->out->mesh().empty())) return false;
  const Sharding from = shardingOf(*set->in);
  const Sharding to = shardingOf(*set->out);
  if (from.mesh.empty()) return !to.isWhole();
  return !isSameSharding(from, to);
}

ShardingsAside::ShardingsAside(Fusion& fusion) {
  for (TensorView* tensor : fusion.allTensors()) {
    const bool has_device_axis =
        std::ranges::any_of(tensor->loop(), isDevice) || std::ranges::any_of(tensor->logical(), isDevice);
    if (tensor->mesh().empty() && !has_device_axis) continue;
    Kept kept{.tensor = tensor,
              .mesh = tensor->mesh(),
              .partials = tensor->partials(),
              .loop = tensor->loop(),
              .allocation = tensor->domain().allocation,
              .contiguity = tensor->domain().contiguity,
              .marks = {}};
    tensor->setPartials({});
    tensor->setMesh({});
    if (has_device_axis) {
      for (IterDomain* axis : tensor->logical()) {
        kept.marks.emplace_back(axis, axis->parallelType());
        if (isDevice(axis)) axis->parallelize(ParallelType::Serial);
      }
      TensorDomain& domain = tensor->mutableDomain();
      domain.loop = domain.logical;
      if (!domain.allocation.empty()) {
        domain.allocation.clear();
        domain.contiguity.clear();
        for (const IterDomain* axis : domain.logical) {
          const bool is_stored = !axis->isReduction() && !axis->isBroadcast();
          domain.contiguity.push_back(is_stored ? std::optional(true) : std::nullopt);
        }
      }
    }
    kept_.push_back(std::move(kept));
  }
}

ShardingsAside::~ShardingsAside() {
  for (Kept& kept : kept_) {
    kept.tensor->setMesh(std::move(kept.mesh));
    kept.tensor->setPartials(std::move(kept.partials));
    TensorDomain& domain = kept.tensor->mutableDomain();
    domain.loop = std::move(kept.loop);
    domain.allocation = std::move(kept.allocation);
    domain.contiguity = std::move(kept.contiguity);
    for (const auto& [axis, type] : kept.marks) axis->parallelize(type);
  }
}

bool hasShardings(const Fusion& fusion) {
  return std::ranges::any_of(fusion.allTensors(), [](const TensorView* tensor) {
    return !tensor->mesh().empty() || std::ranges::any_of(tensor->loop(), isDevice) ||
           std::ranges::any_of(tensor->logical(), isDevice);
  });
}

}  // namespace tokamak
