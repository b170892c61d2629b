#include "kernel/rewrite.h"

#include <fmt/format.h>

namespace tokamak::kir {

namespace {

using Replace = std::function<Scalar*(Scalar*)>;

ValueRef copyOf(const ValueRef& value, const Replace& replace) {
  Value copy = *value;
  if (copy.scalar != nullptr) copy.scalar = replace(copy.scalar);
  for (ValueRef& operand : copy.operands) operand = copyOf(operand, replace);
  return std::make_shared<const Value>(std::move(copy));
}

using Move = std::function<Scalar*(const TensorView&, Scalar*)>;

ValueRef movedValue(const ValueRef& value, const Move& move) {
  Value copy = *value;
  if (copy.kind == ValueKind::Load) copy.scalar = move(*copy.tensor, copy.scalar);
  for (ValueRef& operand : copy.operands) operand = movedValue(operand, move);
  return std::make_shared<const Value>(std::move(copy));
}

struct Mover {
  const Move& move;

  StatementRef operator()(Loop loop) const {
    loop.body = kir::withIndices(loop.body, move);
    return statement(std::move(loop));
  }
  StatementRef operator()(const If& guard) const {
    return statement(If{guard.predicate, kir::withIndices(guard.body, move)});
  }
  StatementRef operator()(Let let) const {
    let.value = movedValue(let.value, move);
    return statement(std::move(let));
  }
  StatementRef operator()(const Store& store) const {
    return statement(Store{store.tensor, move(*store.tensor, store.index), movedValue(store.value, move), store.block});
  }
  StatementRef operator()(Copy copy) const {
    copy.to_index = move(*copy.to, copy.to_index);
    copy.from_index = move(*copy.from, copy.from_index);
    return statement(copy);
  }
  StatementRef operator()(BlockReduce reduce) const {
    reduce.index = move(*reduce.tensor, reduce.index);
    return statement(std::move(reduce));
  }
  StatementRef operator()(GridReduce grid) const {
    for (GridReduce::Value& value : grid.values) value.index = move(*value.tensor, value.index);
    grid.body = kir::withIndices(grid.body, move);
    return statement(std::move(grid));
  }
  template <class Other>
  StatementRef operator()(const Other& other) const {
    return statement(other);
  }
};

struct Copier {
  const Replace& replace;

  StatementRef operator()(Loop loop) const {
    loop.index = replace(loop.index);
    loop.start = replace(loop.start);
    loop.stop = replace(loop.stop);
    loop.body = kir::withScalars(loop.body, replace);
    return statement(std::move(loop));
  }
  StatementRef operator()(const If& guard) const {
    return statement(If{replace(guard.predicate), kir::withScalars(guard.body, replace)});
  }
  StatementRef operator()(const Allocate& allocate) const {
    return statement(Allocate{allocate.tensor, replace(allocate.size)});
  }
  StatementRef operator()(Let let) const {
    let.value = copyOf(let.value, replace);
    if (let.index != nullptr) let.index = replace(let.index);
    if (let.extent != nullptr) let.extent = replace(let.extent);
    return statement(std::move(let));
  }
  StatementRef operator()(const Store& store) const {
    return statement(Store{store.tensor, replace(store.index), copyOf(store.value, replace),
                           store.block == nullptr ? nullptr : replace(store.block)});
  }
  StatementRef operator()(Copy copy) const {
    copy.to_index = replace(copy.to_index);
    copy.from_index = replace(copy.from_index);
    return statement(copy);
  }
  StatementRef operator()(const CopyGroup& group) const { return statement(group); }
  StatementRef operator()(BlockReduce reduce) const {
    reduce.index = replace(reduce.index);
    return statement(std::move(reduce));
  }
  StatementRef operator()(GridReduce grid) const {
    for (GridReduce::Value& value : grid.values) value.index = replace(value.index);
    grid.body = kir::withScalars(grid.body, replace);
    return statement(std::move(grid));
  }
  StatementRef operator()(const Barrier& barrier) const { return statement(barrier); }
  StatementRef operator()(const ClusterBarrier& barrier) const { return statement(barrier); }
};

}  // namespace

Statements withScalars(const Statements& statements, const Replace& replace) {
  Statements result;
  for (const StatementRef& each : statements) result.push_back(std::visit(Copier{replace}, each->node));
  return result;
}

Statements withIndices(const Statements& statements, const Move& replace) {
  Statements result;
  for (const StatementRef& each : statements) result.push_back(std::visit(Mover{replace}, each->node));
  return result;
}

Statements withLeaves(const Statements& statements, const std::function<StatementRef(const StatementRef&)>& replace) {
  Statements result;
  for (const StatementRef& each : statements) {
    if (const auto* loop = std::get_if<Loop>(&each->node)) {
      Loop copy = *loop;
      copy.body = withLeaves(loop->body, replace);
      result.push_back(statement(std::move(copy)));
    } else if (const auto* guard = std::get_if<If>(&each->node)) {
      result.push_back(statement(If{guard->predicate, withLeaves(guard->body, replace)}));
    } else if (const auto* grid = std::get_if<GridReduce>(&each->node)) {
      GridReduce copy = *grid;
      copy.body = withLeaves(grid->body, replace);
      result.push_back(statement(std::move(copy)));
    } else if (StatementRef leaf = replace(each)) {
      result.push_back(std::move(leaf));
    }
  }
  return result;
}

Statements withOverrides(const Statements& statements, const std::function<StatementRef(const Let&)>& let,
                         const std::function<ValueRef(const ValueRef&)>& value) {
  return withLeaves(statements, [&](const StatementRef& each) {
    if (const auto* named = std::get_if<Let>(&each->node)) return let(*named);
    const auto* store = std::get_if<Store>(&each->node);
    if (store == nullptr) return each;
    Store copy = *store;
    copy.value = value(store->value);
    return statement(std::move(copy));
  });
}

void visitScalars(const Statements& statements, const std::function<void(Scalar&)>& visit) {
  withScalars(statements, [&](Scalar* scalar) {
    visit(*scalar);
    return scalar;
  });
}

Statements withLoops(const Statements& statements, const std::function<void(const Loop&, Statements&)>& replace) {
  Statements result;
  for (const StatementRef& each : statements) {
    if (const auto* loop = std::get_if<Loop>(&each->node)) {
      replace(*loop, result);
    } else if (const auto* guard = std::get_if<If>(&each->node)) {
      result.push_back(statement(If{guard->predicate, withLoops(guard->body, replace)}));
    } else if (const auto* grid = std::get_if<GridReduce>(&each->node)) {
      GridReduce copy = *grid;
      copy.body = withLoops(grid->body, replace);
      result.push_back(statement(std::move(copy)));
    } else {
      result.push_back(each);
    }
  }
  return result;
}

std::set<const Scalar*> indicesIn(const Statements& statements) {
  std::set<const Scalar*> indices;
  visitStatements(statements, [&](const Statement& each) {
    if (const auto* loop = std::get_if<Loop>(&each.node)) indices.insert(loop->index);
    if (const auto* let = std::get_if<Let>(&each.node); let != nullptr && let->index != nullptr)
      indices.insert(let->index);
  });
  return indices;
}

NewValues::NewValues(const Kernel& kernel) {
  visitStatements(kernel.body, [&](const Statement& each) {
    if (const auto* let = std::get_if<Let>(&each.node)) names_.insert(let->variable->name);
  });
}

namespace {

// Renames variables by scope: names end with their body.
class NameScopes {
 public:
  explicit NameScopes(const Kernel& kernel) : new_values_(kernel) {}

