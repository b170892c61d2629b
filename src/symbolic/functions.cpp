#include "symbolic/functions.h"

#include <algorithm>

#include "symbolic/function_table.h"

namespace tokamak {

namespace {

#define TK_ROW(name, arity, rule, accuracy, infix, meaning, ...) \
  FunctionInfo{function_id::name, #name, arity, TypeRule::rule, Accuracy::accuracy, infix, meaning},
constexpr auto kFunctions = std::to_array<FunctionInfo>({TK_FUNCTIONS(TK_ROW)});
#undef TK_ROW

constexpr auto kNames = [] {
  std::array<std::string_view, kFunctions.size()> names;
  for (const FunctionInfo& function : kFunctions) names[static_cast<size_t>(function.id)] = function.name;
  return names;
}();

}  // namespace

std::span<const FunctionInfo> allFunctions() { return kFunctions; }

std::span<const std::string_view> functionNames() { return kNames; }

const FunctionInfo& functionInfo(FunctionId id) { return kFunctions[static_cast<size_t>(function_table::rowOf(id))]; }

std::optional<FunctionId> functionFromName(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &FunctionInfo::name);
  return found == std::end(kFunctions) ? std::nullopt : std::optional(found->id);
}

std::optional<FunctionId> functionFromInfix(std::string_view symbol, int arity) {
  const auto* found = std::ranges::find_if(
      kFunctions, [&](const FunctionInfo& f) { return !f.infix.empty() && f.infix == symbol && f.arity == arity; });
  return found == std::end(kFunctions) ? std::nullopt : std::optional(found->id);
}

std::optional<FunctionTypes> functionTypes(FunctionId id, DataType promoted) {
  const DataType type = computeType(promoted);
  switch (functionInfo(id).rule) {
    case TypeRule::Float: {
      const DataType floating = isFloatingType(type) ? type : DataType::F32;
      return FunctionTypes{floating, floating};
    }
    case TypeRule::Numeric: {
      const DataType numeric = type == DataType::Bool ? DataType::I64 : type;
      return FunctionTypes{numeric, numeric};
    }
    case TypeRule::Any:
    case TypeRule::Choose: return FunctionTypes{type, type};
    case TypeRule::Test:
    case TypeRule::Compare: return FunctionTypes{type, DataType::Bool};
    case TypeRule::Logical: return FunctionTypes{DataType::Bool, DataType::Bool};
    case TypeRule::Bitwise:
      if (isFloatingType(type)) return std::nullopt;
      return FunctionTypes{type, type};
    case TypeRule::Integer:
      if (!isIntegerType(type)) return std::nullopt;
      return FunctionTypes{type, type};
  }
  return std::nullopt;
}

}  // namespace tokamak
