#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/activations.h"
#include "define/attention.h"
#include "define/normalization.h"
#include "define/softmax.h"
#include "define/statistics.h"
#include "error_of.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DefineComposites : public testing::Test {
 protected:
  TensorView* tensor(DataType dtype, const Operands& shape) { return inputOf(fusion_, dtype, shape); }
  std::vector<std::string> program() const { return programOf(fusion_); }
  Fusion fusion_;
};

TEST_F(DefineComposites, SoftmaxCastsOnceAndComputesInF32) {
  EXPECT_EQ(softmax(tensor(DataType::BF16, {2, 8}))->dtype(), DataType::F32);
  EXPECT_THAT(program(), ElementsAre("cast f32[2, 8]", "max f32[2]", "broadcast f32[2, b1]", "sub f32[2, 8]",
                                     "exp f32[2, 8]", "sum f32[2]", "broadcast f32[2, b1]", "div f32[2, 8]"));
}

TEST_F(DefineComposites, LogSoftmaxSubtractsTheLogarithmOfTheSum) {
  log_softmax(tensor(DataType::F32, {2, 8}), 0);
  EXPECT_THAT(program(), ElementsAre("max f32[8]", "broadcast f32[b1, 8]", "sub f32[2, 8]", "exp f32[2, 8]",
                                     "sum f32[8]", "broadcast f32[b1, 8]", "log f32[b1, 8]", "sub f32[2, 8]"));
  EXPECT_THAT(errorOf([&] { log_softmax(tensor(DataType::F32, {2}), 1); }).message(), HasSubstr("log_softmax: axis 1"));
}

TEST_F(DefineComposites, MeanDividesByTheCountOfElements) {
  Scalar* n = fusion_.symbol("i0");
  const TensorView* out = mean(tensor(DataType::I32, {n, 8}), {}, {.keepdim = true});
  EXPECT_EQ(describe(*out), "f32[b1, b1]");
  const auto* count = asScalar(out->definition()->input(1));
  EXPECT_DOUBLE_EQ(asDouble(*evaluate(*count, {{n, int64_t{3}}})), 24.0);
}

TEST_F(DefineComposites, VarianceDividesByTheCorrectedCount) {
  Scalar* n = fusion_.symbol("i0");
  const auto divisorOf = [&](double correction) {
    const TensorView* out = var(tensor(DataType::F32, {4, n}), {1}, {.correction = correction});
    return asScalar(out->definition()->input(1));
  };
  EXPECT_DOUBLE_EQ(asDouble(*evaluate(*divisorOf(1), {{n, int64_t{8}}})), 7.0);
  EXPECT_DOUBLE_EQ(asDouble(*evaluate(*divisorOf(0), {{n, int64_t{8}}})), 8.0);
  EXPECT_DOUBLE_EQ(asDouble(*evaluate(*divisorOf(2), {{n, int64_t{1}}})), 0.0);
}

TEST_F(DefineComposites, VarianceAndMeanHaveTheSameShape) {
  const VarMean both = var_mean(tensor(DataType::BF16, {4, 8}), {0});
  EXPECT_EQ(describe(*both.var), "f32[8]");
  EXPECT_EQ(describe(*both.mean), "f32[8]");
  const VarMean kept = var_mean(tensor(DataType::F64, {4, 8}), {0}, {.keepdim = true});
  EXPECT_EQ(describe(*kept.mean), "f64[b1, 8]");
  EXPECT_EQ(describe(*var(tensor(DataType::F32, std::vector<int64_t>{}))), "f32[]");
}

TEST_F(DefineComposites, LayerNormNormalisesTrailingAxesAndAppliesWeightAndBias) {
  layer_norm(tensor(DataType::F32, {2, 8}), tensor(DataType::BF16, {8}), tensor(DataType::F32, {8}));
  EXPECT_THAT(program(), ElementsAre("sum f32[2]", "broadcast f32[2, b1]", "div f32[2, b1]", "sub f32[2, 8]",
                                     "mul f32[2, 8]", "sum f32[2]", "broadcast f32[2, b1]", "div f32[2, b1]",
                                     "add f32[2, b1]", "rsqrt f32[2, b1]", "mul f32[2, 8]", "cast f32[8]",
                                     "broadcast f32[b1, 8]", "mul f32[2, 8]", "broadcast f32[b1, 8]", "add f32[2, 8]"));
}

TEST_F(DefineComposites, NormsRefuseWeightsOfOtherRankAndTooManyAxes) {
  EXPECT_THAT(errorOf([&] { layer_norm(tensor(DataType::F32, {2, 8}), tensor(DataType::F32, {2, 8})); }).message(),
              HasSubstr("must have one axis per normalised axis, that is 1"));
  EXPECT_THAT(errorOf([&] { rms_norm(tensor(DataType::F32, {8}), nullptr, {.norm_axes = 2}); }).message(),
              HasSubstr("rms_norm: 2 trailing axes of"));
}

