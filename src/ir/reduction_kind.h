// ReductionKind: how values are combined, by reductions, communications and partial tensors.
#pragma once

#include <cstdint>

#include "ir/describe.h"

namespace tokamak {

enum class ReductionKind : uint8_t { Sum, Prod, Max, Min };
template <>
struct EnumNames<ReductionKind> {
  static constexpr std::string_view names[] = {"sum", "prod", "max", "min"};
};

}  // namespace tokamak
