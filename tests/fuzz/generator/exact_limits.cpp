#include "exact_limits.h"

#include <algorithm>

#include "symbolic/function_table.h"

namespace tokamak::generator {

namespace {

// The magnitude of the exact result, or nothing for functions that leave the integers.
std::optional<double> magnitude(FunctionId function, std::span<const double> v) {
  using function_table::Row;
  switch (function_table::rowOf(function)) {
    case Row::add:
    case Row::sub: return v[0] + v[1];
    case Row::mul: return v[0] * v[1];
    case Row::add_alpha:
    case Row::sub_alpha: return v[0] + v[1] * v[2];
    case Row::addcmul: return v[0] + v[1] * v[2] * v[3];
    case Row::neg:
    case Row::abs:
    case Row::relu:
    case Row::ceil:
    case Row::floor:
    case Row::round:
    case Row::trunc: return v[0];
    case Row::sign:
    case Row::frac: return 1;
    case Row::maximum:
    case Row::minimum:
    case Row::fmax:
    case Row::fmin:
    case Row::fmod:
    case Row::remainder: return std::max(v[0], v[1]);
    case Row::clamp:
    case Row::threshold: return std::max({v[0], v[1], v[2]});
    case Row::where: return std::max(v[1], v[2]);
    default: return std::nullopt;
  }
}

}  // namespace

double exactCapacity(DataType dtype) {
  switch (dtype) {
    case DataType::F64: return 0x1p53;
    case DataType::F32: return 0x1p24;
    case DataType::F16: return 0x1p11;
    case DataType::BF16: return 0x1p8;
    default: return kNoLimit;
  }
}

std::optional<double> exactLimit(FunctionId function, DataType result, std::span<const double> limits) {
  // Sums leave the sign of zero open: it is the one test that can tell.
  if (function == function_id::signbit) return std::nullopt;
  if (result == DataType::Bool) return 1;
  const auto limit = magnitude(function, limits);
  if (isIntegerType(result)) return limit && *limit < 0x1p31 ? *limit : kNoLimit;
  if (!limit || *limit > exactCapacity(result)) return std::nullopt;
  return limit;
}

}  // namespace tokamak::generator
