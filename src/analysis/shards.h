// Shards: which part of each axis of a tensor a rank has (docs/devices_design.md, section 2).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

enum class ShardForm : uint8_t {
  Index,  ///< the logical axis itself is marked: the rank of coordinate r has its index r
  Chunk,  ///< the outer part of splits is marked: the rank has the indices [r c, (r + 1) c), as far as there are any
};

/// One axis that is dealt out over one dimension of the tensor's mesh.
struct Shard {
  ParallelType type = ParallelType::DIDx;
  size_t dimension = 0;  ///< of the mesh
  int64_t devices = 1;   ///< the extent of that dimension
  IterDomain* loop_axis = nullptr;
  IterDomain* logical = nullptr;
  ShardForm form = ShardForm::Index;
  /// c: the extent of what is inside of the marked part. It is ceilDiv(n, d) where the axis was split into d parts, the
  /// factor where it was split into parts of that size; 1 of Index. A scalar of the tensor's fusion.
  Scalar* chunk = nullptr;
};

/// The device axes of the tensor, in the order of its loop domain; none where no axis is marked (the tensor is
/// replicated over its mesh). It makes scalars in the tensor's fusion, and counts as a change of it.
/// Errors: HostProgram, naming the tensor and the axis, for: a mesh that names a rank twice; a device axis without a
/// mesh, or without that dimension of it; one mark twice; two device axes, or a device axis and Stream, on parts of one
/// logical axis; inner parts of splits, merged, swizzled and reduction axes; reductions that rfactor has cut; and
/// another number of parts than the dimension has devices.
std::vector<Shard> shardsOf(const TensorView& tensor);

/// Errors: HostProgram, beginning with `operation`, if the tensor's mesh is no mesh of a job of `ranks` ranks: it names
/// one twice, or one outside.
void requireMeshWithin(std::string_view operation, const TensorView& tensor, int64_t ranks);

/// The consecutive indices of an axis that a rank has, as numbers or as scalars.
struct IndexRange {
  int64_t start = 0;
  int64_t extent = 0;
};
struct ScalarRange {
  Scalar* start = nullptr;
  Scalar* extent = nullptr;
  bool operator==(const ScalarRange&) const = default;
};

/// The indices of the `coordinate`-th chunk of an axis of n indices: min(c, max(0, n - r c)) from r c on. A chunk that
/// would start behind the end starts there, and has none. Index is a chunk of 1. Legal: n, chunk and coordinate >= 0,
/// where neither r c nor r c + c passes 63 bits.
IndexRange shardRange(int64_t n, int64_t chunk, int64_t coordinate);
/// The same as simplified scalars of `fusion`, which owns `n` and `chunk`, for n >= 0.
ScalarRange shardRange(Fusion& fusion, Scalar* n, Scalar* chunk, int64_t coordinate);
/// The part of a shard of this coordinate in the shard's dimension, in scalars of its tensor's fusion.
ScalarRange shardRange(const Shard& shard, int64_t coordinate);

}  // namespace tokamak
