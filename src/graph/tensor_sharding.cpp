#include "graph/tensor_sharding.h"

#include <algorithm>

#include "analysis/device_mesh.h"
#include "analysis/shards.h"
#include "base/require.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

// The parts that a loop axis stands for, by outer parts of splits alone; nothing if there is another step on its way.
std::optional<MarkedParts> partsOf(const TensorView& tensor, IterDomain& marked) {
  MarkedParts parts;
  Fusion& fusion = tensor.fusion();
  parts.chunk = fusion.constant(1);
  IterDomain* axis = &marked;
  while (axis->definition() != nullptr) {
    const DomainExpr& step = *axis->definition();
    if (step.kind != DomainExprKind::Split || step.out[0] != axis) return std::nullopt;
    parts.steps.insert(parts.steps.begin(), {.factor = step.factor, .is_inner_factor = step.is_inner_factor});
    parts.chunk = fusion.mul(parts.chunk, step.out[1]->visibleExtent());
    axis = step.in[0];
  }
  const Axes shape = shapeOf(tensor);
  const auto found = std::ranges::find(shape, axis);
  if (found == shape.end()) return std::nullopt;
  parts.axis = found - shape.begin();
  parts.chunk = simplify(parts.chunk);
  return parts;
}

IterDomain* partLike(const IterDomain& axis, Scalar* extent) {
  if (!axis.isBroadcast()) return axis.fusion().axis({.kind = axis.kind(), .extent = extent});
  return axis.fusion().axis(
      {.kind = axis.kind(), .expanded_extent = axis.expandedExtent() == nullptr ? nullptr : extent});
}

// Splits the axis as said, in the tensor's loops, and marks the outermost part.
void mark(TensorView& tensor, const MarkedParts& parts, ParallelType type, Cloner& cloner) {
  Fusion& fusion = tensor.fusion();
  Axes& loop = tensor.mutableDomain().loop;
  IterDomain* axis = shapeOf(tensor)[static_cast<size_t>(parts.axis)];
  for (const PartStep& step : parts.steps) {
    Scalar* factor = cloner.clone(step.factor);
    Scalar* rest = fusion.ceilDiv(axis->visibleExtent(), factor);
    DomainExpr split{.kind = DomainExprKind::Split, .factor = factor, .is_inner_factor = step.is_inner_factor};
    split.in[0] = axis;
    split.out[0] = partLike(*axis, step.is_inner_factor ? rest : factor);
    split.out[1] = partLike(*axis, step.is_inner_factor ? factor : rest);
    fusion.domainExpr(split);
    const auto place = std::ranges::find(loop, axis);
    *place = split.out[0];
    loop.insert(place + 1, split.out[1]);
    axis = split.out[0];
  }
  axis->parallelize(type);
}

}  // namespace

bool Spread::operator==(const Spread& other) const {
  if (form != other.form) return false;
  return form == SpreadForm::Whole || (form == SpreadForm::Parts ? parts == other.parts : reduction == other.reduction);
}

bool TensorSharding::isWhole() const { return std::ranges::all_of(dimensions, &Spread::isWhole); }

TensorSharding tensorShardingOf(const TensorView& tensor) {
  TensorSharding sharding = TensorSharding::wholeOn(tensor.mesh());
  for (const Shard& shard : shardsOf(tensor)) {
    if (shard.devices == 1) continue;
    const auto parts = partsOf(tensor, *shard.loop_axis);
    TK_CHECK(parts.has_value(), "a shard of {} is no part of its shape", toString(tensor));
    sharding.dimensions[shard.dimension] = {.form = SpreadForm::Parts, .parts = *parts};
  }
  for (const Partial& term : tensor.partials()) {
    const size_t dimension = *meshDimension(tensor.mesh(), term.type);
    if (tensor.mesh().shape[dimension] > 1)
      sharding.dimensions[dimension] = {.form = SpreadForm::Terms, .reduction = term.kind};
  }
  return sharding;
}

std::vector<MarkedParts> streamsOf(const TensorView& tensor) {
  std::vector<MarkedParts> streams;
  for (IterDomain* axis : tensor.loop()) {
    if (!axis->isStream()) continue;
    if (auto parts = partsOf(tensor, *axis)) streams.push_back(*std::move(parts));
  }
  return streams;
}

void setSharding(TensorView& tensor, const TensorSharding& sharding, const std::vector<MarkedParts>& streams,
                 Cloner& cloner) {
  tensor.setMesh(sharding.mesh);
  std::vector<Partial> terms;
  std::vector<int64_t> dealt;
  for (size_t d = 0; d < sharding.dimensions.size(); ++d) {
    const Spread& spread = sharding.dimensions[d];
    if (spread.isWhole()) continue;
    const ParallelType type = *deviceTypeOf(sharding.mesh, d);
    if (spread.form == SpreadForm::Terms) {
      terms.push_back({.kind = spread.reduction, .type = type});
      continue;
    }
    mark(tensor, spread.parts, type, cloner);
    dealt.push_back(spread.parts.axis);
  }
  tensor.setPartials(std::move(terms));
  for (const MarkedParts& stream : streams)
    if (std::ranges::find(dealt, stream.axis) == dealt.end()) mark(tensor, stream, ParallelType::Stream, cloner);
}

}  // namespace tokamak
