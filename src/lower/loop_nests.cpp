#include "lower/loop_nests.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "base/require.h"
#include "ir/extent_assumptions.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/reduction_op.h"
#include "kernel/rewrite.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

using kir::isBlockType;
using kir::isThreadType;

namespace {

bool isLaunchType(ParallelType type) { return isBlockType(type) || isThreadType(type); }

// Whether the tensor has no elements.
bool isEmpty(const TensorView& tensor) {
  return std::ranges::any_of(
      tensor.loop(), [](const IterDomain* axis) { return !axis->isReduction() && axis->extent()->isConstantInt(0); });
}

// Whether the axis has one iteration and is not distributed.
bool needsNoLoop(const IterDomain& axis) {
  return axis.extent()->isConstantInt(1) && !isLaunchType(axis.parallelType());
}

void requireLoopType(const TensorView& tensor, size_t j) {
  const ParallelType type = tensor.loop()[j]->parallelType();
  const bool is_loop = type == ParallelType::Serial || type == ParallelType::Unswitch || type == ParallelType::Unroll ||
                       type == ParallelType::Vectorize;
  TK_REQUIRE(
      is_loop, Schedule,
      "{}: its loop {} is marked {}, which a kernel cannot run; legal are CIDx, BIDx to BIDz, TIDx to TIDz, Serial, "
      "Unswitch, Unroll and Vectorize",
      nameOf(tensor), j, parallelTypeName(type));
}

}  // namespace

LoopNests::LoopNests(Fusion& fusion) : fusion_(&fusion) {
  assumeExtents(analysis_, fusion);
  for (Expr* expr : fusion.exprs()) {
    for (TensorView* tensor : tensorsOf(expr->outputs())) {
      const bool is_reduction = expr->is<ReductionOp>();
      const bool keeps_loops = tensor->inlinePosition() < tensor->axisCount() &&
                               (is_reduction || tensor->memoryType() != MemoryType::Global);
      const bool is_output = fusion.isOutput(tensor);
      if (!is_output && !keeps_loops) continue;
      TK_REQUIRE(is_output || tensor->memoryType() != MemoryType::Global, Schedule,
                 "{} is a reduction, which is kept in global memory only when it is an output of the kernel; legal are "
                 "local and shared memory",
                 nameOf(*tensor));
      auto nest = std::make_unique<LoopNest>();
      nest->tensor = tensor;
      nest->expr = expr;
      nest->is_reduction = is_reduction;
      if (!is_output) nest->buffer = tensor;
      const auto* copy = expr->as<LoadStoreOp>();
      if (copy != nullptr && !is_output && fusion.isInput(copy->in)) nest->source = copy->in;
      if (is_output && is_reduction) {
        nest->buffer = fusion.tensor(tensor->dtype(), tensor->logical());
        nest->buffer->setMemoryType(MemoryType::Local);
      }
      if (nest->buffer != nullptr) by_tensor_[tensor] = nest.get();
      nests_.push_back(std::move(nest));
    }
    addDependencies(*expr);
  }
  makeDimensions();
  for (const auto& nest : nests_ | std::views::reverse) makeLoops(*nest);
}

Scalar* LoopNests::simplified(Scalar* scalar) { return simplify(scalar, analysis_); }

const LoopNest* LoopNests::storageOf(const TensorView& tensor) const {
  const auto found = by_tensor_.find(&tensor);
  return found == by_tensor_.end() ? nullptr : found->second;
}

bool LoopNests::isStored(const TensorView& tensor) const {
  return fusion_->isInput(&tensor) || by_tensor_.contains(&tensor);
}

// (Bit sets, because sets of pointers would dominate the compile time of large programs.)
void LoopNests::addDependencies(const Expr& expr) {
  std::vector<uint64_t> all;
  const auto join = [&](size_t word, uint64_t bits) {
    if (all.size() <= word) all.resize(word + 1);
    all[word] |= bits;
  };
  for (const TensorView* tensor : tensorsOf(expr.inputs())) {
    const size_t number = numbers_.emplace(tensor, numbers_.size()).first->second;
    join(number / 64, uint64_t{1} << (number % 64));
    if (tensor->definition() == nullptr) continue;
    const std::vector<uint64_t>& inner = dependencies_[tensor->definition()];
    for (size_t word = 0; word < inner.size(); ++word) join(word, inner[word]);
  }
  dependencies_[&expr] = std::move(all);
}

