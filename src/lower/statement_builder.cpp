#include "lower/statement_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analysis/substitute.h"
#include "base/require.h"
#include "kernel/rewrite.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

// Whether the axis is a reduction, or a broadcast axis that is merged with one: it has no index after the reduction,
// and needs none.
bool isPartOfReduction(const IterDomain& axis) {
  if (axis.isReduction()) return true;
  const DomainExpr* step = axis.use();
  return step != nullptr && axis.isBroadcast() && isPartOfReduction(*step->out[0]);
}

// Whether threads or blocks along this type exchange partial results within a launch.
bool isExchangeType(ParallelType type) { return kir::isThreadType(type) || kir::isClusterType(type); }

}  // namespace

StatementBuilder::StatementBuilder(Fusion& fusion, LoopNests& nests, const Strides& strides)
    : fusion_(&fusion),
      nests_(&nests),
      strides_(&strides),
      writer_(
          fusion, nests.analysis(), nests.rules(),
          [&nests](const TensorView& tensor) { return nests.isStored(tensor); },
          [this](const TensorView& tensor, std::span<Scalar* const> index) { return load(tensor, index); }) {}

kir::Statements StatementBuilder::build() {
  for (const auto& nest : nests_->nests()) makeParts(*nest);
  findPartsOfLastBlock();
  Order first;
  Order combined;
  Order last;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.kind == PartKind::GridReduce) {
      TK_REQUIRE(part.path.empty(), Schedule, "{} is combined across blocks inside of a loop of the block",
                 nameOf(*part.nest->tensor));
      TK_REQUIRE(!part.is_of_last_block, Schedule,
                 "{} is combined across blocks, and so is a tensor that it is computed from; that takes two kernels",
                 nameOf(*part.nest->tensor));
      combined.push_back(i);
    } else {
      (part.is_of_last_block ? last : first).push_back(i);
    }
  }
  kir::Statements statements = emit(first, 0);
  if (!combined.empty()) {
    kir::GridReduce grid = gridReduce(combined, last);
    grid.body = withOwnIndices(grid.body, statements);
    statements.push_back(kir::statement(std::move(grid)));
  }
  return nests_->withLaunchedIndices(statements);
}

// Marks parts that depend on a grid reduction, what these read in a loop, and their allocations: the last block does
// them, in loops of its own.
void StatementBuilder::findPartsOfLastBlock() {
  bool is_changed = true;
  const auto mark = [&](Part& part) {
    is_changed |= !part.is_of_last_block;
    part.is_of_last_block = true;
  };
  while (std::exchange(is_changed, false)) {
    std::set<const LoopNest*> read;
    for (Part& part : parts_) {
      for (const size_t before : part.after) {
        if (parts_[before].is_of_last_block || parts_[before].kind == PartKind::GridReduce) mark(part);
      }
      for (const size_t before : part.after) {
        const LoopNest* nest = parts_[before].nest;
        const bool is_kept_in_loop = nest->shared > 0;
        if (part.is_of_last_block && nest != part.nest && is_kept_in_loop) read.insert(nest);
      }
    }
    for (Part& part : parts_) {
      if (read.contains(part.nest)) mark(part);
    }
  }
  for (const Part& part : parts_) {
    if (part.kind != PartKind::Compute || !part.is_of_last_block) continue;
    for (const size_t before : part.after) parts_[before].is_of_last_block |= parts_[before].nest == part.nest;
  }
  // An accumulator's allocation belongs to its identity.
  for (const Part& part : parts_) {
    if (part.kind != PartKind::Identity || !part.is_of_last_block) continue;
    for (const size_t before : part.after) parts_[before].is_of_last_block |= parts_[before].nest == part.nest;
  }
}

// Gives loops of the last block new indices where loops before the grid reduction have the same.
kir::Statements StatementBuilder::withOwnIndices(const kir::Statements& body, const kir::Statements& before) {
  std::set<const Scalar*> taken;
  kir::visitStatements(before, [&](const kir::Statement& each) {
    if (const auto* loop = std::get_if<kir::Loop>(&each.node)) taken.insert(loop->index);
  });
  Substitution own(*fusion_);
  kir::visitStatements(body, [&](const kir::Statement& each) {
    const auto* loop = std::get_if<kir::Loop>(&each.node);
    if (loop != nullptr && taken.contains(loop->index)) own.set(*loop->index, fusion_->symbol(loop->index->name()));
  });
  return kir::withScalars(body, [&](Scalar* scalar) { return own(scalar); });
}

