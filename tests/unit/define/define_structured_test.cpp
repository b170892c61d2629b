#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/functions.h"
#include "define/structured.h"
#include "error_of.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/select_op.h"
#include "ir/ops/math/slice_op.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DefineStructured : public testing::Test {
 protected:
  TensorView* tensor(DataType dtype, const Operands& shape) { return inputOf(fusion_, dtype, shape); }
  TensorView* floats(const Operands& shape) { return tensor(DataType::F32, shape); }
  std::vector<std::string> program() const { return programOf(fusion_); }
  static std::string messageOf(const std::function<void()>& call) {
    const Error error = errorOf(call);
    EXPECT_EQ(error.code(), ErrorCode::Definition);
    return error.message();
  }
  Fusion fusion_;
};

TEST_F(DefineStructured, ReductionsCountNegativeAxesFromTheEnd) {
  EXPECT_EQ(describe(*sum(floats({2, 3, 4}), {-1, 0})), "f32[3]");
  EXPECT_EQ(describe(*max(floats({2, 3}))), "f32[]");
}

TEST_F(DefineStructured, KeepdimIsABroadcastAfterTheReduction) {
  EXPECT_EQ(describe(*sum(floats({2, 3}), {1}, {.keepdim = true})), "f32[2, b1]");
  EXPECT_THAT(program(), ElementsAre("sum f32[2]", "broadcast f32[2, b1]"));
}

TEST_F(DefineStructured, SumsOfIntegersAreI64AndHalvesF32) {
  EXPECT_EQ(sum(tensor(DataType::I32, {4}))->dtype(), DataType::I64);
  EXPECT_EQ(prod(tensor(DataType::Bool, {4}))->dtype(), DataType::I64);
  EXPECT_EQ(max(tensor(DataType::I32, {4}))->dtype(), DataType::I32);
  EXPECT_EQ(max(tensor(DataType::Bool, {4}))->dtype(), DataType::Bool);
  EXPECT_EQ(sum(tensor(DataType::BF16, {4}))->dtype(), DataType::F32);
  EXPECT_EQ(min(tensor(DataType::F16, {4}))->dtype(), DataType::F32);
  EXPECT_EQ(sum(tensor(DataType::F64, {4}))->dtype(), DataType::F64);
}

TEST_F(DefineStructured, AReductionsDtypeIsTakenBeforeIt) {
  EXPECT_EQ(describe(*sum(tensor(DataType::I32, {4}), {}, {.dtype = DataType::F64})), "f64[]");
  EXPECT_THAT(program(), ElementsAre("cast f64[4]", "sum f64[]"));
}

TEST_F(DefineStructured, AHalfDtypeOfAReductionIsComputedInF32) {
  EXPECT_EQ(describe(*sum(floats({4}), {}, {.dtype = DataType::BF16})), "bf16[]");
  EXPECT_THAT(program(), ElementsAre("sum f32[]", "cast bf16[]"));
}

TEST_F(DefineStructured, ReducingABroadcastAxisSqueezesIt) {
  EXPECT_EQ(describe(*sum(floats({2, 1, 3}), {1})), "f32[2, 3]");
  EXPECT_THAT(program(), ElementsAre("squeeze f32[2, 3]"));
}

TEST_F(DefineStructured, ReducingBroadcastAndOtherAxesLoopsOverTheOthers) {
  EXPECT_EQ(describe(*max(floats({1, 2, 1, 3}), {0, 1, 2})), "f32[3]");
  EXPECT_THAT(program(), ElementsAre("squeeze f32[2, 3]", "max f32[3]"));
}

TEST_F(DefineStructured, SummingAnExpandedAxisMultipliesByItsSize) {
  EXPECT_EQ(describe(*sum(expand(floats({2, 1}), {2, 5}), {0, 1})), "f32[]");
  EXPECT_THAT(program(), ElementsAre("expand f32[2, b5]", "select f32[2]", "sum f32[]", "mul f32[]"));
}

TEST_F(DefineStructured, TheProductOverAnExpandedAxisIsAPowerAndTheMaximumOneElement) {
  prod(expand(floats({1}), {5}));
  max(expand(floats({1}), {5}));
  EXPECT_THAT(program(), ElementsAre("expand f32[b5]", "select f32[]", "pow f32[]", "expand f32[b5]", "select f32[]"));
}

TEST_F(DefineStructured, AnExpandedAxisOfUnknownSizeIsLoopedOver) {
  sum(expand(floats({1}), {fusion_.symbol("i0")}));
  EXPECT_THAT(program(), ElementsAre("expand f32[bi0]", "sum f32[]"));
}

TEST_F(DefineStructured, ReducingNoElementsGivesTheIdentity) {
  EXPECT_EQ(describe(*max(floats({3, 0}), {1})), "f32[3]");
  EXPECT_THAT(program(), ElementsAre("full f32[3]"));
}

TEST_F(DefineStructured, ReducingATensorWithoutAxesCopiesIt) {
  TensorView* in = floats(std::vector<int64_t>{});
  EXPECT_NE(sum(in), in);
  EXPECT_THAT(program(), ElementsAre("cast f32[]"));
}

