// Null operands, axes and tensors: each function of define/ and each schedule command refuses them as what the caller
// got wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "define/activations.h"
#include "define/attention.h"
#include "define/channel_norm.h"
#include "define/cross_entropy.h"
#include "define/functions.h"
#include "define/normalization.h"
#include "define/random.h"
#include "define/rope.h"
#include "define/softmax.h"
#include "define/statistics.h"
#include "define/structured.h"
#include "error_of.h"
#include "ir/ops/math/matmul_op.h"
#include "ir/ops/math/reduction_op.h"
#include "schedule/cache.h"
#include "schedule/inline.h"
#include "schedule/memory.h"
#include "schedule/propagate.h"
#include "schedule/rfactor.h"
#include "schedule/set_device_mesh.h"
#include "schedule/transform_like.h"
#include "schedule/transforms.h"

namespace tokamak {
namespace {

// Functions that are overloaded, or templates, as one object.
#define CALL(function) [](auto... arguments) { return function(arguments...); }

class NullOperands : public testing::Test {
 protected:
  // Calls the function once for each tensor among its arguments, with null in its place.
  template <class Function, class... Arguments>
  void refuses(const char* name, Function function, Arguments... arguments) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      (refusesAt<I>(name, function, std::tuple(arguments...)), ...);
    }(std::index_sequence_for<Arguments...>{});
  }

  TensorView* tensor() {
    Scalar* four = fusion_.constant(int64_t{4});
    TensorView* tensor =
        fusion_.tensor(DataType::F32, {fusion_.axis({.extent = four}), fusion_.axis({.extent = four})});
    fusion_.addInput(tensor);
    return tensor;
  }

  Fusion fusion_;
  TensorView* a_ = tensor();
  int calls_ = 0;

 private:
  template <size_t I, class Function, class Arguments>
  void refusesAt(const char* name, Function function, Arguments arguments) {
    using Argument = std::tuple_element_t<I, Arguments>;
    if constexpr (std::is_pointer_v<Argument> && std::is_base_of_v<Val, std::remove_pointer_t<Argument>>) {
      std::get<I>(arguments) = nullptr;
      ++calls_;
      const Error error = errorOf([&] { std::apply(function, arguments); });
      EXPECT_EQ(error.code(), ErrorCode::Definition) << name << ", parameter " << I;
      EXPECT_THAT(error.message(), testing::HasSubstr("null")) << name << ", parameter " << I;
      EXPECT_THAT(error.message(), testing::StartsWith(name)) << name << ", parameter " << I;
    }
  }
};

using Axis = std::vector<int64_t>;
const RandomState kState{.seed = 1, .offset = 0};

TEST_F(NullOperands, OfCompositesAreRefused) {
  TensorView* const t = a_;
  refuses("attention", CALL(attention), t, t, t);
  refuses("batch_norm", CALL(batch_norm), t);
  refuses("batch_norm_backward", CALL(batch_norm_backward), t, t, t, t);
  refuses("batch_norm_inference", CALL(batch_norm_inference), t, t, t);
  refuses("cross_entropy", CALL(cross_entropy), t, t);
  refuses("cross_entropy_backward", CALL(cross_entropy_backward), t, t, t, t);
  refuses("dropout", CALL(dropout), t, 0.5, kState);
  refuses("dropout_backward", CALL(dropout_backward), t, t, 0.5);
  refuses("rand_like", CALL(rand_like), t, kState);
  refuses("gelu", CALL(gelu), t);
  refuses("gelu_backward", CALL(gelu_backward), t, t);
  refuses("gelu_tanh", CALL(gelu_tanh), t);
  refuses("gelu_tanh_backward", CALL(gelu_tanh_backward), t, t);
  refuses("silu_backward", CALL(silu_backward), t, t);
  refuses("leaky_relu", CALL(leaky_relu), t, 0.1);
  refuses("softplus", CALL(softplus), t, 1.0, 20.0);
  refuses("group_norm", CALL(group_norm), t, int64_t{2});
  refuses("layer_norm", CALL(layer_norm), t);
  refuses("layer_norm_backward", CALL(layer_norm_backward), t, t, t, t);
  refuses("rms_norm", CALL(rms_norm), t);
  refuses("rms_norm_backward", CALL(rms_norm_backward), t, t, t);
  refuses("softmax", CALL(softmax), t, int64_t{0});
  refuses("log_softmax", CALL(log_softmax), t, int64_t{0});
  refuses("log_sum_exp", CALL(log_sum_exp), t, int64_t{0});
  refuses("softmax_backward", CALL(softmax_backward), t, t, int64_t{0});
  refuses("log_softmax_backward", CALL(log_softmax_backward), t, t, int64_t{0});
  refuses("rope", CALL(rope), t, t, t);
  refuses("rope_backward", CALL(rope_backward), t, t, t);
  refuses("mean", CALL(mean), t);
  refuses("var", CALL(var), t);
  refuses("var_mean", CALL(var_mean), t);
  refuses("welford", CALL(welford), t);
  EXPECT_EQ(calls_, 58);
}