kir::GridReduce StatementBuilder::gridReduce(const Order& combined, const Order& last) {
  kir::GridReduce grid;
  for (const size_t each : combined) {
    const LoopNest& nest = *parts_[each].nest;
    kir::GridReduce::Value value;
    value.tensor = nest.buffer;
    value.index = fusion_->constant(0);
    value.kind = nest.expr->as<ReductionOp>()->op;
    const auto count = nests_->sizeOf(nest)->constantInt();
    TK_REQUIRE(count && nest.buffer->memoryType() == MemoryType::Local, Schedule,
               "{} is combined across blocks; each thread has to hold a constant number of its elements",
               nameOf(*nest.tensor));
    value.count = *count;
    std::vector<ParallelType> dimensions;
    for (const IterDomain* axis : nest.tensor->loop()) {
      const ParallelType type = axis->parallelType();
      if (axis->isReduction() && kir::isGridType(type)) dimensions.push_back(type);
      if (!axis->isReduction() && kir::isThreadType(type)) value.spread.push_back(type);
    }
    std::ranges::sort(dimensions);
    std::ranges::sort(value.spread);
    TK_REQUIRE(grid.values.empty() || grid.dimensions == dimensions, Schedule,
               "{} is combined over other blocks than other tensors of the kernel", nameOf(*nest.tensor));
    grid.dimensions = std::move(dimensions);
    grid.values.push_back(std::move(value));
  }
  for (const size_t each : last) {
    for (const IterDomain* axis : parts_[each].nest->tensor->loop()) {
      const bool is_spread = !axis->isReduction() && std::ranges::count(grid.dimensions, axis->parallelType()) > 0;
      TK_REQUIRE(!is_spread, Schedule,
                 "{} is spread over {}, but is computed from a tensor that is combined over it, so that one block is "
                 "left; that takes two kernels",
                 nameOf(*parts_[each].nest->tensor), parallelTypeName(axis->parallelType()));
      TK_REQUIRE(
          !axis->isReduction() || !kir::isClusterType(axis->parallelType()), Schedule,
          "{} is combined across a cluster, but is computed from a tensor that is combined across blocks, so that "
          "some blocks of the cluster are done; that takes two kernels",
          nameOf(*parts_[each].nest->tensor));
    }
  }
  grid.body = emit(last, 0);
  return grid;
}

size_t StatementBuilder::addPart(PartKind kind, const LoopNest& nest, std::vector<LoopNode*> path,
                                 std::vector<Scalar*> indices, std::vector<size_t> after) {
  parts_.push_back({kind, &nest, std::move(path), std::move(indices), std::move(after)});
  return parts_.size() - 1;
}

// A part in the loops around the outermost reduction loop, and in copies of the other loops that are no reductions.
StatementBuilder::Part StatementBuilder::outsideOfReduction(PartKind kind, const LoopNest& nest) {
  const Axes& loop = nest.tensor->loop();
  Part part{kind, &nest, {}, nest.indices, {}};
  const auto isReduced = [&](const LoopNode* node) {
    for (size_t j = 0; j < loop.size(); ++j) {
      if (nest.nodes[j] == node && loop[j]->isReduction()) return true;
    }
    return false;
  };
  bool is_inside = false;
  for (LoopNode* node : nest.path) {
    if (isReduced(node)) {
      is_inside = true;
    } else if (!is_inside) {
      part.path.push_back(node);
    } else {
      LoopNode* copy = nests_->makeNode(node->extent, node->type, part.path.empty() ? nullptr : part.path.back());
      part.path.push_back(copy);
      for (size_t j = 0; j < loop.size(); ++j) {
        if (nest.nodes[j] == node) part.indices[j] = copy->index;
      }
    }
  }
  return part;
}

