#include "symbolic/data_type.h"

#include <algorithm>

namespace tokamak {

namespace {

struct Row {
  DataType type;
  std::string_view name;
  std::string_view dump;
  int rank;  // position in the promotion order
};

constexpr std::array<Row, 7> kRows = {{
    {DataType::F64, "f64", "double", 6},
    {DataType::F32, "f32", "float", 5},
    {DataType::F16, "f16", "__half", 4},
    {DataType::BF16, "bf16", "__bfloat", 4},
    {DataType::I32, "i32", "int", 1},
    {DataType::I64, "i64", "int64_t", 2},
    {DataType::Bool, "bool", "bool", 0},
}};

const Row& row(DataType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::string_view dataTypeName(DataType type) { return row(type).name; }
std::string_view dumpName(DataType type) { return row(type).dump; }

std::optional<DataType> dataTypeFromName(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &Row::name);
  return found == kRows.end() ? std::nullopt : std::optional(found->type);
}

std::optional<DataType> dataTypeFromDumpName(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &Row::dump);
  return found == kRows.end() ? std::nullopt : std::optional(found->type);
}

DataType promoteTypes(DataType a, DataType b) {
  if (a == b) return a;
  if (row(a).rank == row(b).rank) return DataType::F32;
  return row(a).rank > row(b).rank ? a : b;
}

}  // namespace tokamak