TEST_F(DefineStructured, AReductionRefusesAxesOutOfRangeOrNamedTwice) {
  TensorView* in = floats({2, 3});
  EXPECT_EQ(messageOf([&] { sum(in, {2}); }),
            "sum: axis 2 is out of bounds for tensor " + toString(*in) + " with 2 dimensions");
  EXPECT_THAT(messageOf([&] { max(floats({2, 3}), {1, -1}); }), HasSubstr("max: axis 1 of tensor"));
}

TEST_F(DefineStructured, ReshapeInfersOneSize) {
  EXPECT_EQ(describe(*reshape(floats({4, 6}), {-1, 3})), "f32[8, 3]");
  Scalar* n = fusion_.symbol("i0");
  EXPECT_EQ(describe(*reshape(floats({n, 8}), {-1, 4})), "f32[( i0 * 2 ), 4]");
  EXPECT_EQ(describe(*reshape(floats({1}), std::vector<int64_t>{})), "f32[]");
}

TEST_F(DefineStructured, ReshapeRefusesSizesThatDoNotFit) {
  EXPECT_THAT(messageOf([&] { reshape(floats({4, 6}), {-1, -1}); }), HasSubstr("more than one size"));
  EXPECT_THAT(messageOf([&] { reshape(floats({4, 6}), {-1, 5}); }), HasSubstr("its 24 elements are no multiple of 5"));
  EXPECT_THAT(messageOf([&] { reshape(floats({4, 6}), {-1, 0}); }), HasSubstr("no size fits -1"));
  EXPECT_THAT(messageOf([&] { reshape(floats({4, 6}), {5, 5}); }), HasSubstr("has 24 elements, the new shape 25"));
  EXPECT_THAT(messageOf([&] { reshape(floats({4, 6}), {-2, 5}); }), HasSubstr("size -2 is negative"));
  EXPECT_THAT(messageOf([&] { reshape(floats({4, 6}), {2.5, 5}); }), HasSubstr("sizes are integers"));
}

TEST_F(DefineStructured, ExpandKeepsSizesGivenAsMinusOneAndAddsLeadingAxes) {
  EXPECT_EQ(describe(*expand(floats({3, 1}), {2, -1, 4})), "f32[b2, 3, b4]");
  EXPECT_THAT(messageOf([&] { expand(floats({3, 4}), {3}); }), HasSubstr("expand: 1 sizes for"));
  EXPECT_THAT(messageOf([&] { expand(floats({3}), {4}); }), HasSubstr("cannot be expanded to 4"));
}

TEST_F(DefineStructured, BroadcastInDimPlacesAxes) {
  EXPECT_EQ(describe(*broadcast_in_dim(floats({3}), {2, 3, 4}, {1})), "f32[b2, 3, b4]");
  EXPECT_THAT(messageOf([&] { broadcast_in_dim(floats({3}), {2, 3}, {0, 1}); }), HasSubstr("2 axes for"));
  EXPECT_THAT(messageOf([&] { broadcast_in_dim(floats({3}), {2, 3}, {2}); }), HasSubstr("axes must rise within"));
}

TEST_F(DefineStructured, AxesComeAndGo) {
  EXPECT_EQ(describe(*unsqueeze(floats({2, 3}), 1)), "f32[2, b1, 3]");
  EXPECT_EQ(describe(*unsqueeze(floats({2, 3}), -1)), "f32[2, 3, b1]");
  EXPECT_EQ(describe(*squeeze(floats({2, 1, 3}), {-2})), "f32[2, 3]");
  EXPECT_EQ(describe(*transpose(floats({2, 3, 4}))), "f32[2, 4, 3]");
  EXPECT_EQ(describe(*transpose(floats({2, 3, 4}), 0, -1)), "f32[4, 3, 2]");
  EXPECT_EQ(describe(*permute(floats({2, 3, 4}), {1, -1, 0})), "f32[3, 4, 2]");
  EXPECT_THAT(messageOf([&] { unsqueeze(floats({2}), 3); }), HasSubstr("legal are -2 to 1"));
  EXPECT_THAT(messageOf([&] { squeeze(floats({2}), {0}); }), HasSubstr("is not a broadcast axis"));
}

TEST_F(DefineStructured, SlicesCountNegativePositionsFromTheEnd) {
  Scalar* n = fusion_.symbol("i0");
  EXPECT_EQ(describe(*slice(floats({8, 6}), {1, 0}, {-1, 6}, {2, 1})), "f32[3, 6]");
  EXPECT_EQ(describe(*slice(floats({8, 6}), 1, -2, 6)), "f32[8, 2]");
  const TensorView* symbolic = slice(floats({n, 6}), 0, 1, n);
  EXPECT_EQ(describe(*symbolic), "f32[( i0 - 1 ), 6]");
  EXPECT_THAT(messageOf([&] { slice(floats({8}), 0, 0, 9); }), HasSubstr("range [0, 9) is outside axis 0"));
  EXPECT_THAT(messageOf([&] { slice(floats({8, 8}), {0}, {1}); }), HasSubstr("1 starts, 1 stops and 0 steps"));
}

