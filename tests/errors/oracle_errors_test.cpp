// Messages of the oracle about fusions and scalars that only the C++ interface can make.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "error_of.h"
#include "ir/fusion.h"
#include "oracle/evaluate.h"
#include "oracle/scalars.h"
#include "oracle/tensor.h"
#include "symbolic/function_table.h"

namespace tokamak {
namespace {

TEST(OracleErrors, AnOutputThatNothingComputes) {
  Fusion fusion("f");
  TensorView* output = fusion.tensor(DataType::F32, Axes{fusion.axis({.extent = fusion.constant(3)})});
  output->setLabel(0);
  fusion.addOutput(output);
  const Error error = errorOf([&] { oracle::evaluate(fusion, {}); });
  EXPECT_EQ(error.code(), ErrorCode::Definition);
  EXPECT_EQ(error.message(), "f: output T0: f32[3] is neither computed nor an input");
}

TEST(OracleErrors, MoreElementsThanTheReferenceCanHave) {
  const Error error = errorOf([] {
    static_cast<void>(oracle::zeros(DataType::F32, std::vector<int64_t>{3, std::numeric_limits<int64_t>::max()}));
  });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_EQ(error.message(), "the reference computes every element: 3 x 9223372036854775807 of f32 are more than 2^32");
  EXPECT_EQ(oracle::zeros(DataType::F32, std::vector<int64_t>{1 << 30, 0, 1 << 30}).elements.size(), 0U);
}

TEST(OracleErrors, ScalarsThatHaveNoMeaning) {
  Fusion fusion("f");
  Scalar* operands[] = {fusion.symbol("a", DataType::F32), fusion.symbol("b", DataType::F32)};
  const ScalarBindings bindings = {{operands[0], ScalarValue{1.0}}, {operands[1], ScalarValue{2.0}}};
  const auto refusal = [&](ScalarOp op, FunctionId function = {}) {
    const Scalar& scalar = *fusion.rawScalar(op, DataType::F32, operands, function);
    return errorOf([&] { oracle::evaluateScalar(scalar, bindings, oracle::Mode::exact()); });
  };
  const Error division = refusal(ScalarOp::FloorDiv);
  EXPECT_EQ(division.code(), ErrorCode::Unsupported);
  EXPECT_NE(division.message().find("the reference has no floor division on floating scalars"), std::string::npos);
  const Error bits = refusal(ScalarOp::Function, function_id::bitwise_and);
  EXPECT_EQ(bits.code(), ErrorCode::Definition);
  EXPECT_EQ(bits.message(), "bitwise_and: not defined on operands of type f32");
}

}  // namespace
}  // namespace tokamak
