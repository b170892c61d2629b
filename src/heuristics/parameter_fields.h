// Parameter fields: the schedule parameters of a target by name, with what is legal and what they mean.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "heuristics/kernel_kind.h"
#include "heuristics/schedule_parameters.h"

namespace tokamak {

/// The loops that a parameter changes.
struct ParameterUse {
  bool of_elements = false;  ///< of outputs without rows
  bool of_inner_rows = false;
  bool of_outer_rows = false;
};

/// Which numbers are legal for any kernel, between the limits.
enum class ParameterRule : uint8_t {
  Any,
  PowerOfTwo,
  WholeWarps,  ///< powers of two up to 32, and multiples of 32
};

struct ParameterField {
  std::string_view name;
  std::variant<int64_t*, bool*> value;  ///< in the parameters
  int64_t least = 0;
  int64_t most = 1;
  ParameterRule rule = ParameterRule::Any;
  ParameterUse use = {};
  std::string_view says = {};  ///< a phrase
};

/// All fields of parameters, which outlive what is given.
std::vector<ParameterField> fieldsOf(CpuScheduleParameters& parameters);
std::vector<ParameterField> fieldsOf(CudaScheduleParameters& parameters);
std::vector<ParameterField> fieldsOf(ScheduleParameters& parameters);

/// Whether a kernel with such loops depends on the parameter.
bool isUsed(const ParameterField& field, const KernelLoops& loops);

/// Errors: Schedule, naming a number that is beyond its limits or against its rule.
void requireLegal(std::span<const ParameterField> fields);

}  // namespace tokamak
