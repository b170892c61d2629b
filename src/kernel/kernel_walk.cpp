#include "kernel/kernel_walk.h"

#include <algorithm>
#include <array>

namespace tokamak::kir {

namespace {

class Walker {
 public:
  Walker(const Kernel& kernel, const std::function<void(const Statement&, const Scope&)>& visit) : visit_(visit) {
    for (const LaunchDimension& dimension : kernel.dimensions) {
      scope_.symbols.insert(dimension.index);
      if (isThreadType(dimension.type)) scope_.varying_symbols.insert(dimension.index);
      if (!isGridType(dimension.type)) scope_.cluster_varying_symbols.insert(dimension.index);
    }
    for (const Scalar* symbol : kernel.symbols) scope_.symbols.insert(symbol);
    for (const TensorView* tensor : kernel.tensors) scope_.tensors.insert(tensor);
  }

  void walk(const Statements& statements) {
    const Place before = place();
    for (const StatementRef& each : statements) {
      visit_(*each, scope_);
      if (const auto* loop = std::get_if<Loop>(&each->node)) enter(*loop, *each);
      if (const auto* guard = std::get_if<If>(&each->node)) enter(*guard, *each);
      if (const auto* grid = std::get_if<GridReduce>(&each->node)) {
        scope_.around.push_back(each.get());
        walk(grid->body);
        scope_.around.pop_back();
      }
      if (const auto* allocate = std::get_if<Allocate>(&each->node)) scope_.tensors.insert(allocate->tensor);
      if (const auto* let = std::get_if<Let>(&each->node)) define(*let);
    }
    goBackTo(before);
  }

 private:
  // A state of the scope, to restore it.
  struct Place {
    std::array<size_t, 8> sizes;
    size_t around;
    bool is_uniform;
    bool is_cluster_uniform;
  };

  template <class Visit>
  void forEachSet(const Visit& visit) {
    visit(scope_.symbols);
    visit(scope_.variables);
    visit(scope_.names);
    visit(scope_.tensors);
    visit(scope_.varying_symbols);
    visit(scope_.varying_variables);
    visit(scope_.cluster_varying_symbols);
    visit(scope_.cluster_varying_variables);
  }

  Place place() {
    Place place{{}, scope_.around.size(), scope_.is_uniform, scope_.is_cluster_uniform};
    size_t i = 0;
    forEachSet([&](const auto& set) { place.sizes[i++] = set.size(); });
    return place;
  }

  void goBackTo(const Place& place) {
    size_t i = 0;
    forEachSet([&](auto& set) { set.goBackTo(place.sizes[i++]); });
    scope_.around.resize(place.around);
    scope_.is_uniform = place.is_uniform;
    scope_.is_cluster_uniform = place.is_cluster_uniform;
  }

  void enter(const Loop& loop, const Statement& statement) {
    const Place before = place();
    scope_.around.push_back(&statement);
    scope_.symbols.insert(loop.index);
    if (isVarying(*loop.start) || isVarying(*loop.stop)) {
      scope_.varying_symbols.insert(loop.index);
      scope_.is_uniform = false;
    }
    if (isClusterVarying(*loop.start) || isClusterVarying(*loop.stop)) {
      scope_.cluster_varying_symbols.insert(loop.index);
      scope_.is_cluster_uniform = false;
    }
    walk(loop.body);
    goBackTo(before);
  }

  void enter(const If& guard, const Statement& statement) {
    const Place before = place();
    scope_.around.push_back(&statement);
    scope_.is_uniform = scope_.is_uniform && !isVarying(*guard.predicate);
    scope_.is_cluster_uniform = scope_.is_cluster_uniform && !isClusterVarying(*guard.predicate);
    walk(guard.body);
    goBackTo(before);
  }

  void define(const Let& let) {
    scope_.variables.insert(let.variable.get());
    scope_.names.insert(let.variable->name);
    bool is_varying = false;
    bool is_cluster_varying = false;
    visitValues(*let.value, [&](const Value& value) {
      const bool is_load = value.kind == ValueKind::Load;
      const bool is_use = value.kind == ValueKind::Variable;
      is_varying |= value.scalar != nullptr && isVarying(*value.scalar);
      is_varying |= is_use && scope_.varying_variables.contains(value.variable.get());
      is_varying |= is_load && value.tensor->memoryType() == MemoryType::Local;
      is_cluster_varying |= value.scalar != nullptr && isClusterVarying(*value.scalar);
      is_cluster_varying |= is_use && scope_.cluster_varying_variables.contains(value.variable.get());
      is_cluster_varying |= is_load && !isGlobal(*value.tensor);
    });
    if (is_varying) scope_.varying_variables.insert(let.variable.get());
    if (is_cluster_varying) scope_.cluster_varying_variables.insert(let.variable.get());
    if (let.index == nullptr) return;
    scope_.symbols.insert(let.index);
    if (is_varying) scope_.varying_symbols.insert(let.index);
    if (is_cluster_varying) scope_.cluster_varying_symbols.insert(let.index);
  }