bool LoopNests::dependsOn(const Expr& reader, const TensorView& tensor) {
  const auto found = numbers_.find(&tensor);
  if (found == numbers_.end()) return false;
  const std::vector<uint64_t>& all = dependencies_[&reader];
  const size_t word = found->second / 64;
  return word < all.size() && (all[word] >> (found->second % 64) & 1U) != 0;
}

// Whether `reader` reads `nest`'s buffer. (An elementwise output has none: its readers recompute it.)
bool LoopNests::feeds(const LoopNest& nest, const LoopNest& reader) {
  return nest.buffer != nullptr && dependsOn(*reader.expr, *nest.tensor);
}

// The extent of a launch dimension is the largest of all tensors'.
void LoopNests::makeDimensions() {
  std::map<ParallelType, Scalar*> extents;
  std::map<ParallelType, size_t> users;
  std::set<ParallelType> reduced;
  for (const auto& nest : nests_) {
    for (const IterDomain* axis : nest->tensor->loop()) {
      if (!isLaunchType(axis->parallelType())) continue;
      Scalar*& extent = extents[axis->parallelType()];
      ++users[axis->parallelType()];
      if (axis->isReduction()) reduced.insert(axis->parallelType());
      extent = extent == nullptr ? simplified(axis->extent())
                                 : simplified(fusion_->scalar(ScalarOp::Max, extent, axis->extent()));
    }
  }
  for (auto& [type, extent] : extents) {
    const int64_t blocks = extent->constantInt().value_or(0);
    TK_REQUIRE(!kir::isClusterType(type) || (blocks >= 1 && blocks <= kMostClusterBlocks), Schedule,
               "CIDx has the extent {}; a cluster has a constant number of blocks, 1 to {}", toString(*extent),
               kMostClusterBlocks);
    // At least one index, if a tensor is not distributed over it or a reduction is: both compute at index 0.
    if (users[type] < nests_.size() || reduced.contains(type))
      extent = simplified(fusion_->scalar(ScalarOp::Max, extent, fusion_->constant(1)));
    Scalar* index = fusion_->symbol(std::string(parallelTypeDumpName(type)));
    analysis_.assumeIndex(*index, *extent);
    dimensions_.push_back({type, index, extent});
  }
}

Scalar* LoopNests::indexOf(const kir::LaunchDimension& dimension, Scalar* extent) {
  if (extent == dimension.extent) return dimension.index;
  const auto [found, is_new] = indices_.try_emplace({dimension.index, extent}, nullptr);
  if (is_new) {
    found->second = fusion_->symbol(dimension.index->name());
    launched_[found->second] = dimension.index;
    analysis_.assumeIndex(*found->second, *extent);
  }
  return found->second;
}

Scalar* LoopNests::launchedIndex(Scalar* index) const {
  const auto found = launched_.find(index);
  return found == launched_.end() ? index : found->second;
}

kir::Statements LoopNests::withLaunchedIndices(const kir::Statements& statements) {
  if (launched_.empty()) return statements;
  Substitution launched(*fusion_);
  for (const auto& [index, dimension] : launched_) launched.set(*index, dimension);
  return kir::withScalars(statements, [&](Scalar* scalar) { return launched(scalar); });
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

void LoopNests::makeLoops(LoopNest& nest) {
  const Axes& loop = nest.tensor->loop();
  nest.indices.resize(loop.size());
  nest.nodes.resize(loop.size());
  for (size_t j = 0; j < loop.size(); ++j) {
    if (needsNoLoop(*loop[j])) nest.indices[j] = fusion_->constant(0);
    for (const kir::LaunchDimension& dimension : dimensions_) {
      if (dimension.type == loop[j]->parallelType()) nest.indices[j] = indexOf(dimension, loop[j]->extent());
    }
  }
  shareLoops(nest, reads_[nest.tensor]);
  LoopNode* last = nest.path.empty() ? nullptr : nest.path.back();
  nest.shared = nest.path.size();
  for (size_t j = 0; j < loop.size(); ++j) {
    if (nest.indices[j] != nullptr) continue;
    requireLoopType(*nest.tensor, j);
    // Unswitch needs no more: guards leave loops anyway (lower/guard_elimination, lower/unswitch_loops).
    const bool is_unswitched = loop[j]->parallelType() == ParallelType::Unswitch;
    const ParallelType type = is_unswitched ? ParallelType::Serial : loop[j]->parallelType();
    last = ownLoop(nest, simplified(loop[j]->extent()), type, last);
    nest.path.push_back(last);
    nest.nodes[j] = last;
    nest.indices[j] = last->index;
  }
  setCoordinates(nest);
  if (nest.is_reduction) findIdentityPredicates(nest);
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

// Whether a loop at this index has one iteration, which follows from the sizes: its extent is no constant.
bool LoopNests::isOnlyIteration(const IterDomain& axis, const Scalar& index) {
  return index.isConstantInt(0) && simplified(axis.extent())->isConstantInt(1);
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
    if (needsNoLoop(*loop[j])) continue;
    for (const Read& read : reads) {
      if (nest.source != nullptr && !isInOwnThread(nest, read.index, *read.reader)) continue;
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
        TK_REQUIRE(isEmpty(*nest.tensor) || isComputedByReader(nest, j, *index, *read.reader), Schedule,
                   "{}, which reads it at {} there and not at its own {}", describe(), toString(*index),
                   parallelTypeName(loop[j]->parallelType()));
        continue;
      }
      LoopNode* node = nodeOf(*read.reader, index);
      if (node == nullptr && isOnlyIteration(*loop[j], *index)) {
        nest.indices[j] = index;
        continue;
      }
      TK_REQUIRE(
          node != nullptr, Schedule,
          "{}, which reads it at {} there; legal are the steps and types of its reader's loops (propagate({})), or "
          "inline_at at position {} at most",
          describe(), toString(*index), nameOf(*read.reader->tensor), j);
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

// Whether two loops (or a loop and a tensor outside of it) would depend on each other if `nest` were in `node`.
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
      return std::ranges::any_of(read, [&](const LoopNest* tensor) { return feeds(*tensor, *reader); });
    });
  };
  // The groups that `node` depends on, transitively.
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

