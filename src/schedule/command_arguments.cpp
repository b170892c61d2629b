#include "schedule/command_arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/text/mesh_text.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

FieldValue CommandArguments::fitted(size_t i, const FieldValue& pattern) const {
  return fitArgument(*fusion_, command_, parameters_[i].name, pattern, values_[i]);
}

std::string CommandArguments::text(size_t i) const {
  const auto* text = std::get_if<std::string>(&values_[i]);
  return text != nullptr ? *text : fmt::format("the argument '{}'", parameters_[i].name);
}

std::string CommandArguments::subject() const {
  Val* const* val = values_.empty() ? nullptr : std::get_if<Val*>(values_.data());
  const TensorView* tensor = val == nullptr ? nullptr : asTensor(*val);
  return tensor == nullptr ? "" : fmt::format(" of {}", toString(*tensor));
}

TensorView* CommandArguments::tensor(size_t i) const {
  if (const auto* name = std::get_if<std::string>(&values_[i])) {
    std::vector<std::string> known;
    for (const TensorView* tensor : fusion_->allTensors()) known.push_back(nameOf(*tensor));
    const std::string hint = suggestion(*name, {known.begin(), known.end()});
    TK_RAISE(Schedule, "{}: '{}' must be a tensor, and none is called {}{}", command_, parameters_[i].name, *name,
             hint);
  }
  TensorView* tensor = asTensor(std::get<Val*>(fitted(i, static_cast<Val*>(nullptr))));
  TK_REQUIRE(tensor != nullptr, Schedule, "{}: '{}' must be a tensor", command_, parameters_[i].name);
  return tensor;
}

std::vector<TensorView*> CommandArguments::tensors(size_t i) const {
  if (!isGiven(i)) return {};
  if (std::holds_alternative<Val*>(values_[i])) return {tensor(i)};
  std::vector<TensorView*> tensors;
  const FieldValue list = fitted(i, std::vector<Val*>{});
  for (Val* val : std::get<std::vector<Val*>>(list)) {
    tensors.push_back(asTensor(val));
    TK_REQUIRE(tensors.back() != nullptr, Schedule, "{}: '{}' must be a list of tensors", command_,
               parameters_[i].name);
  }
  return tensors;
}

int64_t CommandArguments::integer(size_t i) const { return std::get<int64_t>(fitted(i, int64_t{0})); }
std::vector<int64_t> CommandArguments::integers(size_t i) const {
  return std::get<std::vector<int64_t>>(fitted(i, std::vector<int64_t>{}));
}
bool CommandArguments::flag(size_t i) const { return std::get<bool>(fitted(i, true)); }
Scalar* CommandArguments::scalar(size_t i) const { return std::get<Scalar*>(fitted(i, static_cast<Scalar*>(nullptr))); }

ParallelType CommandArguments::typeNamed(std::string_view name) const {
  const auto type = parallelTypeFromName(name);
  if (type) return *type;
  std::string names;
  for (auto known = ParallelType::Serial; known <= ParallelType::Bulk;
       known = static_cast<ParallelType>(static_cast<int>(known) + 1)) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parallelTypeName(known));
  }
  TK_RAISE(Schedule, "{}: the type{} is {}, no parallel type; types are {}", command_, subject(), name, names);
}

ParallelType CommandArguments::parallelType(size_t i) const { return typeNamed(text(i)); }

std::vector<ParallelType> CommandArguments::parallelTypes(size_t i) const {
  std::vector<ParallelType> types;
  const std::string words = isGiven(i) ? text(i) : "";
  for (size_t start = 0; start < words.size();) {
    const size_t end = std::min(words.find(',', start), words.size());
    const size_t first = std::min(words.find_first_not_of(' ', start), end);
    types.push_back(typeNamed(std::string_view(words).substr(first, end - first)));
    start = end + 1;
  }
  return types;
}

DeviceMesh CommandArguments::mesh(size_t i) const {
  if (const auto* ranks = std::get_if<std::vector<int64_t>>(&values_[i]))
    return {.shape = {std::ssize(*ranks)}, .devices = *ranks};
  const std::string words = text(i);
  TokenStream tokens(words, "the mesh");
  TK_REQUIRE(tokens.accept(kMeshWord) && tokens.at("("), Schedule,
             "{}: '{}'{} must be a mesh, such as mesh(0, 1) or mesh((0, 1), (2, 3)); got {}", command_,
             parameters_[i].name, subject(), words);
  DeviceMesh mesh = parseMesh(tokens);
  if (!tokens.atEnd()) tokens.failExpected("the end of the mesh");
  return mesh;
}

size_t CommandArguments::oneOf(size_t i, std::span<const std::string_view> names) const {
  const std::string name = text(i);
  const auto found = std::ranges::find(names, name);
  TK_REQUIRE(found != names.end(), Schedule, "{}: '{}'{} must be one of {}; got {}", command_, parameters_[i].name,
             subject(), joined(names), name);
  return static_cast<size_t>(found - names.begin());
}

}  // namespace tokamak