void StatementBuilder::makeParts(const LoopNest& nest) {
  std::vector<size_t> after;
  std::set<const TensorView*> seen;
  // The stored tensors that the computation reads, through inlined ones.
  const auto collect = [&](const auto& self, const Expr& expr) -> void {
    for (const TensorView* tensor : tensorsOf(expr.inputs())) {
      if (!seen.insert(tensor).second) continue;
      if (const auto found = complete_.find(tensor); found != complete_.end())
        after.push_back(found->second);
      else if (tensor->definition() != nullptr)
        self(self, *tensor->definition());
    }
  };
  collect(collect, *nest.expr);

  const auto add = [&](Part part) {
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  };
  if (nest.buffer != nullptr) {
    const std::vector<LoopNode*> shared(nest.path.begin(),
                                        nest.path.begin() + static_cast<std::ptrdiff_t>(nest.shared));
    after.push_back(addPart(PartKind::Allocate, nest, shared, nest.indices, {}));
  }
  if (nest.is_reduction) {
    Part identity = outsideOfReduction(PartKind::Identity, nest);
    identity.after = {after.back()};
    after.push_back(add(std::move(identity)));
  }
  size_t last = addPart(PartKind::Compute, nest, nest.path, nest.indices, after);
  if (nest.is_reduction) {
    const Axes& loop = nest.tensor->loop();
    const bool is_empty = nests_->sizeOf(nest)->isConstantInt(0);
    if (!is_empty && std::ranges::any_of(loop, [](const IterDomain* axis) {
          return axis->isReduction() && isExchangeType(axis->parallelType());
        })) {
      TK_REQUIRE(nest.buffer->memoryType() == MemoryType::Local, Schedule,
                 "{} is combined across threads; legal is local memory, where each thread has its part",
                 nameOf(*nest.tensor));
      Part reduce = outsideOfReduction(PartKind::BlockReduce, nest);
      reduce.after = {last};
      last = add(std::move(reduce));
    }
    if (!is_empty && std::ranges::any_of(loop, [](const IterDomain* axis) {
          return axis->isReduction() && kir::isGridType(axis->parallelType());
        })) {
      const std::vector<LoopNode*> shared(nest.path.begin(),
                                          nest.path.begin() + static_cast<std::ptrdiff_t>(nest.shared));
      last = addPart(PartKind::GridReduce, nest, shared, nest.indices, {last});
    }
    if (nest.buffer != nest.tensor) {
      Part write = outsideOfReduction(PartKind::Write, nest);
      write.after = {last};
      complete_[nest.tensor] = last;
      add(std::move(write));
      return;
    }
  }
  if (nest.buffer != nullptr) complete_[nest.tensor] = last;
}

// Groups the parts by their loop at this depth (a part without one is a group), in an order that keeps dependences.
std::vector<StatementBuilder::Order> StatementBuilder::groups(const Order& parts, size_t depth) const {
  std::vector<Order> groups;
  std::map<const LoopNode*, size_t> of_node;
  std::map<size_t, size_t> of_part;
  for (const size_t part : parts) {
    const auto& path = parts_[part].path;
    size_t group = groups.size();
    if (path.size() > depth) group = of_node.try_emplace(path[depth], group).first->second;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(part);
    of_part[part] = group;
  }
  std::vector<std::set<size_t>> before(groups.size());
  for (const size_t part : parts) {
    for (const size_t other : parts_[part].after) {
      const auto found = of_part.find(other);
      if (found != of_part.end() && found->second != of_part[part]) before[of_part[part]].insert(found->second);
    }
  }
  std::vector<Order> ordered;
  std::vector<bool> is_done(groups.size());
  while (ordered.size() < groups.size()) {
    size_t next = 0;
    const auto isReady = [&](size_t group) {
      return !is_done[group] && std::ranges::all_of(before[group], [&](size_t other) { return is_done[other]; });
    };
    while (next < groups.size() && !isReady(next)) ++next;
    if (next == groups.size()) {
      std::string names;
      for (size_t group = 0; group < groups.size(); ++group) {
        if (!is_done[group])
          names += fmt::format("{}{}", names.empty() ? "" : ", ", nameOf(*parts_[groups[group][0]].nest->tensor));
      }
      TK_RAISE(Schedule, "the loops of {} need each other's results before they are complete; inline fewer of them",
               names);
    }
    is_done[next] = true;
    ordered.push_back(groups[next]);
  }
  return ordered;
}

