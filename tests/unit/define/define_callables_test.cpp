#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "error_of.h"
#include "program_of.h"
#include "symbolic/functions.h"

namespace tokamak {
namespace {

using testing::HasSubstr;
using Ints = std::vector<int64_t>;

class DefineCallables : public testing::Test {
 protected:
  std::vector<Val*> call(std::string_view name, const std::vector<CallArgument>& arguments) {
    const auto results = definingResolver().call(fusion_, name, arguments);
    EXPECT_TRUE(results.has_value()) << name;
    return results.value_or(std::vector<Val*>{});
  }
  std::string text(std::string_view name, const std::vector<CallArgument>& arguments) {
    return describe(*asTensor(call(name, arguments).at(0)));
  }
  std::string messageOf(std::string_view name, const std::vector<CallArgument>& arguments) {
    return errorOf([&] { definingResolver().call(fusion_, name, arguments); }).message();
  }
  static CallArgument arg(Val* val) { return {{}, val}; }

  Fusion fusion_;
  TensorView* in_ = inputOf(fusion_, DataType::F32, {4, 8});
};

TEST_F(DefineCallables, EveryFunctionAndEveryOpHasAName) {
  for (const FunctionInfo& info : allFunctions()) {
    const Callable* callable = findCallable(info.name);
    ASSERT_NE(callable, nullptr) << info.name;
    EXPECT_EQ(callable->parameters.size(), static_cast<size_t>(info.arity)) << info.name;
  }
  for (const OpKind kind : allOpKinds()) {
    if (opList(kind) != OpList::Math || kind == OpKind::PointwiseOp || kind == OpKind::ReductionOp) continue;
    EXPECT_NE(findCallable(opInfo(kind).name), nullptr) << opInfo(kind).name;
  }
  EXPECT_EQ(findCallable("rolled"), nullptr);
  EXPECT_EQ(definingResolver().call(fusion_, "rolled", {}), std::nullopt);
  EXPECT_EQ(definingResolver().names().size(), allCallables().size());
}

TEST_F(DefineCallables, NamesAreUnique) {
  const auto names = definingResolver().names();
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_F(DefineCallables, TheParametersOfAnOpAreThoseOfItsDescription) {
  for (const std::string_view name : {"select", "pad", "cat", "expand", "reshape", "full", "iota", "slice"}) {
    const auto derived = parametersOf(findOp(name)->kind);
    const auto& written = findCallable(name)->parameters;
    ASSERT_GE(written.size(), derived.size()) << name;
    for (size_t i = 0; i < derived.size(); ++i) EXPECT_EQ(written[i].name, derived[i].name) << name;
  }
}

TEST_F(DefineCallables, ArgumentsAreTakenByPositionAndByName) {
  EXPECT_EQ(text("max", {arg(in_), {"axes", Ints{1}}, {"keepdim", true}}), "f32[4, b1]");
  EXPECT_EQ(text("sum", {arg(in_), {{}, Ints{0}}}), "f32[8]");
  EXPECT_EQ(text("sum", {arg(in_), {"dtype", DataType::F64}}), "f64[]");
  EXPECT_EQ(text("add", {arg(in_), {{}, 0.5}}), "f32[4, 8]");
  EXPECT_EQ(text("cast", {arg(in_), {"dtype", DataType::BF16}}), "bf16[4, 8]");
  EXPECT_EQ(text("broadcast", {arg(in_), {"flags", std::vector<bool>{true, false, false}}}), "f32[b1, 4, 8]");
  EXPECT_EQ(text("permute", {arg(in_), {"order", Ints{1, 0}}}), "f32[8, 4]");
  EXPECT_EQ(text("set", {arg(in_), {"cache_op", std::string("Global")}}), "f32[4, 8]");
}

TEST_F(DefineCallables, MovementsAreCalledByName) {
  Scalar* n = fusion_.symbol("i0");
  EXPECT_EQ(text("reshape", {arg(in_), {"shape", Ints{-1, 2}}}), "f32[16, 2]");
  EXPECT_EQ(text("expand", {arg(in_), {"shape", std::vector<Scalar*>{n, fusion_.constant(4), fusion_.constant(8)}}}),
            "f32[bi0, 4, 8]");
  EXPECT_EQ(text("slice", {arg(in_), {"starts", Ints{0, 2}}, {"stops", Ints{4, 8}}}), "f32[4, 6]");
  EXPECT_EQ(text("slice", {arg(in_), {"axis", int64_t{1}}, {"stop", int64_t{-1}}}), "f32[4, 7]");
  EXPECT_EQ(text("select", {arg(in_), {"axis", int64_t{0}}, {"index", n}}), "f32[8]");
  EXPECT_EQ(text("pad", {arg(in_), {"widths", Ints{1, 1, 0, 0}}, {"value", 2.0}}), "f32[6, 8]");
  EXPECT_EQ(text("cat", {{{}, std::vector<Val*>{in_, in_}}, {"axis", int64_t{1}}}), "f32[4, 16]");
  EXPECT_EQ(text("unsqueeze", {arg(in_), {{}, int64_t{0}}}), "f32[b1, 4, 8]");
  EXPECT_EQ(text("squeeze", {arg(inputOf(fusion_, DataType::F32, {1, 8})), {"axes", Ints{0}}}), "f32[8]");
  EXPECT_EQ(text("squeeze", {arg(inputOf(fusion_, DataType::F32, {1, 8})), {"flags", std::vector<bool>{true, false}}}),
            "f32[8]");
  EXPECT_EQ(text("transpose", {arg(in_)}), "f32[8, 4]");
  EXPECT_EQ(text("broadcast_in_dim", {arg(in_), {"shape", Ints{4, 3, 8}}, {"axes", Ints{0, 2}}}), "f32[4, b3, 8]");
  EXPECT_EQ(text("full", {{"shape", Ints{2}}, {"value", 0.0}, {"dtype", DataType::I32}}), "i32[2]");
  EXPECT_EQ(text("full", {{"shape", Ints{}}, {"value", 0.0}}), "f32[]");
  EXPECT_EQ(text("zeros", {{{}, Ints{2}}}), "f32[2]");
  EXPECT_EQ(text("ones", {{{}, Ints{2}}, {{}, DataType::Bool}}), "bool[2]");
  EXPECT_EQ(text("iota", {{"length", n}}), "i64[i0]");
}

TEST_F(DefineCallables, CompositesAreCalledByName) {
  Val* weight = inputOf(fusion_, DataType::F32, {8});
  EXPECT_EQ(text("softmax", {arg(in_)}), "f32[4, 8]");
  EXPECT_EQ(text("log_softmax", {arg(in_), {"axis", int64_t{0}}}), "f32[4, 8]");
  EXPECT_EQ(text("layer_norm", {arg(in_), arg(weight), {"bias", std::monostate{}}, {"eps", 1e-6}}), "f32[4, 8]");
  EXPECT_EQ(text("rms_norm", {arg(in_), {"norm_axes", int64_t{2}}}), "f32[4, 8]");
  EXPECT_EQ(text("mean", {arg(in_), {"axes", Ints{1}}}), "f32[4]");
  EXPECT_EQ(text("var", {arg(in_), {"axes", Ints{1}}, {"correction", int64_t{0}}}), "f32[4]");
  EXPECT_EQ(call("var_mean", {arg(in_)}).size(), 2U);
  EXPECT_EQ(text("attention", {arg(in_), arg(in_), arg(in_), {"is_causal", true}, {"scale", 0.5}}), "f32[4, 8]");
  for (const std::string_view name : {"gelu", "gelu_tanh", "leaky_relu", "softplus"}) {
    EXPECT_EQ(text(name, {arg(in_)}), "f32[4, 8]") << name;
  }
}

TEST_F(DefineCallables, ScalarsAloneGiveAScalar) {
  Scalar* n = fusion_.symbol("i0");
  EXPECT_EQ(call("mul", {{{}, n}, {{}, int64_t{2}}}), std::vector<Val*>{fusion_.mul(n, fusion_.constant(2))});
}

TEST_F(DefineCallables, WrongArgumentsAreNamed) {
  EXPECT_EQ(messageOf("softmax", {arg(in_), {"axes", int64_t{0}}}),
            "softmax: no argument is called 'axes'; it takes in, axis; did you mean 'axis'?");
  EXPECT_EQ(messageOf("softmax", {arg(in_), {{}, int64_t{0}}, {"axis", int64_t{0}}}),
            "softmax: argument 'axis' is given twice");
  EXPECT_EQ(messageOf("softmax", {}), "softmax: argument 'in' is missing; it takes in, axis");
  EXPECT_EQ(messageOf("softmax", {{{}, int64_t{3}}}), "softmax: 'in' must be a tensor");
  EXPECT_EQ(messageOf("softmax", {arg(in_), {{}, 0.5}}), "softmax: 'axis' must be an integer; got a number");
  EXPECT_EQ(messageOf("gelu", {arg(in_), arg(in_)}), "gelu: too many arguments; it takes in");
  EXPECT_EQ(messageOf("add", {arg(in_), {{}, std::string("x")}}), "add: 'y' must be a tensor, a scalar or a number");
  EXPECT_THAT(messageOf("squeeze", {arg(in_)}), HasSubstr("give either axes or flags"));
  EXPECT_THAT(messageOf("slice", {arg(in_)}), HasSubstr("needs starts and stops, or an axis"));
  EXPECT_THAT(messageOf("slice", {arg(in_), {"starts", Ints{0, 0}}, {"axis", int64_t{0}}}),
              HasSubstr("give either lists"));
}

}  // namespace
}  // namespace tokamak
