#include "kernel/distinct_names.h"

#include <map>
#include <set>
#include <string_view>

#include "kernel/rewrite.h"

namespace tokamak::kir {

namespace {

const Statements* bodyOf(const Statement& statement) {
  if (const auto* loop = std::get_if<Loop>(&statement.node)) return &loop->body;
  if (const auto* guard = std::get_if<If>(&statement.node)) return &guard->body;
  if (const auto* grid = std::get_if<GridReduce>(&statement.node)) return &grid->body;
  return nullptr;
}

bool isClashing(const Statements& statements, std::set<std::string_view>& known) {
  std::vector<std::string_view> added;
  bool clashes = false;
  for (const StatementRef& each : statements) {
    if (const auto* let = std::get_if<Let>(&each->node)) {
      clashes = !known.insert(let->variable->name).second;
      if (!clashes) added.push_back(let->variable->name);
    } else if (const Statements* body = bodyOf(*each)) {
      clashes = isClashing(*body, known);
    }
    if (clashes) return true;
  }
  for (const std::string_view name : added) known.erase(name);
  return false;
}

class Renamer {
 public:
  explicit Renamer(const Kernel& kernel) : new_values_(kernel) {}

  Statements rewrite(const Statements& statements) {
    const auto names = names_;
    const auto renamed = renamed_;
    Statements result;
    for (const StatementRef& each : statements) result.push_back(rewrite(each));
    names_ = names;
    renamed_ = renamed;
    return result;
  }

 private:
  StatementRef rewrite(const StatementRef& each) {
    if (const auto* let = std::get_if<Let>(&each->node)) return rewriteLet(*let);
    if (const auto* store = std::get_if<Store>(&each->node)) {
      Store copy = *store;
      copy.value = withNames(store->value);
      return statement(std::move(copy));
    }
    if (const auto* loop = std::get_if<Loop>(&each->node)) {
      Loop copy = *loop;
      copy.body = rewrite(loop->body);
      return statement(std::move(copy));
    }
    if (const auto* guard = std::get_if<If>(&each->node)) return statement(If{guard->predicate, rewrite(guard->body)});
    if (const auto* grid = std::get_if<GridReduce>(&each->node)) {
      GridReduce copy = *grid;
      copy.body = rewrite(grid->body);
      return statement(std::move(copy));
    }
    return each;
  }

  StatementRef rewriteLet(Let let) {
    let.value = withNames(let.value);
    renamed_.erase(let.variable.get());
    if (!names_.insert(let.variable->name).second) {
      Variable variable = *new_values_.named(let.variable->name, let.variable->dtype);
      variable.tensor = let.variable->tensor;
      names_.insert(variable.name);
      const VariableRef distinct = std::make_shared<const Variable>(std::move(variable));
      renamed_[let.variable.get()] = distinct;
      let.variable = distinct;
    }
    return statement(std::move(let));
  }

  ValueRef withNames(const ValueRef& value) const {
    if (renamed_.empty()) return value;
    if (value->kind == ValueKind::Variable) {
      const auto found = renamed_.find(value->variable.get());
      return found == renamed_.end() ? value : use(found->second);
    }
    if (value->operands.empty()) return value;
    Value copy = *value;
    for (ValueRef& operand : copy.operands) operand = withNames(operand);
    return std::make_shared<const Value>(std::move(copy));
  }

  NewValues new_values_;
  std::set<std::string> names_;  // in scope
  std::map<const Variable*, VariableRef> renamed_;
};

}  // namespace

void distinctNames(Kernel& kernel) {
  std::set<std::string_view> known;
  if (isClashing(kernel.body, known)) kernel.body = Renamer(kernel).rewrite(kernel.body);
}

}  // namespace tokamak::kir
