#include "exact_limits.h"

#include <algorithm>

namespace tokamak::generator {

namespace {

// The magnitude of the exact result, or nothing for functions that leave the integers.
std::optional<double> magnitude(FunctionId function, std::span<const double> v) {
  switch (function) {
    case FunctionId::add:
    case FunctionId::sub: return v[0] + v[1];
    case FunctionId::mul: return v[0] * v[1];
    case FunctionId::add_alpha:
    case FunctionId::sub_alpha: return v[0] + v[1] * v[2];
    case FunctionId::addcmul: return v[0] + v[1] * v[2] * v[3];
    case FunctionId::neg:
    case FunctionId::abs:
    case FunctionId::relu:
    case FunctionId::ceil:
    case FunctionId::floor:
    case FunctionId::round:
    case FunctionId::trunc: return v[0];
    case FunctionId::sign:
    case FunctionId::frac: return 1;
    case FunctionId::maximum:
    case FunctionId::minimum:
    case FunctionId::fmax:
    case FunctionId::fmin:
    case FunctionId::fmod:
    case FunctionId::remainder: return std::max(v[0], v[1]);
    case FunctionId::clamp:
    case FunctionId::threshold: return std::max({v[0], v[1], v[2]});
    case FunctionId::where: return std::max(v[1], v[2]);
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
  if (function == FunctionId::signbit) return std::nullopt;
  if (result == DataType::Bool) return 1;
  const auto limit = magnitude(function, limits);
  if (isIntegerType(result)) return limit && *limit < 0x1p31 ? *limit : kNoLimit;
  if (!limit || *limit > exactCapacity(result)) return std::nullopt;
  return limit;
}

}  // namespace tokamak::generator
