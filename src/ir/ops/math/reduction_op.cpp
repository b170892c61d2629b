#include "ir/ops/math/reduction_op.h"

#include <limits>

namespace tokamak {

std::string_view reductionDumpName(ReductionKind kind) {
  constexpr std::string_view names[] = {"add", "mul", "max", "min"};
  return names[static_cast<size_t>(kind)];
}

ScalarValue reductionIdentity(ReductionKind kind, DataType dtype) {
  if (kind == ReductionKind::Sum || kind == ReductionKind::Prod) {
    return convertValue(int64_t{kind == ReductionKind::Prod ? 1 : 0}, dtype);
  }
  const bool is_max = kind == ReductionKind::Max;
  if (isFloatingType(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return is_max ? -infinity : infinity;
  }
  if (dtype == DataType::Bool) return !is_max;
  if (dtype == DataType::I32) {
    using Limits = std::numeric_limits<int32_t>;
    return int64_t{is_max ? Limits::min() : Limits::max()};
  }
  using Limits = std::numeric_limits<int64_t>;
  return is_max ? Limits::min() : Limits::max();
}

}  // namespace tokamak
