#include "schedule/shardings_aside.h"

#include <algorithm>
#include <utility>

#include "analysis/device_mesh.h"

namespace tokamak {

namespace {

bool isDevice(const IterDomain* axis) { return isDeviceType(axis->parallelType()); }

}  // namespace

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
