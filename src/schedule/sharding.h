// Sharding: what each dimension of a tensor's mesh does with it (docs/devices_design.md, sections 2 and 6).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// What the devices along one dimension of a mesh have of a tensor.
struct MeshUse {
  enum class Form : uint8_t {
    Whole,    ///< all of it, as far as this dimension says
    Chunk,    ///< chunks of one axis
    Partial,  ///< terms of a reduction
  };
  Form form = Form::Whole;
  size_t axis = 0;               ///< of Chunk: of the visible shape
  Scalar* chunk = nullptr;       ///< of Chunk: how many indices a device has, simplified; the last ones have fewer
  IterDomain* marked = nullptr;  ///< of Chunk: the loop axis that says so; null: chunks of ceilDiv(n, devices)
  ReductionKind reduction = ReductionKind::Sum;  ///< of Partial
};
/// Whether a device has the same by both.
bool isSameUse(const MeshUse& a, const MeshUse& b);

/// Dimensions of one device are Whole: it has all.
struct Sharding {
  DeviceMesh mesh;
  std::vector<MeshUse> uses;  ///< one per dimension of the mesh

  bool isWhole() const;
  /// The dimension over which the axis is dealt out, or -1.
  int64_t dimensionOf(size_t axis) const;
};
bool isSameSharding(const Sharding& a, const Sharding& b);
/// Of this mesh, each device with the whole tensor.
Sharding wholeOn(DeviceMesh mesh);

/// Without a mesh: no uses. It makes scalars in the tensor's fusion. Errors: those of shardsOf().
Sharding shardingOf(const TensorView& tensor);

/// Gives a tensor without marks this mesh, its device axes and its partials. The axes' extents are those of the tensor
/// that the sharding was read from, but for uses without `marked`.
void shard(TensorView& tensor, const Sharding& sharding);

/// Whether the op is a Set whose operand and result have other shards, meshes or partials: a change of what devices
/// have. (A Set from a tensor without a mesh to a whole one is none.)
bool isResharding(const Expr& expr);

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
