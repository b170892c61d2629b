#include "lower/statement_builder.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/scalar_simplifier.h"

namespace tokamak {

namespace {

FunctionId combiningFunction(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::Sum: return FunctionId::add;
    case ReductionKind::Prod: return FunctionId::mul;
    case ReductionKind::Max: return FunctionId::maximum;
    case ReductionKind::Min: return FunctionId::minimum;
  }
  TK_CHECK(false, "no such reduction");
}

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
  Order all(parts_.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return emit(all, 0);
}

size_t StatementBuilder::addPart(PartKind kind, const LoopNest& nest, std::vector<LoopNode*> path,
                                 std::vector<Scalar*> indices, std::vector<size_t> after) {
  parts_.push_back({kind, &nest, std::move(path), std::move(indices), std::move(after)});
  return parts_.size() - 1;
}

// In the loops around the outermost reduction loop, and fresh copies of the other loops.
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
  // What the computation reads, directly or through expressions.
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
    if (std::ranges::any_of(loop, [](const IterDomain* axis) {
          return axis->isReduction() && kir::isThreadType(axis->parallelType());
        })) {
      Part combine = outsideOfReduction(PartKind::Combine, nest);
      combine.after = {last};
      last = add(std::move(combine));
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

// Parts that share their loop at this depth are one group, and so is a part without one; groups in a legal order.
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
      TK_CHECK(false, "the loops of {} need each other's results before they are complete", names);
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
      if (first.kind == PartKind::Allocate || first.kind == PartKind::Combine) flush(statements);
      if (first.kind == PartKind::Allocate) {
        statements.push_back(kir::statement(kir::Allocate{first.nest->buffer, nests_->sizeOf(*first.nest)}));
      } else {
        Scalar* condition = guard(first);
        if (condition != nullptr && condition->isConstant()) continue;  // never
        if (condition != open_guard_) flush(statements);
        open_guard_ = condition;
        emitLeaf(first);
        if (first.kind == PartKind::Combine) flush(statements);
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

// What has to hold where a part is done, or null. Identities are stored for all places of a buffer and threads combine together; a
// reduction's result is written by one thread of those that have it.
Scalar* StatementBuilder::guard(const Part& part) {
  const LoopNest& nest = *part.nest;
  if (part.kind == PartKind::Identity || part.kind == PartKind::Combine) return nullptr;
  Scalar* all = nullptr;
  const auto require = [&](Scalar* condition) {
    condition = simplify(condition, nests_->analysis());
    if (isProved(*condition, nests_->analysis())) return;
    all = all == nullptr ? condition : fusion_->scalar(ScalarOp::And, all, condition);
  };
  AxisIndices indices = nests_->indicesOf(nest, part.indices);
  if (part.kind == PartKind::Write) {
    const Axes& loop = nest.tensor->loop();
    for (size_t j = 0; j < loop.size(); ++j) {
      if (!loop[j]->isReduction()) require(fusion_->scalar(ScalarOp::Less, part.indices[j], loop[j]->extent()));
    }
    for (const IterDomain* axis : shapeOf(*nest.tensor)) indices.backwards(*axis);
    for (const IndexBound& bound : indices.bounds())
      require(fusion_->scalar(ScalarOp::Less, bound.index, bound.extent));
  } else {
    for (const IndexBound& bound : nest.bounds) require(fusion_->scalar(ScalarOp::Less, bound.index, bound.extent));
  }
  const bool writes_global = part.kind == PartKind::Write || nest.buffer == nullptr;
  // An expanded axis shows one element many times; it is written once.
  if (writes_global) {
    for (const IterDomain* axis : shapeOf(*nest.tensor)) {
      if (axis->expandedExtent() != nullptr)
        require(fusion_->scalar(ScalarOp::Equal, indices.backwards(*axis), fusion_->constant(0)));
    }
  }
  const bool writes_shared = nest.buffer != nullptr && nest.buffer->memoryType() == MemoryType::Shared;
  for (const kir::LaunchDimension& dimension : nests_->dimensions()) {
    if (!writes_global && !(writes_shared && kir::isThreadType(dimension.type))) continue;
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
      return store(*nest.buffer, nests_->ownPlace(nest, part.indices), kir::number(identity, dtype));
    }
    case PartKind::Compute: {
      kir::ValueRef value = valueOf(nest);
      if (nest.buffer == nullptr) return store(*nest.tensor, address(*nest.tensor), std::move(value));
      Scalar* place = nests_->ownPlace(nest, part.indices);
      if (reduction != nullptr) {
        const DataType dtype = nest.buffer->dtype();
        value = kir::apply(combiningFunction(reduction->op), dtype,
                           {kir::load(*nest.buffer, place), kir::cast(dtype, std::move(value))});
      }
      return store(*nest.buffer, place, std::move(value));
    }
    case PartKind::Combine: {
      kir::Combine combine{nest.buffer, nests_->ownPlace(nest, part.indices), reduction->op, {}};
      for (const IterDomain* axis : nest.tensor->loop()) {
        if (axis->isReduction() && kir::isThreadType(axis->parallelType()))
          combine.dimensions.push_back(axis->parallelType());
      }
      open_.push_back(kir::statement(std::move(combine)));
      return;
    }
    case PartKind::Write:
      return store(*nest.tensor, address(*nest.tensor), kir::load(*nest.buffer, nests_->ownPlace(nest, part.indices)));
  }
}

kir::ValueRef StatementBuilder::valueOf(const LoopNest& nest) {
  LoopNests::Computation computation = nests_->computationOf(nest);
  return writer_.write(*computation.value, computation.coordinates);
}

kir::ValueRef StatementBuilder::load(const TensorView& tensor, std::span<Scalar* const> index) {
  if (const LoopNest* nest = nests_->storageOf(tensor)) return kir::load(*nest->buffer, nests_->placeOf(*nest, index));
  return kir::load(tensor, linearIndex(*fusion_, nests_->analysis(), tensor, strides_->at(&tensor), index));
}

}  // namespace tokamak
