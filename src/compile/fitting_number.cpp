#include "compile/fitting_number.h"

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <variant>

namespace tokamak {

bool fits(const ScalarValue& number, DataType dtype) {
  if (!isIntegerType(dtype)) return true;
  const bool is_narrow = dtype == DataType::I32;
  const auto isWithin = [&](int64_t integer) { return !is_narrow || (INT32_MIN <= integer && integer <= INT32_MAX); };
  const auto isOneOf = [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), double>)
      return std::trunc(value) == value && -0x1p63 <= value && value < 0x1p63 && isWithin(static_cast<int64_t>(value));
    else
      return isWithin(value);
  };
  return std::visit(isOneOf, number);
}

}  // namespace tokamak
