#include "tools/tensor_numbers.h"

#include <map>

#include <fmt/format.h>

#include "ir/fusion.h"

namespace tokamak::tools {

std::string tensorNumbers(const Fusion& program) {
  std::map<int64_t, std::string> names;
  for (const TensorView* tensor : program.allTensors()) {
    if (!tensor->name().empty()) names[tensor->label()] = tensor->name();
  }
  std::string text;
  for (const auto& [label, name] : names) text += fmt::format("{}{} is T{}", text.empty() ? "// " : ", ", name, label);
  return text.empty() ? text : text + "\n";
}

}  // namespace tokamak::tools