TEST_F(NullOperands, OfStructuredOpsAreRefused) {
  TensorView* const t = a_;
  const Operands shape = {4, 4};
  refuses("set", CALL(set), t);
  refuses("cast", CALL(cast), t, DataType::F16);
  refuses("broadcast", CALL(broadcast), t, std::vector<bool>{false, false, true});
  refuses("broadcast_in_dim", CALL(broadcast_in_dim), t, shape, Axis{0, 1});
  refuses("expand", CALL(expand), t, shape);
  refuses("squeeze", CALL(squeeze), t, Axis{0});
  refuses("unsqueeze", CALL(unsqueeze), t, int64_t{0});
  refuses("reshape", CALL(reshape), t, shape);
  refuses("permute", CALL(permute), t, Axis{1, 0});
  refuses("transpose", CALL(transpose), t, int64_t{0}, int64_t{1});
  refuses("slice", CALL(slice), t, shape, shape, shape);
  refuses("slice", CALL(slice), t, int64_t{0}, Operand(0), Operand(1), Operand(1));
  refuses("select", CALL(select), t, int64_t{0}, Operand(0));
  refuses("pad", CALL(pad), t, shape, Operand(0));
  refuses("take_along_axis", CALL(take_along_axis), t, t, int64_t{0});
  refuses("gather", CALL(gather), t, int64_t{0}, t);
  refuses("index_select", CALL(index_select), t, int64_t{0}, t);
  refuses("embedding", CALL(embedding), t, t);
  refuses("reduce", CALL(reduce), ReductionKind::Sum, t, Axis{0});
  refuses("sum", CALL(sum), t, Axis{0});
  refuses("prod", CALL(prod), t, Axis{0});
  refuses("max", CALL(max), t, Axis{0});
  refuses("min", CALL(min), t, Axis{0});
  EXPECT_EQ(calls_, 27);
  EXPECT_EQ(errorOf([&] { cat({t, nullptr}, 0); }).code(), ErrorCode::Definition);
  TensorView* const none = nullptr;
  EXPECT_EQ(errorOf([&] { define<MatmulOp>(t, none); }).code(), ErrorCode::Definition);
  EXPECT_EQ(errorOf([&] { define<MatmulOp>(none, none); }).code(), ErrorCode::Definition);
}

TEST_F(NullOperands, OfElementwiseFunctionsAreRefusedAndNoZeros) {
  TensorView* const none = nullptr;
  for (const FunctionInfo& info : allFunctions()) {
    for (int i = 0; i < info.arity; ++i) {
      const Error error = errorOf([&] {
        std::vector<Operand> operands;
        for (int k = 0; k < info.arity; ++k) operands.emplace_back(k == i ? none : a_);
        applyFunction(info.id, operands);
      });
      EXPECT_EQ(error.code(), ErrorCode::Definition) << info.name;
      EXPECT_THAT(error.message(), testing::HasSubstr("null")) << info.name;
    }
  }
}

