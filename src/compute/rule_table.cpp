#include "compute/rule_table.h"

#include "compute/rules.h"

namespace tokamak {

const ElementRule& RuleTable::of(const Expr& expr) {
  const auto found = rules_.find(&expr);
  return found != rules_.end() ? found->second : rules_.emplace(&expr, ruleOf(expr)).first->second;
}

}  // namespace tokamak
