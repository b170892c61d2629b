#include "python/call_difference.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "device/tensor.h"

namespace tokamak::python {

namespace {

bool isRowMajor(const Tensor& tensor) {
  int64_t dense = 1;
  for (size_t i = tensor.sizes().size(); i-- > 0;) {
    if (tensor.sizes()[i] != 1 && tensor.strides()[i] != dense) return false;
    dense *= tensor.sizes()[i];
  }
  return true;
}

std::string numberText(const ScalarValue& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

std::string inputText(const Argument& input) {
  if (const auto* number = std::get_if<ScalarValue>(&input.value())) return numberText(*number);
  const auto& tensor = std::get<Tensor>(input.value());
  const std::string text = fmt::format("{}[{}]", dataTypeName(tensor.dtype()), fmt::join(tensor.sizes(), ", "));
  return isRowMajor(tensor) ? text : fmt::format("{} with strides ({})", text, fmt::join(tensor.strides(), ", "));
}

int64_t alignmentOf(const Tensor& tensor) {
  constexpr uintptr_t kWidest = 16;
  const auto address = reinterpret_cast<uintptr_t>(tensor.data());
  return static_cast<int64_t>(std::min(kWidest, address & (~address + 1)));
}

void addTensorDifferences(size_t i, const Tensor& known, const Tensor& asked, std::vector<std::string>& all) {
  if (known.dtype() != asked.dtype())
    all.push_back(
        fmt::format("input {}: its type was {}, is {}", i, dataTypeName(known.dtype()), dataTypeName(asked.dtype())));
  bool has_sizes = true;
  for (size_t axis = 0; axis < std::min(known.sizes().size(), asked.sizes().size()); ++axis) {
    if (known.sizes()[axis] == asked.sizes()[axis]) continue;
    has_sizes = false;
    all.push_back(
        fmt::format("input {}: axis {} had {} elements, has {}", i, axis, known.sizes()[axis], asked.sizes()[axis]));
  }
  const bool is_strided =
      has_sizes ? !std::ranges::equal(known.strides(), asked.strides()) : isRowMajor(known) != isRowMajor(asked);
  if (is_strided)
    all.push_back(fmt::format("input {}: its strides were ({}), are ({})", i, fmt::join(known.strides(), ", "),
                              fmt::join(asked.strides(), ", ")));
  if (known.data() != nullptr && asked.data() != nullptr && alignmentOf(known) != alignmentOf(asked))
    all.push_back(fmt::format("input {}: its address was a multiple of {} bytes, is one of {}", i, alignmentOf(known),
                              alignmentOf(asked)));
}

std::vector<std::string> differencesOf(std::span<const Argument> known, std::span<const Argument> asked) {
  std::vector<std::string> all;
  for (size_t i = 0; i < std::min(known.size(), asked.size()); ++i) {
    const auto* const before = std::get_if<Tensor>(&known[i].value());
    const auto* const now = std::get_if<Tensor>(&asked[i].value());
    if (before != nullptr && now != nullptr)
      addTensorDifferences(i, *before, *now, all);
    else if (inputText(known[i]) != inputText(asked[i]))
      all.push_back(fmt::format("input {}: it was {}, is {}", i, inputText(known[i]), inputText(asked[i])));
  }
  return all;
}

}  // namespace

std::string inputsText(std::span<const Argument> inputs) {
  std::vector<std::string> texts;
  for (const Argument& input : inputs) texts.push_back(inputText(input));
  return joined(texts);
}

std::string differenceFromNearest(std::span<const std::vector<Argument>> known, std::span<const Argument> inputs) {
  if (known.empty()) return "first call";
  std::vector<std::string> nearest = differencesOf(known.front(), inputs);
  for (const std::vector<Argument>& each : known.subspan(1)) {
    std::vector<std::string> differences = differencesOf(each, inputs);
    if (differences.size() < nearest.size()) nearest = std::move(differences);
  }
  return nearest.empty() ? "its plan was forgotten, or is for outputs that are given" : joined(nearest, "; ");
}

}  // namespace tokamak::python