TEST_F(NullOperands, OfScheduleCommandsAreRefused) {
  TensorView* const t = a_;
  refuses("cache_after", CALL(cache_after), t);
  refuses("cache_before", CALL(cache_before), t);
  refuses("cache_fork", CALL(cache_fork), t);
  refuses("circular_buffer", CALL(circular_buffer), t, int64_t{2}, int64_t{1});
  refuses("inline_at", CALL(inline_at), t, int64_t{1});
  refuses("split", CALL(split), t, int64_t{0}, Operand(2), SplitSide::Inner);
  refuses("inner_split", CALL(inner_split), t, int64_t{0}, Operand(2));
  refuses("outer_split", CALL(outer_split), t, int64_t{0}, Operand(2));
  refuses("merge", CALL(merge), t, int64_t{0});
  refuses("reorder", CALL(reorder), t, Axis{1, 0});
  refuses("swizzle", CALL(swizzle), t, int64_t{0}, int64_t{1}, SwizzleType::Xor);
  refuses("parallelize", CALL(parallelize), t, int64_t{0}, ParallelType::BIDx);
  refuses("pad_buffer", CALL(pad_buffer), t, int64_t{0}, int64_t{1});
  refuses("set_allocation", CALL(set_allocation), t, Axis{0});
  refuses("set_allocation_as_loop", CALL(set_allocation_as_loop), t);
  refuses("set_device_mesh", CALL(set_device_mesh), t, DeviceMesh{.shape = {1}, .devices = {0}});
  refuses("set_memory_type", CALL(set_memory_type), t, MemoryType::Shared);
  refuses("propagate", CALL(propagate), t);
  refuses("rfactor", CALL(rfactor), t, Axis{0});
  EXPECT_EQ(calls_, 19);
  TensorView* const none = nullptr;
  TensorView* const list[] = {t, none};
  EXPECT_EQ(errorOf([&] { transform_like(none); }).code(), ErrorCode::Definition);
  EXPECT_EQ(errorOf([&] { transform_like(t, list); }).code(), ErrorCode::Definition);
  EXPECT_EQ(errorOf([&] { parallelize_like(none); }).code(), ErrorCode::Definition);
  EXPECT_EQ(errorOf([&] { parallelize_like(t, list); }).code(), ErrorCode::Definition);
  EXPECT_EQ(errorOf([&] { inline_most(list); }).code(), ErrorCode::Definition);
}

TEST_F(NullOperands, OfFusionsAreRefused) {
  const auto refusal = [&](const auto& call) { return errorOf(call).message(); };
  EXPECT_EQ(refusal([&] { fusion_.addInput(nullptr); }),
            "addInput: the value is null; it must be a tensor or a scalar of the fusion");
  EXPECT_EQ(refusal([&] { fusion_.addOutput(nullptr); }),
            "addOutput: the tensor is null; it must be a tensor of the fusion");
  EXPECT_EQ(refusal([&] { fusion_.aliasOutput(nullptr, a_); }),
            "alias: the output is null; it must be a tensor of the fusion");
  EXPECT_EQ(refusal([&] { fusion_.tensor(DataType::F32, Axes{a_->logical()[0], nullptr}); }),
            "tensor: axis 1 is null; it must be an axis of the fusion");
  EXPECT_EQ(refusal([&] { fusion_.add(fusion_.constant(int64_t{1}), nullptr); }),
            "scalar: operand 1 is null; it must be a scalar of the fusion");
  Scalar* const operands[] = {nullptr};
  EXPECT_EQ(refusal([&] { fusion_.rawScalar(ScalarOp::Not, DataType::Bool, operands); }),
            "scalar: operand 0 is null; it must be a scalar of the fusion");
}

}  // namespace
}  // namespace tokamak