  bool isVarying(const Scalar& scalar) const { return mentionsAny(scalar, scope_.varying_symbols.values()); }
  bool isClusterVarying(const Scalar& scalar) const {
    return mentionsAny(scalar, scope_.cluster_varying_symbols.values());
  }

  const std::function<void(const Statement&, const Scope&)>& visit_;
  Scope scope_;
};

struct IndexLister {
  std::vector<Scalar*> operator()(const Loop& loop) const { return {loop.start, loop.stop}; }
  std::vector<Scalar*> operator()(const If&) const { return {}; }
  std::vector<Scalar*> operator()(const Allocate& allocate) const { return {allocate.size}; }
  std::vector<Scalar*> operator()(const Let& let) const {
    return let.extent == nullptr ? std::vector<Scalar*>{} : std::vector<Scalar*>{let.extent};
  }
  std::vector<Scalar*> operator()(const Store& store) const {
    return store.block == nullptr ? std::vector<Scalar*>{store.index} : std::vector<Scalar*>{store.index, store.block};
  }
  std::vector<Scalar*> operator()(const Copy& copy) const { return {copy.to_index, copy.from_index}; }
  std::vector<Scalar*> operator()(const CopyGroup&) const { return {}; }
  std::vector<Scalar*> operator()(const BlockReduce& reduce) const { return {reduce.index}; }
  std::vector<Scalar*> operator()(const GridReduce& grid) const {
    std::vector<Scalar*> indices;
    for (const GridReduce::Value& value : grid.values) indices.push_back(value.index);
    return indices;
  }
  std::vector<Scalar*> operator()(const Barrier&) const { return {}; }
  std::vector<Scalar*> operator()(const ClusterBarrier&) const { return {}; }
};

}  // namespace

void walkKernel(const Kernel& kernel, const std::function<void(const Statement&, const Scope&)>& visit) {
  Walker(kernel, visit).walk(kernel.body);
}

std::vector<Scalar*> indicesOf(const Statement& statement) { return std::visit(IndexLister{}, statement.node); }

std::vector<const Value*> valuesOf(const Statement& statement) {
  std::vector<const Value*> values;
  const auto collect = [&](const Value& value) { values.push_back(&value); };
  if (const auto* let = std::get_if<Let>(&statement.node)) visitValues(*let->value, collect);
  if (const auto* store = std::get_if<Store>(&statement.node)) visitValues(*store->value, collect);
  return values;
}

std::vector<const TensorView*> tensorsOf(const Statement& statement) {
  std::vector<const TensorView*> tensors;
  for (const Value* value : valuesOf(statement)) {
    if (value->kind == ValueKind::Load) tensors.push_back(value->tensor);
  }
  if (const auto* copy = std::get_if<Copy>(&statement.node)) tensors.push_back(copy->from);
  if (const auto* grid = std::get_if<GridReduce>(&statement.node)) {
    for (const GridReduce::Value& value : grid->values) tensors.push_back(value.tensor);
  }
  if (const TensorView* written = writtenBy(statement)) tensors.push_back(written);
  return tensors;
}

const TensorView* writtenBy(const Statement& statement) {
  if (const auto* store = std::get_if<Store>(&statement.node)) return store->tensor;
  if (const auto* copy = std::get_if<Copy>(&statement.node)) return copy->to;
  if (const auto* reduce = std::get_if<BlockReduce>(&statement.node)) return reduce->tensor;
  return nullptr;
}

bool mentionsAny(const Scalar& scalar, const std::set<const Scalar*>& symbols) {
  if (symbols.contains(&scalar)) return true;
  return std::ranges::any_of(scalar.operands(), [&](const Scalar* operand) { return mentionsAny(*operand, symbols); });
}

const Scalar* symbolOutside(const Scalar& scalar, const std::set<const Scalar*>& symbols) {
  if (scalar.isSymbol()) return symbols.contains(&scalar) ? nullptr : &scalar;
  for (const Scalar* operand : scalar.operands()) {
    if (const Scalar* found = symbolOutside(*operand, symbols)) return found;
  }
  return nullptr;
}

}  // namespace tokamak::kir
