#include "define/callables.h"

#include <algorithm>

#include "base/immortal.h"
#include "base/require.h"
#include "define/functions.h"

namespace tokamak {

namespace {

Operand operandOf(std::string_view call, std::string_view name, const FieldValue& value) {
  if (const auto* val = std::get_if<Val*>(&value)) return *val;
  if (const auto* scalar = std::get_if<Scalar*>(&value)) return *scalar;
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  TK_RAISE(Definition, "{}: '{}' must be a tensor, a scalar or a number", call, name);
}

Callable callableOf(const FunctionInfo& info) {
  // As the formulas of symbolic/function_table.h call them.
  static constexpr std::string_view names[] = {"x", "y", "z", "w"};
  Callable callable{.name = info.name, .parameters = {}, .function = {}};
  for (int i = 0; i < info.arity; ++i)
    callable.parameters.push_back({.name = names[i], .is_required = true, .kind = ArgumentKind::Value});
  callable.function = [&info](Fusion&, std::span<const FieldValue> values) -> std::vector<Val*> {
    std::vector<Operand> operands;
    for (size_t i = 0; i < values.size(); ++i) operands.push_back(operandOf(info.name, names[i], values[i]));
    return {applyFunction(info.id, operands)};
  };
  return callable;
}

Callable callableOf(OpKind kind) {
  Callable callable{.name = opInfo(kind).name, .parameters = parametersOf(kind), .function = {}};
  callable.function = [kind, parameters = callable.parameters](Fusion& fusion, std::span<const FieldValue> values) {
    std::vector<CallArgument> arguments;
    for (size_t i = 0; i < values.size(); ++i) arguments.push_back({parameters[i].name, values[i]});
    const Expr* expr = defineOp(fusion, {kind, std::nullopt}, arguments);
    return std::vector<Val*>(expr->outputs().begin(), expr->outputs().end());
  };
  return callable;
}

bool hasSpelling(OpKind kind) {
  const Fields& fields = defaultFields(kind);
  return std::ranges::find(fields, FieldRole::Spelling, &Field::role) != fields.end();
}

std::vector<Callable> makeCallables() {
  std::vector<Callable> callables = handWrittenCallables();
  const auto isMissing = [&](std::string_view name) {
    return std::ranges::find(callables, name, &Callable::name) == callables.end();
  };
  for (const FunctionInfo& info : allFunctions()) callables.push_back(callableOf(info));
  for (const OpKind kind : allOpKinds()) {
    if (opList(kind) == OpList::Math && !hasSpelling(kind) && isMissing(opInfo(kind).name))
      callables.push_back(callableOf(kind));
  }
  std::ranges::sort(callables, {}, &Callable::name);
  return callables;
}

class DefiningResolver final : public CallResolver {
 public:
  std::optional<std::vector<Val*>> call(Fusion& fusion, std::string_view name,
                                        std::span<const CallArgument> arguments) const override {
    const Callable* callable = findCallable(name);
    if (callable == nullptr) return std::nullopt;
    return callByName(fusion, *callable, arguments);
  }
  std::vector<std::string_view> names() const override {
    std::vector<std::string_view> all;
    for (const Callable& callable : allCallables()) all.push_back(callable.name);
    return all;
  }
};

}  // namespace

std::span<const Callable> allCallables() {
  static const auto& callables = *immortal(makeCallables());
  return callables;
}

const Callable* findCallable(std::string_view name) {
  const std::span<const Callable> all = allCallables();
  const auto found = std::ranges::lower_bound(all, name, {}, &Callable::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

std::vector<Val*> callByName(Fusion& fusion, const Callable& callable, std::span<const CallArgument> arguments) {
  return callable.function(fusion, bindArguments(callable.name, callable.parameters, arguments));
}

const CallResolver& definingResolver() {
  static const DefiningResolver resolver;
  return resolver;
}

}  // namespace tokamak
