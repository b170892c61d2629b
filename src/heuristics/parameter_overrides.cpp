#include "heuristics/parameter_overrides.h"

#include <algorithm>
#include <charconv>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "heuristics/parameter_fields.h"

namespace tokamak {

namespace {

// All parameters that may be overridden.
std::vector<ParameterField> parameterOverrides(CudaScheduleParameters& parameters, int64_t& parts) {
  std::vector<ParameterField> fields = fieldsOf(parameters);
  fields.push_back({"parts", &parts});
  return fields;
}

void take(std::string_view values, CudaScheduleParameters& parameters, int64_t& parts) {
  const std::vector<ParameterField> known = parameterOverrides(parameters, parts);
  while (!values.empty()) {
    const std::string_view each = values.substr(0, values.find(','));
    values.remove_prefix(std::min(values.size(), each.size() + 1));
    const size_t sign = each.find('=');
    const auto found = std::ranges::find(known, each.substr(0, sign), &ParameterField::name);
    int64_t value = -1;
    const std::string_view digits = sign == std::string_view::npos ? "" : each.substr(sign + 1);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    if (found == known.end() || value < 0 || end != digits.data() + digits.size()) {
      std::vector<std::string_view> names;
      for (const ParameterField& legal : known) names.push_back(legal.name);
      TK_RAISE(Usage, "schedule by hand: {} is no value; legal are {} with = and a number, separated by commas", each,
               joined(names));
    }
    if (auto* const* number = std::get_if<int64_t*>(&found->value))
      **number = value;
    else
      *std::get<bool*>(found->value) = value != 0;
  }
}

}  // namespace

CudaScheduleParameters withOverrides(CudaScheduleParameters parameters, std::string_view values) {
  int64_t parts = 0;
  take(values, parameters, parts);
  return parameters;
}

int64_t overriddenOuterStages(int64_t chosen, std::string_view values) {
  CudaScheduleParameters parameters;
  take(values, parameters, chosen);
  return chosen;
}

}  // namespace tokamak
