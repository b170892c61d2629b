// ShardingsAside: a fusion over devices as a fusion of one device, for a while.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Takes meshes, device axes and partials off the tensors of a fusion for as long as it lives, so that passes which
/// know of one device see what each device computes, at whole sizes. Other marks and loops of tensors without device
/// axes stay. Tensors that are made meanwhile have none.
/// Thread safety: that of the fusion, which it changes, and which outlives it.
class ShardingsAside {
 public:
  explicit ShardingsAside(Fusion& fusion);
  ShardingsAside(const ShardingsAside&) = delete;
  ShardingsAside& operator=(const ShardingsAside&) = delete;
  ~ShardingsAside();

 private:
  struct Kept {
    TensorView* tensor;
    DeviceMesh mesh;
    std::vector<Partial> partials;
    Axes loop;
    Axes allocation;
    std::vector<std::optional<bool>> contiguity;
    std::vector<std::pair<IterDomain*, ParallelType>> marks;  ///< of logical axes
  };
  std::vector<Kept> kept_;
};

/// Whether a tensor of the fusion has a mesh or a device axis.
bool hasShardings(const Fusion& fusion);

}  // namespace tokamak