kir::Statements StatementBuilder::emit(const Order& parts, size_t depth) {
  kir::Statements statements;
  for (const Order& group : groups(parts, depth)) {
    const Part& first = parts_[group.front()];
    if (first.path.size() <= depth) {
      if (first.kind == PartKind::Allocate || first.kind == PartKind::BlockReduce) flush(statements);
      if (first.kind == PartKind::Allocate) {
        statements.push_back(kir::statement(kir::Allocate{first.nest->buffer, nests_->sizeOf(*first.nest)}));
      } else {
        Scalar* condition = guard(first);
        if (condition != nullptr && condition->isConstant()) continue;  // never
        if (condition != open_guard_) flush(statements);
        open_guard_ = condition;
        emitLeaf(first);
        // A barrier may have to come between stores to shared memory and loads.
        const bool is_shared = first.nest->buffer != nullptr && first.nest->buffer->memoryType() == MemoryType::Shared;
        if (first.kind == PartKind::BlockReduce || is_shared) flush(statements);
      }
      continue;
    }
    flush(statements);
    const LoopNode& node = *first.path[depth];
    kir::Loop loop{node.index, fusion_->constant(0), node.extent, node.type, emit(group, depth + 1)};
    statements.push_back(kir::statement(std::move(loop)));
  }
  flush(statements);
  return statements;
}

void StatementBuilder::flush(kir::Statements& into) {
  writer_.finish();
  kir::Statements open = std::exchange(open_, {});
  Scalar* condition = std::exchange(open_guard_, nullptr);
  if (open.empty()) return;
  if (condition == nullptr)
    into.insert(into.end(), open.begin(), open.end());
  else
    into.push_back(kir::statement(kir::If{condition, std::move(open)}));
}

// The guard of a part, or null. Identities are stored to all elements of a thread's buffer, and all threads take part
// in a block reduction; one of the threads that have a result stores it.
Scalar* StatementBuilder::guard(const Part& part) {
  const LoopNest& nest = *part.nest;
  const bool writes_shared = nest.buffer != nullptr && nest.buffer->memoryType() == MemoryType::Shared;
  if (part.kind == PartKind::BlockReduce || (part.kind == PartKind::Identity && !writes_shared)) return nullptr;
  Scalar* all = nullptr;
  const auto require = [&](Scalar* condition) {
    condition = simplify(condition, nests_->analysis());
    if (isProved(*condition, nests_->analysis())) return;
    all = all == nullptr ? condition : fusion_->scalar(ScalarOp::And, all, condition);
  };
  AxisIndices indices = nests_->indicesOf(nest, part.indices);
  if (part.kind == PartKind::Identity) {
    // Other threads initialise their elements of shared memory.
    const Axes& loop = nest.tensor->loop();
    for (size_t j = 0; j < loop.size(); ++j) {
      if (!loop[j]->isReduction() && kir::isThreadType(loop[j]->parallelType()))
        require(fusion_->scalar(ScalarOp::Less, nests_->launchedIndex(part.indices[j]), loop[j]->extent()));
    }
  } else if (part.kind == PartKind::Write) {
    const Axes& loop = nest.tensor->loop();
    for (size_t j = 0; j < loop.size(); ++j) {
      if (!loop[j]->isReduction())
        require(fusion_->scalar(ScalarOp::Less, nests_->launchedIndex(part.indices[j]), loop[j]->extent()));
    }
    for (const IterDomain* axis : shapeOf(*nest.tensor)) {
      if (!isPartOfReduction(*axis)) indices.backwards(*axis);
    }
    for (const IndexBound& bound : indices.bounds())
      require(fusion_->scalar(ScalarOp::Less, bound.index, bound.extent));
  } else {
    for (const IndexBound& bound : nest.bounds) require(fusion_->scalar(ScalarOp::Less, bound.index, bound.extent));
    for (Scalar* choice : nest.identity_predicates) require(choice);
  }
  const bool writes_global = part.kind == PartKind::Write || nest.buffer == nullptr;
  // An expanded axis has one element: it is computed if the axis is not empty, and stored once.
  for (const IterDomain* axis : shapeOf(*nest.tensor)) {
    if (axis->expandedExtent() == nullptr) continue;
    if (writes_global) require(fusion_->scalar(ScalarOp::Equal, indices.backwards(*axis), fusion_->constant(0)));
    require(fusion_->scalar(ScalarOp::Less, fusion_->constant(0), axis->expandedExtent()));
  }
  for (const kir::LaunchDimension& dimension : nests_->dimensions()) {
    if (!writes_global && !(writes_shared && kir::isThreadType(dimension.type))) continue;
    // One block is left after the grid reduction.
    if (part.is_of_last_block && isReducedOverBlocks(dimension.type)) continue;
    const bool is_spread = std::ranges::any_of(nest.tensor->loop(), [&](const IterDomain* axis) {
      return axis->parallelType() == dimension.type && !axis->isReduction();
    });
    if (!is_spread) require(fusion_->scalar(ScalarOp::Equal, dimension.index, fusion_->constant(0)));
  }
  return all;
}

