#include "lower/loop_nests.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/scalar_simplifier.h"

namespace tokamak {

using kir::isBlockType;
using kir::isThreadType;

namespace {

bool isLaunchType(ParallelType type) { return isBlockType(type) || isThreadType(type); }

}  // namespace

LoopNests::LoopNests(Fusion& fusion) : fusion_(&fusion) {
  analysis_.assumeExtents(fusion);
  for (Expr* expr : fusion.exprs()) {
    for (TensorView* tensor : tensorsOf(expr->outputs())) {
      const bool is_reduction = expr->is<ReductionOp>();
      const bool keeps_loops =
          tensor->inlinePosition() < tensor->axisCount() && tensor->memoryType() != MemoryType::Global;
      const bool is_output = fusion.isOutput(tensor);
      if (!is_output && !is_reduction && !keeps_loops) continue;
      auto nest = std::make_unique<LoopNest>();
      nest->tensor = tensor;
      nest->expr = expr;
      nest->is_reduction = is_reduction;
      if (!is_output) nest->buffer = tensor;
      if (is_output && is_reduction) {
        nest->buffer = fusion.tensor(tensor->dtype(), tensor->logical());
        nest->buffer->setMemoryType(MemoryType::Local);
      }
      if (nest->buffer != nullptr) by_tensor_[tensor] = nest.get();
      nests_.push_back(std::move(nest));
    }
    std::set<const TensorView*>& all = dependencies_[expr];
    for (const TensorView* tensor : tensorsOf(expr->inputs())) {
      all.insert(tensor);
      if (tensor->definition() != nullptr) all.merge(std::set(dependencies_[tensor->definition()]));
    }
  }
  makeDimensions();
  for (const auto& nest : nests_ | std::views::reverse) place(*nest);
}

Scalar* LoopNests::simplified(Scalar* scalar) { return simplify(scalar, analysis_); }

const LoopNest* LoopNests::storageOf(const TensorView& tensor) const {
  const auto found = by_tensor_.find(&tensor);
  return found == by_tensor_.end() ? nullptr : found->second;
}

bool LoopNests::isStored(const TensorView& tensor) const {
  return fusion_->isInput(&tensor) || by_tensor_.contains(&tensor);
}

bool LoopNests::dependsOn(const Expr& reader, const TensorView& tensor) {
  return dependencies_[&reader].contains(&tensor);
}

// The largest extent of a dimension is launched.
void LoopNests::makeDimensions() {
  std::map<ParallelType, Scalar*> extents;
  std::map<ParallelType, size_t> users;
  for (const auto& nest : nests_) {
    for (const IterDomain* axis : nest->tensor->loop()) {
      if (!isLaunchType(axis->parallelType())) continue;
      Scalar*& extent = extents[axis->parallelType()];
      ++users[axis->parallelType()];
      extent = extent == nullptr ? axis->extent() : simplified(fusion_->scalar(ScalarOp::Max, extent, axis->extent()));
    }
  }
  for (auto& [type, extent] : extents) {
    // Who is not spread over it is computed at index 0, also when the others are empty.
    if (users[type] < nests_.size()) extent = simplified(fusion_->scalar(ScalarOp::Max, extent, fusion_->constant(1)));
    Scalar* index = fusion_->symbol(std::string(parallelTypeDumpName(type)));
    analysis_.assumeIndex(*index, *extent);
    dimensions_.push_back({type, index, extent});
  }
}

LoopNode* LoopNests::makeNode(Scalar* extent, ParallelType type, LoopNode* parent) {
  auto node = std::make_unique<LoopNode>();
  node->index = fusion_->symbol(fmt::format("k{}", nodes_.size()));
  analysis_.assumeIndex(*node->index, *extent);
  node->extent = extent;
  node->type = type;
  node->parent = parent;
  return nodes_.emplace_back(std::move(node)).get();
}

void LoopNests::place(LoopNest& nest) {
  const Axes& loop = nest.tensor->loop();
  nest.indices.resize(loop.size());
  nest.nodes.resize(loop.size());
  for (size_t j = 0; j < loop.size(); ++j) {
    for (const kir::LaunchDimension& dimension : dimensions_) {
      if (dimension.type == loop[j]->parallelType()) nest.indices[j] = dimension.index;
    }
  }
  shareLoops(nest, reads_[nest.tensor]);
  LoopNode* last = nest.path.empty() ? nullptr : nest.path.back();
  nest.shared = nest.path.size();
  for (size_t j = 0; j < loop.size(); ++j) {
    if (nest.indices[j] != nullptr) continue;
    last = ownLoop(nest, loop[j]->extent(), loop[j]->parallelType(), last);
    nest.path.push_back(last);
    nest.nodes[j] = last;
    nest.indices[j] = last->index;
  }
  setCoordinates(nest);
  if (nest.buffer != nullptr) {
    const bool is_shared_memory = nest.buffer->memoryType() == MemoryType::Shared;
    for (size_t j = 0; j < loop.size(); ++j) {
      const bool is_own = nest.nodes[j] != nullptr && std::ranges::find(nest.path, nest.nodes[j]) - nest.path.begin() >=
                                                          static_cast<std::ptrdiff_t>(nest.shared);
      const bool is_thread = is_shared_memory && isThreadType(loop[j]->parallelType());
      if ((is_own || is_thread) && !loop[j]->isReduction()) nest.stored_axes.push_back(j);
    }
  }
  findReads(nest);
}

LoopNode* LoopNests::nodeOf(const LoopNest& reader, const Scalar* index) const {
  for (LoopNode* node : reader.path) {
    if (node->index == index) return node;
  }
  return nullptr;
}

void LoopNests::shareLoops(LoopNest& nest, const std::vector<Read>& reads) {
  const Axes& loop = nest.tensor->loop();
  const auto position = static_cast<size_t>(nest.tensor->inlinePosition());
  if (position == 0 || reads.empty()) return;
  LoopNode* deepest = nullptr;
  const LoopNest* reader = nullptr;
  for (size_t j = 0; j < std::min(position, loop.size()); ++j) {
    for (const Read& read : reads) {
      AxisIndices indices(*fusion_, analysis_);
      const Axes shape = shapeOf(*nest.tensor);
      for (size_t i = 0; i < shape.size(); ++i) indices.set(*shape[i], read.index[i]);
      Scalar* index = loop[j]->isReduction() ? nullptr : indices.forwards(*loop[j]);
      const auto describe = [&] {
        return fmt::format("{} inline: its loop {} has to be one of its reader {}", nameOf(*nest.tensor), j,
                           nameOf(*read.reader->tensor));
      };
      TK_REQUIRE(index != nullptr, Schedule, "{}, but it is a reduction", describe());
      if (isLaunchType(loop[j]->parallelType())) {
        const bool is_empty = loop[j]->extent()->isConstantInt(0);
        TK_REQUIRE(is_empty || analysis_.isProvablyEqual(*index, *nest.indices[j]), Schedule,
                   "{}, which reads it at {} there and not at its own {}", describe(), toString(*index),
                   parallelTypeName(loop[j]->parallelType()));
        continue;
      }
      LoopNode* node = nodeOf(*read.reader, index);
      TK_REQUIRE(node != nullptr, Schedule, "{}, which reads it at {} there", describe(), toString(*index));
      TK_REQUIRE(nest.nodes[j] == nullptr || nest.nodes[j] == node, Schedule,
                 "{}, but another reader has another loop there", describe());
      nest.nodes[j] = node;
      nest.indices[j] = node->index;
      const auto depth = [](const LoopNest& in, const LoopNode* at) {
        return std::ranges::find(in.path, at) - in.path.begin();
      };
      if (deepest == nullptr || depth(*read.reader, node) > depth(*read.reader, deepest)) {
        deepest = node;
        reader = read.reader;
      }
    }
  }
  if (deepest == nullptr) return;
  for (LoopNode* node : reader->path) {
    nest.path.push_back(node);
    if (node == deepest) break;
  }
}

// Whether two loops (or a loop and a tensor outside of it) would each need the other's results if `nest` were in `node`.
bool LoopNests::makesCycle(const LoopNest& nest, const LoopNode& node) {
  std::map<const void*, std::vector<const LoopNest*>> groups;
  const size_t depth = nest.path.size();
  for (const auto& other : nests_) {
    const bool is_beside = other.get() != &nest && !other->indices.empty() && other->path.size() >= depth &&
                           std::equal(nest.path.begin(), nest.path.end(), other->path.begin());
    if (!is_beside) continue;
    const void* group = other->path.size() > depth ? static_cast<const void*>(other->path[depth]) : other.get();
    groups[group].push_back(other.get());
  }
  groups[&node].push_back(&nest);
  const auto needs = [&](const std::vector<const LoopNest*>& readers, const std::vector<const LoopNest*>& read) {
    return std::ranges::any_of(readers, [&](const LoopNest* reader) {
      return std::ranges::any_of(read,
                                 [&](const LoopNest* tensor) { return dependsOn(*reader->expr, *tensor->tensor); });
    });
  };
  // Everything that the loop needs, directly or not; it must not be among it.
  std::set<const void*> reached;
  std::vector<const void*> pending = {&node};
  while (!pending.empty()) {
    const void* at = pending.back();
    pending.pop_back();
    for (const auto& [group, members] : groups) {
      if (group == at || !needs(groups[at], members)) continue;
      if (group == &node) return true;
      if (reached.insert(group).second) pending.push_back(group);
    }
  }
  return false;
}

// A loop of the same form that a tensor has which `nest` does not feed, or a new one.
LoopNode* LoopNests::ownLoop(const LoopNest& nest, Scalar* extent, ParallelType type, LoopNode* parent) {
  for (const auto& node : nodes_) {
    if (node->parent != parent || node->extent != extent || node->type != type) continue;
    const bool is_free = std::ranges::none_of(nests_, [&](const auto& other) {
      return std::ranges::find(other->path, node.get()) != other->path.end() && dependsOn(*other->expr, *nest.tensor);
    });
    const bool is_new = std::ranges::find(nest.path, node.get()) == nest.path.end();
    if (is_free && is_new && !makesCycle(nest, *node)) return node.get();
  }
  return makeNode(extent, type, parent);
}

void LoopNests::setCoordinates(LoopNest& nest) {
  const Axes& loop = nest.tensor->loop();
  AxisIndices indices = indicesOf(nest, nest.indices);
  for (const IterDomain* axis : computedAxes(*nest.tensor)) {
    Scalar* index = axis->isBroadcast() ? fusion_->constant(0) : indices.backwards(*axis);
    (axis->isReduction() ? nest.reduced : nest.coordinates).push_back(index);
  }
  nest.bounds = indices.bounds();
  for (size_t j = 0; j < loop.size(); ++j) nest.bounds.push_back({nest.indices[j], loop[j]->extent(), loop[j]});
  std::erase_if(nest.bounds,
                [&](const IndexBound& bound) { return analysis_.isProvablyLess(*bound.index, *bound.extent); });
}

AxisIndices LoopNests::indicesOf(const LoopNest& nest, const std::vector<Scalar*>& loop_indices) {
  const Axes& loop = nest.tensor->loop();
  AxisIndices indices(*fusion_, analysis_);
  for (size_t j = 0; j < loop.size(); ++j) indices.set(*loop[j], loop_indices[j]);
  return indices;
}

LoopNests::Computation LoopNests::computationOf(const LoopNest& nest) {
  const ElementRule& rule = rules_.of(*nest.expr);
  Substitution coordinates(*fusion_);
  for (size_t i = 0; i < nest.coordinates.size(); ++i) coordinates.set(*rule.coordinates[i], nest.coordinates[i]);
  const Element* value = rule.value.get();
  if (nest.is_reduction) {
    for (size_t i = 0; i < nest.reduced.size(); ++i) coordinates.set(*value->axes[i].coordinate, nest.reduced[i]);
    value = value->operands[0].get();
  }
  return {value, std::move(coordinates)};
}

// Which tensors it reads at which indices, through expressions.
void LoopNests::findReads(const LoopNest& nest) {
  Computation computation = computationOf(nest);
  TensorReads reads(*fusion_, analysis_, rules_, [&](const TensorView& tensor) { return isStored(tensor); });
  for (TensorRead& read : reads.of(*computation.value, computation.coordinates))
    reads_[read.tensor].push_back({&nest, std::move(read.index)});
}

Scalar* LoopNests::placeOf(const LoopNest& nest, std::span<Scalar* const> index) {
  const Axes shape = shapeOf(*nest.tensor);
  const Axes& loop = nest.tensor->loop();
  AxisIndices indices(*fusion_, analysis_);
  for (size_t i = 0; i < shape.size(); ++i) indices.set(*shape[i], index[i]);
  std::vector<Scalar*> loop_indices(loop.size());
  for (size_t j = 0; j < loop.size(); ++j) {
    if (loop[j]->isReduction()) continue;
    loop_indices[j] = indices.forwards(*loop[j]);
    const bool is_private = isBlockType(loop[j]->parallelType()) ||
                            (isThreadType(loop[j]->parallelType()) && nest.buffer->memoryType() == MemoryType::Local);
    TK_REQUIRE(
        !is_private || loop[j]->extent()->isConstantInt(0) ||
            analysis_.isProvablyEqual(*loop_indices[j], *nest.indices[j]),
        Schedule, "{}: is kept by each {} for itself, but one reads the part of another (at {}); store it elsewhere",
        nameOf(*nest.tensor), isThreadType(loop[j]->parallelType()) ? "thread" : "block", toString(*loop_indices[j]));
  }
  return ownPlace(nest, loop_indices);
}

Scalar* LoopNests::ownPlace(const LoopNest& nest, const std::vector<Scalar*>& loop_indices) {
  Scalar* place = fusion_->constant(0);
  for (const size_t j : nest.stored_axes)
    place = fusion_->add(fusion_->mul(place, nest.tensor->loop()[j]->extent()), loop_indices[j]);
  return simplified(place);
}

Scalar* LoopNests::sizeOf(const LoopNest& nest) {
  Scalar* size = fusion_->constant(1);
  for (const size_t j : nest.stored_axes) size = fusion_->mul(size, nest.tensor->loop()[j]->extent());
  return size;
}

}  // namespace tokamak
