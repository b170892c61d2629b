#include "host/local/local_tensors.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/device_mesh.h"
#include "base/require.h"
#include "schedule/loop_steps.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

bool isSamePart(const LocalPart* a, const LocalPart* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (!(a->range == b->range)) return false;
  if (a->dimension == b->dimension && *a->mesh == *b->mesh) return true;
  return std::ranges::all_of(a->mesh->devices, [&](int64_t rank) {
    const auto other = coordinatesOf(*b->mesh, rank);
    return !other || (*other)[b->dimension] == (*coordinatesOf(*a->mesh, rank))[a->dimension];
  });
}

bool LocalTensors::has(const TensorView& tensor) const {
  return tensor.mesh().empty() || hasRank(tensor.mesh(), rank_);
}

void LocalTensors::findParts(const TensorView& tensor) {
  if (!searched_.insert(&tensor).second) return;
  TK_CHECK(has(tensor), "rank {} has no part of {}", rank_, toString(tensor));
  for (const Shard& shard : shardsOf(tensor)) {
    // The only device has all of it; but the loop over devices is none of the copy's.
    const int64_t coordinate = (*coordinatesOf(tensor.mesh(), rank_))[shard.dimension];
    if (shard.devices > 1)
      parts_[shard.logical] = {.range = rangeOf(*shard.logical->visibleExtent(), *shard.chunk, coordinate),
                               .chunk = scalar(shard.chunk),
                               .mesh = &tensor.mesh(),
                               .dimension = shard.dimension};
    if (shard.form == ShardForm::Index) continue;
    device_loops_.insert(shard.loop_axis);
    for (const IterDomain* axis = shard.loop_axis; axis != shard.logical; axis = axis->definition()->in[0])
      device_chains_.insert(axis);
  }
}

const LocalPart* LocalTensors::partOf(const TensorView& tensor, const IterDomain& logical) {
  findParts(tensor);
  const auto found = parts_.find(&logical);
  return found == parts_.end() ? nullptr : &found->second;
}

const LocalPart* LocalTensors::partOf(const TensorView& tensor, int64_t axis) {
  return partOf(tensor, *shapeOf(tensor)[static_cast<size_t>(axis)]);
}

bool LocalTensors::isSharded(const TensorView& tensor) {
  return std::ranges::any_of(shapeOf(tensor), [&](const IterDomain* axis) { return partOf(tensor, *axis) != nullptr; });
}

Scalar* LocalTensors::partSymbol(Scalar* extent, const PartSymbol& meaning) {
  Scalar*& symbol = symbols_[extent];
  if (symbol != nullptr) return symbol;
  symbol = target_->symbol(meaning.n->isSymbol() ? meaning.n->name() + "_part" : "part");
  part_symbols_.push_back(meaning);
  part_symbols_.back().symbol = symbol;
  return symbol;
}

ScalarRange LocalTensors::rangeOf(Scalar& n, Scalar& chunk, int64_t coordinate) {
  const auto [found, is_new] = ranges_.try_emplace({simplify(&n), simplify(&chunk), coordinate});
  if (!is_new) return found->second;
  found->second = shardRange(*target_, scalar(&n), scalar(&chunk), coordinate);
  Scalar*& extent = found->second.extent;
  if (extents_ == PartExtents::Symbols && !extent->isConstant())
    extent = partSymbol(extent, {.n = &n, .chunk = &chunk, .coordinate = coordinate});
  return found->second;
}

void LocalTensors::substituteWhole(Scalar& symbol, const Shard& shard, int64_t coordinate, Scalar* local) {
  substitution_.set(*cloner_.clone(&symbol), target_->mul(local, target_->constant(shard.devices)));
  ranges_[{&symbol, simplify(shard.chunk), coordinate}] = {.start = target_->mul(local, target_->constant(coordinate)),
                                                           .extent = local};
}

Scalar* LocalTensors::scalar(Scalar* whole) { return whole == nullptr ? nullptr : substitution_(cloner_.clone(whole)); }

Val* LocalTensors::val(Val* whole) {
  if (whole == nullptr) return nullptr;
  switch (whole->kind()) {
    case ValKind::Tensor: return tensor(asTensor(whole));
    case ValKind::Scalar: return scalar(asScalar(whole));
    case ValKind::Stream: break;
  }
  auto* stream = static_cast<StreamVal*>(whole);
  if (!cloner_.contains(stream)) cloner_.substitute(stream, target_->stream(scalar(stream->index())));
  return cloner_.clone(whole);
}

// The copy of an axis apart from the step that it comes from.
IterDomain* LocalTensors::copyAxis(const IterDomain& whole) {
  const auto part = parts_.find(&whole);
  const bool is_part = part != parts_.end();
  const bool is_expanded = whole.expandedExtent() != nullptr;
  Scalar* shown = is_part ? part->second.range.extent : scalar(whole.visibleExtent());
  return target_->axis({.kind = whole.kind(),
                        .extent = is_expanded ? scalar(whole.extent()) : shown,
                        .expanded_extent = is_expanded ? shown : nullptr,
                        .is_rfactor = whole.isRFactor(),
                        .parallel = isDeviceType(whole.parallelType()) ? ParallelType::Serial : whole.parallelType()});
}

