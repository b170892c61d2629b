#include "define/promotion.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ir/expr.h"

namespace tokamak {

namespace {

enum Rank : size_t { Number, OfFusion, NoAxes, WithAxes };

Rank rankOf(const Operand& operand) {
  if (operand.isLiteral()) return Number;
  const TensorView* tensor = asTensor(operand.val());
  if (tensor == nullptr) return OfFusion;
  return shapeOf(*tensor).empty() ? NoAxes : WithAxes;
}

// Of f64 only for want of another type: a number in C++, and what was given when the program runs. A constant of the
// fusion and a cast were given their type.
bool isDefaultFloat(const Operand& operand) {
  if (operand.dtype() != DataType::F64 || rankOf(operand) > OfFusion) return false;
  const Scalar* scalar = operand.isLiteral() ? nullptr : asScalar(operand.val());
  if (scalar == nullptr || scalar->isSymbol()) return true;
  return !scalar->isConstant() && scalar->op() != ScalarOp::Cast;
}

int categoryOf(DataType type) { return isFloatingType(type) ? 2 : isIntegerType(type) ? 1 : 0; }

}  // namespace

DataType promotedType(std::span<const Operand> operands, PromotionOptions options) {
  const bool beside_tensor = options.beside_tensor || std::ranges::any_of(operands, [](const Operand& operand) {
                               return rankOf(operand) >= NoAxes;
                             });
  std::array<std::optional<DataType>, 4> types;
  for (const Operand& operand : operands) {
    const Rank rank = rankOf(operand);
    const DataType type = beside_tensor && isDefaultFloat(operand) ? DataType::F32 : operand.dtype();
    types[rank] = types[rank] ? promoteTypes(*types[rank], type) : type;
  }
  std::optional<DataType> promoted;
  for (size_t rank = types.size(); rank-- > 0;) {
    const auto& type = types[rank];
    if (type && (!promoted || categoryOf(*type) > categoryOf(*promoted))) promoted = type;
  }
  return promoted.value_or(DataType::F32);
}

}  // namespace tokamak