TEST_F(DefineStructured, SelectTakesAnAxisAway) {
  const TensorView* out = select(floats({8, 6}), -2, -1);
  EXPECT_EQ(describe(*out), "f32[6]");
  EXPECT_TRUE(out->definition()->as<SelectOp>()->index->isConstantInt(7));
  EXPECT_THAT(messageOf([&] { select(floats({8, 6}), 0, 8); }), HasSubstr("index 8 is out of bounds"));
  EXPECT_THAT(messageOf([&] { select(floats({8, 6}), 0, floats({1})); }), HasSubstr("takes a scalar or a number here"));
}

TEST_F(DefineStructured, PadFillsWithAValueOfTheTensorsType) {
  const TensorView* out = pad(floats({4, 4}), {1, 0, 0, 2}, 7);
  EXPECT_EQ(describe(*out), "f32[5, 6]");
  EXPECT_EQ(out->definition()->as<PadOp>()->value, fusion_.constant(7.0, DataType::F32));
}

TEST_F(DefineStructured, CatPromotesItsOperands) {
  EXPECT_EQ(describe(*cat({tensor(DataType::I32, {2, 3}), floats({2, 4})}, -1)), "f32[2, 7]");
  EXPECT_EQ(messageOf([] { cat({}); }), "cat: no operands; give at least one tensor");
}

TEST_F(DefineStructured, TensorsAreMadeOfNothing) {
  EXPECT_EQ(describe(*full(fusion_, {2, 1}, 0.5, DataType::BF16)), "bf16[2, b1]");
  EXPECT_EQ(describe(*iota(fusion_, fusion_.symbol("i0"))), "i64[i0]");
  EXPECT_EQ(describe(*zeros(fusion_, {2})), "f32[2]");
  EXPECT_EQ(describe(*ones(fusion_, {2}, DataType::I32)), "i32[2]");
}

TEST_F(DefineStructured, AnOpWithoutOwnFunctionsHasOneFromItsDescription) {
  EXPECT_EQ(describe(*matmul(floats({2, 3}), floats({3, 4}))), "f32[2, 4]");
  EXPECT_EQ(describe(*linear(floats({2, 3}), floats({4, 3}))), "f32[2, 4]");
  EXPECT_EQ(describe(*linear(floats({2, 3}), floats({4, 3}), floats({4}))), "f32[2, 4]");
  EXPECT_THAT(messageOf([&] { matmul(floats({2, 3}), floats({3, 4}), DataType::F32, floats({4})); }),
              HasSubstr("matmul: too many arguments; expected a, b, dtype"));
  EXPECT_THAT(messageOf([&] { matmul(floats({2, 3})); }), HasSubstr("matmul: operand 'b' is missing"));
  EXPECT_THAT(messageOf([&] { matmul(floats({2, 3}), 2); }), HasSubstr("'b' must be a tensor"));
}

TEST_F(DefineStructured, FlipCountsNegativeAxesAndRefusesThoseNamedTwice) {
  TensorView* x = floats({2, 3});
  EXPECT_EQ(describe(*flip(x, std::vector<int64_t>{-1, 0})), "f32[2, 3]");
  EXPECT_EQ(describe(*flip(floats({}), std::vector<int64_t>{})), "f32[]");
  EXPECT_EQ(describe(*flip(tensor(DataType::Bool, {0, 3}), std::vector<int64_t>{0, 1})), "bool[0, 3]");
  EXPECT_THAT(messageOf([&] { flip(x, std::vector<int64_t>{0, -2}); }), HasSubstr("flip"));
  EXPECT_THAT(messageOf([&] { flip(x, std::vector<int64_t>{2}); }), HasSubstr("flip"));
}

TEST_F(DefineStructured, ADescribedOpTakesNumbersNamesAndLists) {
  const TensorView* filled = define<FullOp>(fusion_, std::vector<int64_t>{2, 3}, 1.5, DataType::F64);
  EXPECT_EQ(describe(*filled), "f64[2, 3]");
  const TensorView* copy = define<LoadStoreOp>(floats({2}), "Global");
  EXPECT_EQ(copy->definition()->as<LoadStoreOp>()->cache_op, CacheOp::Global);
  EXPECT_EQ(define<LoadStoreOp>(floats({2}), CacheOp::AllLevels)->definition()->as<LoadStoreOp>()->cache_op,
            CacheOp::AllLevels);
  EXPECT_THAT(
      messageOf([&] { define<LoadStoreOp>(floats({2}), "Fast"); }),
      HasSubstr("the argument 'cache_op' is a text; expected one of Unspecified, AllLevels, Streaming, Global"));
  EXPECT_THAT(messageOf([&] { define<FullOp>(std::vector<int64_t>{2}, 1.5); }),
              HasSubstr("no argument belongs to a fusion"));
}

}  // namespace
}  // namespace tokamak
