#include "ir/rewrite.h"

#include <algorithm>

#include "ir/fields.h"
#include "ir/fusion.h"

namespace tokamak {

Expr* replaceVal(Expr* expr, Val* from, Val* to) {
  Fields fields = fieldsOf(*expr);
  for (Field& field : fields) {
    if (auto* val = std::get_if<Val*>(&field.value); val != nullptr && *val == from) *val = to;
    if (auto* vals = std::get_if<std::vector<Val*>>(&field.value)) std::ranges::replace(*vals, from, to);
  }
  return expr->fusion().replaceExpr(expr, makeExpr(expr->kind(), fields));
}

}  // namespace tokamak