// A loop of the same form, of a tensor that does not depend on `nest`, or a new one.
LoopNode* LoopNests::ownLoop(const LoopNest& nest, Scalar* extent, ParallelType type, LoopNode* parent) {
  for (const auto& node : nodes_) {
    if (node->parent != parent || node->extent != extent || node->type != type) continue;
    const bool is_free = std::ranges::none_of(nests_, [&](const auto& other) {
      return std::ranges::find(other->path, node.get()) != other->path.end() && feeds(nest, *other);
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
  for (size_t j = 0; j < loop.size(); ++j)
    nest.bounds.push_back({launchedIndex(nest.indices[j]), loop[j]->extent(), loop[j]});
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

// Finds the choices between a value and the reduction's identity. Not those that differ by lane, as lanes run together.
void LoopNests::findIdentityPredicates(LoopNest& nest) {
  Computation computation = computationOf(nest);
  const Element* value = computation.value;
  Substitution coordinates = computation.coordinates;
  const ReductionKind kind = nest.expr->as<ReductionOp>()->op;
  const auto isLane = [&](const LoopNode* node) { return node->type != ParallelType::Serial; };
  for (;;) {
    if (value->kind == ElementKind::Load) {
      const TensorView& tensor = *value->tensor;
      if (tensor.definition() == nullptr || isStored(tensor)) return;
      const ElementRule& rule = rules_.of(*tensor.definition());
      Substitution inner(*fusion_);
      for (size_t i = 0; i < value->index.size(); ++i)
        inner.set(*rule.coordinates[i], simplified(coordinates(value->index[i])));
      value = rule.value.get();
      coordinates = std::move(inner);
    } else if (value->kind == ElementKind::Choose) {
      const Element& otherwise = *value->operands[1];
      const bool is_identity =
          otherwise.kind == ElementKind::Value && otherwise.scalar->isConstant() &&
          convertValue(otherwise.scalar->value(), otherwise.dtype) == reductionIdentity(kind, otherwise.dtype);
      Scalar* predicate = simplified(coordinates(value->scalar));
      if (!is_identity || std::ranges::any_of(nest.path, [&](const LoopNode* node) {
            return isLane(node) && mentions(*predicate, *node->index);
          }))
        return;
      if (!isProved(*predicate, analysis_)) nest.identity_predicates.push_back(predicate);
      value = value->operands[0].get();
    } else {
      return;
    }
  }
}

// Finds the stored tensors that it reads, through inlined ones, and the indices.
void LoopNests::findReads(const LoopNest& nest) {
  Computation computation = computationOf(nest);
  TensorReads reads(*fusion_, analysis_, rules_, [&](const TensorView& tensor) { return isStored(tensor); });
  for (TensorRead& read : reads.of(*computation.value, computation.coordinates))
    reads_[read.tensor].push_back({&nest, std::move(read.index)});
}

// Whether the thread (or block) that reads at `index` along loop j is the one that computed the element. For an axis
// shorter than the launch dimension this holds only for threads that the reader's guards let through.
bool LoopNests::isComputedByReader(const LoopNest& nest, size_t j, Scalar& index, const LoopNest& reader) {
  Scalar* own = nest.indices[j];
  if (!analysis_.isProvablyEqual(index, *own)) return false;
  Scalar* launched = launchedIndex(own);
  const bool is_guarded = std::ranges::find(reader.indices, own) != reader.indices.end();
  return own == launched || is_guarded || analysis_.isProvablyEqual(index, *launched);
}

bool LoopNests::isInOwnThread(const LoopNest& nest, std::span<Scalar* const> index, const LoopNest& reader) {
  const Axes shape = shapeOf(*nest.tensor);
  const Axes& loop = nest.tensor->loop();
  const auto position = static_cast<size_t>(nest.tensor->inlinePosition());
  AxisIndices indices(*fusion_, analysis_);
  for (size_t i = 0; i < shape.size(); ++i) indices.set(*shape[i], index[i]);
  for (size_t j = 0; j < loop.size(); ++j) {
    if (needsNoLoop(*loop[j])) continue;
    Scalar* at = indices.forwards(*loop[j]);
    const ParallelType type = loop[j]->parallelType();
    // Threads may read other threads' elements in shared memory.
    const bool is_thread_of_shared = isThreadType(type) && nest.buffer->memoryType() == MemoryType::Shared;
    if (is_thread_of_shared && j >= position) continue;
    if (isLaunchType(type) ? !isComputedByReader(nest, j, *at, reader)
                           : j < position && nodeOf(reader, at) == nullptr && !isOnlyIteration(*loop[j], *at))
      return false;
  }
  return true;
}

Scalar* LoopNests::bufferIndexOf(const LoopNest& nest, std::span<Scalar* const> index, const LoopNest& reader) {
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
    TK_REQUIRE(!is_private || isEmpty(*nest.tensor) || isComputedByReader(nest, j, *loop_indices[j], reader), Schedule,
               "{}: is kept by each {} for itself, but one reads the part of another (at {}); store it elsewhere",
               nameOf(*nest.tensor), isThreadType(loop[j]->parallelType()) ? "thread" : "block",
               toString(*loop_indices[j]));
  }
  return ownIndex(nest, loop_indices);
}

// The stored axes, outermost first: those up to the padded one (if any), and those inside of it.
std::pair<std::span<const size_t>, std::span<const size_t>> LoopNests::storedParts(const LoopNest& nest) {
  const std::span<const size_t> all = nest.stored_axes;
  const auto& padding = nest.tensor->bufferPadding();
  const bool is_padded = padding && nest.buffer->memoryType() == MemoryType::Shared;
  const auto found = is_padded ? std::ranges::find(all, static_cast<size_t>(padding->axis)) : all.end();
  const auto outer = found == all.end() ? size_t{0} : static_cast<size_t>(found - all.begin()) + 1;
  return {all.first(outer), all.subspan(outer)};
}

Scalar* LoopNests::ownIndex(const LoopNest& nest, const std::vector<Scalar*>& loop_indices) {
  const auto [outer, inner] = storedParts(nest);
  const auto placeAlong = [&](std::span<const size_t> axes) {
    Scalar* own_index = fusion_->constant(0);
    for (const size_t j : axes)
      own_index = fusion_->add(fusion_->mul(own_index, nest.tensor->loop()[j]->extent()), loop_indices[j]);
    return simplified(own_index);
  };
  if (outer.empty()) return placeAlong(inner);
  return simplified(fusion_->add(fusion_->mul(placeAlong(outer), pitchOf(nest, inner)), placeAlong(inner)));
}

Scalar* LoopNests::countOf(const LoopNest& nest, std::span<const size_t> axes) {
  Scalar* count = fusion_->constant(1);
  for (const size_t j : axes) count = fusion_->mul(count, nest.tensor->loop()[j]->extent());
  return count;
}

// The stride of the padded axis in its buffer.
Scalar* LoopNests::pitchOf(const LoopNest& nest, std::span<const size_t> inner) {
  return fusion_->add(countOf(nest, inner), fusion_->constant(nest.tensor->bufferPadding()->elements));
}

Scalar* LoopNests::sizeOf(const LoopNest& nest) {
  const auto [outer, inner] = storedParts(nest);
  if (outer.empty()) return countOf(nest, inner);
  return fusion_->mul(countOf(nest, outer), pitchOf(nest, inner));
}

}  // namespace tokamak
