#include "analysis/shards.h"

#include <algorithm>
#include <optional>
#include <set>

#include "analysis/device_mesh.h"
#include "analysis/logical_part.h"
#include "base/require.h"
#include "ir/mesh_problem.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

bool isDevice(const IterDomain& axis) { return isDeviceType(axis.parallelType()); }

// "DIDx on axis 0 (ideviceIdx.x{4}) of T0"
std::string markOn(const TensorView& tensor, const IterDomain& axis) {
  return std::string(parallelTypeName(axis.parallelType())) + " on " + describeAxis(tensor, axis);
}

// The axes of the tensor's own shape that a loop axis was made of.
void addSources(IterDomain* axis, std::set<const IterDomain*>& sources) {
  if (axis->definition() == nullptr) {
    sources.insert(axis);
    return;
  }
  for (IterDomain* in : axis->definition()->in) {
    if (in != nullptr) addSources(in, sources);
  }
}

// Another mark of devices or streams that is made of an axis which this one is made of, too.
const IterDomain* markBeside(const TensorView& tensor, IterDomain& marked) {
  std::set<const IterDomain*> own;
  addSources(&marked, own);
  for (IterDomain* other : tensor.loop()) {
    if (other == &marked || !(isDevice(*other) || other->isStream())) continue;
    std::set<const IterDomain*> sources;
    addSources(other, sources);
    if (std::ranges::any_of(sources, [&](const IterDomain* axis) { return own.contains(axis); })) return other;
  }
  return nullptr;
}

void requireWellFormed(std::string_view operation, const TensorView& tensor) {
  const std::string problem = tensor.mesh().empty() ? "" : meshProblem(tensor.mesh());
  TK_REQUIRE(problem.empty(), HostProgram, "{}: {}: {}", operation, nameOf(tensor), problem);
}

size_t dimensionOf(const TensorView& tensor, const IterDomain& marked) {
  TK_REQUIRE(!tensor.mesh().empty(), HostProgram,
             "{}: the tensor has no mesh; give it one, as in mesh(0, 1), or leave the mark out",
             markOn(tensor, marked));
  const auto dimension = meshDimension(tensor.mesh(), marked.parallelType());
  TK_REQUIRE(dimension.has_value(), HostProgram,
             "{}: the mesh has {} dimension(s); DIDx is the last one, DIDy the one before, DIDz the one before that",
             markOn(tensor, marked), tensor.mesh().shape.size());
  return *dimension;
}

void requireAlone(const TensorView& tensor, IterDomain& marked) {
  for (const IterDomain* other : tensor.loop()) {
    TK_REQUIRE(other == &marked || other->parallelType() != marked.parallelType(), HostProgram,
               "{} and on {}: one dimension of the mesh has parts of one axis", markOn(tensor, marked),
               describeAxis(tensor, *other));
  }
  const IterDomain* beside = markBeside(tensor, marked);
  TK_REQUIRE(beside == nullptr, HostProgram,
             "{} and {}: both are parts of one axis; a device has one run of indices, so mark another axis",
             markOn(tensor, marked), markOn(tensor, *beside));
  const bool is_reduced = marked.isReduction();
  TK_REQUIRE(!is_reduced, HostProgram,
             "{}: it is a reduction axis, of which the tensor has no parts; mark the axis of the operand",
             markOn(tensor, marked));
}

Shard shardOf(const TensorView& tensor, IterDomain& marked) {
  const size_t dimension = dimensionOf(tensor, marked);
  requireAlone(tensor, marked);
  requireUncut(tensor, marked);
  const LogicalPart part = logicalPartOf(tensor, marked);
  TK_REQUIRE(
      part.form != LogicalPart::Form::Merged, HostProgram,
      "{}: it is a merged axis, of which a rank would have no run of indices; mark one of the axes before the merge",
      markOn(tensor, marked));
  const int64_t devices = tensor.mesh().shape[dimension];
  Scalar* parts = marked.visibleExtent();
  const bool is_single = part.logical->isBroadcast() && part.logical->expandedExtent() == nullptr;
  TK_REQUIRE(
      !is_single || devices == 1, HostProgram,
      "{}: the tensor has one element along it, which cannot be dealt out over {} devices; mark another axis, or "
      "none: then all of them have it",
      markOn(tensor, marked), devices);
  TK_REQUIRE(parts->constantInt() == devices, HostProgram,
             "{}: it has {} parts, and dimension {} of the mesh has {} devices; split the axis by {} with "
             "inner_split=false, and mark the outer part",
             markOn(tensor, marked), toString(*parts), dimension, devices, devices);
  const bool is_chunk = part.form == LogicalPart::Form::Chunk;
  return {.type = marked.parallelType(),
          .dimension = dimension,
          .devices = devices,
          .loop_axis = &marked,
          .logical = part.logical,
          .form = is_chunk ? ShardForm::Chunk : ShardForm::Index,
          .chunk = is_chunk ? part.chunk : tensor.fusion().constant(1)};
}

}  // namespace

std::vector<Shard> shardsOf(const TensorView& tensor) {
  requireWellFormed("shards", tensor);
  std::vector<Shard> shards;
  for (IterDomain* axis : tensor.loop()) {
    if (isDevice(*axis)) shards.push_back(shardOf(tensor, *axis));
  }
  return shards;
}

void requireMeshWithin(std::string_view operation, const TensorView& tensor, int64_t ranks) {
  requireWellFormed(operation, tensor);
  for (const int64_t device : tensor.mesh().devices) {
    TK_REQUIRE(device < ranks, HostProgram, "{}: {}: its mesh names rank {}, and the job has {} rank(s): 0 to {}",
               operation, nameOf(tensor), device, ranks, ranks - 1);
  }
}

IndexRange shardRange(int64_t n, int64_t chunk, int64_t coordinate) {
  const int64_t start = std::min(n, chunk * coordinate);
  return {.start = start, .extent = std::min(chunk, n - start)};
}

ScalarRange shardRange(Fusion& fusion, Scalar* n, Scalar* chunk, int64_t coordinate) {
  IntervalAnalysis analysis;
  analysis.assumeExtent(*n);
  Scalar* start = fusion.scalar(ScalarOp::Min, fusion.mul(chunk, fusion.constant(coordinate)), n);
  return {.start = simplify(start, analysis),
          .extent = simplify(fusion.scalar(ScalarOp::Min, chunk, fusion.sub(n, start)), analysis)};
}

ScalarRange shardRange(const Shard& shard, int64_t coordinate) {
  return shardRange(shard.logical->fusion(), shard.logical->visibleExtent(), shard.chunk, coordinate);
}

}  // namespace tokamak