  Statements rewrite(const Statements& statements, std::set<std::string> known, Renamed renamed) {
    Statements result;
    for (const StatementRef& each : statements) {
      if (const auto* let = std::get_if<Let>(&each->node)) {
        result.push_back(rewriteLet(*let, known, renamed));
      } else if (const auto* store = std::get_if<Store>(&each->node)) {
        Store copy = *store;
        copy.value = withVariables(store->value, renamed);
        result.push_back(statement(std::move(copy)));
      } else if (const auto* loop = std::get_if<Loop>(&each->node)) {
        Loop copy = *loop;
        copy.body = rewrite(loop->body, known, renamed);
        result.push_back(statement(std::move(copy)));
      } else if (const auto* guard = std::get_if<If>(&each->node)) {
        result.push_back(statement(If{guard->predicate, rewrite(guard->body, known, renamed)}));
      } else if (const auto* grid = std::get_if<GridReduce>(&each->node)) {
        GridReduce copy = *grid;
        copy.body = rewrite(grid->body, known, renamed);
        result.push_back(statement(std::move(copy)));
      } else {
        result.push_back(each);
      }
    }
    return result;
  }

 private:
  StatementRef rewriteLet(const Let& let, std::set<std::string>& known, Renamed& renamed) {
    Let copy = let;
    copy.value = withVariables(let.value, renamed);
    renamed.erase(let.variable.get());
    if (!known.insert(let.variable->name).second) {
      Variable variable = *new_values_.named(let.variable->name, let.variable->dtype);
      variable.tensor = let.variable->tensor;
      copy.variable = std::make_shared<const Variable>(std::move(variable));
      renamed[let.variable.get()] = copy.variable;
      known.insert(copy.variable->name);
    }
    return statement(std::move(copy));
  }

  NewValues new_values_;
};

}  // namespace

ValueRef withVariables(const ValueRef& value, const Renamed& renamed) {
  if (renamed.empty()) return value;
  if (value->kind == ValueKind::Variable) {
    const auto found = renamed.find(value->variable.get());
    return found == renamed.end() ? value : use(found->second);
  }
  if (value->operands.empty()) return value;
  Value copy = *value;
  for (ValueRef& operand : copy.operands) operand = withVariables(operand, renamed);
  return std::make_shared<const Value>(std::move(copy));
}

Statements withDistinctNames(const Kernel& kernel) { return NameScopes(kernel).rewrite(kernel.body, {}, {}); }

VariableRef NewValues::named(const std::string& wish, DataType dtype) {
  std::string name = wish;
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wish, i);
  return std::make_shared<const Variable>(Variable{name, dtype, nullptr});
}

}  // namespace tokamak::kir
