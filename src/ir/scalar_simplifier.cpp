#include "ir/scalar_simplifier.h"

#include "ir/fusion.h"

namespace tokamak {

Scalar* simplify(Scalar* scalar) {
  if (scalar->isConstant() || scalar->isSymbol()) return scalar;
  Fusion& fusion = scalar->fusion();
  bool is_constant = scalar->op() != ScalarOp::Cast && scalar->op() != ScalarOp::Function;
  for (const Scalar* operand : scalar->operands()) is_constant = is_constant && operand->isConstant();
  if (is_constant) return fusion.constant(*evaluate(*scalar, {}), scalar->dtype());
  if (scalar->operands().size() != 2) return scalar;
  Scalar* a = scalar->operand(0);
  Scalar* b = scalar->operand(1);
  switch (scalar->op()) {
    case ScalarOp::Add:
      if (a->isConstantInt(0)) return b;
      if (b->isConstantInt(0)) return a;
      break;
    case ScalarOp::Sub:
      if (b->isConstantInt(0)) return a;
      if (a == b && a->dtype() == DataType::I64) return fusion.constant(0);
      break;
    case ScalarOp::Mul:
      if (a->isConstantInt(1)) return b;
      if (b->isConstantInt(1)) return a;
      if (a->isConstantInt(0)) return a;
      if (b->isConstantInt(0)) return b;
      break;
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv:
      if (b->isConstantInt(1)) return a;
      break;
    case ScalarOp::Mod:
      if (b->isConstantInt(1)) return fusion.constant(0);
      break;
    default: break;
  }
  return scalar;
}

}  // namespace tokamak