TEST_F(DefineComposites, RmsNormScalesByTheRootMeanSquare) {
  EXPECT_EQ(describe(*rms_norm(tensor(DataType::F16, {2, 3, 4}), tensor(DataType::F16, {3, 4}), {.norm_axes = 2})),
            "f32[2, 3, 4]");
}

TEST_F(DefineComposites, ActivationsKeepTheShapeAndComputeInFloating) {
  for (auto* activation :
       {+[](TensorView* in) { return gelu(in); }, +[](TensorView* in) { return gelu_tanh(in); },
        +[](TensorView* in) { return leaky_relu(in); }, +[](TensorView* in) { return softplus(in); }}) {
    EXPECT_EQ(describe(*activation(tensor(DataType::I64, {2, 3}))), "f32[2, 3]");
    EXPECT_EQ(describe(*activation(tensor(DataType::F64, {2, 3}))), "f64[2, 3]");
  }
}

TEST_F(DefineComposites, AttentionGivesTheOperandsTypeWithSoftmaxInF32) {
  const auto q = tensor(DataType::BF16, {2, 4, 8, 16});
  const auto k = tensor(DataType::BF16, {2, 4, 10, 16});
  const auto v = tensor(DataType::BF16, {2, 4, 10, 32});
  EXPECT_EQ(describe(*attention(q, k, v)), "bf16[2, 4, 8, 32]");
  EXPECT_THAT(program(),
              ElementsAre("permute bf16[2, 4, 16, 10]", "matmul f32[2, 4, 8, 10]", "mul f32[2, 4, 8, 10]",
                          "max f32[2, 4, 8]", "broadcast f32[2, 4, 8, b1]", "sub f32[2, 4, 8, 10]",
                          "exp f32[2, 4, 8, 10]", "cast bf16[2, 4, 8, 10]", "cast f32[2, 4, 8, 10]", "sum f32[2, 4, 8]",
                          "broadcast f32[2, 4, 8, b1]", "eq bool[2, 4, 8, b1]", "matmul f32[2, 4, 8, 32]",
                          "div f32[2, 4, 8, 32]", "where f32[2, 4, 8, 32]", "cast bf16[2, 4, 8, 32]"));
  EXPECT_EQ(fusion_.allExprs()[2]->input(1), fusion_.constant(0.25, DataType::F32));
}

TEST_F(DefineComposites, AttentionGivesLogarithmsOfTheExactSums) {
  const auto q = tensor(DataType::BF16, {2, 8, 16});
  EXPECT_EQ(describe(*attention_with_logsumexp(q, q, q).logsumexp), "f32[2, 8]");
  EXPECT_EQ(std::ranges::count(program(), "sum f32[2, 8]"), 2);  // of the weights, and before they are rounded
  Fusion singles;
  const auto p = inputOf(singles, DataType::F32, {2, 8, 16});
  EXPECT_EQ(describe(*attention_with_logsumexp(p, p, p).logsumexp), "f32[2, 8]");
  EXPECT_EQ(std::ranges::count(programOf(singles), "sum f32[2, 8]"), 1);
}

TEST_F(DefineComposites, CausalAttentionHidesLaterKeys) {
  const auto q = tensor(DataType::F32, {8, 16});
  attention(q, q, q, {.is_causal = true, .scale = 2});
  EXPECT_THAT(program(), testing::IsSupersetOf({"iota i64[8]", "ge bool[8, 8]", "where f32[8, 8]"}));
}

TEST_F(DefineComposites, AttentionRefusesMixedTypesAndVectors) {
  const auto q = tensor(DataType::F32, {8, 16});
  EXPECT_THAT(errorOf([&] { attention(q, q, tensor(DataType::BF16, {8, 16})); }).message(),
              HasSubstr("one floating type"));
  EXPECT_THAT(errorOf([&] { attention(q, q, tensor(DataType::F32, {8})); }).message(),
              HasSubstr("needs a sequence and an embedding axis"));
}

TEST_F(DefineComposites, AttentionRefusesBiasesAndMasksThatDoNotFit) {
  const auto q = tensor(DataType::F32, {8, 16});
  const auto messageFor = [&](const AttentionOptions& options) {
    return errorOf([&] { attention(q, q, q, options); }).message();
  };
  EXPECT_THAT(messageFor({.bias = tensor(DataType::I32, {8, 8})}),
              HasSubstr("attention: the bias must be of a floating type, got T"));
  EXPECT_THAT(messageFor({.mask = tensor(DataType::F32, {8, 8})}),
              HasSubstr("attention: the mask must be of type bool (true: the query sees the key), got T"));
  EXPECT_THAT(messageFor({.mask = tensor(DataType::Bool, {2, 8, 8})}),
              HasSubstr("has more axes than the scores, which have 2"));
  EXPECT_THAT(messageFor({.bias = tensor(DataType::F32, {2, 8, 8})}), HasSubstr("attention: the bias T"));
}

}  // namespace
}  // namespace tokamak
