#include "ir/text/plain_number.h"

namespace tokamak {

std::optional<DataType> plainNumberType(FunctionId function, std::span<const FunctionOperand> operands,
                                        size_t position) {
  const bool chooses = functionInfo(function).rule == TypeRule::Choose;
  if (chooses && position == 0) return DataType::Bool;
  std::optional<DataType> common;
  bool has_floating_number = false;
  bool has_integer = false;
  for (size_t i = chooses ? 1 : 0; i < operands.size(); ++i) {
    if (operands[i].dtype)
      common = common ? promoteTypes(*common, *operands[i].dtype) : *operands[i].dtype;
    else
      (operands[i].is_floating_number ? has_floating_number : has_integer) = true;
  }
  if (has_floating_number && (!common || !isFloatingType(*common))) common = DataType::F32;
  if (has_integer && (!common || *common == DataType::Bool)) common = DataType::I64;
  if (!common) return std::nullopt;
  const auto types = functionTypes(function, *common);
  return types ? std::optional(types->operand) : std::nullopt;
}

}  // namespace tokamak
