#include "compute/rules.h"

#include "ir/visit.h"

namespace tokamak {

ElementRule ruleOf(const Expr& expr) {
  return visitMath(expr, [](const auto& op) {
    ElementBuilder builder(*op.out);
    rule(op, builder);
    return std::move(builder).finish();
  });
}

}  // namespace tokamak
