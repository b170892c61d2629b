#include "tools/size_errors.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// What the text's own ops say of these sizes; nothing when they take them.
std::optional<std::string> refusalOf(const ProgramFile& file, const std::map<std::string, int64_t>& extents) {
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
  const auto refusal = refusalOf(file, extents);
  if (!refusal) return error;
  std::vector<std::string> given;
  for (const auto& [name, value] : extents) given.push_back(fmt::format("{} = {}", name, value));
  return {error.code(), fmt::format("{}\n  with {}", *refusal, fmt::join(given, ", "))};
}

}  // namespace tokamak::tools
