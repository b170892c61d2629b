// Tensor reports: the elements of a tensor and what they are like, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "device/tensor.h"

namespace tokamak::tools {

/// Of the elements that are no NaN; nothing where there are none. Integers count by their values, true as 1.
struct TensorStatistics {
  int64_t nans = 0;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> mean;
};

/// Of a tensor that host code can read, whose data is ready.
TensorStatistics statisticsOf(const Tensor& tensor);

/// With six digits; any NaN is "nan", whatever its sign.
std::string numberText(double number);

/// Rows in brackets as NumPy prints them; of more than 1,000 elements the first and the last three along each axis.
std::string valuesText(const Tensor& tensor);

/// Nested lists of all elements, "nan", "inf" and "-inf" as texts; null for more than 1,000.
nlohmann::json valuesJson(const Tensor& tensor);

/// FNV-1a over the elements in row-major order: a quick fingerprint.
uint64_t checksumOf(const Tensor& tensor);

}  // namespace tokamak::tools
