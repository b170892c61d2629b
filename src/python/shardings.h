// Shardings: which parts of a definition's tensors each rank of a job has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "analysis/shards.h"
#include "ir/fusion.h"

namespace tokamak::python {

/// The mesh of a tensor, and which of its axes are dealt out over which dimension of the mesh.
struct ShardsTold {
  std::vector<int64_t> shape;                   ///< of the mesh
  std::vector<int64_t> devices;                 ///< row-major
  std::vector<std::pair<size_t, size_t>> axes;  ///< of the tensor, and of the mesh
};

/// Nothing for a tensor without a mesh. It makes scalars in the tensor's fusion. Errors: those of shardsOf().
std::optional<ShardsTold> shardsToldOf(const TensorView& tensor);
/// A tuple of the three, or None.
nanobind::object toldOf(const std::optional<ShardsTold>& told);

/// Per axis the first index and the number of indices that the rank has of a tensor of these whole sizes; nothing where
/// it has none. Errors: Bind for sizes that do not fit; those of shardsOf().
using OwnPart = std::vector<std::pair<int64_t, int64_t>>;
std::optional<OwnPart> partOfRank(const TensorView& tensor, const std::vector<int64_t>& sizes, int64_t rank);

/// All devices of the fusion's meshes, in increasing order.
std::vector<int64_t> meshDevicesOf(const Fusion& fusion);

/// The marks of inputs and outputs as `propagate-shardings` completes them.
/// Thread safety: one thread at a time.
class Shardings {
 public:
  /// Errors: those of the pass.
  explicit Shardings(const Fusion& fusion);

  /// Of each input in order, nothing for a scalar and for a tensor without a mesh.
  std::vector<std::optional<ShardsTold>> inputs() const;
  /// Of each output that calls give.
  std::vector<std::optional<ShardsTold>> outputs() const;
  /// Of inputs of these whole sizes (nothing for a scalar) what the rank has; nothing where it has no part. Errors:
  /// Bind for another number of inputs, and for sizes that do not fit one another.
  std::vector<std::optional<OwnPart>> inputParts(const std::vector<std::optional<std::vector<int64_t>>>& sizes,
                                                 int64_t rank) const;

 private:
  std::unique_ptr<Fusion> fusion_;
};

}  // namespace tokamak::python
