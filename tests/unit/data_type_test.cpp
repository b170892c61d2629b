#include "symbolic/data_type.h"

#include <gtest/gtest.h>

namespace tokamak {
namespace {

TEST(DataType, NamesReadBackToTheirType) {
  for (const DataType type : kAllDataTypes) {
    EXPECT_EQ(dataTypeFromName(dataTypeName(type)), type) << dataTypeName(type);
    EXPECT_EQ(dataTypeFromDumpName(dumpName(type)), type) << dumpName(type);
  }
}

TEST(DataType, UnknownNamesAreNoType) {
  for (const char* name : {"", "f8", "F32", "f32 ", "float32"}) {
    EXPECT_EQ(dataTypeFromName(name), std::nullopt) << name;
    EXPECT_EQ(dataTypeFromDumpName(name), std::nullopt) << name;
  }
}

TEST(DataType, PromotionIsCommutativeIdempotentAndAssociative) {
  for (const DataType a : kAllDataTypes) {
    EXPECT_EQ(promoteTypes(a, a), a);
    for (const DataType b : kAllDataTypes) {
      EXPECT_EQ(promoteTypes(a, b), promoteTypes(b, a)) << dataTypeName(a) << " " << dataTypeName(b);
      for (const DataType c : kAllDataTypes) {
        EXPECT_EQ(promoteTypes(promoteTypes(a, b), c), promoteTypes(a, promoteTypes(b, c)))
            << dataTypeName(a) << " " << dataTypeName(b) << " " << dataTypeName(c);
      }
    }
  }
}

TEST(DataType, DifferentHalvesMeetInF32) { EXPECT_EQ(promoteTypes(DataType::F16, DataType::BF16), DataType::F32); }

TEST(DataType, OnlyHalvesComputeInAnotherType) {
  for (const DataType type : kAllDataTypes) {
    EXPECT_EQ(computeType(type), isHalfType(type) ? DataType::F32 : type) << dataTypeName(type);
    EXPECT_EQ(isHalfType(type), isFloatingType(type) && sizeOf(type) == 2) << dataTypeName(type);
  }
}

}  // namespace
}  // namespace tokamak