void StatementBuilder::emitLeaf(const Part& part) {
  const LoopNest& nest = *part.nest;
  const auto store = [&](const TensorView& tensor, Scalar* index, kir::ValueRef value) {
    kir::Statements lets = writer_.takeStatements();
    open_.insert(open_.end(), lets.begin(), lets.end());
    open_.push_back(kir::statement(kir::Store{&tensor, index, std::move(value)}));
  };
  const auto address = [&](const TensorView& tensor) {
    AxisIndices indices = nests_->indicesOf(nest, part.indices);
    std::vector<Scalar*> index;
    for (const IterDomain* axis : shapeOf(*nest.tensor))
      index.push_back(axis->isBroadcast() ? fusion_->constant(0) : indices.backwards(*axis));
    return linearIndex(*fusion_, nests_->analysis(), tensor, strides_->at(&tensor), index);
  };
  const auto* reduction = nest.expr->as<ReductionOp>();
  switch (part.kind) {
    case PartKind::Allocate: return;
    case PartKind::Identity: {
      const DataType dtype = nest.buffer->dtype();
      Scalar* identity = fusion_->constant(reductionIdentity(reduction->op, dtype), dtype);
      return store(*nest.buffer, nests_->ownIndex(nest, part.indices), kir::number(identity, dtype));
    }
    case PartKind::Compute: {
      kir::ValueRef value = valueOf(nest);
      if (nest.buffer == nullptr && reduction == nullptr && !nest.tensor->uses().empty()) {
        Substitution coordinates = nests_->computationOf(nest).coordinates;
        value = writer_.keep(*nest.tensor, coordinates, std::move(value));
      }
      if (nest.buffer == nullptr) return store(*nest.tensor, address(*nest.tensor), std::move(value));
      Scalar* own_index = nests_->ownIndex(nest, part.indices);
      if (reduction != nullptr) {
        const DataType dtype = nest.buffer->dtype();
        value = kir::apply(kir::combiningFunction(reduction->op), dtype,
                           {kir::load(*nest.buffer, own_index), kir::cast(dtype, std::move(value))});
      }
      return store(*nest.buffer, own_index, std::move(value));
    }
    case PartKind::GridReduce: return;
    case PartKind::BlockReduce: {
      kir::BlockReduce reduce{nest.buffer, nests_->ownIndex(nest, part.indices), 1, reduction->op, {}};
      for (const IterDomain* axis : nest.tensor->loop()) {
        if (axis->isReduction() && isExchangeType(axis->parallelType()))
          reduce.dimensions.push_back(axis->parallelType());
      }
      open_.push_back(kir::statement(std::move(reduce)));
      return;
    }
    case PartKind::Write:
      return store(*nest.tensor, address(*nest.tensor), kir::load(*nest.buffer, nests_->ownIndex(nest, part.indices)));
  }
}

bool StatementBuilder::isReducedOverBlocks(ParallelType type) const {
  return kir::isGridType(type) && std::ranges::any_of(parts_, [&](const Part& part) {
           return part.kind == PartKind::GridReduce &&
                  std::ranges::any_of(part.nest->tensor->loop(), [&](const IterDomain* axis) {
                    return axis->isReduction() && axis->parallelType() == type;
                  });
         });
}

kir::ValueRef StatementBuilder::valueOf(const LoopNest& nest) {
  LoopNests::Computation computation = nests_->computationOf(nest);
  reader_ = &nest;
  writer_.assume(nest.identity_predicates);
  return writer_.write(*computation.value, computation.coordinates);
}

kir::ValueRef StatementBuilder::load(const TensorView& tensor, std::span<Scalar* const> index) {
  const LoopNest* nest = nests_->storageOf(tensor);
  if (nest != nullptr && nest->source != nullptr && !nests_->isInOwnThread(*nest, index, *reader_))
    return load(*nest->source, index);
  if (nest != nullptr) return kir::load(*nest->buffer, nests_->bufferIndexOf(*nest, index, *reader_));
  return kir::load(tensor, linearIndex(*fusion_, nests_->analysis(), tensor, strides_->at(&tensor), index));
}

}  // namespace tokamak
