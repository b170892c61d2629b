#include "analysis/substitute.h"

#include "symbolic/scalar_simplifier.h"

namespace tokamak {

Scalar* Substitution::operator()(Scalar* scalar) {
  if (scalar->operands().empty()) {
    const auto found = made_.find(scalar);
    return found == made_.end() ? scalar : found->second;
  }
  if (const auto found = made_.find(scalar); found != made_.end()) return found->second;
  std::vector<Scalar*> operands;
  bool is_changed = false;
  for (Scalar* operand : scalar->operands()) {
    operands.push_back((*this)(operand));
    is_changed |= operands.back() != operand;
  }
  Scalar* result = scalar;
  if (is_changed) result = simplify(fusion_->rawScalar(scalar->op(), scalar->dtype(), operands, scalar->function()));
  made_[scalar] = result;
  return result;
}

}  // namespace tokamak
