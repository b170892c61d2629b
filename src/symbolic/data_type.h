// Element types of tensors and scalars.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/export.h"

namespace tokamak {

enum class DataType : uint8_t { F64, F32, F16, BF16, I32, I64, Bool };

inline constexpr std::array<DataType, 7> kAllDataTypes = {DataType::F64, DataType::F32, DataType::F16, DataType::BF16,
                                                          DataType::I32, DataType::I64, DataType::Bool};

/// Size of one element in bytes; bool takes one byte holding 0 or 1.
constexpr int64_t sizeOf(DataType type) {
  switch (type) {
    case DataType::F64:
    case DataType::I64: return 8;
    case DataType::F32:
    case DataType::I32: return 4;
    case DataType::F16:
    case DataType::BF16: return 2;
    case DataType::Bool: return 1;
  }
  return 0;
}

constexpr bool isHalfType(DataType type) { return type == DataType::F16 || type == DataType::BF16; }
constexpr bool isFloatingType(DataType type) {
  return type == DataType::F64 || type == DataType::F32 || isHalfType(type);
}
constexpr bool isIntegerType(DataType type) { return type == DataType::I32 || type == DataType::I64; }

/// The type arithmetic on `type` is done in, and gives: f32 for the half types, else the type itself.
constexpr DataType computeType(DataType type) { return isHalfType(type) ? DataType::F32 : type; }

/// The name in .fusion text and in messages: f64 f32 f16 bf16 i32 i64 bool.
TOKAMAK_EXPORT std::string_view dataTypeName(DataType type);
TOKAMAK_EXPORT std::optional<DataType> dataTypeFromName(std::string_view name);

/// The name in host program dumps: double float __half __bfloat int int64_t bool.
TOKAMAK_EXPORT std::string_view dumpName(DataType type);
TOKAMAK_EXPORT std::optional<DataType> dataTypeFromDumpName(std::string_view name);

/// The type that holds both: bool < i32 < i64 < f16, bf16 < f32 < f64; f16 with bf16 gives f32.
TOKAMAK_EXPORT DataType promoteTypes(DataType a, DataType b);

}  // namespace tokamak
