// Which DataType the elements of a C++ type are.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "symbolic/data_type.h"

namespace tokamak {

/// float, double, bool, Half, BFloat16, and signed integers of 32 and 64 bits.
template <class T>
concept ElementType =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool> || std::same_as<T, Half> ||
    std::same_as<T, BFloat16> || (std::signed_integral<T> && (sizeof(T) == 4 || sizeof(T) == 8));

template <ElementType T>
consteval DataType dataTypeOf() {
  if constexpr (std::same_as<T, float>)
    return DataType::F32;
  else if constexpr (std::same_as<T, double>)
    return DataType::F64;
  else if constexpr (std::same_as<T, bool>)
    return DataType::Bool;
  else if constexpr (std::same_as<T, Half>)
    return DataType::F16;
  else if constexpr (std::same_as<T, BFloat16>)
    return DataType::BF16;
  else
    return sizeof(T) == 4 ? DataType::I32 : DataType::I64;
}

}  // namespace tokamak