// Whether the axis is, or is made of, an axis that the rank has a part of.
bool LocalTensors::isOfPart(const IterDomain& axis) const {
  if (axis.definition() == nullptr) return parts_.contains(&axis);
  return std::ranges::any_of(axis.definition()->in,
                             [&](const IterDomain* in) { return in != nullptr && isOfPart(*in); });
}

// As it is, also where its extents are not written as a schedule would.
void LocalTensors::copyStep(const DomainExpr& step) {
  DomainExpr copy = step;
  copy.factor = scalar(step.factor);
  for (size_t i = 0; i < 2; ++i) {
    copy.in[i] = localAxis(step.in[i]);
    if (step.out[i] != nullptr) copy.out[i] = axes_[step.out[i]] = copyAxis(*step.out[i]);
  }
  target_->domainExpr(copy);
}

// The steps of a split over devices: the rank's axis is what is inside of its part. A part of a part is split as far as
// the rank has it.
void LocalTensors::doStep(const DomainExpr& step) {
  IterDomain* first = localAxis(step.in[0]);
  if (device_loops_.contains(step.out[0])) {
    axes_[step.out[1]] = first;
    return;
  }
  if (!isOfPart(*step.out[0])) return copyStep(step);
  DomainExpr form = step;
  form.factor = scalar(step.factor);
  if (device_chains_.contains(step.out[0])) {
    form.is_inner_factor = true;
    form.factor = scalar(step.out[1]->visibleExtent());
  }
  const DomainExpr& made = *stepLike(form, first, localAxis(step.in[1]));
  for (size_t i = 0; i < 2; ++i) {
    if (step.out[i] == nullptr) continue;
    axes_[step.out[i]] = made.out[i];
    made.out[i]->parallelize(step.out[i]->parallelType());
  }
}

IterDomain* LocalTensors::localAxis(IterDomain* whole) {
  if (whole == nullptr) return nullptr;
  if (const auto found = axes_.find(whole); found != axes_.end()) return found->second;
  if (whole->definition() == nullptr)
    axes_[whole] = copyAxis(*whole);
  else
    doStep(*whole->definition());
  return axes_.at(whole);
}

Axes LocalTensors::localAxes(const Axes& axes) {
  Axes copies;
  for (IterDomain* axis : axes) {
    if (!device_loops_.contains(axis)) copies.push_back(localAxis(axis));
  }
  return copies;
}

TensorView* LocalTensors::tensor(TensorView* whole) {
  if (whole == nullptr) return nullptr;
  if (cloner_.contains(whole)) return cloner_.clone(whole);
  findParts(*whole);
  TensorDomain domain = whole->domain();
  const auto isDeviceLoop = [&](const IterDomain* axis) { return device_loops_.contains(axis); };
  const auto first_own = domain.loop.begin() + std::min(domain.inline_position, whole->axisCount());
  domain.inline_position -= std::count_if(domain.loop.begin(), first_own, isDeviceLoop);
  // (The contiguity is that of the allocation's axes, where it has any.)
  for (size_t i = domain.allocation.size(); i-- > 0;) {
    if (isDeviceLoop(domain.allocation[i]) && i < domain.contiguity.size())
      domain.contiguity.erase(domain.contiguity.begin() + static_cast<std::ptrdiff_t>(i));
  }
  domain.root = localAxes(domain.root);
  domain.logical = localAxes(domain.logical);
  domain.loop = localAxes(domain.loop);
  domain.allocation = localAxes(domain.allocation);
  // (Where it followed the loops over devices alone.)
  if (isSharded(*whole) && domain.allocation == domain.logical) domain.allocation.clear();
  TensorView* copy = target_->tensor(whole->dtype(), std::move(domain));
  copy->setNamesOf(*whole);
  copy->setMemoryType(whole->memoryType());
  copy->setMemoryKind(whole->memoryKind());
  copy->setCircularBuffer(whole->circularBuffer());
  copy->setBufferPadding(whole->bufferPadding());
  cloner_.substitute(whole, copy);
  return copy;
}

IterDomain* LocalTensors::wholeAxis(IterDomain* whole) {
  if (whole == nullptr) return nullptr;
  const bool is_part = parts_.contains(whole) || device_loops_.contains(whole);
  if (const auto found = axes_.find(whole); found != axes_.end() && !is_part) return found->second;
  IterDomain*& axis = whole_axes_[whole];
  if (axis != nullptr) return axis;
  axis =
      target_->axis({.kind = whole->kind(),
                     .extent = scalar(whole->extent()),
                     .expanded_extent = scalar(whole->expandedExtent()),
                     .parallel = isDeviceType(whole->parallelType()) ? ParallelType::Serial : whole->parallelType()});
  return axis;
}

}  // namespace tokamak
