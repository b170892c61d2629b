#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "small_fusion.h"
#include "symbolic/functions.h"

namespace tokamak {
namespace {

using oracle::Mode;
using oracle::OracleTensor;
using testing::ElementsAre;

constexpr auto F32 = DataType::F32;

Field in(TensorView* tensor) { return {FieldRole::Operand, "in", static_cast<Val*>(tensor)}; }

template <class Call>
std::string bindErrorOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bind);
    return error.message();
  }
  return "no error";
}

TEST(OracleOps, MovementKeepsElementsAndTheirPlaces) {
  SmallFusion f;
  TensorView* x = f.input(F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const OracleTensor set = f.evaluate(f.unary("set", x));
  EXPECT_THAT(numbersOf(set), ElementsAre(1, 2, 3, 4, 5, 6));
  const OracleTensor permuted = f.evaluate(f.unary("permute", x, {attribute("order", std::vector<int64_t>{1, 0})}));
  EXPECT_THAT(permuted.sizes, ElementsAre(3, 2));
  EXPECT_THAT(numbersOf(permuted), ElementsAre(1, 4, 2, 5, 3, 6));
  const OracleTensor reshaped = f.evaluate(f.unary("reshape", x, {attribute("shape", f.constants({3, 2}))}));
  EXPECT_THAT(reshaped.sizes, ElementsAre(3, 2));
  EXPECT_THAT(numbersOf(reshaped), ElementsAre(1, 2, 3, 4, 5, 6));
  TensorView* select =
      f.op("select", {in(x), {FieldRole::AxisNumber, "axis", int64_t{1}}, attribute("index", f.fusion.constant(2))});
  EXPECT_THAT(numbersOf(f.evaluate(select)), ElementsAre(3, 6));
  TensorView* slice = f.unary("slice", x,
                              {attribute("starts", f.constants({1, 0})), attribute("stops", f.constants({2, 3})),
                               attribute("steps", f.constants({1, 2}))});
  EXPECT_THAT(numbersOf(f.evaluate(slice)), ElementsAre(4, 6));
}

TEST(OracleOps, PadAndCatPutElementsBetweenOthers) {
  SmallFusion f;
  TensorView* x = f.input(F32, {2, 2}, {1, 2, 3, 4});
  TensorView* y = f.input(F32, {2, 1}, {8, 9});
  TensorView* pad = f.unary(
      "pad", x, {attribute("widths", f.constants({0, 1, 1, -1})), attribute("value", f.fusion.constant(7.0, F32))});
  const OracleTensor padded = f.evaluate(pad);
  EXPECT_THAT(padded.sizes, ElementsAre(3, 2));
  EXPECT_THAT(numbersOf(padded), ElementsAre(7, 1, 7, 3, 7, 7));
  TensorView* cat =
      f.op("cat", {{FieldRole::OperandList, "in", std::vector<Val*>{x, y, x}}, attribute("axis", int64_t{1})});
  EXPECT_THAT(numbersOf(f.evaluate(cat)), ElementsAre(1, 2, 8, 1, 2, 3, 4, 9, 3, 4));
}

TEST(OracleOps, PositionsAreClampedIntoTheAxis) {
  SmallFusion f;
  TensorView* x = f.input(F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  TensorView* index = f.input(DataType::I32, {2, 4}, {0, -1, 7, 1, 2, 2, 0, 3});
  const auto take = [&](TensorView* tensor, TensorView* positions, int64_t axis) {
    return f.evaluate(f.op("take_along_axis", {in(tensor),
                                               {FieldRole::Operand, "index", static_cast<Val*>(positions)},
                                               {FieldRole::AxisNumber, "axis", axis}}));
  };
  EXPECT_THAT(numbersOf(take(x, index, 1)), ElementsAre(1, 1, 3, 2, 6, 6, 4, 6));
  TensorView* row = f.input(DataType::I64, {1, 3}, {1, 0, 9});
  EXPECT_THAT(numbersOf(take(x, row, 0)), ElementsAre(4, 2, 6));
  EXPECT_THAT(numbersOf(take(f.input(F32, {2, 0}, {}), index, 1)), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(OracleOps, BroadcastExpandAndSqueeze) {
  SmallFusion f;
  TensorView* x = f.input(F32, {2}, {1, 2});
  TensorView* wide = f.unary("broadcast", x, {attribute("flags", std::vector<bool>{false, true})});
  EXPECT_THAT(f.evaluate(wide).sizes, ElementsAre(2, 1));
  const OracleTensor expanded = f.evaluate(f.unary("expand", wide, {attribute("shape", f.constants({2, 3}))}));
  EXPECT_THAT(numbersOf(expanded), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(f.evaluate(f.unary("squeeze", wide, {attribute("flags", std::vector<bool>{false, true})})).sizes,
              ElementsAre(2));
  TensorView* row = f.input(F32, {1, 3}, {10, 20, 30});
  EXPECT_THAT(numbersOf(f.evaluate(f.call("add", {wide, row}))), ElementsAre(11, 21, 31, 12, 22, 32));
}

TEST(OracleOps, FullAndIotaCountInTheirType) {
  SmallFusion f;
  TensorView* full =
      f.op("full", {attribute("shape", f.constants({2})), attribute("value", f.fusion.constant(2.75, DataType::F64)),
                    attribute("dtype", DataType::I32)});
  EXPECT_THAT(numbersOf(f.evaluate(full)), ElementsAre(2, 2));
  TensorView* iota =
      f.op("iota", {attribute("length", f.fusion.constant(3)), attribute("start", f.fusion.constant(INT32_MAX)),
                    attribute("step", f.fusion.constant(2)), attribute("dtype", DataType::I32)});
  EXPECT_THAT(numbersOf(f.evaluate(iota)), ElementsAre(2147483647.0, -2147483647.0, -2147483645.0));
}

TEST(OracleOps, CastsRoundSaturateAndWrap) {
  SmallFusion f;
  const auto cast = [&](TensorView* x, DataType to) {
    return numbersOf(f.evaluate(f.unary("cast", x, {attribute("dtype", to)})));
  };
  TensorView* x = f.input(DataType::F64, {6}, {1.5, -1.5, 3e10, -3e10, NAN, 0.1});
  EXPECT_THAT(cast(x, DataType::I32), ElementsAre(1, -1, 2147483647.0, -2147483648.0, 0, 0));
  EXPECT_THAT(cast(x, DataType::Bool), ElementsAre(1, 1, 1, 1, 1, 1));
  // 2049 lies between the f16 neighbours 2048 and 2050: to even; 65520 is the first that overflows.
  TensorView* y = f.input(F32, {5}, {2049, 2051, 65519, 65520, -65520});
  EXPECT_THAT(cast(y, DataType::F16), ElementsAre(2048, 2052, 65504, INFINITY, -INFINITY));
  EXPECT_THAT(cast(y, DataType::BF16), ElementsAre(2048, 2048, 65536, 65536, -65536));
  TensorView* z = f.input(DataType::I64, {2}, {4294967297.0, 16777217.0});
  EXPECT_THAT(cast(z, DataType::I32), ElementsAre(1, 16777217));
  EXPECT_THAT(cast(z, F32), ElementsAre(4294967296.0, 16777216.0));
}

TEST(OracleOps, ReductionsOfFloatingTypes) {
  SmallFusion f;
  const auto reduce = [&](std::string_view name, TensorView* x, int64_t axis) {
    return f.evaluate(f.unary(name, x, {{FieldRole::AxisNumbers, "axes", std::vector<int64_t>{axis}}}));
  };
  TensorView* x = f.input(F32, {2, 3}, {1, 2, 3, -4, 5, -6});
  EXPECT_THAT(numbersOf(reduce("sum", x, 1)), ElementsAre(6, -5));
  EXPECT_TRUE(isExact(reduce("sum", x, 1)));
  EXPECT_THAT(numbersOf(reduce("prod", x, 1)), ElementsAre(6, 120));
  EXPECT_THAT(numbersOf(reduce("max", x, 0)), ElementsAre(1, 5, 3));
  EXPECT_THAT(numbersOf(reduce("min", x, 0)), ElementsAre(-4, 2, -6));
  TensorView* none = f.input(F32, {0, 2}, {});
  EXPECT_THAT(numbersOf(reduce("sum", none, 0)), ElementsAre(0, 0));
  EXPECT_THAT(numbersOf(reduce("prod", none, 0)), ElementsAre(1, 1));
  EXPECT_THAT(numbersOf(reduce("max", none, 0)), ElementsAre(-INFINITY, -INFINITY));
  TensorView* nan = f.input(F32, {2}, {NAN, 1});
  EXPECT_TRUE(std::isnan(reduce("max", nan, 0).elements[0].number));
  EXPECT_TRUE(std::isnan(reduce("sum", nan, 0).elements[0].number));
}

TEST(OracleOps, SumsThatRoundCarryThePolicysBound) {
  SmallFusion f;
  TensorView* x = f.input(F32, {4}, {1, 0x1p-24, 0x1p-24, -1});
  const OracleTensor sum = f.evaluate(f.unary("sum", x, {{FieldRole::AxisNumbers, "axes", std::vector<int64_t>{0}}}));
  EXPECT_EQ(sum.elements[0].number, 0x1p-23);
  // sum|x| = 2 + 2^-23, n = 4: 12 epsilon sum|x| + ulp/2.
  EXPECT_NEAR(sum.elements[0].bound, 12 * 0x1p-23 * (2 + 0x1p-23) + 0x1p-46 / 2, 1e-15);
}

TEST(OracleOps, SumsOfDoublesAreBetterThanDouble) {
  SmallFusion f;
  TensorView* x = f.input(DataType::F64, {4}, {1e16, 1, -1e16, 1});
  EXPECT_THAT(numbersOf(f.evaluate(f.unary("sum", x, {{FieldRole::AxisNumbers, "axes", std::vector<int64_t>{0}}}))),
              ElementsAre(2));
}

TEST(OracleOps, ReductionsOfIntegersWrap) {
  SmallFusion f;
  const auto reduce = [&](std::string_view name, TensorView* x) {
    return numbersOf(f.evaluate(f.unary(name, x, {{FieldRole::AxisNumbers, "axes", std::vector<int64_t>{0}}})));
  };
  TensorView* x = f.input(DataType::I32, {2}, {2147483647.0, 2});
  EXPECT_THAT(reduce("sum", x), ElementsAre(-2147483647.0));
  EXPECT_THAT(reduce("prod", x), ElementsAre(-2));
  EXPECT_THAT(reduce("max", x), ElementsAre(2147483647.0));
  TensorView* b = f.input(DataType::Bool, {2}, {1, 0});
  EXPECT_THAT(reduce("max", b), ElementsAre(1));
  EXPECT_THAT(reduce("min", b), ElementsAre(0));
  TensorView* none = f.input(DataType::I32, {0}, {});
  EXPECT_THAT(reduce("max", none), ElementsAre(-2147483648.0));
}

TEST(OracleOps, MatmulBroadcastsItsBatchAndTakesVectors) {
  SmallFusion f;
  const auto matmul = [&](TensorView* a, TensorView* b) {
    return f.evaluate(f.op(
        "matmul", {{FieldRole::Operand, "a", static_cast<Val*>(a)}, {FieldRole::Operand, "b", static_cast<Val*>(b)}}));
  };
  TensorView* a = f.input(F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  TensorView* b = f.input(F32, {2, 3, 1}, {1, 1, 1, 1, 0, -1});
  const OracleTensor c = matmul(a, b);
  EXPECT_THAT(c.sizes, ElementsAre(2, 2, 1));
  EXPECT_THAT(numbersOf(c), ElementsAre(6, 15, -2, -2));
  EXPECT_TRUE(isExact(c));
  TensorView* row = f.input(F32, {2}, {1, -1});
  EXPECT_THAT(numbersOf(matmul(row, a)), ElementsAre(-3, -3, -3));
  TensorView* column = f.input(F32, {3}, {1, 0, 2});
  EXPECT_THAT(numbersOf(matmul(a, column)), ElementsAre(7, 16));
  EXPECT_THAT(matmul(column, column).sizes, ElementsAre());
  TensorView* i = f.input(DataType::I32, {1, 2}, {65536, 1});
  TensorView* j = f.input(DataType::I32, {2, 1}, {65536, 5});
  EXPECT_THAT(numbersOf(matmul(i, j)), ElementsAre(5));
}

TEST(OracleOps, LinearAddsItsBias) {
  SmallFusion f;
  TensorView* x = f.input(DataType::F16, {2, 2}, {1, 2, 3, 4});
  TensorView* w = f.input(DataType::F16, {3, 2}, {1, 0, 0, 1, 1, 1});
  TensorView* bias = f.input(DataType::F16, {3}, {10, 20, 2048});
  const Fields fields = {{FieldRole::Operand, "in", static_cast<Val*>(x)},
                         {FieldRole::Operand, "weight", static_cast<Val*>(w)}};
  EXPECT_THAT(numbersOf(f.evaluate(f.op("linear", fields))), ElementsAre(1, 2, 3, 3, 4, 7));
  Fields with_bias = fields;
  with_bias.push_back({FieldRole::OptionalOperand, "bias", static_cast<Val*>(bias)});
  const OracleTensor y = f.evaluate(f.op("linear", with_bias));
  EXPECT_THAT(numbersOf(y), ElementsAre(11, 22, 2052, 13, 24, 2056));
  EXPECT_EQ(y.elements[0].bound, 0);
  EXPECT_TRUE(isExact(y));
}

TEST(OracleOps, AHalfProductMayBeRoundedBeforeItsBias) {
  SmallFusion f;
  TensorView* x = f.input(DataType::F16, {1, 1}, {2049.0 / 3});  // 683
  TensorView* w = f.input(DataType::F16, {1, 1}, {3});
  TensorView* bias = f.input(DataType::F16, {1}, {1});
  const OracleTensor y = f.evaluate(f.op("linear", {{FieldRole::Operand, "in", static_cast<Val*>(x)},
                                                    {FieldRole::Operand, "weight", static_cast<Val*>(w)},
                                                    {FieldRole::OptionalOperand, "bias", static_cast<Val*>(bias)}}));
  EXPECT_EQ(y.elements[0].number, 2050);  // and 2048 where 2049 was rounded first
  EXPECT_GE(y.elements[0].bound, 2);
  EXPECT_LT(y.elements[0].bound, 4);
}

TEST(OracleOps, TypedModeRoundsEveryResult) {
  SmallFusion f;
  TensorView* x = f.input(F32, {1}, {1});
  TensorView* third = f.call("truediv", {x, f.fusion.constant(3.0, F32)});
  TensorView* back = f.call("mul", {third, f.fusion.constant(3.0, F32)});
  TensorView* rest = f.call("sub", {f.fusion.constant(1.0, F32), back});
  EXPECT_EQ(f.evaluate(third, Mode::typed()).elements[0].number, static_cast<double>(1.0F / 3.0F));
  const OracleTensor exact = f.evaluate(rest);
  EXPECT_NEAR(exact.elements[0].number, 0, 1e-15);
  EXPECT_GT(exact.elements[0].bound, 0x1p-24);  // cancelled roundings stay in the bound
  EXPECT_LT(exact.elements[0].bound, 1e-6);
}

TEST(OracleOps, SymbolsTakeTheSizesOfTheInputs) {
  Fusion fusion;
  Scalar* n = fusion.symbol("i0");
  TensorView* x = fusion.tensor(F32, {fusion.axis({.extent = n})});
  TensorView* y = fusion.tensor(F32, {fusion.axis({.extent = n})});
  fusion.addInput(x);
  fusion.addInput(y);
  fusion.addOutput(x);
  const int64_t two[] = {2};
  const int64_t three[] = {3};
  const std::vector<oracle::Input> good = {oracle::zeros(F32, two), oracle::zeros(F32, two)};
  const oracle::Evaluation evaluation =
      oracle::evaluate(fusion, good, {.keep = oracle::Keep::Everything, .bindings = {}});
  EXPECT_EQ(evaluateInt(*n, evaluation.bindings), 2);
  EXPECT_EQ(evaluation.tensors.size(), 2U);
  const std::vector<oracle::Input> bad = {oracle::zeros(F32, two), oracle::zeros(F32, three)};
  EXPECT_THAT(bindErrorOf([&] { oracle::evaluate(fusion, bad); }),
              testing::HasSubstr("axis 0 has size 3; 2 is needed"));
  EXPECT_THAT(bindErrorOf([&] { oracle::evaluate(fusion, std::span(good).first(1)); }),
              testing::HasSubstr("takes 2 inputs, got 1"));
  const std::vector<oracle::Input> scalar = {oracle::zeros(F32, two), ScalarValue{int64_t{1}}};
  EXPECT_THAT(bindErrorOf([&] { oracle::evaluate(fusion, scalar); }), testing::HasSubstr("input 1 must be a tensor"));
  const std::vector<oracle::Input> type = {oracle::zeros(F32, two), oracle::zeros(DataType::F64, two)};
  EXPECT_THAT(bindErrorOf([&] { oracle::evaluate(fusion, type); }),
              testing::HasSubstr("got a tensor of type f64 with 1 axes"));
}

TEST(OracleOps, SizesKnownOnlyAtRunTimeAreChecked) {
  const auto errorWith = [](int64_t n, auto define) {
    SmallFusion f;
    Scalar* symbol = f.fusion.symbol("i0");
    TensorView* x = f.fusion.tensor(F32, {f.fusion.axis({.extent = symbol})});
    f.fusion.addInput(x);
    const int64_t sizes[] = {n};
    f.inputs.emplace_back(oracle::zeros(F32, sizes));
    TensorView* y = f.input(F32, {3}, {1, 2, 3});
    return bindErrorOf([&] { f.evaluate(define(f, x, y)); });
  };
  const auto c = [](SmallFusion& f, int64_t value) { return std::vector<Scalar*>{f.fusion.constant(value)}; };
  EXPECT_THAT(errorWith(2, [](SmallFusion& f, TensorView* x, TensorView* y) { return f.call("add", {x, y}); }),
              testing::HasSubstr("has size 2; 3 is needed, or a broadcast axis"));
  EXPECT_THAT(errorWith(2, [&](SmallFusion& f, TensorView* x,
                               TensorView*) { return f.unary("reshape", x, {attribute("shape", c(f, 3))}); }),
              testing::HasSubstr("2 elements, the new shape 3"));
  EXPECT_THAT(errorWith(2, [&](SmallFusion& f, TensorView* x,
                               TensorView*) { return f.unary("expand", x, {attribute("shape", c(f, 3))}); }),
              testing::HasSubstr("has size 2 and cannot be expanded to 3"));
  EXPECT_THAT(errorWith(2,
                        [&](SmallFusion& f, TensorView* x, TensorView*) {
                          return f.unary("slice", x, {attribute("starts", c(f, 0)), attribute("stops", c(f, 3))});
                        }),
              testing::HasSubstr("range [0, 3) is outside axis 0"));
  EXPECT_THAT(errorWith(2, [&](SmallFusion& f, TensorView* x,
                               TensorView*) { return f.unary("pad", x, {attribute("widths", f.constants({-3, 0}))}); }),
              testing::HasSubstr("axis 0 has size -1; sizes are not negative"));
  EXPECT_THAT(errorWith(2,
                        [&](SmallFusion& f, TensorView* x, TensorView*) {
                          return f.op("select", {in(x),
                                                 {FieldRole::AxisNumber, "axis", int64_t{0}},
                                                 attribute("index", f.fusion.constant(2))});
                        }),
              testing::HasSubstr("index 2 is out of bounds"));
  EXPECT_THAT(errorWith(2,
                        [](SmallFusion& f, TensorView* x, TensorView* y) {
                          const auto column = [&](TensorView* tensor) {
                            return f.unary("broadcast", tensor, {attribute("flags", std::vector<bool>{false, true})});
                          };
                          Val* index = f.unary("cast", column(y), {attribute("dtype", DataType::I64)});
                          return f.op("take_along_axis", {in(column(x)),
                                                          {FieldRole::Operand, "index", index},
                                                          {FieldRole::AxisNumber, "axis", int64_t{1}}});
                        }),
              testing::HasSubstr("take_along_axis: axis 0 of"));
  EXPECT_THAT(errorWith(2,
                        [](SmallFusion& f, TensorView* x, TensorView* y) {
                          return f.op("matmul", {{FieldRole::Operand, "a", static_cast<Val*>(x)},
                                                 {FieldRole::Operand, "b", static_cast<Val*>(y)}});
                        }),
              testing::HasSubstr("inner sizes"));
}

TEST(OracleOps, ScalarsAreInputsAndExpressions) {
  SmallFusion f;
  TensorView* x = f.input(F32, {2}, {1, 2});
  Scalar* s = f.scalarInput(F32, 0.5);
  Scalar* twice = f.fusion.rawScalar(ScalarOp::Add, F32, std::vector<Scalar*>{s, s});
  EXPECT_THAT(numbersOf(f.evaluate(f.call("mul", {x, s}))), ElementsAre(0.5, 1));
  EXPECT_THAT(numbersOf(f.evaluate(f.call("add", {x, twice}))), ElementsAre(2, 3));
  Scalar* root = f.fusion.rawScalar(ScalarOp::Function, F32, std::vector<Scalar*>{s}, FunctionId::rsqrt);
  const OracleTensor product = f.evaluate(f.call("mul", {x, root}));
  EXPECT_NEAR(product.elements[0].number, std::sqrt(2.0), 1e-12);
  EXPECT_GT(product.elements[0].bound, 0);
  Scalar* unknown = f.fusion.symbol("unknown", F32);
  EXPECT_THAT(bindErrorOf([&] { f.evaluate(f.call("add", {x, unknown})); }),
              testing::HasSubstr("unknown: the value of this scalar is not known"));
}

}  // namespace
}  // namespace tokamak
