// Composites of training: normalisation by channels, gradients, losses. What they compute is compared with NumPy
// (tests/numerics/ops_against_numpy.py); here: types, shapes and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/activations.h"
#include "define/callables.h"
#include "define/channel_norm.h"
#include "define/cross_entropy.h"
#include "define/normalization.h"
#include "define/rope.h"
#include "define/softmax.h"
#include "define/statistics.h"
#include "error_of.h"
#include "program_of.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

class DefineTraining : public testing::Test {
 protected:
  TensorView* tensor(DataType dtype, const Operands& shape) { return inputOf(fusion_, dtype, shape); }
  TensorView* halves(const Operands& shape) { return tensor(DataType::BF16, shape); }
  TensorView* floats(const Operands& shape) { return tensor(DataType::F32, shape); }
  template <class Call>
  static std::string message(const Call& call) {
    return errorOf(call).message();
  }
  Fusion fusion_;
};

TEST_F(DefineTraining, ResultsAndGradientsHaveTheTypeOfWhatTheyBelongTo) {
  TensorView* x = halves({4, 6, 5});
  TensorView* weight = floats({6});
  const BatchNorm norm = batch_norm(x, weight, weight, floats({6}), floats({6}));
  EXPECT_EQ(describe(*norm.out), "bf16[4, 6, 5]");
  for (const TensorView* statistic : {norm.mean, norm.rstd, norm.running_mean, norm.running_var})
    EXPECT_EQ(describe(*statistic), "f32[6]");
  const NormGradients gradients = batch_norm_backward(x, x, norm.mean, norm.rstd, weight);
  EXPECT_EQ(describe(*gradients.in), "bf16[4, 6, 5]");
  EXPECT_EQ(describe(*gradients.weight), "f32[6]");
  EXPECT_EQ(batch_norm_backward(x, x, norm.mean, norm.rstd).weight, nullptr);
  EXPECT_EQ(describe(*group_norm(x, 3, weight)), "bf16[4, 6, 5]");
  EXPECT_EQ(describe(*batch_norm_inference(x, weight, weight)), "bf16[4, 6, 5]");
  EXPECT_EQ(describe(*gelu_backward(x, x)), "bf16[4, 6, 5]");
  EXPECT_EQ(describe(*softmax_backward(x, x, 1)), "bf16[4, 6, 5]");
  EXPECT_EQ(describe(*log_sum_exp(x, 1)), "f32[4, 5]");
  EXPECT_EQ(describe(*layer_norm_backward(x, x, floats({4, 6}), floats({4, 6, 1}), floats({5})).bias), "f32[5]");
  EXPECT_EQ(rms_norm_backward(x, x, floats({4, 6})).bias, nullptr);
  const Welford parts = welford(x, {0, 2});
  EXPECT_EQ(describe(*parts.m2), "f32[6]");
  EXPECT_EQ(describe(*parts.n), "i64[6]");
}

TEST_F(DefineTraining, ALossHasTheTypeOfTheLogits) {
  TensorView* logits = halves({4, 9, 2});
  TensorView* target = tensor(DataType::I64, {4, 2});
  EXPECT_EQ(describe(*cross_entropy(logits, target)), "bf16[]");
  EXPECT_EQ(describe(*cross_entropy(logits, target, {LossReduction::Each})), "bf16[4, 2]");
  TensorView* sums = floats({4, 2});
  EXPECT_EQ(describe(*cross_entropy_backward(floats({}), logits, target, sums)), "bf16[4, 9, 2]");
  EXPECT_EQ(describe(*cross_entropy_backward(sums, logits, target, sums, {LossReduction::Each})), "bf16[4, 9, 2]");
}

TEST_F(DefineTraining, IllegalStatisticsAreNamed) {
  TensorView* x = floats({4, 6});
  EXPECT_THAT(message([&] { layer_norm_backward(x, x, floats({4, 6, 1}), floats({4})); }),
              HasSubstr("layer_norm_backward: the statistic"));
  EXPECT_THAT(message([&] { rms_norm_backward(x, x, floats({4}), floats({4, 6})); }), HasSubstr("rms_norm_backward: "));
  EXPECT_THAT(message([&] { batch_norm(floats({4}), nullptr, nullptr, nullptr, nullptr, {.axis = 0}); }),
              HasSubstr("has channels only"));
  EXPECT_THAT(message([&] { batch_norm(x, x); }), HasSubstr("must have one element per channel of"));
  EXPECT_THAT(message([&] { batch_norm(x, nullptr, nullptr, floats({6})); }),
              HasSubstr("one of the running statistics"));
  EXPECT_THAT(message([&] { group_norm(floats({4}), 2); }), HasSubstr("needs a batch and a channel axis"));
  EXPECT_THAT(message([&] { group_norm(x, 4); }), HasSubstr("are not 4 groups of one size"));
  EXPECT_THAT(message([&] { group_norm(x, 0); }), HasSubstr("are not 0 groups of one size"));
}

TEST_F(DefineTraining, IllegalTargetsAreNamed) {
  TensorView* logits = floats({4, 9});
  TensorView* target = tensor(DataType::I32, {4});
  EXPECT_THAT(message([&] { cross_entropy(logits, logits); }), HasSubstr("must have the axes of"));
  EXPECT_THAT(message([&] { cross_entropy(logits, floats({4})); }), HasSubstr("targets are numbers of classes"));
  EXPECT_THAT(message([&] { cross_entropy(tensor(DataType::I64, {4, 9}), target); }), HasSubstr("are no logits"));
  EXPECT_THAT(message([&] { cross_entropy_backward(floats({}), logits, target, logits); }),
              HasSubstr("must have the shape of the targets"));
  EXPECT_THAT(message([&] { cross_entropy_backward(floats({4}), logits, target, floats({4})); }),
              HasSubstr("has not the shape of the loss"));
  const Callable& callable = *findCallable("cross_entropy");
  const CallArgument arguments[] = {
      {{}, static_cast<Val*>(logits)}, {{}, static_cast<Val*>(target)}, {{}, std::string("most")}};
  EXPECT_THAT(message([&] { callByName(fusion_, callable, arguments); }), HasSubstr("no reduction is called 'most'"));
}

TEST_F(DefineTraining, RotationsNeedTwoHalves) {
  EXPECT_EQ(describe(*rope(halves({2, 8}), halves({2, 8}), halves({2, 8}))), "bf16[2, 8]");
  EXPECT_THAT(message([&] { rope(floats({2, 7}), floats({2, 7}), floats({2, 7})); }), HasSubstr("has no two halves"));
  EXPECT_THAT(message([&] { rope_backward(floats({}), floats({}), floats({})); }), HasSubstr("has no axis to rotate"));
}

}  // namespace
}  // namespace tokamak
