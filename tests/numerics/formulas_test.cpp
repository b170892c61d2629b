// The table's formulas, as scalars evaluate them, against the oracle's functions of the same name.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "ir/fusion.h"
#include "oracle/compare.h"
#include "oracle/functions.h"
#include "symbolic/functions.h"

namespace tokamak {
namespace {

using oracle::Element;
using oracle::Mode;

Element elementOf(const ScalarValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return {.number = *number};
  return {.integer = asInt(value)};
}

// Calls `visit(values)` with all tuples of `points`.
template <class Visit>
void forEachTuple(int arity, const std::vector<ScalarValue>& points, const Visit& visit) {
  std::vector<size_t> at(static_cast<size_t>(arity), 0);
  while (true) {
    std::vector<ScalarValue> values;
    for (const size_t i : at) values.push_back(points[i]);
    visit(values);
    size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == points.size()) at[--axis] = 0;
    if (axis == 0) return;
  }
}

int64_t compareOn(DataType dtype, const std::vector<ScalarValue>& points) {
  int64_t compared = 0;
  for (const FunctionInfo& info : allFunctions()) {
    const auto types = functionTypes(info.id, dtype);
    // Rows that do not compute in this type are compared in the type that they compute in; scalars have up to 3
    // operands.
    if (!types || types->operand != dtype || info.arity > 3) continue;
    Fusion fusion;
    forEachTuple(info.arity, points, [&](const std::vector<ScalarValue>& values) {
      std::vector<Scalar*> constants;
      std::vector<Element> operands;
      for (size_t i = 0; i < values.size(); ++i) {
        const bool is_condition = info.rule == TypeRule::Choose && i == 0;
        constants.push_back(fusion.constant(values[i], is_condition ? DataType::Bool : dtype));
        operands.push_back(elementOf(constants.back()->value()));
      }
      const Scalar* call = fusion.rawScalar(ScalarOp::Function, types->result, constants, info.id);
      const Element actual = elementOf(*evaluate(*call, {}));
      const Element expected = oracle::applyFunction(info.id, *types, operands, Mode::exact());
      std::vector<std::byte> bytes(8);
      oracle::storeElement(types->result, actual, bytes.data());
      const oracle::OracleTensor reference{.dtype = types->result, .sizes = {}, .elements = {expected}};
      const oracle::Comparison comparison =
          compare({.dtype = types->result, .sizes = {}, .strides = {}, .data = bytes.data()}, reference);
      EXPECT_TRUE(comparison.isOk()) << toString(*call) << ": " << toString(comparison);
      ++compared;
    });
  }
  return compared;
}

TEST(Formulas, AgreeWithTheOracleOnIntegers) {
  std::vector<ScalarValue> points;
  for (int64_t v = -8; v <= 8; ++v) points.emplace_back(v);
  for (const int64_t v :
       {int64_t{INT32_MIN}, int64_t{INT32_MIN} + 1, int64_t{INT32_MAX}, int64_t{31}, int64_t{32}, int64_t{65536}})
    points.emplace_back(v);
  EXPECT_GT(compareOn(DataType::I32, points), 20000);
  for (const int64_t v : {INT64_MIN, INT64_MIN + 1, INT64_MAX, int64_t{63}, int64_t{64}}) points.emplace_back(v);
  EXPECT_GT(compareOn(DataType::I64, points), 20000);
  EXPECT_GT(compareOn(DataType::Bool, {false, true}), 30);
}

TEST(Formulas, AgreeWithTheOracleOnFloatingNumbers) {
  std::vector<ScalarValue> points;
  for (const double v :
       {0.0, 0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 88.5, 90.0, 1000.0, 1e10, 3.4e38, 1e-30, 1e-40, HUGE_VAL}) {
    points.emplace_back(v);
    points.emplace_back(-v);
  }
  points.emplace_back(std::nan(""));
  EXPECT_GT(compareOn(DataType::F32, points), 100000);
  EXPECT_GT(compareOn(DataType::F64, points), 100000);
}

}  // namespace
}  // namespace tokamak
