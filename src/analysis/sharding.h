// Sharding: what the devices of a mesh have of a tensor, as data (docs/devices_design.md, sections 2, 5 and 6): read
// from the marks of a tensor, given to others (schedule/shard.h).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/marked_parts.h"

namespace tokamak {

/// What devices that differ in one dimension of a mesh have of a tensor.
struct MeshUse {
  enum class Form : uint8_t {
    Whole,    ///< all of them the same, as far as this dimension says
    Chunk,    ///< a part of an axis each
    Partial,  ///< a term of a reduction each
  };
  Form form = Form::Whole;
  MarkedParts parts = {};                        ///< of Chunk
  ReductionKind reduction = ReductionKind::Sum;  ///< of Partial

  bool isWhole() const { return form == Form::Whole; }
  /// Whether a device has the same by both.
  bool operator==(const MeshUse& other) const;
};

/// Dimensions of one device are Whole, whatever is marked: it has all.
struct Sharding {
  DeviceMesh mesh;
  std::vector<MeshUse> uses;  ///< one per dimension of the mesh

  bool isWhole() const;
  /// The dimension over which the axis is dealt out, or -1.
  int64_t dimensionOf(int64_t axis) const;
  bool operator==(const Sharding&) const = default;
};

/// Of this mesh, each device with the whole tensor.
Sharding wholeOn(DeviceMesh mesh);

/// What the tensor's marks say; without a mesh no uses. It makes scalars in the tensor's fusion. Errors: those of
/// shardsOf(), and HostProgram for a partial over a dimension that the mesh lacks.
Sharding shardingOf(const TensorView& tensor);

/// The partials of a tensor over dimensions of more than one device: one device has the whole.
std::vector<Partial> trueTerms(const TensorView& tensor);

/// Whether the op is a Set whose operand and result have other shards, meshes or partials: a change of what devices
/// have. (A Set from a tensor without a mesh to a whole one is none.) Errors: those of shardingOf().
bool isResharding(const Expr& expr);

}  // namespace tokamak
