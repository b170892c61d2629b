#include "tools/size_errors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "compute/rules.h"
#include "compute/shape_constraints.h"
#include "define/callables.h"
#include "ir/text/fusion_parser.h"
#include "schedule/commands.h"

namespace tokamak::tools {

namespace {

std::map<std::string, int64_t> extentsIn(const ScalarBindings& sizes) {
  std::map<std::string, int64_t> extents;
  for (const auto& [symbol, value] : sizes) {
    if (isIntegerType(symbol->dtype()) && !symbol->name().empty()) extents[symbol->name()] = asInt(value);
  }
  return extents;
}

// "add: n = 4 and m = 5; they must be equal", for the first two extents of the op that are not.
std::optional<std::string> unequalExtents(const Expr& expr, const ScalarBindings& sizes) {
  const ElementRule rule = ruleOf(expr);
  // What has no value, such as a quotient by 0, is not unequal.
  const auto valueOf = [&](const Scalar& extent) {
    try {
      return evaluate(extent, sizes);
    } catch (const Error&) {
      return std::optional<ScalarValue>();
    }
  };
  for (const auto& [a, b] : rule.equal_extents) {
    const auto x = valueOf(*a);
    const auto y = valueOf(*b);
    if (!x || !y || asInt(*x) == asInt(*y)) continue;
    if (a->isConstant())
      return fmt::format("{}: {} = {}; it must be {}", callName(expr), toString(*b), asInt(*y), asInt(*x));
    if (b->isConstant())
      return fmt::format("{}: {} = {}; it must be {}", callName(expr), toString(*a), asInt(*x), asInt(*y));
    return fmt::format("{}: {} = {} and {} = {}; they must be equal", callName(expr), toString(*b), asInt(*y),
                       toString(*a), asInt(*x));
  }
  return std::nullopt;
}

// Why an op cannot take these sizes; nothing when it can.
std::optional<std::string> refusalBy(const Expr& expr, const ScalarBindings& sizes) {
  const Expr* const one = &expr;
  try {
    requireShapeConstraints(std::span(&one, 1), sizes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Bind) throw;
    const auto unequal = unequalExtents(expr, sizes);
    return unequal ? *unequal : error.message();
  }
  return std::nullopt;
}

bool readsOne(const Expr& expr, const std::unordered_set<const Val*>& refused) {
  return std::ranges::any_of(expr.inputs(), [&](const Val* input) { return refused.contains(input); });
}

// What the program's ops say of these sizes, each with its place; readers of what a refused one gives are left out.
std::optional<std::string> refusalByOps(const ProgramFile& file, const ScalarBindings& sizes) {
  const TokenStream tokens(file.text, file.path);
  std::unordered_set<const Val*> refused;
  std::vector<std::string> errors;
  for (const Expr* expr : file.fusion->exprs()) {
    if (expr->list() != OpList::Math) continue;
    const bool is_told = !readsOne(*expr, refused);
    const auto refusal = is_told ? refusalBy(*expr, sizes) : std::nullopt;
    if (is_told && !refusal) continue;
    refused.insert(expr->outputs().begin(), expr->outputs().end());
    const auto place = file.places.find(expr);
    if (!refusal) continue;
    errors.push_back(place == file.places.end() ? *refusal
                                                : fmt::format("{}\n  at {}\n{}", *refusal, tokens.place(place->second),
                                                              tokens.excerpt(place->second, 4)));
  }
  if (errors.empty()) return std::nullopt;
  if (errors.size() == 1) return errors[0];
  return fmt::format("{}\n{} errors", joined(errors, "\n"), errors.size());
}

// What the text says when it is read with these sizes; nothing when it takes them.
std::optional<std::string> refusalByText(const ProgramFile& file, const std::map<std::string, int64_t>& extents) {
  try {
    parseFusion(file.text, file.path,
                {.resolver = &definingResolver(), .scheduler = &scheduleCommands(), .extents = &extents});
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Definition) return error.what();
  }
  return std::nullopt;
}

}  // namespace

Error withSizes(const Error& error, const ProgramFile& file, const ScalarBindings& sizes) {
  if (file.fusion == nullptr || (error.code() != ErrorCode::Bind && error.code() != ErrorCode::Definition))
    return error;
  const std::map<std::string, int64_t> extents = extentsIn(sizes);
  auto refusal = refusalByOps(file, sizes);
  if (!refusal) refusal = refusalByText(file, extents);
  if (!refusal) return error;
  std::vector<std::string> given;
  for (const auto& [name, value] : extents) given.push_back(fmt::format("{} = {}", name, value));
  return {error.code(), fmt::format("{}\n  with {}", *refusal, joined(given))};
}

}  // namespace tokamak::tools
